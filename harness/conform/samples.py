"""Random cases of a family, from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from codegen import ir
from harness.conform.families import Assignment, Family
from harness.conform.places import Place, Places
from harness.conform.values import TLC_INT_MAX, is_opaque, refers, resolved

OPAQUE_MAX = 1000
ANY_VALUE = 0.5


class _Pools:
    """The few values that the numbers of one sample are drawn from, so that they meet; swept indexes among them."""

    def __init__(self, generator: random.Random, swept: range) -> None:
        self._generator = generator
        self._swept = swept
        self._values: dict[ir.Type, list[int]] = {}

    def draw(self, kind: ir.Type, limit: int) -> int:
        """A number below the limit."""
        if kind not in self._values:
            noise = [self._generator.randrange(limit) for _ in range(3)]
            self._values[kind] = noise + [index for index in self._swept if index < limit]
        return self._generator.choice(self._values[kind])


@dataclass(frozen=True)
class Sampler:
    """Draws the cases of one build's families.

    capacities: of the message's fields that are indexes. listed: what `all` means for a place without parts.
    arrived: adds to an assignment what is hashed when a packet arrives. blank: the message with nothing in it.
    """

    places: Places
    capacities: dict[str, int]
    listed: Callable[[Place, ir.Type], list[Any]]
    arrived: Callable[[dict[Place, Any]], dict[Place, Any]]
    blank: dict[str, Any]

    def sample(self, family: Family, count: int, generator: random.Random, first: int, anything: bool) -> Family:
        """Some cases of a family. anything: half of the values that `all` stands for are whatever their types allow."""
        samples: list[Assignment] = []
        for _ in range(count):
            pools = _Pools(generator, range(first, first + family.count))
            merged: dict[Place, Any] = {}
            for dimension in family.dimensions:
                assignment = dict(generator.choice(dimension))
                for place in assignment:
                    if place not in family.free:
                        continue
                    kind = self.places.type_of(place)
                    if anything and generator.random() < ANY_VALUE:
                        assignment[place] = self._any(place, kind, pools, generator)
                    elif isinstance(kind, (ir.Array, ir.Record)):
                        assignment[place] = self._listed(place, kind, generator)
                merged |= assignment
            samples.append(self._settled(self.arrived(merged) if family.arrives else merged))
        return replace(family, first=first, dimensions=(tuple(samples),), sampled=True)

    def _settled(self, given: dict[Place, Any]) -> Assignment:
        """A case with what its references stand for."""
        message = {place.field: value for place, value in given.items() if place.home == "message" and not place.rest}
        return tuple((place, resolved(value, self.blank | message) if refers(value) else value) for place, value in given.items())

    def _listed(self, place: Place, kind: ir.Type, generator: random.Random) -> Any:
        """Parts by themselves, each one of what `all` means for it."""
        match kind:
            case ir.Array():
                return tuple(self._listed(place, kind.element, generator) for _ in range(kind.size))
            case ir.Record():
                return {name: self._listed(place.inner(name), field, generator) for name, field in kind.fields}
        return generator.choice(self.places.generate_of(place, kind, self.listed))

    def _any(self, place: Place, kind: ir.Type, pools: _Pools, generator: random.Random) -> Any:
        match kind:
            case ir.UInt() | ir.Bytes():
                limit = OPAQUE_MAX if is_opaque(kind) else min(2**kind.width, TLC_INT_MAX)
                return pools.draw(kind, limit) % (self.capacities.get(str(place)) or limit)
            case ir.Bool():
                return generator.random() < 0.5
            case ir.Enum():
                return generator.choice(kind.members)
            case ir.Bits():
                return frozenset(item for item in range(kind.size) if generator.random() < 0.5)
            case ir.Array():
                return tuple(self._any(place, kind.element, pools, generator) for _ in range(kind.size))
            case ir.Record():
                return {name: self._any(place.inner(name), field, pools, generator) for name, field in kind.fields}
            case ir.Set() | ir.Sequence():
                size = generator.randint(0, kind.max)
                items = [self._any(place, kind.element, pools, generator) for _ in range(size)]
                return frozenset(items) if isinstance(kind, ir.Set) else tuple(items)
        raise self.places.refuse(place)
