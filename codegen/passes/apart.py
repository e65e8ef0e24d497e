"""Fields that a table keeps apart: steps take their items one by one, because the whole of them lies nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from codegen.ir import Assign, Field, Index, Interval, Leaf, Span, Step, Var


def whole_uses(step: Step, apart: tuple[str, ...]) -> Iterator[tuple[str, Span]]:
    """Where a step uses one of the fields as a whole, or the whole cell, whose name is then ''."""

    def is_cell(node: Any) -> bool:
        return isinstance(node, Var) and node.name == step.cell

    def is_apart(node: Any) -> bool:
        return isinstance(node, Field) and is_cell(node.base) and node.name in apart

    def visit(node: Any) -> Iterator[tuple[str, Span]]:
        match node:
            case tuple():
                for inner in node:
                    yield from visit(inner)
            case Index(base=base, index=index) if is_apart(base):
                yield from visit(index)
            case Field(name=name, span=span) if is_apart(node):
                yield name, span
            case Field(base=base) if is_cell(base):
                return
            case Var(span=span) if is_cell(node):
                yield "", span
            case Leaf(cell=cell):
                yield from (use for assign in cell for use in assigned(assign))
                yield from visit((cell, node.message))
            case _ if is_dataclass(node) and not isinstance(node, (Span, Interval)):
                yield from visit(tuple(getattr(node, each.name) for each in fields(node) if each.name != "type"))

    def assigned(assign: Assign) -> Iterator[tuple[str, Span]]:
        if assign.path[0] in apart and len(assign.path) == 1:
            yield str(assign.path[0]), assign.span

    return visit(step.body)
