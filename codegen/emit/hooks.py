"""Describes hooks for the templates: their sections, the order of lookups, and which sections can end the hook."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from codegen.analysis.lookups import found_first
from codegen.analysis.step_facts import StepFacts, Steps
from codegen.c.names import Names, field, variable
from codegen.emit.retry_slots import Member, hidden_slots
from codegen.emit.steps import element_type
from codegen.emit.types import c_type, memory_layout
from codegen.ir import (
    POSITION,
    Enum,
    OperationsLayout,
    Pass,
    Protocol,
    Record,
    Section,
    TableLayout,
    When,
    expect,
)
from codegen.ir.measure import width_bits

HIDDEN_BITS_MAX = 32
GUARDED = ("spin_lock", "res_spin_lock")

LOCALS = (
    *("message", "environment", "tables", "skipped", "outcome", "index", "swept", "sweep"),
    *("run", "operations", "operation", "operation_environment", "number", "payload", "context", "several"),
)
"""Locals and parameters of the functions that look cells up."""

OF_A_SECTION = frozenset({"message", "environment", "element", "before", "outcome"})
"""Locals and parameters of the function of a section."""

OF_A_RETRY = frozenset({"element", "message", "outcome"})
"""Members of a retry beside its inputs and outputs."""


@dataclass(frozen=True)
class Saved:
    """A message field that an attempt restores if it lost its cell to another writer."""

    declaration: str
    local: str
    member: str


@dataclass(frozen=True)
class SectionFunction:
    """A C function that runs a step on one cell of one table, atomically."""

    name: str
    step: str
    step_name: str
    table: str
    cell: str
    cell_struct: str
    cell_function: str
    element_type: str
    atomic: str
    writes: bool
    environment: bool
    saved: tuple[Saved, ...]
    retried: bool
    read: tuple[Member, ...]
    environment_read: tuple[Member, ...]
    written: tuple[Member, ...]

    @property
    def slots(self) -> tuple[tuple[Member, ...], ...]:
        """Returns the inputs and outputs of a retry, in slots that hide their values from the verifier."""
        outcome = Member("outcome", "volatile __u32", 4, "outcome")
        return hidden_slots([*self.read, *self.environment_read, outcome, *self.written])


@dataclass(frozen=True)
class Call:
    """One section of one hook."""

    function: SectionFunction
    element: str
    """The local that points to the cell's element."""
    lookup: str
    """The C function that finds the element right before the section; empty if it was found before the first one."""
    found_by_earlier: bool
    """Whether an earlier section has called it for the same cell. It may have found none."""
    index: str
    contended: str
    retries: bool
    ends: bool
    """Whether a leaf may end the hook here."""
    fails: bool
    """Whether the section may fail to get the cell."""
    index_of: str
    """The expression that env.index is set to before the step; empty if the step does not read it."""
    last: bool
    hidden: tuple[Member, ...]
    """Small message fields whose values are hidden from the verifier before the step.

    It hides fields that earlier sections wrote and the step reads. Otherwise the verifier would follow the rest of
    the hook once for each of these sections. If the cell is guarded, it also hides fields that earlier sections
    tested: the verifier keeps every bound of an index that it has seen. If the section may be retried, it hides
    fields again that were hidden before, because a step in between tested them.
    """
    after_skip: bool
    """Whether an earlier section may have been skipped."""
    hides_skip: bool
    """Whether to hide from the verifier that the section was skipped: if it and a later one may be retried."""
    left_out: bool
    """The lookup may find no cell. Then the hook goes on without the section."""
    when: str
    """The condition that the section is for the message; empty if it is for all."""
    blind: bool = False
    """True if the step runs without its cell, because it neither reads nor changes it."""
    apart: bool = False
    """True if a message with operations has it in a function of its own.

    Such a message comes to it only if an earlier section has changed what it is. So its values should take no room on
    the stack while a group runs.
    """

    @property
    def arguments(self) -> str:
        cell = f"&(const {self.function.cell_struct}){{}}" if self.blind else self.element
        return ", ".join([cell, "message", *(["environment"] if self.function.environment else [])])

    @property
    def name(self) -> str:
        return self.function.step if self.blind else self.function.name + ("_retried" if self.retries else "")

    @property
    def skips(self) -> bool:
        """Whether the hook may go on without the section."""
        return self.left_out or (self.fails and self.contended == "skip")

    @property
    def loses(self) -> bool:
        """True if the hook ends when the section fails to get the cell."""
        return self.fails and self.contended != "skip"


