"""Walks IR expressions for the emitters: their reads, uses of names, intervals, substitution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from codegen.emit.types import width_bits
from codegen.ir import (
    Bind,
    Bits,
    Body,
    Cardinality,
    Decide,
    Enum,
    Expr,
    Field,
    Index,
    Int,
    Interval,
    Leaf,
    Span,
    Type,
    UInt,
    Var,
)


@dataclass(frozen=True)
class Choice:
    """Replaces the condition of an If whose arms coverage counts."""

    number: int
    """Number of the branch of the first arm; the second arm's is the next number."""
    condition: Expr
    type: Type
    span: Span


Location = tuple[str, ...]
"""A variable and the names of the fields below it; `*` stands for any item."""


def children(node: Any) -> Iterator[Any]:
    """Yields the IR nodes directly below a node, in the order of its fields, without types and spans."""
    for entry in fields(node):
        if entry.name != "type":
            yield from _nodes(getattr(node, entry.name))


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for inner in value:
            yield from _nodes(inner)
    elif is_dataclass(value) and not isinstance(value, (Span, Interval)):
        yield value


def walk(node: Any) -> Iterator[Any]:
    yield node
    for child in children(node):
        yield from walk(child)


def uses(node: Any, name: str) -> int:
    """Counts the reads of a name. Names are unique within a step."""
    return sum(isinstance(inner, Var) and inner.name == name for inner in walk(node))


def rewrite(node: Any, change: Callable[[Any], Any]) -> Any:
    """Applies `change` to every node of a tree, from the leaves up."""

    def value_of(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(value_of(inner) for inner in value)
        if is_dataclass(value) and not isinstance(value, (Span, Interval)):
            return rewrite(value, change)
        return value

    changed = {
        entry.name: value_of(getattr(node, entry.name)) for entry in fields(node) if entry.name not in ("type", "span")
    }
    return change(replace(node, **changed))


def substitute(node: Any, name: str, value: Expr) -> Any:
    return rewrite(node, lambda inner: value if isinstance(inner, Var) and inner.name == name else inner)


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


def target_location(root: str, path: tuple) -> Location:
    return (root, *(part if isinstance(part, str) else "*" for part in path))


def interval_of(expr: Expr) -> Interval:
    """Returns the interval of an integer expression; that of its type if no smaller one is known."""
    if isinstance(expr, Int):
        return Interval(expr.value, expr.value)
    known = getattr(expr, "interval", None)
    if known is not None:
        return known
    if isinstance(expr, Cardinality):
        return expr.interval
    return type_interval(expr.type)


def type_interval(type_: Type) -> Interval:
    if isinstance(type_, (UInt, Enum, Bits)):
        return Interval(0, (1 << width_bits(type_)) - 1)
    return Interval(0, (1 << 64) - 1)


def leaves(body: Body) -> Iterator[Leaf]:
    match body:
        case Leaf():
            yield body
        case Decide(then=then, otherwise=otherwise):
            yield from leaves(then)
            yield from leaves(otherwise)
        case Bind(body=inner):
            yield from leaves(inner)


def sink_binds(body: Body) -> Body:
    """Moves each Bind as far down as possible, so that only branches that use it compute it. Paths replace uses."""
    match body:
        case Leaf():
            return body
        case Decide():
            return replace(body, then=sink_binds(body.then), otherwise=sink_binds(body.otherwise))
        case Bind(name=name, value=value, body=inner):
            if is_path(value):
                return sink_binds(substitute(inner, name, value))
            return _sink(body, sink_binds(inner))
    raise TypeError(body)


def _sink(bind: Bind, body: Body) -> Body:
    if not uses(body, bind.name):
        return body
    if isinstance(body, Decide) and not uses(body.condition, bind.name):
        if not uses(body.otherwise, bind.name):
            return replace(body, then=_sink(bind, body.then))
        if not uses(body.then, bind.name):
            return replace(body, otherwise=_sink(bind, body.otherwise))
    if isinstance(body, Bind) and not uses(body.value, bind.name):
        return replace(body, body=_sink(bind, body.body))
    return replace(bind, body=body)
