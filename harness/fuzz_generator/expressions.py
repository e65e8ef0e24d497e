"""Expressions of TLA+: the text of each beside its value, so that this file is an evaluator of its own.

It shares nothing with the generator, nor with TLC. A constructor here gives both, and `drawing` chooses among them.
"""

from __future__ import annotations

import operator as operators
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.fuzz_generator.kinds import Array, Bits, Enum, Kind, Number, Opaque, Queue, Record, Truth

Scope = Mapping[str, Any]
"""The values of names. A definition of a LET is a function, so that it is evaluated where it is used."""

TRUTH = Truth()
COUNTED = 2**29
"""Results of arithmetic stay below this, because TLC counts with 32 bits."""


@dataclass(frozen=True)
class Expression:
    """An expression. low, high: bounds of a number, or of the items of a set."""

    kind: Kind
    text: str
    value: Callable[[Scope], Any]
    low: int = 0
    high: int = 0

    def __str__(self) -> str:
        return self.text


def named(name: str, kind: Kind) -> Expression:
    """A name that the scope has."""
    last = kind.last if isinstance(kind, Number) else 0
    return Expression(kind, name, lambda scope: scope[name], 0, last)


def bound(name: str, low: int, high: int) -> Expression:
    """A number that a binder or a parameter names."""
    return Expression(Number(30), name, lambda scope: _now(scope[name]), low, high)


def defined(name: str, what: Expression) -> Expression:
    """A name that a LET defines as `what`."""
    return replace(what, text=name, value=lambda scope: scope[name]())


# --- Literals ----------------------------------------------------------------------------------


def number(value: int) -> Expression:
    return Expression(Number(30), str(value) if value >= 0 else f"(- {-value})", lambda _: value, value, value)


def truth(value: bool) -> Expression:
    return Expression(TRUTH, "TRUE" if value else "FALSE", lambda _: value)


def member(kind: Enum, name: str) -> Expression:
    return Expression(kind, f'"{name}"', lambda _: name)


def nothing(kind: Kind) -> Expression:
    """Opaque zero, the empty set or the empty sequence."""
    text = {Opaque: "0", Queue: "<< >>"}.get(type(kind), "{}")
    return Expression(kind, text, lambda _: kind.zero())


def items(kind: Kind, each: list[Expression]) -> Expression:
    """A set, sequence or array of these."""
    inside = ", ".join(map(str, each))
    if isinstance(kind, (Queue, Array)):
        return Expression(kind, f"<<{inside}>>", lambda scope: tuple(one.value(scope) for one in each))
    return Expression(kind, "{" + inside + "}", lambda scope: frozenset(one.value(scope) for one in each))


def record(kind: Record, fields: dict[str, Expression]) -> Expression:
    inside = ", ".join(f"{name} |-> {each}" for name, each in fields.items())
    return Expression(kind, f"[{inside}]", lambda scope: {name: each.value(scope) for name, each in fields.items()})


# --- Parts -------------------------------------------------------------------------------------


def field(whole: Expression, name: str) -> Expression:
    assert isinstance(whole.kind, Record)
    kind = dict(whole.kind.fields)[name]
    last = kind.last if isinstance(kind, Number) else 0
    return Expression(kind, f"{whole}.{name}", lambda scope: whole.value(scope)[name], 0, last)


def element(whole: Expression, index: Expression) -> Expression:
    """An element of an array or a sequence; the index must be in range."""
    assert isinstance(whole.kind, (Array, Queue))
    kind = whole.kind.item
    last = kind.last if isinstance(kind, Number) else 0

    def value(scope: Scope) -> Any:
        at = index.value(scope)
        assert at >= 1, "an index below the first element"
        return whole.value(scope)[at - 1]

    return Expression(kind, f"{whole}[{index}]", value, 0, last)


# --- Arithmetic --------------------------------------------------------------------------------

_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operators.add,
    "-": operators.sub,
    "*": operators.mul,
    "\\div": operators.floordiv,
    "%": operators.mod,
}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operators.eq,
    "#": operators.ne,
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}


def arithmetic(sign: str, a: Expression, b: Expression) -> Expression:
    """A sum, difference, product, quotient or remainder. The divisor must be a positive literal."""
    function = _ARITHMETIC[sign]
    if sign == "%":
        low, high = 0, b.high - 1
    else:
        ends = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        low, high = min(ends), max(ends)
    return Expression(
        Number(30), f"({a} {sign} {b})", lambda scope: function(a.value(scope), b.value(scope)), low, high
    )


def negative(a: Expression) -> Expression:
    return Expression(Number(30), f"(- {a})", lambda scope: -a.value(scope), -a.high, -a.low)


def compared(sign: str, a: Expression, b: Expression) -> Expression:
    function = _COMPARISONS[sign]
    return Expression(TRUTH, f"({a} {sign} {b})", lambda scope: function(a.value(scope), b.value(scope)))