@dataclass(frozen=True)
class Lookup:
    """The lookup of one cell."""

    element: str
    """The local that points to the cell's element."""
    element_type: str
    function: str
    """The C function that finds the element by the index."""
    index: str


Sought = tuple[str, str | None]
"""A table, and the message's field with the index: a lookup is known by both."""

Lookups = dict[Sought, Lookup]


@dataclass(frozen=True)
class Group:
    """Sections that run for each operation of a message."""

    number: int
    function: str
    """The C function that runs them for one operation."""
    calls: tuple[Call, ...]
    late: tuple[Lookup, ...]
    """Lookups, each right before a section."""
    given: tuple[Member, ...]
    """Fields that the sections read of the message itself, or of what earlier operations made of it."""
    changed: tuple[Member, ...]
    """Fields of the message itself that they write."""
    stored: tuple[str, ...]
    """Fields of an operation that they write."""
    environment_given: tuple[Member, ...]
    """Fields of env that they read and that the hook sets."""
    position: bool
    """Whether they read env.position."""
    when: str
    """The condition that the group is for a message that has operations; empty if it is for all of them."""

    @property
    def environment(self) -> bool:
        return any(call.function.environment for call in self.calls)

    @property
    def skips(self) -> bool:
        return any(call.skips for call in self.calls)

    @property
    def loses(self) -> bool:
        return any(call.loses for call in self.calls)

    @property
    def sighted(self) -> bool:
        """True if at least one section works on its cell."""
        return not all(call.blind for call in self.calls)


Part = Call | Group


@dataclass(frozen=True)
class Hook:
    parts: tuple[Part, ...]
    """Its sections and groups, in order."""
    lookups: tuple[Lookup, ...]
    """Lookups before the first section."""
    late: tuple[Lookup, ...]
    """Lookups right before a section."""
    environment: bool
    now: bool
    cpu: bool
    restored: bool = False
    """Whether, in a sweep, a section may end the chunk after another one wrote the message."""

    @property
    def calls(self) -> tuple[Call, ...]:
        """Returns the sections, without those of groups."""
        return tuple(part for part in self.parts if isinstance(part, Call))

    @property
    def groups(self) -> tuple[Group, ...]:
        return tuple(part for part in self.parts if isinstance(part, Group))

    @property
    def missing(self) -> str:
        """Returns the condition that a lookup before the first section found no cell."""
        return " || ".join(f"!{lookup.element}" for lookup in self.lookups)

    @property
    def skips(self) -> bool:
        return any(part.skips for part in self.parts)

    @property
    def apart(self) -> bool:
        return any(call.apart for call in self.calls)

    @property
    def guarded(self) -> bool:
        """Whether a section works on a guarded cell, which adds paths that mostly set or clear a value."""
        calls = [*self.calls, *(call for group in self.groups for call in group.calls)]
        return any(call.function.atomic in GUARDED for call in calls)


