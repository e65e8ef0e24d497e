"""Places of a domain: parts of the message, the environment or a cell, and the values that they can have."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeGuard, TypeVar

from codegen import ir
from codegen.layout.drain import ENTRY
from harness.data.model_values import TLC_INT_MAX, Reference, layout_text, zero

Step = str | int
"""A field of a record by its name, or an element of an array by its number, from 1."""

NAME, NUMBER = re.compile(r"[A-Za-z]\w*"), re.compile(r"\d+")


class DomainError(Exception):
    """conform.yaml does not fit the protocol; the message says where."""


@dataclass(frozen=True)
class Place:
    """A place for a value.

    home: `message`, `env` or a table.
    index: the cell's index; None for the cell that the message addresses.
    rest: the path within the field to the part; empty for the whole field.
    """

    home: str
    index: int | None
    field: str
    rest: tuple[Step, ...] = ()

    def __str__(self) -> str:
        return ".".join(map(str, (self.home, *(() if self.index is None else (self.index,)), self.field, *self.rest)))

    @property
    def kind(self) -> str:
        """Its name without numbers of cells and of elements, as under `values` of conform.yaml."""
        return ".".join([self.home, self.field, *(step for step in self.rest if isinstance(step, str))])

    def within(self, other: Place) -> bool:
        """Whether it is the other place or a part of it."""
        return (self.home, self.index, self.field) == (other.home, other.index, other.field) and (
            self.rest[: len(other.rest)] == other.rest
        )

    def inner(self, step: Step) -> Place:
        """A part of this place."""
        return replace(self, rest=(*self.rest, step))


class Beyond(DomainError):
    """The array has fewer elements than the place's number."""


