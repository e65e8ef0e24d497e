"""Random cases of a family, from a seed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from codegen import ir
from harness.conform.cases import Assignment, Family
from harness.conform.places import Place, Places
from harness.data.model_values import TLC_INT_MAX, is_opaque, refers, resolved

OPAQUE_MAX = 1000
ANY_VALUE = 0.5

Draw = Callable[[random.Random], Any]


class _Pools:
    """Holds the few values for the numbers of one sample, so that equal ones meet; swept indexes are among them."""

    def __init__(self, generator: random.Random, swept: range) -> None:
        self._generator = generator
        self._swept = swept
        self._values: dict[ir.Type, list[int]] = {}

    def draw(self, kind: ir.Type, limit: int) -> int:
        """Draws a number below the limit."""
        if kind not in self._values:
            noise = [self._generator.randrange(limit) for _ in range(3)]
            self._values[kind] = noise + [index for index in self._swept if index < limit]
        return self._generator.choice(self._values[kind])


def _settled_as_given(given: dict[Place, Any]) -> Assignment:
    return tuple(given.items())


@dataclass(frozen=True)
class Sampler:
    """Draws the cases of one build's families.

    capacities: the capacity for each of the message's fields that is an index.
    listed: returns the values that `all` means for a place without parts.
    arrived: adds the fields that are hashed when a packet arrives.
    blank: the message with all fields zero.
    """

    places: Places
    capacities: dict[str, int]
    listed: Callable[[Place, ir.Type], list[Any]]
    arrived: Callable[[dict[Place, Any]], dict[Place, Any]]
    blank: dict[str, Any]

    def sample(self, family: Family, count: int, generator: random.Random, first: int, anything: bool) -> Family:
        """Draws some cases of a family.

        anything: whether half of the values that `all` stands for may be whatever their types allow.
        """
        drawn: dict[Place, tuple[ir.Type, Draw | None]] = {}
        settled = _settled_as_given if self._is_settled(family) else self._settled
        samples: list[Assignment] = []
        for _ in range(count):
            pools = _Pools(generator, range(first, first + family.count))
            merged: dict[Place, Any] = {}
            for dimension in family.dimensions:
                assignment = dict(generator.choice(dimension))
                for place in assignment:
                    if place not in family.free:
                        continue
                    if place not in drawn:
                        kind = self.places.type_of(place)
                        drawn[place] = (
                            kind,
                            self._drawn(place, kind) if isinstance(kind, (ir.Array, ir.Record)) else None,
                        )
                    kind, draw = drawn[place]
                    if anything and generator.random() < ANY_VALUE:
                        assignment[place] = self._any(place, kind, pools, generator)
                    elif draw:
                        assignment[place] = draw(generator)
                merged |= assignment
            samples.append(settled(self.arrived(merged) if family.arrives else merged))
        return replace(family, first=first, dimensions=(tuple(samples),), sampled=True)

    def _is_settled(self, family: Family) -> bool:
        """Whether neither a value of the family nor one that may be drawn refers to another."""
        listed = (value for place in family.free for value in self._leaves(place, self.places.type_of(place)))
        given = (value for dimension in family.dimensions for assignment in dimension for _, value in assignment)
        return not any(map(refers, itertools.chain(listed, given)))

    def _leaves(self, place: Place, kind: ir.Type) -> Iterator[Any]:
        """Yields all values that may be drawn for the parts of a place."""
        match kind:
            case ir.Array():
                yield from self._leaves(place, kind.element)
            case ir.Record():
                for name, field in kind.fields:
                    yield from self._leaves(place.inner(name), field)
            case _:
                yield from self.places.generate_of(place, kind, self.listed)

    def _settled(self, given: dict[Place, Any]) -> Assignment:
        """Replaces the references of a case by their values."""
        message = {place.field: value for place, value in given.items() if place.home == "message" and not place.rest}
        return tuple(
            (place, resolved(value, self.blank | message) if refers(value) else value) for place, value in given.items()
        )

    def _drawn(self, place: Place, kind: ir.Type) -> Draw:
        """Returns a function that draws each part from the values that `all` means for it; made once, used often."""
        match kind:
            case ir.Array():
                element = self._drawn(place, kind.element)
                return lambda generator: tuple(element(generator) for _ in range(kind.size))
            case ir.Record():
                fields = [(name, self._drawn(place.inner(name), field)) for name, field in kind.fields]
                return lambda generator: {name: draw(generator) for name, draw in fields}
        values = self.places.generate_of(place, kind, self.listed)
        return lambda generator: generator.choice(values)

    def _number(self, place: Place, kind: ir.Type, pools: _Pools, limit: int) -> int:
        return pools.draw(kind, limit) % (self.capacities.get(str(place)) or limit)

    def _any(self, place: Place, kind: ir.Type, pools: _Pools, generator: random.Random) -> Any:
        match kind:
            case ir.UInt() if not is_opaque(kind):
                return self._number(place, kind, pools, min(2**kind.width, TLC_INT_MAX))
            case ir.UInt() | ir.Bytes():
                return self._number(place, kind, pools, OPAQUE_MAX)
            case ir.Bool():
                return generator.random() < 0.5
            case ir.Enum():
                return generator.choice(kind.members)
            case ir.Bits():
                chosen = [item for item in kind.elements if generator.random() < 0.5]
                return frozenset(chosen if len(chosen) <= kind.most else generator.sample(chosen, kind.most))
            case ir.Array():
                return tuple(self._any(place, kind.element, pools, generator) for _ in range(kind.size))
            case ir.Record():
                return {name: self._any(place.inner(name), field, pools, generator) for name, field in kind.fields}
            case ir.Set() | ir.Sequence():
                size = generator.randint(0, kind.max)
                items = [self._any(place, kind.element, pools, generator) for _ in range(size)]
                return frozenset(items) if isinstance(kind, ir.Set) else tuple(items)
        raise self.places.refuse(place)