class Hooks:
    """Describes the hooks of one protocol. After that, `functions` has the function of each section once."""

    def __init__(self, protocol: Protocol, names: Names, steps: Steps, message_in_map: bool):
        self._protocol = protocol
        self._names = names
        self._steps = steps
        self._message_in_map = message_in_map
        self._tables: dict[str, TableLayout] = {table.name: table for table in protocol.tables}
        self.functions: dict[str, SectionFunction] = {}

    def hook(self, sections: tuple[Section, ...]) -> Hook:
        """Describes xdp or tc."""
        written: set[str] = set()
        early: Lookups = {}
        late: Lookups = {}
        current: set[Sought] = set()  # Lookups that used the index's current value.
        unsure: set[Sought] = set()  # Lookups after which the hook went on without a cell.
        sure = found_first(
            (self._tables[section.table], section.when is None and not section.group, self._changed_by(section))
            for section in sections
        )
        parts: list[Part] = []
        for position, section in enumerate(sections):
            changed = self._changed_by(section)
            if section.group:
                if position == 0 or sections[position - 1].group != section.group:
                    parts.append(self._group(section.group, sure, written))
                written.update(changed)
                current = {(table, index) for table, index in current if index not in changed}
                continue
            key = (section.table, section.index)
            there = key in current
            again = not there and (section.index in written or section.when is not None)
            found = early.get(key) or (late.get(key) if there or again else None)
            if found is None:
                found = (late if again else early)[key] = self._lookup(section, early, late)
            if section.when is None:
                current.add(key)
            last = position == len(sections) - 1
            below = sure.get(_index(section)) if section.index not in written else None
            if again:
                unsure.add(key)
            lookup = found if key in unsure else None
            call = self._call(section, found, lookup, _index_text(section), last, below=below)
            parts.append(replace(call, found_by_earlier=lookup is not None and not again))
            written.update(changed)
            current = {(table, index) for table, index in current if index not in changed}
        return self._made(parts, early, late)

    def _changed_by(self, section: Section) -> tuple[str, ...]:
        """Returns the fields of the message that a section may leave changed, after its group if it is in one."""
        own = self._protocol.of_operation() if section.group else ()
        return tuple(name for name in self._steps[section.step.name].written if name not in own)

    def _group(self, number: int, sure: dict[str, int], written_before: set[str]) -> Group:
        """Describes a group.

        sure: numbers that indices are known to be less than until they are written.
        """
        protocol, own = self._protocol, self._protocol.of_operation()
        sections = protocol.groups[number - 1]
        changed = {name for section in sections for name in self._changed_by(section)}
        written = (written_before | changed) - {*own}
        steps = [self._steps[section.step.name] for section in sections]
        read = {name for facts in steps for name in facts.message_read}
        read |= {_index(section) for section in sections}
        read |= {section.when.field for section in sections if section.when is not None}
        stored = {name for facts in steps for name in facts.written if name in own}
        late: Lookups = {}
        current: set[Sought] = set()
        calls = []
        for section in sections:
            key, index, now = (section.table, section.index), _index(section), self._steps[section.step.name].written
            below = min(self._bounds(index, written, {} if index in own else sure), default=None)
            if self._is_blind(section, below):
                calls.append(self._blind_call(section))
            else:
                found = late.setdefault(key, self._lookup(section, late))
                call = self._call(section, found, found, _index_text(section), last=False, below=below)
                calls.append(replace(call, found_by_earlier=key in current))
                if section.when is None:
                    current.add(key)
            written.update(now)
            current = {(table, name) for table, name in current if name not in now}
        environment = {name for facts in steps for name in facts.environment_read}
        operations = expect(protocol.operations, OperationsLayout)
        return Group(
            number,
            self._names.function("group", str(number)),
            tuple(call for call in self._hidden(calls) if isinstance(call, Call)),
            tuple(late.values()),
            self._members(protocol.message, (read | changed) - {*own}),
            self._members(protocol.message, changed),
            tuple(name for name in operations.fields if name in stored),
            self._members(protocol.environment, environment - {"index", POSITION}),
            POSITION in environment,
            self._when(operations.groups[number - 1]),
        )

    def _bounds(self, index: str, written: set[str], sure: dict[str, int]) -> list[int]:
        """Returns numbers that an index is below; none if a step may have written it since it was known."""
        if index in written:
            return []
        hashed = [one.capacity for one in self._protocol.hashes if one.field == index]
        return [*hashed, *([sure[index]] if index in sure else [])]

    def fields(self, names: tuple[str, ...], sections: tuple[Section, ...]) -> tuple[str, ...]:
        """Returns the fields among `names` that the sections of a hook write, in the order of `names`."""
        written = {name for section in sections for name in self._steps[section.step.name].written}
        return tuple(name for name in names if name in written)

    def sweep(self, one: Pass) -> Hook:
        """Describes one pass. The swept cell is `swept`, with the index `index`; others are looked up when needed."""
        swept = Lookup(
            "swept", element_type(self._names, self._protocol, one.each), self._element_function(one.each), "index"
        )
        late: Lookups = {}
        calls: list[Call] = []
        for position, section in enumerate(one.sections):
            last = position == len(one.sections) - 1
            if section.table == one.each:
                calls.append(self._call(section, swept, None, "index", last, sweep=True))
                continue
            key = (section.table, section.index)
            found = late.setdefault(key, self._lookup(section, late))
            calls.append(self._call(section, found, found, _index_text(section), last, sweep=True))
        written = [bool(self._steps[call.function.step_name].written) for call in calls]
        restored = any(call.fails and call.contended == "drop" and any(written[:at]) for at, call in enumerate(calls))
        return replace(self._made(calls, {("", None): swept}, late), restored=restored)

    def _made(self, parts: Iterable[Part], early: Lookups, late: Lookups) -> Hook:
        parts = list(parts)
        calls = [call for part in parts for call in (part.calls if isinstance(part, Group) else (part,))]
        steps = [self._steps[call.function.step_name] for call in calls]
        return Hook(
            self._hidden(parts),
            tuple(early.values()),
            tuple(late.values()),
            any(
                bool(part.environment_given) if isinstance(part, Group) else part.function.environment for part in parts
            ),
            any("now" in facts.environment_read for facts in steps),
            any("cpu" in facts.environment_read for facts in steps),
        )

    def _lookup(self, section: Section, *taken: Lookups) -> Lookup:
        used = {lookup.element for group in taken for lookup in group.values()}
        element = variable(section.table, {*LOCALS, *used})
        return Lookup(
            element,
            element_type(self._names, self._protocol, section.table),
            self._element_function(section.table),
            _index_text(section),
        )

    def _element_function(self, table: str) -> str:
        return self._names.function(table, "element")

    def _call(
        self,
        section: Section,
        found: Lookup,
        lookup: Lookup | None,
        index: str,
        last: bool,
        sweep: bool = False,
        below: int | None = None,
    ) -> Call:
        """Describes one section of a hook; `below` is a number that the index is known to be less than."""
        facts = self._steps[section.step.name]
        # Retry only if others may write the cell too. A sweep need not retry, because it comes round again.
        retries = section.contended != "never" and not sweep
        retries = retries and self._tables[section.table].atomic == "word" and facts.changes_cell
        function = self._function(section, facts, retries)
        word = function.atomic == "word"
        late = lookup is not None and not sweep
        within = late and self._is_within(section, below)
        return Call(
            function=function,
            element=found.element,
            lookup=lookup.function if lookup else "",
            found_by_earlier=False,
            index=index,
            contended=section.contended,
            retries=retries,
            ends=facts.verdicts != {"Continue"},
            fails=within or (function.writes if word else function.atomic == "res_spin_lock"),
            index_of=index if "index" in facts.environment_read else "",
            last=last,
            hidden=(),
            after_skip=False,
            hides_skip=False,
            left_out=late and not within,
            when=self._when(section.when),
            apart=self._is_apart(section),
        )

    def _is_apart(self, section: Section) -> bool:
        operations, when = self._protocol.operations, section.when
        if operations is None or when is None or section.group or section not in self._protocol.xdp:
            return False
        is_for_others = when.field != operations.when.field or not {*when.members} & {*operations.when.members}
        return is_for_others and self._tables[section.table].atomic in GUARDED

    def _is_blind(self, section: Section, below: int | None) -> bool:
        """Returns true if every index has a cell, and the step neither reads nor changes its cell."""
        facts, is_word = self._steps[section.step.name], self._tables[section.table].atomic == "word"
        return (
            is_word
            and not facts.touches_cell
            and "index" not in facts.environment_read
            and self._is_within(section, below)
        )

    def _blind_call(self, section: Section) -> Call:
        facts = self._steps[section.step.name]
        return Call(
            function=self._described(section, facts, retried=False),
            element="",
            lookup="",
            found_by_earlier=False,
            index="",
            contended=section.contended,
            retries=False,
            ends=False,
            fails=False,
            index_of="",
            last=False,
            hidden=(),
            after_skip=False,
            hides_skip=False,
            left_out=False,
            when=self._when(section.when),
            blind=True,
        )

    def _when(self, when: When | None) -> str:
        if when is None:
            return ""
        asked = f"message->{field(when.field)}"
        kind = expect(self._protocol.message.field(when.field), Enum)
        tests = [f"{asked} == {self._names.member(kind, member)}" for member in when.members]
        return " ||\n\t    ".join(" || ".join(tests[at : at + 2]) for at in range(0, len(tests), 2))

    def _is_within(self, section: Section, below: int | None) -> bool:
        """Whether every value of the index has a cell."""
        if below is not None and below <= self._tables[section.table].capacity:
            return True
        indices = 1 << width_bits(self._protocol.message.field(_index(section)))
        return indices <= self._tables[section.table].capacity

    def _hidden(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        """Adds to each call which fields to hide before it, and whether sections may have been skipped.

        The changes of a group come from a map, so the verifier knows nothing of them.
        """
        found: list[Part] = []
        written: set[str] = set()
        tested: set[str] = set()
        hidden_before: set[str] = set()
        message, parts = self._protocol.message, list(parts)
        for at, call in enumerate(parts):
            if isinstance(call, Group):
                found.append(call)
                continue
            facts = self._steps[call.function.step_name]
            read = facts.message_read
            known = written | (tested if call.function.atomic in GUARDED else hidden_before if call.retries else set())
            hidden = {name for name in known & read if width_bits(message.field(name)) <= HIDDEN_BITS_MAX}
            after_skip = any(before.skips for before in found)
            retried_later = any(isinstance(after, Call) and after.retries for after in parts[at + 1 :])
            hides_skip = call.skips and call.retries and retried_later
            found.append(
                replace(call, hidden=self._members(message, hidden), after_skip=after_skip, hides_skip=hides_skip)
            )
            written = (written - hidden) | set(facts.written)
            hidden_before |= hidden
            tested |= read
        return tuple(found)

    def _function(self, section: Section, facts: StepFacts, retried: bool) -> SectionFunction:
        described = self._described(section, facts, retried)
        function = self.functions.setdefault(described.name, described)
        if retried:
            function = replace(function, retried=True)
        if described.atomic == "word" and section.contended != "never":
            function = replace(function, saved=self._saved(facts))
        self.functions[function.name] = function
        return function

    def _described(self, section: Section, facts: StepFacts, retried: bool) -> SectionFunction:
        names, table, step = self._names, self._tables[section.table], facts.step
        message = self._protocol.message
        # A message in a map is not copied for a retry: the verifier knows nothing of its values.
        copied = not self._message_in_map
        taken = {*OF_A_SECTION, *(one.local for one in self._saved(facts))}
        kept = {*OF_A_RETRY}
        return SectionFunction(
            name=names.function(step.name, "on", table.name),
            step=names.step(step),
            step_name=step.name,
            table=table.name,
            cell=names.local(step.cell, taken),
            cell_struct=c_type(names, table.cell),
            cell_function=names.tag(table.cell),
            element_type=element_type(names, self._protocol, table.name),
            atomic=table.atomic,
            writes=facts.changes_cell,
            environment=step.env is not None,
            saved=(),
            retried=retried,
            read=self._members(message, {*facts.message_read, *facts.written}, kept) if copied else (),
            environment_read=self._members(self._protocol.environment, facts.environment_read, kept),
            written=self._members(message, facts.written, kept, "_after") if copied else (),
        )

    def _saved(self, facts: StepFacts) -> tuple[Saved, ...]:
        """Returns the message fields that a lost attempt restores: those written in leaves that also write the cell."""
        message, taken, saved = self._protocol.message, {*OF_A_SECTION}, []
        for each in facts.written_with_cell:
            local = self._names.local(each, taken)
            taken.add(local)
            saved.append(Saved(f"const {c_type(self._names, message.field(each))}", local, f"message->{field(each)}"))
        return tuple(saved)

    def _members(
        self, record: Record, used: Collection[str], kept: set[str] | None = None, suffix: str = ""
    ) -> tuple[Member, ...]:
        """Describes the fields that are used. Adds their names in a retry to `kept`, and takes none that is there."""
        kept = set() if kept is None else kept
        members = []
        for name, type_ in record.fields:
            if name in used:
                own = variable(f"{name}{suffix}", kept)
                kept.add(own)
                members.append(Member(field(name), c_type(self._names, type_), memory_layout(type_)[0], own))
        return tuple(members)


def _index(section: Section) -> str:
    """Returns the message's field that selects the cell. A section on the table that a sweep goes over has none."""
    return expect(section.index, str)


def _index_text(section: Section) -> str:
    return f"message->{field(_index(section))}"
