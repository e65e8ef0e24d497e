"""The domain: the cells, messages and environments on which a protocol's hooks are compared.

`spec/<protocol>/conform.yaml` declares it: see docs/reference/conform.md.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pydantic

from codegen import ir
from codegen.errors import SpecErrors
from codegen.layout.drain import ENTRY
from harness.base import yaml_documents
from harness.builds.program_variants import merged
from harness.conform import drain_cases, gathered
from harness.conform.cases import Assignment, Family, Trouble
from harness.conform.outline import moved, outline
from harness.conform.places import Beyond, DomainError, Place, Places, Step, built
from harness.conform.samples import Sampler
from harness.data.cells import GUARDS
from harness.data.model_values import TLC_INT_MAX, Patterns, hash_index, is_opaque, refers, zero

CASES_MAX = 200_000
STRICT = ("small", "shipped")  # builds that must have every place and value of the file
PAIRS_MIN = 10_000
DESCRIBED_IN = "docs/reference/conform.md"
HOOKS = ("xdp", "tc", "user", "restore", *drain_cases.HOOKS)


def _hook(value: object) -> object:
    if value in HOOKS or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise ValueError(f"it must be {', '.join(HOOKS)}, or the number of a pass of the sweep, counted from 1")


def _varied(value: object) -> object:
    if value == "all" or isinstance(value, list):
        return value
    raise ValueError("it must be all, or a list of values")


def _names(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _section(value: object) -> object:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ValueError("it must be the step of a section, or its number")


Count = Annotated[int, pydantic.Field(ge=0, strict=True)]


class FamilyText(yaml_documents.Strict):
    """A family as conform.yaml declares it."""

    name: str
    hook: Annotated[Any, pydantic.BeforeValidator(_hook)]
    only: Annotated[tuple[str, ...], pydantic.BeforeValidator(_names)] = ()
    sample: Count = 0
    given: dict[str, Any] = pydantic.Field(default_factory=dict)
    vary: dict[str, Annotated[Any, pydantic.BeforeValidator(_varied)]] = pydantic.Field(default_factory=dict)
    together: list[Annotated[list[dict[str, Any]], pydantic.Field(min_length=1)]] = pydantic.Field(default_factory=list)
    first: Count = 0
    count: Count = 0
    contended: Annotated[int | str, pydantic.BeforeValidator(_section)] = 0
    operation: Annotated[int, pydantic.Field(ge=1, strict=True)] = 1
    rival: dict[str, Any] = pydantic.Field(default_factory=dict)
    most: Count = 0


class UseText(yaml_documents.Strict):
    """Another protocol's domain, whose cells and steps this one uses.

    domain: its file, relative to this one's folder.
    without: names of families to leave out.
    most: the most cases of each of its other families, drawn at random; 0: all of them.
    """

    domain: str
    without: list[str] = pydantic.Field(default_factory=list)
    most: Count = 0


class DomainText(yaml_documents.Strict):
    """The contents of conform.yaml.

    small, shipped: changes to the layout for the small build, and for the samples of the layout as shipped.
    variants: changes to the small build for further builds.
    pairs_min: how many evaluations of steps a small build must reach.
    samples, variant_samples: cases of each family, for the layout as shipped and for a variant.
    use: a domain that this one extends: its small, shipped, values and families.
    """

    use: UseText | None = None
    small: dict[str, Any] = pydantic.Field(default_factory=dict)
    shipped: dict[str, Any] = pydantic.Field(default_factory=dict)
    variants: dict[str, dict[str, Any]] = pydantic.Field(default_factory=dict)
    values: dict[str, list[Any]] = pydantic.Field(default_factory=dict)
    families: Annotated[list[FamilyText], pydantic.Field(min_length=1)]
    samples: Annotated[int, pydantic.Field(ge=1, strict=True)] = 150
    variant_samples: Annotated[int, pydantic.Field(ge=1, strict=True)] = 500
    pairs_min: Annotated[int, pydantic.Field(ge=1, strict=True)] = PAIRS_MIN


class Domain:
    """The families of one protocol in one build: `small`, `shipped`, or a variant by its name.

    complete: whether the build has all families meant for it. It lacks those of a section that cannot lose its races
    there.
    """

    def __init__(
        self, text: DomainText, protocol: ir.Protocol, patterns: Patterns, source: str, build: str = "small"
    ) -> None:
        self._moved = moved(protocol)
        self.protocol = protocol = gathered.with_operations(drain_cases.with_entry(outline(protocol)))
        self.patterns = patterns
        self.source = source
        self._build = build
        self._places = Places(protocol, source)
        self._values = {self._places.kind(key): values for key, values in text.values.items()}
        self._indexes = {f"message.{table.index}": table.capacity for table in protocol.tables}
        self._hash_sources: dict[str, ir.HashIndex] = {}
        for hashed in protocol.hashes:
            self._hash_sources.setdefault(hashed.source, hashed)
        self._sampler = Sampler(self._places, self._indexes, self._scalars, self._arrived, zero(protocol.message))
        self._variant_samples = text.variant_samples
        self._check_builds(text)
        families = [self._family(each) for each in text.families if not each.only or build in each.only]
        self.families = [family for family in families if self._can_lose(family)]
        self.complete = len(self.families) == len(families)

    def _check_builds(self, text: DomainText) -> None:
        known = (*STRICT, *text.variants)
        for family in text.families:
            for name in family.only:
                if name not in known:
                    raise DomainError(
                        f"{self.source}: family {family.name!r}: `only` names {name!r}; choose from {', '.join(known)}"
                    )

    def _can_lose(self, family: Family) -> bool:
        """Whether the build can have a family: a bpf_spin_lock is always acquired, and nobody else writes meanwhile.

        The family refuses a bpf_res_spin_lock by counting the calls that take one, so every message must make the same
        calls. No call is made for a message that a section is not for, or whose index an earlier section has set to one
        that the table does not have.
        """
        if not family.trouble.section:
            return True
        sections = self._sections(family.hook)[: family.trouble.section]
        section = sections[-1]
        atomic = self._table(section.table).atomic
        if atomic == "res_spin_lock" and any(
            self._is_for_some(each) or at in self._moved[family.hook]
            for at, each in enumerate(sections, 1)
            if self._table(each.table).atomic == atomic
        ):
            return False
        return (atomic == "word" and section.writes) or (atomic == "res_spin_lock" and family.trouble.rival is None)

    def _is_for_some(self, section: ir.Section) -> bool:
        """Whether a section is for some messages only, or for some operations."""
        groups = self.protocol.operations.groups if self.protocol.operations else ()
        return section.when is not None or (section.group > 0 and groups[section.group - 1] is not None)

    def _sections(self, hook: str) -> tuple[ir.Section, ...]:
        return {"xdp": self.protocol.xdp, "tc": self.protocol.tc}.get(hook, ())

    def _table(self, name: str) -> ir.TableLayout:
        return next(each for each in self.protocol.tables if each.name == name)

    # --- Places and their values ---------------------------------------------------------

    def _place(self, text: str) -> Place:
        return self._places.place(text)

    def type_of(self, place: Place) -> ir.Type:
        """Returns the layout's type of a place; raises DomainError if there is none."""
        return self._places.type_of(place)

    def _coerce(self, place: Place, value: Any) -> Any:
        return self._places.coerce(place, self.type_of(place), value)

    def _scalars(self, place: Place, kind: ir.Type) -> list[Any]:
        """Returns the values that `all` means for a place without parts, or for the items of one with many."""
        items = self._values.get(place.kind)
        if items is not None:
            return [self._places.coerce(place, kind, item) for item in items]
        capacity = self._indexes.get(str(place))
        match kind:
            case ir.Bool():
                return [False, True]
            case ir.Enum():
                return list(kind.members)
            case ir.UInt() if capacity is not None:
                outside = [capacity] if capacity < min(2**kind.width, TLC_INT_MAX) else []
                return [*range(min(capacity, 4)), *outside]
            case ir.UInt() if place.home == "message" and (hashed := self._hash_sources.get(gathered.field_of(place))):
                return list(range(min(hashed.capacity, 4) + 1))
            case ir.UInt() if not is_opaque(kind):
                largest = min(2**kind.width - 1, TLC_INT_MAX)
                return sorted({0, min(1, largest), largest - 1, largest})
            case ir.UInt() | ir.Bytes():
                return [0, 1, 2]
        raise self._places.refuse(place)

    # --- Families ------------------------------------------------------------------------

    def _family(self, text: FamilyText) -> Family:
        hook, number = self._hook(text.hook)
        protocol = self.protocol
        has = {"xdp": bool(protocol.xdp), "tc": bool(protocol.tc), "user": bool(protocol.user)}
        has |= {each: each in drain_cases.hooks(protocol) for each in drain_cases.HOOKS}
        if not (1 <= number <= len(protocol.sweep) if hook == "sweep" else has[hook]):
            raise DomainError(f"{self.source}: family {text.name!r}: the layout has no hook {text.hook}")
        dimensions: list[tuple[Assignment, ...]] = []
        free = set()
        for key, value in text.given.items():
            if place := self._reached(key):
                dimensions.append((((place, self._coerce(place, value)),),))
        for key, values in text.vary.items():
            if not (place := self._reached(key)):
                continue
            if values == "all":
                free.add(place)
                values = self._places.generate(place, self._scalars)
            else:
                values = self._possible(place, values)
            dimensions.append(tuple(((place, value),) for value in values))
        for choices in text.together:
            choice = self._together(text.name, choices)
            if not choice or choice[0]:  # an empty list leaves the family without a case
                dimensions.append(choice)
        family = Family(
            text.name,
            hook,
            number,
            text.first,
            text.count,
            tuple(dimensions),
            frozenset(free),
            self._trouble(text, hook),
        )
        self._check(family, text.sample)
        count = self._samples(text, family)
        if not count:
            return self._with_hashes(family)
        generator = random.Random(f"{self.protocol.name} {text.name}")
        return self._sampler.sample(family, count, generator, family.first, anything=False)

    def _hook(self, text: str | int) -> tuple[str, int]:
        """Returns the hook, and the number of its pass if it is the sweep.

        The last pass may be the one that restores rows. The file calls it `restore`, and not by its number.
        """
        passes = [one.program for one in self.protocol.sweep]
        if text == "restore":
            return "sweep", passes.index(text) + 1 if text in passes else 0
        if isinstance(text, int):
            return "sweep", text if text <= len(passes) and passes[text - 1] != "restore" else 0
        return text, 0

    def _samples(self, text: FamilyText, family: Family) -> int:
        """Returns how many random cases represent the family in this build; 0 keeps all its cases."""
        if self._build == "shipped":
            return 0
        most = CASES_MAX if self._build == "small" else self._variant_samples
        most = min(most, text.most or most)
        cases = text.sample or family.size()
        return min(cases, most) if text.sample or cases > most else 0

    def _reached(self, key: str) -> Place | None:
        """Returns the place, or None in a variant whose arrays are too short for it."""
        try:
            return self._place(key)
        except Beyond:
            if self._build in STRICT:
                raise
            return None

    def _possible(self, place: Place, values: list[Any]) -> list[Any]:
        """Returns the values of the file, except those that a variant's types do not have."""
        found = []
        for value in values:
            try:
                found.append(self._coerce(place, value))
            except DomainError:
                if self._build in STRICT:
                    raise
        return found

    def _check(self, family: Family, sample: int) -> None:
        if not 0 < (cases := sample if sample and family.size() else family.size()) <= CASES_MAX:
            raise DomainError(f"{self.source}: family {family.name!r} has {cases} cases; it must have 1 to {CASES_MAX}")
        places = [place for dimension in family.dimensions for place, _ in dimension[0]]
        for at, place in enumerate(places):
            for other in places[:at]:
                if place.within(other) or other.within(place):
                    raise DomainError(f"{self.source}: family {family.name!r}: {place} and {other}: give one of them")
        for place in places:
            if family.hook == "xdp" and place.home == "message" and place.field in self.protocol.handover:
                raise DomainError(
                    f"{self.source}: family {family.name!r}: {place} is a handover field, zero in xdp, whatever "
                    "the packet has there"
                )
            if place.home == "env" and place.field == ir.POSITION:
                raise DomainError(
                    f"{self.source}: family {family.name!r}: {place} is the number of the operation: leave it out"
                )
            if place.home == "env" and place.field == ir.TERMS:
                raise DomainError(
                    f"{self.source}: family {family.name!r}: {place} is a constant of the program: leave it out"
                )
            if (
                family.hook in drain_cases.HOOKS
                and place.home == "message"
                and place.field not in (has := drain_cases.message_fields(self.protocol, family.hook))
            ):
                raise DomainError(
                    f"{self.source}: family {family.name!r}: {place} is zero in {family.hook}, whose message has only "
                    f"{', '.join(has)}"
                )

    def _trouble(self, text: FamilyText, hook: str) -> Trouble:
        """Returns the section that loses: on a word when it writes, on other cells before the step runs."""
        if not text.contended:
            return Trouble()
        sections = self._sections(hook)
        number = text.contended
        if isinstance(number, str):
            number = next((at for at, section in enumerate(sections, 1) if section.step.name == number), 0)
        if not 1 <= number <= len(sections) or not self._may_lose(sections[number - 1]):
            raise DomainError(f"{self.source}: family {text.name!r}: section {text.contended} of {hook} locks no cell")
        table = self._table(sections[number - 1].table)
        if not text.rival:
            return Trouble(number, table.atomic != "word", None, text.operation)
        parts: dict[tuple[Step, ...], Any] = {}
        for key, value in text.rival.items():
            place = self._place(f"{table.name}.{key}")
            parts[place.field, *place.rest] = self._coerce(place, value)
        return Trouble(number, table.atomic != "word", tuple(built(table.cell, parts).items()), text.operation)

    def _may_lose(self, section: ir.Section) -> bool:
        atomic = self._table(section.table).atomic
        return (atomic == "word" and section.writes) or atomic in GUARDS

    def _together(self, name: str, choices: list[dict[str, Any]]) -> tuple[Assignment, ...]:
        if len({frozenset(choice) for choice in choices}) != 1:
            raise DomainError(f"{self.source}: family {name!r}: choices of `together` must name the same places")
        order = [(key, place) for key in choices[0] if (place := self._reached(key))]
        if self._build not in STRICT:
            choices = [
                choice for choice in choices if all(self._possible(place, [choice[key]]) for key, place in order)
            ]
        return tuple(tuple((place, self._coerce(place, choice[key])) for key, place in order) for choice in choices)

    # --- What is hashed when a packet arrives ------------------------------------------------

    def _with_hashes(self, family: Family) -> Family:
        """Adds the local fields that are hashed from other fields when a packet arrives."""
        if not family.arrives:
            return family
        dimensions = list(family.dimensions)
        for hashed in self.protocol.hashes:
            source, target = Place("message", None, hashed.source), Place("message", None, hashed.field)
            found = False
            for at, dimension in enumerate(dimensions):
                if any(place == target for place, _ in dimension[0]):
                    raise DomainError(
                        f"{self.source}: family {family.name!r}: {target} is the hash of {source}; vary that instead"
                    )
                if any(place == source for place, _ in dimension[0]):
                    found = True
                    dimensions[at] = tuple(
                        (*assignment, (target, self._hashed(hashed, dict(assignment)[source])))
                        for assignment in dimension
                    )
            if not found:
                dimensions.append((((target, self._hashed(hashed, 0)),),))
        return replace(family, dimensions=tuple(dimensions))

    def _arrived(self, given: dict[Place, Any]) -> dict[Place, Any]:
        """Adds the hashed fields to one case."""
        case = dict(given)
        for hashed in self.protocol.hashes:
            value = self._hashed(hashed, case.get(Place("message", None, hashed.source), 0))
            case[Place("message", None, hashed.field)] = value
        return case

    def _hashed(self, hashed: ir.HashIndex, number: int) -> int:
        kind = self.protocol.message.field(hashed.source)
        return hash_index(self.patterns.real(kind, number), hashed.capacity, hashed.lower)

    # --- Samples and noise -----------------------------------------------------------------

    def sample(self, family: Family, count: int, generator: random.Random) -> Family:
        """Draws random cases of a family. Generated values may be any that the types allow."""
        first = family.first
        if family.hook == "sweep":
            capacity = self._table(self.protocol.sweep[family.sweep_pass - 1].each).capacity
            first = generator.randrange(max(1, capacity - family.count))
        return self._sampler.sample(family, count, generator, first, anything=True)

    def noise(self) -> dict[str, list[dict[str, Any]]]:
        """Returns every table's contents that a case does not set: seeded, so that a stray read or write shows."""
        generator = random.Random(f"{self.protocol.name} noise")
        noise = {}
        for table in self.protocol.tables:
            if table.name == ENTRY:
                continue
            choices = {
                name: self._places.generate(Place(table.name, None, name), self._plain) for name, _ in table.cell.fields
            }
            noise[table.name] = [
                {name: generator.choice(values) for name, values in choices.items()} for _ in range(table.capacity)
            ]
        return noise

    def _plain(self, place: Place, kind: ir.Type) -> list[Any]:
        return [value for value in self._scalars(place, kind) if not refers(value)] or [zero(kind)]


