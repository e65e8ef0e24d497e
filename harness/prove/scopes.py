"""The names, operators and leaves of an evaluation: see evaluator.py."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from harness.prove.memory import Unsupported
from harness.prove.syntax import Node
from harness.prove.terms import Truth
from harness.prove.values import Record, Value


@dataclass(eq=False)
class Later:
    """A definition or an argument, evaluated when it is first needed."""

    node: Node
    scope: Scope
    value: Value | None = None
    duties: list[Truth] = field(default_factory=list)


@dataclass(eq=False)
class Closure:
    """An operator with the scope of its text, or a built-in operator if it has no text."""

    name: str
    parameters: tuple[str, ...]
    body: Node | None
    scope: Scope
    known: dict[tuple[int, ...], tuple[Value, list[Truth]]] = field(default_factory=dict)
    """Results for constant integers."""


@dataclass(eq=False)
class Scope:
    """The meanings of names, by their numbers. `at` is the value of @."""

    bound: dict[str, Value | Later | Closure]
    outer: Scope | None = None
    at: Value | None = None

    def find(self, uid: str) -> Value | Later | Closure | None:
        """The meaning of a name."""
        scope: Scope | None = self
        while scope is not None:
            if uid in scope.bound:
                return scope.bound[uid]
            scope = scope.outer
        return None

    def old(self) -> Value:
        """The value of @."""
        scope: Scope | None = self
        while scope is not None:
            if scope.at is not None:
                return scope.at
            scope = scope.outer
        raise Unsupported("@ outside of EXCEPT")


@dataclass(frozen=True)
class Leaf:
    """An end of a step: the condition that it is this one, its result, and what must hold for TLC to get there.

    path: the arm of each decision, which identifies the leaf. reason: why it cannot be evaluated, if it cannot.
    """

    guard: tuple[Truth, ...]
    result: Record
    duties: tuple[Truth, ...]
    name: str
    path: tuple[int, ...]
    reason: str = ""


@dataclass(frozen=True)
class Trail:
    """The way to a leaf: the last label, the place of the last operator that is not of Offload.tla, and the arms."""

    label: str = ""
    place: str = ""
    path: tuple[int, ...] = ()
    reason: str = ""

    def arm(self, at: int) -> Trail:
        """The way into an arm."""
        return replace(self, path=(*self.path, at))

    @property
    def name(self) -> str:
        """The name of the leaf, for people."""
        return f"{self.label} ({self.place})" if self.label else self.place
