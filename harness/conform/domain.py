"""The domain: which cells, messages and environments a protocol's hooks are compared on.

`spec/<protocol>/conform.yaml` declares it: see docs/conform.md.
"""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from codegen import ir
from codegen.errors import SpecErrors
from harness import documents
from harness.conform.values import TLC_INT_MAX, Patterns, hash_index, is_opaque, layout_text, zero

PLACE = re.compile(r"(?P<home>\w+)(\.(?P<index>\d+))?\.(?P<field>\w+)")
CASES_MAX = 200_000
PAIRS_MIN = 10_000
DESCRIBED_IN = "docs/conform.md"


class DomainError(Exception):
    """conform.yaml says something that the protocol has no place for."""


def _hook(value: Any) -> Any:
    if value in ("xdp", "tc", "user") or isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise ValueError("it must be xdp, tc, user, or the number of a pass of the sweep, counted from 1")


def _varied(value: Any) -> Any:
    if value == "all" or isinstance(value, list):
        return value
    raise ValueError("it must be all, or a list of values")


Count = Annotated[int, pydantic.Field(ge=0, strict=True)]


class FamilyText(documents.Strict):
    """A family as the file has it."""

    name: str
    hook: Annotated[Any, pydantic.BeforeValidator(_hook)]
    only: Literal["small", "shipped", ""] = ""
    given: dict[str, Any] = {}
    vary: dict[str, Annotated[Any, pydantic.BeforeValidator(_varied)]] = {}
    together: list[Annotated[list[dict[str, Any]], pydantic.Field(min_length=1)]] = []
    first: Count = 0
    count: Count = 0
    contended: Count = 0
    rival: dict[str, Any] = {}


class DomainText(documents.Strict):
    """conform.yaml. pairs_min: how many evaluations of steps a small build is to come to."""

    small: dict[str, Any] = {}
    values: dict[str, list[Any]] = {}
    families: Annotated[list[FamilyText], pydantic.Field(min_length=1)]
    samples: Annotated[int, pydantic.Field(ge=1, strict=True)] = 150
    pairs_min: Annotated[int, pydantic.Field(ge=1, strict=True)] = PAIRS_MIN


@dataclass(frozen=True)
class Place:
    """Where a value goes. home: `message`, `env` or a table; index None: the cell that the message addresses."""

    home: str
    index: int | None
    field: str

    def __str__(self) -> str:
        return f"{self.home}{'' if self.index is None else f'.{self.index}'}.{self.field}"


Assignment = tuple[tuple[Place, Any], ...]


@dataclass(frozen=True)
class Trouble:
    """A section that loses its races: see Undisturbed in Oracle.tla. section 0: none does."""

    section: int = 0
    always: bool = False
    rival: tuple[tuple[str, Any], ...] | None = None


@dataclass(frozen=True)
class Family:
    """A product of dimensions, each a list of assignments to the same places; or a list of samples."""

    name: str
    hook: str
    sweep_pass: int
    first: int
    count: int
    dimensions: tuple[tuple[Assignment, ...], ...]
    free: frozenset[Place]  # places whose values were generated, so that a sample may take any
    trouble: Trouble = Trouble()
    sampled: bool = False

    def size(self) -> int:
        """Cases in the family."""
        total = 1
        for dimension in self.dimensions:
            total *= len(dimension)
        return total

    def indexes(self, protocol: ir.Protocol) -> dict[str, set[int]]:
        """The cells that are named by an index, by table."""
        found: dict[str, set[int]] = {}
        for place, _ in (item for dimension in self.dimensions for item in dimension[0]):
            if place.index is not None:
                each = protocol.sweep[self.sweep_pass - 1].each if self.hook == "sweep" else None
                base = self.first if place.home == each else 0
                found.setdefault(place.home, set()).add(place.index + base)
        return found


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


