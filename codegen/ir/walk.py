"""Walks and rewrites nodes of the intermediate representation: expressions, bodies of steps, and tuples of them.

A node is any dataclass except a type, a span or an interval. So a pass may add nodes of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, overload

from codegen.ir.nodes import (
    ArrayOf,
    Assign,
    Bind,
    Body,
    Count,
    Decide,
    Expr,
    Filter,
    First,
    Image,
    Leaf,
    Quantifier,
    Step,
    Var,
)
from codegen.ir.types import Interval, Span, Type

BINDING = (Filter, Image, Quantifier, First, Count, ArrayOf)
"""Expressions that bind a variable over a domain. All but ArrayOf have the domain as a field."""

EXPRESSIONS = Expr.__args__
_NO_NODES = (Span, Interval, *Type.__args__)


class _Parts(dict[type, tuple[str, ...] | None]):
    """The fields of a kind of node that may hold other nodes; None for any other kind."""

    def __missing__(self, kind: type) -> tuple[str, ...] | None:
        names = None
        if is_dataclass(kind) and not issubclass(kind, _NO_NODES):
            names = tuple(item.name for item in fields(kind) if item.name not in ("span", "type", "interval"))
        self[kind] = names
        return names


_parts = _Parts()


def is_node(value: object) -> bool:
    return _parts[type(value)] is not None


def children(value: object) -> Iterator[Any]:
    """Yields the nodes directly below a node or a tuple, in the order of its fields."""
    if isinstance(value, tuple):
        for item in value:
            if isinstance(item, tuple):
                yield from children(item)
            elif is_node(item):
                yield item
    else:
        parts = _parts[type(value)]
        if parts is None:
            raise TypeError(f"only nodes and tuples have nodes below them, not {value!r}")
        for name in parts:
            yield from children((getattr(value, name),))


def walk(node: Any) -> Iterator[Any]:
    """Yields a node and all nodes below it. A node comes before those below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def rebuild(value: Any, change: Callable[[Any], Any]) -> Any:
    """Applies `change` to each node directly below a node or a tuple. Returns the same object if nothing changes."""
    if isinstance(value, tuple):
        items = tuple(change(item) if is_node(item) else rebuild(item, change) for item in value)
        return items if any(new is not old for new, old in zip(items, value)) else value
    changed = {}
    for name in _parts[type(value)] or ():
        old = getattr(value, name)
        new = change(old) if is_node(old) else rebuild(old, change)
        if new is not old:
            changed[name] = new
    return replace(value, **changed) if changed else value


def rewrite(node: Any, change: Callable[[Any], Any]) -> Any:
    """Applies `change` to every node of a tree, from the leaves up."""
    return change(rebuild(node, lambda child: rewrite(child, change)))


@overload
def substitute(node: Expr, name: str, by: Expr) -> Expr: ...


@overload
def substitute(node: Body, name: str, by: Expr) -> Body: ...


@overload
def substitute(node: tuple[Assign, ...], name: str, by: Expr) -> tuple[Assign, ...]: ...


def substitute(node: Any, name: str, by: Expr) -> Any:
    """Replaces every use of the variable `name` in a node or a tuple. Names are unique within a step."""
    if isinstance(node, Var):
        return by if node.name == name else node
    return rebuild(node, lambda child: substitute(child, name, by))


def uses(node: Any, name: str) -> int:
    """Counts the places that read the variable `name`."""
    return sum(isinstance(inner, Var) and inner.name == name for inner in walk(node))


def evaluations(node: Any, name: str) -> int:
    """Counts how often the variable `name` is read when the node is computed; a read inside a loop counts as several.

    The node may be a tuple.
    """
    if isinstance(node, Var):
        return int(node.name == name)
    below = sum(evaluations(child, name) for child in children(node))
    if isinstance(node, BINDING):
        domain = evaluations(node.domain, name) if not isinstance(node, ArrayOf) else 0
        return domain + 2 * (below - domain)
    return below


def leaves(body: Body) -> Iterator[Leaf]:
    """Yields the leaves of a step, in order."""
    match body:
        case Leaf():
            yield body
        case Decide(then=then, otherwise=otherwise):
            yield from leaves(then)
            yield from leaves(otherwise)
        case Bind(body=inner):
            yield from leaves(inner)
        case _:
            raise TypeError(f"only the body of a step has leaves, not {body!r}")


def is_called(step: Step, leaf: Leaf, label: str) -> bool:
    """Whether a leaf has that label. If several leaves have it, a number follows it in all but the first."""
    return leaf.name.partition(".")[0] == label and not leaf.name.startswith(f"{step.name}.")