def load_text(path: Path) -> DomainText:
    """Reads conform.yaml and checks its form."""
    try:
        text = yaml_documents.read(path, DomainText, DESCRIBED_IN)
    except SpecErrors as error:
        raise DomainError(str(error)) from None
    if text.use is None:
        return text
    return _over(text.use, load_text(path.parent / text.use.domain), text, yaml_documents.name_of(path))


def _over(use: UseText, used: DomainText, text: DomainText, source: str) -> DomainText:
    """Merges a domain into the one that it uses, whose families come first."""
    names = [family.name for family in used.families]
    for name in use.without:
        if name not in names:
            raise DomainError(f"{source}: use.without: {use.domain} has no family {name!r}")
    for name in (family.name for family in text.families):
        if name in names and name not in use.without:
            raise DomainError(
                f"{source}: {use.domain} already has a family {name!r}: rename this one, or list that one in "
                "use.without"
            )
    taken = [family for family in used.families if family.name not in use.without]
    if use.most:
        taken = [family.model_copy(update={"most": min(family.most or use.most, use.most)}) for family in taken]
    return text.model_copy(
        update={
            "small": merged(used.small, text.small),
            "shipped": merged(used.shipped, text.shipped),
            "values": used.values | text.values,
            "families": [*taken, *text.families],
        }
    )