def connected(sign: str, a: Expression, b: Expression) -> Expression:
    r"""A formula of two: /\, \/, => or <=>. Python's operators are as lazy as TLA+'s."""
    values: dict[str, Callable[[Scope], bool]] = {
        "/\\": lambda scope: a.value(scope) and b.value(scope),
        "\\/": lambda scope: a.value(scope) or b.value(scope),
        "=>": lambda scope: not a.value(scope) or b.value(scope),
        "<=>": lambda scope: a.value(scope) == b.value(scope),
    }
    return Expression(TRUTH, f"({a} {sign} {b})", values[sign])


def negated(a: Expression) -> Expression:
    return Expression(TRUTH, f"(~ {a})", lambda scope: not a.value(scope))


def chosen(test: Expression, a: Expression, b: Expression) -> Expression:
    """IF test THEN a ELSE b."""
    return Expression(
        a.kind,
        f"(IF {test} THEN {a} ELSE {b})",
        lambda scope: a.value(scope) if test.value(scope) else b.value(scope),
        min(a.low, b.low),
        max(a.high, b.high),
    )


def cases(arms: list[tuple[Expression, Expression]], other: Expression) -> Expression:
    """CASE, of which the first arm counts."""

    def value(scope: Scope) -> Any:
        return next((result for test, result in arms if test.value(scope)), other).value(scope)

    inside = " [] ".join(f"{test} -> {result}" for test, result in arms)
    every = [result for _, result in arms] + [other]
    low, high = min(each.low for each in every), max(each.high for each in every)
    return Expression(other.kind, f"(CASE {inside} [] OTHER -> {other})", value, low, high)


# --- Definitions -------------------------------------------------------------------------------


def let(name: str, what: Expression, body: Expression) -> Expression:
    def value(scope: Scope) -> Any:
        return body.value({**scope, name: lambda: what.value(scope)})

    return replace(body, text=f"(LET {name} == {what} IN {body})", value=value)


def let_of(name: str, parameter: str, what: Expression, body: Expression) -> Expression:
    """LET name(parameter) == what IN body, where `body` has applications of the name."""

    def value(scope: Scope) -> Any:
        return body.value({**scope, name: lambda argument: what.value({**scope, parameter: argument})})

    return replace(body, text=f"(LET {name}({parameter}) == {what} IN {body})", value=value)


@dataclass(frozen=True)
class _Later:
    """An argument. It has a value where the operator uses it: TLC evaluates no other, and maybe could not."""

    what: Expression
    scope: Scope


def _now(found: Any) -> Any:
    return found.what.value(found.scope) if isinstance(found, _Later) else found


def applied(name: str, what: Expression, arguments: list[Expression]) -> Expression:
    """The application of an operator that the scope has. what: its body, for its kind and bounds."""
    inside = ", ".join(map(str, arguments))

    def value(scope: Scope) -> Any:
        return _now(scope[name])(*(_Later(each, scope) for each in arguments))

    return replace(what, text=f"{name}({inside})", value=value)


def operator(name: str) -> Expression:
    """An operator that the scope has, as an argument."""
    return Expression(TRUTH, name, lambda scope: _now(scope[name]))


def function_of(parameter: str, body: Expression) -> Expression:
    """LAMBDA parameter : body, as an argument."""

    def value(scope: Scope) -> Callable[[Any], Any]:
        return lambda argument: body.value({**scope, parameter: argument})

    return Expression(TRUTH, f"LAMBDA {parameter} : {body}", value)


# --- Sets --------------------------------------------------------------------------------------


def united(kind: Kind, sign: str, a: Expression, b: Expression) -> Expression:
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "\\cup": operators.or_,
        "\\cap": operators.and_,
        "\\": operators.sub,
    }
    function = functions[sign]
    return Expression(kind, f"({a} {sign} {b})", lambda scope: function(a.value(scope), b.value(scope)))


def within(one: Expression, many: Expression, *, negative_form: bool = False) -> Expression:
    sign = "\\notin" if negative_form else "\\in"
    return Expression(
        TRUTH, f"({one} {sign} {many})", lambda scope: (one.value(scope) in many.value(scope)) != negative_form
    )


def part_of(a: Expression, b: Expression) -> Expression:
    return Expression(TRUTH, f"({a} \\subseteq {b})", lambda scope: a.value(scope) <= b.value(scope))


def span(low: Expression, high: Expression) -> Expression:
    """The range low..high. Its bounds are those of its items."""
    return Expression(
        Bits(64),
        f"{low}..{high}",
        lambda scope: frozenset(range(low.value(scope), high.value(scope) + 1)),
        low.low,
        high.high,
    )


def kept(kind: Kind, name: str, many: Expression, test: Expression) -> Expression:
    """The items of a set that pass a test."""
    return Expression(
        kind,
        f"{{{name} \\in {many} : {test}}}",
        lambda scope: frozenset(each for each in many.value(scope) if test.value({**scope, name: each})),
        many.low,
        many.high,
    )


