"""Decides what the stack of a program in the kernel has room for: 512 bytes, with those of all functions that it calls.

clang decides how much a program takes, so these are estimates. They count what a step needs by itself: values that it
makes, its message and an unpacked cell. A constant stands for the frame and the other sections.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from codegen.analysis.step_facts import StepFacts, Steps
from codegen.c.names import Names
from codegen.emit.helpers import Helpers
from codegen.emit.steps import StepWriter
from codegen.emit.types import SLOT_BYTES, memory_layout, stack_bytes, struct_layout
from codegen.errors import Errors, StackTooSmall
from codegen.ir import Assign, Protocol, Section, Type
from codegen.ir.measure import is_scalar, is_vector
from codegen.ir.nodes import Int, Literal
from codegen.ir.walk import leaves

STACK_BYTES = 512
"""The kernel's limit, for a program and all that it calls."""

FRAME_BYTES = 224
"""Bytes that the largest of the shipped programs takes beside its message, its cells and its values."""

MESSAGE_BYTES_MAX = 256
"""The largest message on the stack."""

PRESSURE_MAX = 544
"""The most that a message on the stack and a step may need if each number takes a slot, which most never do."""

GROUP_PRESSURE_MAX = 384
"""The most of this and of another message, that of a group, on the stack."""

NUMBERS = 32
"""As many numbers of a step as FRAME_BYTES and the registers have room for."""


@dataclass(frozen=True)
class Demand:
    """The bytes that a section needs on the stack, without the message. Retries need most of them a second time."""

    section: Section
    values: int
    """Sets, sequences, arrays and records that the step makes, and numbers if there are many."""
    cell: int
    """The unpacked word."""
    saved: int
    """The message's fields that a lost swap restores."""
    moved: int
    """The message's fields that are computed before one of them is written."""
    carried: int
    """The message's fields that a retry is given, if the message is on the stack."""
    retried: bool

    @property
    def total(self) -> int:
        return (self.values + self.cell + self.saved) * (2 if self.retried else 1)


def message_layout(protocol: Protocol) -> tuple[int, int]:
    """Returns the size and alignment of the message in a program. The programs never see the tail."""
    return struct_layout([memory_layout(type_) for _, type_ in _fields(protocol)])


def _fields(protocol: Protocol) -> Iterator[tuple[str, Type]]:
    tail = protocol.tail.field if protocol.tail is not None else None
    return ((name, type_) for name, type_ in protocol.message.fields if name != tail)


def _held(type_: Type) -> int:
    """Returns about how many bytes a field of the message takes. Sets and arrays of the message stay as they are."""
    return max(SLOT_BYTES, memory_layout(type_)[0]) if is_vector(type_) else stack_bytes(type_)


class Stack:
    """Estimates the stack of the programs of one protocol. `steps` has their steps as they are rendered."""

    def __init__(self, protocol: Protocol, names: Names, steps: Steps):
        self._protocol = protocol
        self._names = names
        self._steps = steps
        self._values: dict[str, int] = {}
        size, pressure = message_layout(protocol)[0], self._pressure()
        self.message_in_map = size > MESSAGE_BYTES_MAX or pressure > PRESSURE_MAX
        """True if xdp and tc have their message in a map, as a sweep always has."""
        self.operation_in_map = self.message_in_map or (
            protocol.operations is not None and (2 * size > MESSAGE_BYTES_MAX or pressure + size > GROUP_PRESSURE_MAX)
        )
        """True if groups have their message in a map. On the stack it is beside the message that xdp has there."""

    def _pressure(self) -> int:
        """Returns what a message on the stack and a step need if each number takes a slot."""
        left_out = self.only_grouped()
        message = sum(_held(type_) for name, type_ in _fields(self._protocol) if name not in left_out)
        sections = (*self._protocol.xdp, *self._protocol.tc)
        needed = [demand.total + demand.moved + demand.carried for demand in map(self.demand, sections)]
        return message + max(needed, default=0)

    def only_grouped(self) -> set[str]:
        """Returns the message's fields that only groups use, beside the count: xdp and tc need not hold them."""
        if self._protocol.operations is None:
            return set()
        index = {table.name: table.index for table in self._protocol.tables}

        def used(sections: Iterable[Section]) -> set[str]:
            facts = [(self._steps[section.step.name], index[section.table]) for section in sections]
            return {name for each, at in facts for name in (*each.message_read, *each.written, at)}

        sections = (*self._protocol.xdp, *self._protocol.tc)
        grouped = used(section for section in sections if section.group)
        others = used(section for section in sections if not section.group)
        return {*grouped, self._protocol.operations.count} - others

    def demand(self, section: Section) -> Demand:
        """Estimates what a section needs, without the message."""
        facts, message = self._steps[section.step.name], self._protocol.message
        table = next(table for table in self._protocol.tables if table.name == section.table)
        word = table.atomic == "word"
        swept = not (section in self._protocol.xdp or section in self._protocol.tc)
        retried = bool(word and facts.changes_cell and section.contended != "never" and not swept)
        used = {*facts.message_read, *facts.written}
        restored = facts.written_with_cell if word and section.contended != "never" else ()
        return Demand(
            section,
            values=self._made(facts),
            cell=memory_layout(table.cell)[0] if word else 0,
            saved=sum(stack_bytes(message.field(name)) for name in restored),
            moved=max(SLOT_BYTES * sum(map(_is_computed, leaf.message)) for leaf in leaves(facts.step.body)),
            carried=3 * sum(memory_layout(message.field(name))[0] for name in used) if retried else 0,
            retried=retried,
        )

    def _made(self, facts: StepFacts) -> int:
        """Returns the bytes of the values that the step makes, as it is rendered."""
        name = facts.step.name
        if name not in self._values:
            writer = StepWriter(self._protocol, self._names, Helpers(self._names), facts)
            writer.text()
            lines = writer.context.lines
            self._values[name] = lines.stack + SLOT_BYTES * max(0, lines.numbers - NUMBERS)
        return self._values[name]

    def check(self, errors: Errors) -> None:
        """Reports steps of the kernel for which the stack has no room."""
        sweeps = (section for one in self._protocol.sweep for section in one.sections)
        for section in (*self._protocol.xdp, *self._protocol.tc, *sweeps):
            demand = self.demand(section)
            if demand.total > STACK_BYTES - FRAME_BYTES:
                errors.add(_refusal(demand))


def _is_computed(assign: Assign) -> bool:
    return not isinstance(assign.value, (Int, Literal)) and is_scalar(assign.value.type)


def _refusal(demand: Demand) -> StackTooSmall:
    section = demand.section
    parts = {
        "values that it makes": demand.values,
        f"the cell of {section.table}": demand.cell,
        "fields of the message that a lost swap restores": demand.saved,
    }
    needs = ", ".join(f"{size} for {what}" for what, size in parts.items() if size)
    twice = ", all of it twice because the swap is retried" if demand.retried else ""
    remedy = "make these values smaller (of bytes, multiples of 8 need least), or split the step into two sections"
    if demand.saved > demand.values:
        remedy = (
            "write fewer or smaller fields where the cell changes (of bytes, multiples of 8 need least), or make the "
            "table spin_lock"
        )
    return StackTooSmall(
        section.step.span,
        f"{section.step.name} needs {demand.total} bytes of the kernel's stack ({needs}{twice}), but of its "
        f"{STACK_BYTES} bytes a step can have {STACK_BYTES - FRAME_BYTES}",
        remedy,
    )
