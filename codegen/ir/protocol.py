"""Defines a protocol of the intermediate representation: its tables, messages, hooks, drain and recovery."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from codegen.ir.nodes import Step
from codegen.ir.types import Record

VERDICTS = ("Continue", "Reply", "Forward", "Drop")
"""The ends of a step in xdp and tc."""

VERDICTS_OF_USER = ("Reply", "Drop")
"""The ends of the only section of the user hook. One of a list may continue as well."""

VERDICTS_OF_PASSES = ("Continue", "Drop")
"""The ends of a step in a pass of the sweep or of restore: it has no packet to send."""


@dataclass(frozen=True)
class When:
    """The messages that a section is for: those whose enum `field` is one of `members`."""

    field: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """One atomic section of a hook."""

    table: str
    step: Step
    """One Step object serves all sections that name it, because a step belongs to one table."""
    index: str | None
    """The message's field that selects the cell; None for the table that a sweep goes over."""
    contended: str
    """`drop`, `skip` or `never`; see docs/reference/layout.md."""
    writes: bool
    """Whether any leaf changes the cell. A section without writes is a plain load."""
    reads: str = ""
    """Part of the table that a user section only reads: `table` (the step's cell type is a Table) or `cell`.

    It is empty if the section steps a cell, as in all other hooks.
    """
    again: tuple[str, ...] = ()
    """Leaves of a user section that drop a message, on which the daemon runs the hook again later."""
    when: When | None = None
    """Messages that the section is for; None means all. For all others the step continues and changes nothing."""
    group: int = 0
    """Number of its group, from 1 on; 0 if it runs for the message itself.

    All sections of a group run for the first operation of a message, then for the second, and so on.
    """


@dataclass(frozen=True)
class Pass:
    """One pass of the sweep, or the pass over rows to restore."""

    each: str
    """The table whose indices the pass goes over."""
    sections: tuple[Section, ...]
    """They run for every index."""
    program: str
    """Its program's name without the protocol's prefix."""


@dataclass(frozen=True)
class Restore:
    """How recovered rows get into the tables."""

    rows: str
    """The table whose cells hold the rows."""
    fate: str
    """The cell's field with the outcome of a row."""
    done: tuple[str, ...]
    """Members of `fate` that mean success."""


@dataclass(frozen=True)
class TableLayout:
    """One table of the layout."""

    name: str
    cell: Record
    map: str
    """Only `array` so far."""
    capacity: int
    index: str
    """The message's field that selects the cell."""
    atomic: str
    """`word`, `spin_lock`, `res_spin_lock`, `user` or `owned`.

    Only the daemon accesses the cells of `user`. At most one section at a time accesses a cell of `owned`.
    """
    ahead: bool = False
    """Whether xdp reads cells before the steps need them, for several packets at once. At most one table has it."""
    own_line: bool = False
    """Whether each cell has its own cache lines; only for `word` and `owned`."""


@dataclass(frozen=True)
class TailLayout:
    """The bytes after the fixed part of a message. A message has them if over < length <= max."""

    field: str
    """Its name: the message's last field, of type Bytes(max). Only steps of the user hook may use it."""
    length: str
    """The message's field with the number of bytes."""
    over: int
    max: int


@dataclass(frozen=True)
class OperationsLayout:
    """The operations after the fixed part of a message that `when` lists. No other message has operations.

    A group of sections runs for each operation. There the message has the operation's values in place of its own
    `fields`, and its hashes are computed from them.
    """

    when: When
    count: str
    """The message's field with the number of operations."""
    max: int
    fields: tuple[str, ...]
    """Fields of the message, in their order in an operation."""
    groups: tuple[When | None, ...] = ()
    """For each group of xdp, the messages that it is for; None means all that have operations."""


@dataclass(frozen=True)
class HashIndex:
    """A local field that is filled when a packet arrives: a hash of the field `source` into 0..capacity-1."""

    field: str
    source: str
    """A field of the wire or of the handover, or a local field that is hashed before this one."""
    capacity: int
    lower: bool = False
    """Whether it uses the other half of the hash, so that two indices of one source are independent."""


@dataclass(frozen=True)
class Budget:
    """The greatest figures that the verifier may report for a program."""

    insns: int
    """Processed instructions."""
    states: int
    """Total states."""
    stack: int
    """Bytes of stack."""


@dataclass(frozen=True)
class Drain:
    """How the daemon copies records from the tables to files. The daemon runs all of its sections.

    A step may be in sections on several tables if their cells have the same fields. It has the cell type of the first.
    """

    each: str
    """The table whose indices are the lanes."""
    lanes: int
    """The capacity of `each`."""
    lane: str
    """The message's field that is the index of `each`."""
    number: str
    """The message's field that counts the records of a lane."""
    takes: tuple[Section, ...]
    """Each reads a word, and everything that was written before it, or reads a cell in place."""
    written: Section
    """Swaps a word, as do `synced` and `begins`."""
    synced: Section
    begins: tuple[Section, ...]
    entry: tuple[str, ...]
    """The message's fields that a file keeps of a record, in order."""
    batch: int
    segment_bytes: int
    sync_ms: int

    @property
    def sections(self) -> tuple[Section, ...]:
        return (*self.takes, self.written, self.synced, *self.begins)