def mapped(kind: Kind, name: str, many: Expression, image: Expression) -> Expression:
    """The images of a set's items."""
    return Expression(
        kind,
        f"{{{image} : {name} \\in {many}}}",
        lambda scope: frozenset(image.value({**scope, name: each}) for each in many.value(scope)),
    )


def size_of(many: Expression, most: int) -> Expression:
    return Expression(Number(30), f"Cardinality({many})", lambda scope: len(many.value(scope)), 0, most)


def quantified(every: bool, name: str, many: Expression, test: Expression) -> Expression:
    function = all if every else any
    return Expression(
        TRUTH,
        f"(\\{'A' if every else 'E'} {name} \\in {many} : {test})",
        lambda scope: function(test.value({**scope, name: each}) for each in many.value(scope)),
    )


def first_index(name: str, low: int, high: int, none: int, test: Expression) -> Expression:
    """FirstIndex of Offload.tla."""

    def value(scope: Scope) -> int:
        return next((each for each in range(low, high + 1) if test.value({**scope, name: each})), none)

    text = f"FirstIndex({low}, {high}, {none}, LAMBDA {name} : {test})"
    return Expression(Number(30), text, value, min(low, none), max(high, none))


def least(name: str, low: int, high: int, none: int, test: Expression) -> Expression:
    """CHOOSE the least of a range; none: the number if no item passes the test."""
    other = f"{name}_before"
    before = re.sub(rf"\b{name}\b", other, test.text)
    text = (
        f"(IF \\E {name} \\in {low}..{high} : {test} THEN CHOOSE {name} \\in {low}..{high} : {test} /\\ "
        f"\\A {other} \\in {low}..({name} - 1) : ~ {before} ELSE {none})"
    )
    return replace(first_index(name, low, high, none, test), text=text)


def count_index(name: str, low: int, high: int, test: Expression) -> Expression:
    """CountIndex of Offload.tla."""

    def value(scope: Scope) -> int:
        return sum(1 for each in range(low, high + 1) if test.value({**scope, name: each}))

    text = f"CountIndex({low}, {high}, LAMBDA {name} : {test})"
    return Expression(Number(30), text, value, 0, max(0, high - low + 1))


# --- Sequences and arrays ----------------------------------------------------------------------


def length(queue: Expression) -> Expression:
    assert isinstance(queue.kind, Queue)
    return Expression(Number(30), f"Len({queue})", lambda scope: len(queue.value(scope)), 0, queue.kind.most)


def appended(queue: Expression, one: Expression) -> Expression:
    return replace(queue, text=f"Append({queue}, {one})", value=lambda scope: (*queue.value(scope), one.value(scope)))


def head(queue: Expression) -> Expression:
    assert isinstance(queue.kind, Queue)
    return Expression(queue.kind.item, f"Head({queue})", lambda scope: queue.value(scope)[0], 0, queue.kind.item.last)


def tail(queue: Expression) -> Expression:
    def value(scope: Scope) -> Any:
        whole = queue.value(scope)
        assert whole, "the tail of nothing"
        return whole[1:]

    return replace(queue, text=f"Tail({queue})", value=value)


def function(kind: Array, name: str, each: Expression) -> Expression:
    """[name \\in 1..size |-> each]"""
    return Expression(
        kind,
        f"[{name} \\in 1..{kind.size} |-> {each}]",
        lambda scope: tuple(each.value({**scope, name: at}) for at in range(1, kind.size + 1)),
    )


# --- EXCEPT ------------------------------------------------------------------------------------

Path = tuple["str | Expression", ...]
"""Fields and indices, from the whole to a part."""


@dataclass(frozen=True)
class Update:
    """One update of an EXCEPT. The new value may use the old one by the name `@`."""

    path: Path
    new: Expression

    def __str__(self) -> str:
        steps = (f".{step}" if isinstance(step, str) else f"[{step}]" for step in self.path)
        return f"!{''.join(steps)} = {self.new}"


def old(kind: Kind) -> Expression:
    """`@`"""
    return named("@", kind)


def except_(whole: Expression, updates: list[Update]) -> Expression:
    """[whole EXCEPT updates]: of several updates the later see the earlier."""

    def value(scope: Scope) -> Any:
        result = whole.value(scope)
        for update in updates:
            result = _updated(result, update.path, update.new, scope)
        return result

    return replace(whole, text=f"[{whole} EXCEPT {', '.join(map(str, updates))}]", value=value)


def _updated(whole: Any, path: Path, new: Expression, scope: Scope) -> Any:
    if not path:
        return new.value({**scope, "@": whole})
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        return {**whole, step: _updated(whole[step], rest, new, scope)}
    at = step.value(scope) - 1
    if not 0 <= at < len(whole):
        return whole  # as in TLA+, an update outside of the domain changes nothing
    return (*whole[:at], _updated(whole[at], rest, new, scope), *whole[at + 1 :])
