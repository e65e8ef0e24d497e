"""Finds the places where steps use the tail of the message, which only the daemon has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from codegen.ir import Assign, Bind, Body, Decide, Field, Interval, Leaf, Span, Step, Var


def tail_uses(step: Step, tail: str) -> Iterator[Span]:
    """Yields the places where a step reads or changes the tail."""

    def visit(node: Any) -> Iterator[Span]:
        match node:
            case tuple():
                for inner in node:
                    yield from visit(inner)
            case Leaf(cell=cell, message=message):
                yield from (assign.span for assign in message if writes(assign, tail))
                yield from visit((cell, message))
            case Field(base=Var(name=name)) if name == step.message:
                if node.name == tail:
                    yield node.span
            case Var(name=name, span=span) if name == step.message:
                yield span
            case _ if is_dataclass(node) and not isinstance(node, (Span, Interval)):
                yield from visit(tuple(getattr(node, each.name) for each in fields(node) if each.name != "type"))

    return visit(step.body)


def writes(assign: Assign, tail: str) -> bool:
    return assign.path[0] == tail


def written_with_cell(body: Body, tail: str) -> Iterator[Span]:
    """Yields the changes of the tail in leaves that also change the cell."""
    match body:
        case Leaf(cell=cell, message=message):
            if cell:
                yield from (assign.span for assign in message if writes(assign, tail))
        case Decide(then=then, otherwise=otherwise):
            yield from written_with_cell(then, tail)
            yield from written_with_cell(otherwise, tail)
        case Bind(body=inner):
            yield from written_with_cell(inner, tail)