@dataclass(frozen=True)
class Recovery:
    """Makes one cell of all entries with the same key: the step runs on each entry, in any order."""

    key: str
    cell: Record
    step: Step


OPERATIONS = "operations"
"""The name of a message's operations in conformance, in Python and in C."""

POSITION = "position"
"""The field of env with the number of the operation, from 0, for which a group runs."""

EPOCH = "epoch"
"""The message's field with the epoch, in which a drain counts numbers."""


TERMS = "terms"
"""The field of env with the hash of everything that a client relies on."""


USER_ONLY = ("age", "peer", "token", "validated", "random")
"""The fields of env that only steps of the user hook have."""


def of_operation(operations: OperationsLayout | None, hashes: Iterable[HashIndex]) -> tuple[str, ...]:
    """Returns the fields of the message that each operation has a value of its own for, with the hashes of them."""
    found = list(operations.fields) if operations else []
    for one in hashes:
        if one.source in found:
            found.append(one.field)
    return tuple(found)


@dataclass(frozen=True)
class Protocol:
    """Everything that the emitters need of a protocol."""

    name: str
    module: str
    constants: tuple[tuple[str, int | bool | str | tuple[int | str, ...]], ...]
    declared: frozenset[str]
    """Names of the constants that the TLA+ declares. Other constants only give the layout its sizes."""
    message: Record
    """Wire fields, handover fields and local fields in one record."""
    wire: tuple[str, ...]
    """Wire fields, in their order on the wire."""
    handover: tuple[str, ...]
    """Fields after those of `wire`, which the hooks hand to one another. They are zero in a client's packet."""
    port: int
    hashes: tuple[HashIndex, ...]
    env: Record
    """The fields random (Bytes(8)), index (UInt(32)), and those that the layout asks for.

    It may ask for now, cpu, age, terms, peer, token and validated. With operations there is position.
    """
    tick_ns: int | None
    """Length of a tick of env.now, a power of two; None without a clock."""
    tables: tuple[TableLayout, ...]
    xdp: tuple[Section, ...]
    tc: tuple[Section, ...]
    user: tuple[Section, ...]
    """Sections of the user hook; empty if nothing is forwarded."""
    sweep_period_ms: int
    sweep: tuple[Pass, ...]
    """Passes of the sweep. If rows can be restored, the pass over them is the last; the sweep does not run it."""
    budgets: tuple[tuple[str, Budget], ...]
    sources: tuple[str, ...]
    """The files that it was compiled from, relative to the repository's root, in order."""
    user_row: bool = False
    """Whether the layout has the user hook as a list."""
    forwards: tuple[str, ...] = ()
    """Wire fields that xdp writes into a packet that it forwards, beside the handover."""
    tail: TailLayout | None = None
    operations: OperationsLayout | None = None
    restore: Restore | None = None
    drain: Drain | None = None
    recovery: Recovery | None = None
    young_ticks: int = 0
    """Age from which the tables are old to every step (see env.age); 0 if no step asks."""
    token: str | None = None
    """Wire field in which a client shows a token (see env.validated); None if no step asks."""
    promiscuous: bool = False
    """Whether packets to addresses of other hosts are served as well."""

    def __repr__(self) -> str:
        """Returns a short text: a failed test would otherwise print every node of every step."""
        return f"<Protocol {self.name}>"

    @property
    def groups(self) -> tuple[tuple[Section, ...], ...]:
        """Returns the sections of each group of xdp."""
        count = len(self.operations.groups) if self.operations else 0
        return tuple(tuple(one for one in self.xdp if one.group == number) for number in range(1, count + 1))

    @property
    def operation(self) -> Record:
        """Returns the fields of an operation, in one record; none without operations."""
        names = self.operations.fields if self.operations else ()
        return Record("operation", tuple((name, self.message.field(name)) for name in names))

    def of_operation(self) -> tuple[str, ...]:
        """Returns the message's fields that each operation has a value of its own for; none without operations."""
        return of_operation(self.operations, self.hashes)

    @property
    def daemon_steps(self) -> tuple[Step, ...]:
        """Returns the steps of the drain and of recovery, each once."""
        found = {section.step.name: section.step for section in self.drain.sections} if self.drain else {}
        return (*found.values(), *((self.recovery.step,) if self.recovery else ()))

    def verdicts_of(self, step: str) -> tuple[str, ...]:
        """Returns the verdicts with which a step may end in all hooks that run it."""
        allowed = set(VERDICTS)
        if any(section.step.name == step for section in self.user):
            allowed &= {*VERDICTS_OF_USER, *(("Continue",) if self.user_row else ())}
        if any(section.step.name == step for one in self.sweep for section in one.sections):
            allowed &= set(VERDICTS_OF_PASSES)
        return tuple(verdict for verdict in VERDICTS if verdict in allowed)

    @property
    def environment(self) -> Record:
        """Returns the fields of env that each run receives: all but terms, which is a constant."""
        return Record(self.env.name, tuple((name, type_) for name, type_ in self.env.fields if name != TERMS))

    @property
    def ahead(self) -> TableLayout | None:
        """Returns the table whose cells xdp reads before the steps need them, if there is one."""
        return next((table for table in self.tables if table.ahead), None)
