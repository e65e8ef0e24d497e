"""Finds the locations that an expression reads: a variable, and the fields and items below it."""

from __future__ import annotations

from typing import Any

from codegen.ir.nodes import Expr, Field, Index, Path, Var
from codegen.ir.walk import children

Location = tuple[str, ...]
"""A variable and the names of the fields below it; `*` stands for any item."""


def is_path(expr: Expr) -> bool:
    """Whether an expression is a variable or a field of one, so that reading it again costs nothing."""
    return isinstance(expr, Var) or (isinstance(expr, Field) and is_path(expr.base))


def location(expr: Expr) -> Location | None:
    """Returns the location that a path leads to; None for another expression."""
    match expr:
        case Var(name=name):
            return (name,)
        case Field(base=base, name=name):
            inner = location(base)
            return None if inner is None else (*inner, name)
        case Index(base=base):
            inner = location(base)
            return None if inner is None else (*inner, "*")
    return None


def reads(expr: Any) -> set[Location]:
    """Returns every location that an expression reads, down to the field that it names."""
    found: set[Location] = set()

    def visit(node: Any) -> None:
        where = location(node) if isinstance(node, (Var, Field, Index)) else None
        if where is None:
            for child in children(node):
                visit(child)
            return
        found.add(where)
        while not isinstance(node, Var):
            if isinstance(node, Index):
                visit(node.index)
            node = node.base

    visit(expr)
    return found


def overlap(left: Location, right: Location) -> bool:
    """Whether one location contains the other."""
    return all(a == b or "*" in (a, b) for a, b in zip(left, right))


def reads_location(expr: Any, where: Location) -> bool:
    return any(overlap(read, where) for read in reads(expr))


def target_location(root: str, path: Path) -> Location:
    return (root, *(part if isinstance(part, str) else "*" for part in path))