class Places:
    """The places of one protocol, their types, and values for them. source: the file that errors name."""

    def __init__(self, protocol: ir.Protocol, source: str) -> None:
        self._protocol = protocol
        self._source = source
        self._homes: dict[str, ir.Record] = {"message": protocol.message, "env": protocol.env}
        self._homes |= {table.name: table.cell for table in protocol.tables}

    def place(self, text: str) -> Place:
        """Returns the place that `text` names; raises DomainError if there is none."""
        home, *rest = text.split(".")
        index = int(rest.pop(0)) if len(rest) > 1 and NUMBER.fullmatch(rest[0]) else None
        if not NAME.fullmatch(home) or not rest or not NAME.fullmatch(rest[0]) or not all(map(_is_step, rest)):
            raise DomainError(
                f"{self._source}: {text!r} is not a place: write message.FIELD, env.FIELD or TABLE.FIELD, "
                "and behind that an element's number or a field's name"
            )
        if home == ENTRY and home in self._homes and index is None:
            index = 0  # recovery has just one cell
        steps = tuple(int(step) if NUMBER.fullmatch(step) else step for step in rest[1:])
        place = Place(home, index, rest[0], steps)
        self.type_of(place)
        return place

    def kind(self, text: str) -> str:
        """Returns `Place.kind` of the places that `text` stands for, which lacks the numbers of elements."""
        home, *steps = text.split(".")
        place = Place(home, None, steps[0] if steps else "")
        kind = self.type_of(place)
        for step in steps[1:]:
            while isinstance(kind, (ir.Array, ir.Set, ir.Sequence)):
                kind = kind.element
            kind = self._inner(place, kind, step)
            place = place.inner(step)
        return place.kind

    def type_of(self, place: Place) -> ir.Type:
        """Returns the layout's type of a place; raises DomainError if there is none."""
        if place.home not in self._homes:
            raise DomainError(f"{self._source}: {place}: {place.home!r} is not one of {', '.join(self._homes)}")
        kind: ir.Type = self._homes[place.home]
        for step in (place.field, *place.rest):
            kind = self._inner(place, kind, step)
        return kind

    def _inner(self, place: Place, kind: ir.Type, step: Step) -> ir.Type:
        match kind:
            case ir.Record() if step in dict(kind.fields):
                return kind.field(str(step))
            case ir.Record():
                raise DomainError(f"{self._source}: {place}: {step!r} is not one of {', '.join(dict(kind.fields))}")
            case ir.Array() if isinstance(step, int):
                if 1 <= step <= kind.size:
                    return kind.element
                raise Beyond(
                    f"{self._source}: {place}: there is no element {step}; elements are numbered from 1 to {kind.size}"
                )
        raise DomainError(f"{self._source}: {place}: {layout_text(kind)} has no part {step!r}")

    # --- Values of the file --------------------------------------------------------------

    def coerce(self, place: Place, kind: ir.Type, value: Any) -> Any:
        """Converts a value of the file to a model value of the type."""
        if isinstance(value, str) and value.startswith("="):
            return self._reference(place, kind, value[1:])
        each = self.coerce
        match kind:
            case ir.Bool() if isinstance(value, bool):
                return value
            case ir.Enum() if value in kind.members:
                return value
            case ir.UInt() if _is_number(value) and 0 <= value < min(2**kind.width, TLC_INT_MAX + 1):
                return value
            case ir.Bytes() if _is_number(value) and 0 <= value <= TLC_INT_MAX:
                return value
            case ir.Set() if isinstance(value, list) and len(value) <= kind.max:
                return frozenset(each(place, kind.element, item) for item in value)
            case ir.Bits() if isinstance(value, list) and all(item in kind.elements for item in value):
                if len(set(value)) > kind.most:
                    raise DomainError(f"{self._source}: {place}: {_refusal(kind, value)}")
                return frozenset(value)
            case ir.Array() if isinstance(value, list) and len(value) == kind.size:
                return tuple(each(place, kind.element, item) for item in value)
            case ir.Sequence() if isinstance(value, list) and len(value) <= kind.max:
                return tuple(each(place, kind.element, item) for item in value)
            case ir.Record() if isinstance(value, dict) and set(value) <= set(dict(kind.fields)):
                given = {
                    name: each(place.inner(name), field, value[name]) for name, field in kind.fields if name in value
                }
                return zero(kind) | given
        raise DomainError(f"{self._source}: {place}: {_refusal(kind, value)}")

    def _reference(self, place: Place, kind: ir.Type, name: str) -> Reference:
        """Parses `=message.FIELD`, which stands for the field's value once the message has arrived."""
        home, _, field = name.partition(".")
        if home != "message" or field not in dict(self._protocol.message.fields) or place.home in ("message", "env"):
            raise DomainError(
                f"{self._source}: {place}: {'=' + name!r} refers to nothing: write =message.FIELD, in a cell"
            )
        found = self._protocol.message.field(field)
        if found != kind:
            raise DomainError(
                f"{self._source}: {place}: {'=' + name!r} is {layout_text(found)}, not {layout_text(kind)}"
            )
        return Reference(field)

    # --- Values of the types -------------------------------------------------------------

    def generate(self, place: Place, scalars: Callable[[Place, ir.Type], list[Any]]) -> list[Any]:
        """Returns the values that `all` means for a place. scalars: returns them for a place without parts."""
        return self.generate_of(place, self.type_of(place), scalars)

    def generate_of(self, place: Place, kind: ir.Type, scalars: Callable[[Place, ir.Type], list[Any]]) -> list[Any]:
        """Does the same for a part of a place, or an item of it. kind: its type."""
        match kind:
            case ir.Set() | ir.Bits():
                held = kind.source if isinstance(kind, ir.Bits) and kind.source is not None else kind
                element, most = (held.element, held.max) if isinstance(held, ir.Set) else (ir.UInt(6), held.size)
                universe = [
                    item for item in scalars(place, element) if isinstance(kind, ir.Set) or item in kind.elements
                ]
                return [
                    frozenset(chosen)
                    for size in range(min(most, len(universe)) + 1)
                    for chosen in itertools.combinations(universe, size)
                ]
            case ir.Array():
                return _few_tuples(self.generate_of(place, kind.element, scalars), kind.size)
            case ir.Sequence():
                universe = self.generate_of(place, kind.element, scalars)
                return [each for size in range(kind.max + 1) for each in _few_tuples(universe, size)]
            case ir.Record():
                lists = {name: self.generate_of(place.inner(name), field, scalars) for name, field in kind.fields}
                most = max(map(len, lists.values()))
                return [{name: values[at % len(values)] for name, values in lists.items()} for at in range(most)]
        return scalars(place, kind)

    def refuse(self, place: Place) -> DomainError:
        """The error for a place whose values cannot be generated."""
        return DomainError(
            f"{self._source}: {place}: give its values: `all` of {layout_text(self.type_of(place))} cannot be generated"
        )