class Domain:
    """The families of one protocol in one build."""

    def __init__(self, text: DomainText, protocol: ir.Protocol, patterns: Patterns, source: str, build: str = "small") -> None:
        self.protocol = protocol
        self.patterns = patterns
        self.source = source
        self._values = {self._place(key): values for key, values in text.values.items()}
        self._indexes = {f"message.{table.index}": table.capacity for table in protocol.tables}
        self._hash_sources = {hashed.source: hashed for hashed in protocol.hashes}
        self.families = [
            family
            for family in (self._family(each) for each in text.families if each.only in ("", build))
            if self._can_lose(family)
        ]

    def _can_lose(self, family: Family) -> bool:
        """Whether the build has such a family: a bpf_spin_lock is always got, and none writes beside its holder."""
        if not family.trouble.section:
            return True
        sections = self.protocol.xdp if family.hook == "xdp" else self.protocol.tc
        table = sections[family.trouble.section - 1].table
        atomic = next(each.atomic for each in self.protocol.tables if each.name == table)
        return atomic == "word" or atomic == "res_spin_lock" and family.trouble.rival is None

    # --- Places and their values ---------------------------------------------------------

    def _place(self, text: str) -> Place:
        match = PLACE.fullmatch(text)
        if match is None:
            raise DomainError(f"{self.source}: {text!r} is no place: write message.FIELD, env.FIELD or TABLE.FIELD")
        index = match["index"]
        place = Place(match["home"], None if index is None else int(index), match["field"])
        self.type_of(place)
        return place

    def type_of(self, place: Place) -> ir.Type:
        """The layout's type of a place; DomainError where it has none."""
        homes = {"message": self.protocol.message, "env": self.protocol.env}
        homes |= {table.name: table.cell for table in self.protocol.tables}
        if place.home not in homes:
            raise DomainError(f"{self.source}: {place}: {place.home!r} is not one of {', '.join(homes)}")
        fields = dict(homes[place.home].fields)
        if place.field not in fields:
            raise DomainError(f"{self.source}: {place}: {place.field!r} is not one of {', '.join(fields)}")
        return fields[place.field]

    def _coerce(self, place: Place, kind: ir.Type, value: Any) -> Any:
        """A value of the file as a model value of the type."""
        match kind:
            case ir.Bool() if isinstance(value, bool):
                return value
            case ir.Enum() if value in kind.members:
                return value
            case ir.UInt() if isinstance(value, int) and 0 <= value < min(2**kind.width, TLC_INT_MAX + 1):
                return value
            case ir.Bytes() if isinstance(value, int) and 0 <= value <= TLC_INT_MAX:
                return value
            case ir.Set() if isinstance(value, list) and len(value) <= kind.max:
                return frozenset(self._coerce(place, kind.element, item) for item in value)
            case ir.Bits() if isinstance(value, list) and all(item in range(kind.size) for item in value):
                return frozenset(value)
            case ir.Array() if isinstance(value, list) and len(value) == kind.size:
                return tuple(self._coerce(place, kind.element, item) for item in value)
            case ir.Sequence() if isinstance(value, list) and len(value) <= kind.max:
                return tuple(self._coerce(place, kind.element, item) for item in value)
        raise DomainError(f"{self.source}: {place}: {_refusal(kind, value)}")

    def _generate(self, place: Place) -> list[Any]:
        """What `all` means for a place."""
        kind = self.type_of(place)
        items = self._values.get(Place(place.home, None, place.field))
        match kind:
            case ir.Set() | ir.Bits():
                element, most = (kind.element, kind.max) if isinstance(kind, ir.Set) else (ir.UInt(6), kind.size)
                universe = self._scalars(place, element, items)
                return [frozenset(chosen) for size in range(min(most, len(universe)) + 1)
                        for chosen in itertools.combinations(universe, size)]  # fmt: skip
            case ir.Array():
                universe = self._scalars(place, kind.element, items)
                return _few_tuples(universe, kind.size)
            case ir.Sequence():
                universe = self._scalars(place, kind.element, items)
                return [each for size in range(kind.max + 1) for each in _few_tuples(universe, size)]
        return self._scalars(place, kind, items)

    def _scalars(self, place: Place, kind: ir.Type, items: list[Any] | None) -> list[Any]:
        if items is not None:
            return [self._coerce(place, kind, item) for item in items]
        capacity = self._indexes.get(str(place))
        match kind:
            case ir.Bool():
                return [False, True]
            case ir.Enum():
                return list(kind.members)
            case ir.UInt() if capacity is not None:
                outside = [capacity] if capacity < min(2**kind.width, TLC_INT_MAX) else []
                return [*range(min(capacity, 4)), *outside]
            case ir.UInt() if place.home == "message" and place.field in self._hash_sources:
                return list(range(min(self._hash_sources[place.field].capacity, 4) + 1))
            case ir.UInt() if not is_opaque(kind):
                largest = min(2**kind.width - 1, TLC_INT_MAX)
                return sorted({0, min(1, largest), largest - 1, largest})
            case ir.UInt() | ir.Bytes():
                return [0, 1, 2]
        raise DomainError(f"{self.source}: {place}: give its values: `all` of {layout_text(kind)} cannot be generated")

    # --- Families ------------------------------------------------------------------------

    def _family(self, text: FamilyText) -> Family:
        hook, number = (text.hook, 0) if isinstance(text.hook, str) else ("sweep", text.hook)
        hooks = {"xdp": self.protocol.xdp, "tc": self.protocol.tc, "user": self.protocol.user}
        if hook == "sweep" and not 1 <= number <= len(self.protocol.sweep) or hook != "sweep" and not hooks[hook]:
            raise DomainError(f"{self.source}: family {text.name!r}: the layout has no hook {text.hook}")
        given = {self._place(key): value for key, value in text.given.items()}
        dimensions: list[tuple[Assignment, ...]] = []
        for place, value in given.items():
            dimensions.append((((place, self._coerce(place, self.type_of(place), value)),),))
        free = set()
        for key, values in text.vary.items():
            place = self._place(key)
            if values == "all":
                free.add(place)
                dimensions.append(tuple(((place, value),) for value in self._generate(place)))
            else:
                kind = self.type_of(place)
                dimensions.append(tuple(((place, self._coerce(place, kind, value)),) for value in values))
        for choices in text.together:
            dimensions.append(self._together(text.name, choices))
        trouble = self._trouble(text, hook)
        family = Family(text.name, hook, number, text.first, text.count, tuple(dimensions), frozenset(free), trouble)
        if not 0 < family.size() <= CASES_MAX:
            raise DomainError(f"{self.source}: family {text.name!r} has {family.size()} cases; 1 to {CASES_MAX} will do")
        return self._with_hashes(family)

    def _trouble(self, text: FamilyText, hook: str) -> Trouble:
        """Which section loses. Words lose when they are written, other cells before the step is run."""
        if not text.contended:
            return Trouble()
        sections = {"xdp": self.protocol.xdp, "tc": self.protocol.tc}.get(hook, ())
        if not 1 <= text.contended <= len(sections) or not sections[text.contended - 1].writes:
            raise DomainError(f"{self.source}: family {text.name!r}: section {text.contended} of {hook} takes no cell for itself")
        name = sections[text.contended - 1].table
        table = next(each for each in self.protocol.tables if each.name == name)
        if not text.rival:
            return Trouble(text.contended, table.atomic != "word")
        given = {self._place(f"{name}.{field}"): value for field, value in text.rival.items()}
        cell = zero(table.cell) | {place.field: self._coerce(place, self.type_of(place), value) for place, value in given.items()}
        return Trouble(text.contended, table.atomic != "word", tuple(cell.items()))

    def _together(self, name: str, choices: list[dict[str, Any]]) -> tuple[Assignment, ...]:
        if len({frozenset(choice) for choice in choices}) != 1:
            raise DomainError(f"{self.source}: family {name!r}: choices of `together` must name the same places")
        order = [self._place(key) for key in choices[0]]
        return tuple(
            tuple((place, self._coerce(place, self.type_of(place), choice[str(place)])) for place in order)
            for choice in choices
        )

    def _with_hashes(self, family: Family) -> Family:
        """Adds the local fields that are hashed from a wire field when a packet arrives."""
        if family.hook == "sweep":
            return family
        dimensions = list(family.dimensions)
        for hashed in self.protocol.hashes:
            source, target = Place("message", None, hashed.source), Place("message", None, hashed.field)
            kind = self.type_of(source)
            found = False
            for at, dimension in enumerate(dimensions):
                if any(place == target for place, _ in dimension[0]):
                    raise DomainError(f"{self.source}: family {family.name!r}: {target} is hashed from {source}; vary that")
                if any(place == source for place, _ in dimension[0]):
                    found = True
                    dimensions[at] = tuple(
                        assignment + ((target, self._hashed(kind, dict(assignment)[source], hashed.capacity)),)
                        for assignment in dimension
                    )
            if not found:
                dimensions.append((((target, self._hashed(kind, 0, hashed.capacity)),),))
        return replace(family, dimensions=tuple(dimensions))

    def _hashed(self, kind: ir.Type, number: int, capacity: int) -> int:
        return hash_index(self.patterns.real(kind, number), capacity)

    # --- Samples and noise -----------------------------------------------------------------

    def sample(self, family: Family, count: int, generator: random.Random) -> Family:
        """Random cases of a family: generated values are drawn from all that the types allow."""
        samples = []
        first = family.first
        if family.hook == "sweep":
            capacity = self._capacity(self.protocol.sweep[family.sweep_pass - 1].each)
            first = generator.randrange(max(1, capacity - family.count))
        for _ in range(count):
            pools = _Pools(generator, range(first, first + family.count))
            merged: dict[Place, Any] = {}
            for dimension in family.dimensions:
                assignment = dict(generator.choice(dimension))
                for place in assignment:
                    if place in family.free and generator.random() < 0.5:
                        assignment[place] = self._random(place, self.type_of(place), pools, generator)
                merged |= assignment
            if family.hook != "sweep":
                for hashed in self.protocol.hashes:
                    source = Place("message", None, hashed.source)
                    value = self._hashed(self.type_of(source), merged.get(source, 0), hashed.capacity)
                    merged[Place("message", None, hashed.field)] = value
            samples.append(tuple(merged.items()))
        return replace(family, first=first, dimensions=(tuple(samples),), sampled=True)

    def _capacity(self, table: str) -> int:
        return next(each.capacity for each in self.protocol.tables if each.name == table)

    def _random(self, place: Place, kind: ir.Type, pools: _Pools, generator: random.Random) -> Any:
        match kind:
            case ir.UInt() | ir.Bytes():
                limit = 1000 if is_opaque(kind) else min(2**kind.width, TLC_INT_MAX)
                capacity = self._indexes.get(str(place))
                return pools.draw(kind, limit) % (capacity or limit)
            case ir.Bool():
                return generator.random() < 0.5
            case ir.Enum():
                return generator.choice(kind.members)
            case ir.Bits():
                return frozenset(item for item in range(kind.size) if generator.random() < 0.5)
            case ir.Array():
                return tuple(self._random(place, kind.element, pools, generator) for _ in range(kind.size))
            case ir.Set() | ir.Sequence():
                size = generator.randint(0, kind.max)
                items = [self._random(place, kind.element, pools, generator) for _ in range(size)]
                return frozenset(items) if isinstance(kind, ir.Set) else tuple(items)
        raise DomainError(f"{self.source}: {place}: {layout_text(kind)} cannot be sampled")

    def noise(self) -> dict[str, list[dict[str, Any]]]:
        """For every table, the cells that a case does not name: seeded, so that a stray read or write shows."""
        generator = random.Random(f"{self.protocol.name} noise")
        return {
            table.name: [
                {name: generator.choice(self._generate(Place(table.name, None, name))) for name, _ in table.cell.fields}
                for _ in range(table.capacity)
            ]
            for table in self.protocol.tables
        }


