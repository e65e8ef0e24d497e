"""Questions about IR expressions that the emitters ask: what they read, where names are used, intervals."""

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
    """Stands for an If's condition: `number` is the branch id of its first arm, the next one the second's."""

    number: int
    condition: Expr
    type: Type
    span: Span


Location = tuple[str, ...]
"""A variable and the fields below it; `*` stands for any item."""


def children(node: Any) -> Iterator[Any]:
    """The IR nodes directly below one, in the order of its fields; types and spans left out."""
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
    """How often a name is read. Names are unique within a step."""
    return sum(isinstance(inner, Var) and inner.name == name for inner in walk(node))


def rewrite(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with `change` applied to every node, from the leaves up."""

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
    """A variable, or a field of one: reading it again costs nothing."""
    return isinstance(expr, Var) or (isinstance(expr, Field) and is_path(expr.base))


def location(expr: Expr) -> Location | None:
    """Where a path leads, None for anything else."""
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
    """Every location that an expression reads, as deep as it says."""
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
    """One contains the other."""
    return all(a == b or "*" in (a, b) for a, b in zip(left, right))


def reads_location(expr: Any, where: Location) -> bool:
    return any(overlap(read, where) for read in reads(expr))


def target_location(root: str, path: tuple) -> Location:
    return (root, *(part if isinstance(part, str) else "*" for part in path))


def interval_of(expr: Expr) -> Interval:
    """What an integer expression can be; the whole of its type where nothing closer is known."""
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
    """Each Bind as far down as it goes: computed only where it is used, paths not at all."""
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