def _is_step(text: str) -> bool:
    return bool(NAME.fullmatch(text) or NUMBER.fullmatch(text))


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _few_tuples(universe: list[Any], size: int) -> list[tuple[Any, ...]]:
    """Returns all tuples if they are few, else those in which at most one element differs."""
    if len(universe) ** size <= 64:
        return list(itertools.product(universe, repeat=size))
    constant = [(item,) * size for item in universe]
    mixed = [tuple(universe[1] if at == odd else universe[0] for at in range(size)) for odd in range(size)]
    found: list[tuple[Any, ...]] = []
    for each in constant + mixed:
        if each not in found:  # some are not hashable
            found.append(each)
    return found


def _refusal(kind: ir.Type, value: Any) -> str:
    """Says why a value of the file is not a value of the type."""
    shown, text = repr(value) if isinstance(value, str) else value, layout_text(kind)
    match kind:
        case ir.Enum():
            return f"{shown} is not a member of {text}"
        case ir.Bytes() if isinstance(value, int):
            return (
                f"{shown} does not stand for bytes: write a small number, each of which stands for other bytes, "
                "and 0 for zeros"
            )
        case ir.UInt() if isinstance(value, int) and TLC_INT_MAX < value < 2**kind.width:
            return (
                f"{shown} is a value of {text}, but TLC cannot compute with it: its integers end at "
                f"{TLC_INT_MAX} (2^31 - 1)"
            )
        case ir.UInt() if _is_number(value):
            return f"{shown} is not a value of {text}, which holds 0..{2**kind.width - 1}"
    return f"{shown} is not a value of {text}"


Value = TypeVar("Value")


def nest(
    kind: ir.Type,
    parts: dict[tuple[Step, ...], Value],
    of_zero: Callable[[ir.Type], Value],
    record: Callable[[dict[str, Value]], Value],
    array: Callable[[list[Value]], Value],
) -> Value:
    """Builds a value of a type from values of its parts, by their paths. Parts that are not given are zero."""
    if () in parts:
        return parts[()]
    if not parts:
        return of_zero(kind)
    # Most parts are whole fields, and a domain has millions of them: they need no recursion.
    whole: dict[Step, Value] = {}
    inner: dict[Step, dict[tuple[Step, ...], Value]] = {}
    for way, value in parts.items():
        if len(way) == 1:
            whole[way[0]] = value
        else:
            inner.setdefault(way[0], {})[way[1:]] = value

    def part(step: Step, kind: ir.Type) -> Value:
        if step in whole:
            return whole[step]
        return nest(kind, inner[step], of_zero, record, array) if step in inner else of_zero(kind)

    match kind:
        case ir.Record():
            return record({name: part(name, field) for name, field in kind.fields})
        case ir.Array():
            return array([part(at, kind.element) for at in range(1, kind.size + 1)])
    raise TypeError(f"{kind} has no parts")


def built(kind: ir.Type, parts: dict[tuple[Step, ...], Any]) -> Any:
    """Does `nest` for model values."""
    return nest(kind, parts, zero, dict, tuple)