def _few_tuples(universe: list[Any], size: int) -> list[tuple[Any, ...]]:
    """All tuples where they are few, else those that are constant but for one element."""
    if len(universe) ** size <= 64:
        return list(itertools.product(universe, repeat=size))
    constant = [(item,) * size for item in universe]
    mixed = [tuple(universe[1] if at == odd else universe[0] for at in range(size)) for odd in range(size)]
    return list(dict.fromkeys(constant + mixed))


def _refusal(kind: ir.Type, value: Any) -> str:
    """Why a value of the file is none of the type."""
    shown, text = repr(value) if isinstance(value, str) else value, layout_text(kind)
    match kind:
        case ir.Enum():
            return f"{shown} is no member of {text}"
        case ir.Bytes() if isinstance(value, int):
            return f"{shown} does not stand for any bytes: write a small number, of which each stands for other bytes, and 0 for zeros"
        case ir.UInt() if isinstance(value, int) and TLC_INT_MAX < value < 2**kind.width:
            return f"{shown} is a value of {text}, but not one that TLC can compute with: its integers end at {TLC_INT_MAX} (2^31 - 1)"
        case ir.UInt() if isinstance(value, int) and not isinstance(value, bool):
            return f"{shown} is no value of {text}, which holds 0..{2**kind.width - 1}"
    return f"{shown} is no value of {text}"


def load_text(path: Path) -> DomainText:
    """conform.yaml, checked for its form."""
    try:
        return documents.read(path, DomainText, DESCRIBED_IN)
    except SpecErrors as error:
        raise DomainError(str(error)) from None
