"""The typed intermediate representation: what the front end hands to the emitters.

Operators are inlined, constants folded, names unique within a step, and every integer expression carries the
interval that was inferred for it. A step's body is a tree of decisions whose leaves say what becomes of the
cell and of the message. Everything is immutable; a pass returns new nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

from codegen.ir_nodes import (  # noqa: F401
    Append,
    Arith,
    ArrayOf,
    Assign,
    Bind,
    Body,
    Cardinality,
    Compare,
    Count,
    Decide,
    Expr,
    Field,
    Filter,
    First,
    If,
    Image,
    In,
    Index,
    Int,
    Leaf,
    Let,
    Literal,
    Logic,
    Not,
    Path,
    Quantifier,
    Range,
    RecordOf,
    SequenceOf,
    SetOf,
    SetOp,
    Step,
    Subset,
    Tail,
    Update,
    Var,
)
from codegen.ir_types import (  # noqa: F401
    Array,
    Bits,
    Bool,
    Bytes,
    Enum,
    Interval,
    Record,
    Sequence,
    Set,
    Span,
    Table,
    Type,
    UInt,
    expect,
)

# --- The protocol ---------------------------------------------------------------------------


@dataclass(frozen=True)
class When:
    """For which messages a section is: those whose `field`, an enum, is one of `members`."""

    field: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """One atomic section of a hook.

    index: the message's field that says which cell; for the table that a sweep goes over, None.
    One Step object serves all sections that name it: a step belongs to one table.
    contended: `drop`, `skip` or `never`; see docs/layout.md.
    writes: whether any leaf changes the cell; a section that does not is a plain load.
    reads: of a user section, what it only reads: `table` (the whole of it, the step's cell type is a Table) or
        `cell`; '' where it steps a cell, as the sections of all other hooks do.
    again: of a user section, the names of leaves that drop a message which the daemon is to look at again, later.
    when: for which messages it is; for all others the step changes nothing and continues. None: for all.
    """

    table: str
    step: Step
    index: str | None
    contended: str
    writes: bool
    reads: str = ""
    again: tuple[str, ...] = ()
    when: When | None = None


@dataclass(frozen=True)
class Pass:
    """One pass of the sweep, or over rows that are restored: its sections are run for every index of the table `each`.

    program: how its program's name goes on after the protocol's.
    """

    each: str
    sections: tuple[Section, ...]
    program: str


@dataclass(frozen=True)
class Restore:
    """Rows that were recovered, in cells of a table. fate: the field that says what became of a row; done:
    members that are as it should be.
    """

    rows: str
    fate: str
    done: tuple[str, ...]


@dataclass(frozen=True)
class TableLayout:
    """atomic: `word`, `spin_lock`, `res_spin_lock`, `user` (only the daemon's) or `owned` (at any time one section's);
    map: `array`.

    ahead: whether xdp reads its cells ahead of the steps, those of several packets at once; at most one table's.
    own_line: whether each cell, a word or one with an owner, has cache lines of its own.
    """

    name: str
    cell: Record
    map: str
    capacity: int
    index: str
    atomic: str
    ahead: bool = False
    own_line: bool = False


@dataclass(frozen=True)
class TailLayout:
    """What follows the fixed part of a message: as many bytes as the field `length` says, if over < length <= max.

    To the steps it is the message's last field, `field`, of type Bytes(max); only those of the user hook name it.
    """

    field: str
    length: str
    over: int
    max: int


@dataclass(frozen=True)
class HashIndex:
    """A local field that is filled when a packet arrives: a hash of message field `source` into 0..capacity-1.

    source: a field of the wire or of the handover, or a local field that is hashed before this one.
    lower: of the hash's other half, so that two indices of one source have nothing to do with one another.
    """

    field: str
    source: str
    capacity: int
    lower: bool = False


@dataclass(frozen=True)
class Budget:
    """What the verifier may report for a program: instructions processed, total states, bytes of stack."""

    insns: int
    states: int
    stack: int


@dataclass(frozen=True)
class Drain:
    """What the daemon takes from the tables into files. All its sections are the daemon's.

    lanes: the capacity of the table `each`, whose index is the message's field `lane`; number: the field that
        counts the records of a lane.
    takes: each reads a word, and all that was written before it, or a cell where it lies; written, synced,
        begins: each swaps a word. A step that stands in sections on several tables, whose cells have the same
        fields, has the cell type of the first.
    entry: the message's fields that a file has of a record, in order.
    """

    each: str
    lanes: int
    lane: str
    number: str
    takes: tuple[Section, ...]
    written: Section
    synced: Section
    begins: tuple[Section, ...]
    entry: tuple[str, ...]
    batch: int
    segment_bytes: int
    sync_ms: int

    @property
    def sections(self) -> tuple[Section, ...]:
        return (*self.takes, self.written, self.synced, *self.begins)


@dataclass(frozen=True)
class Recovery:
    """What is made of the entries that have one key: a cell, by a step on each of them, in whatever order."""

    key: str
    cell: Record
    step: Step


EPOCH = "epoch"
"""The message's field of a drain that says since when numbers are counted."""


TERMS = "terms"
"""The field of env that is a hash of all that a client relies on."""


USER_ONLY = ("age", "peer", "token", "validated", "random")
"""The fields of env that only steps of the user hook have."""


@dataclass(frozen=True)
class Protocol:
    """Everything the emitters need.

    message: wire fields, handover fields and local fields in one record; `wire` lists the first in their order on the
    wire.
    handover: fields that follow on the wire, which the hooks hand to one another: zero when a packet comes from a
    client.
    env: fields now (when the layout has a clock), cpu, age, terms, peer, token and validated (when it asks for those),
    random (Bytes(8)) and index (UInt(32)).
    tick_ns: length of a tick of env.now, a power of two; None without a clock.
    young_ticks: from what age on the tables are old to every step: see env.age. 0 where no step asks.
    token: the field of the wire in which a client shows a token: see env.validated. None where no step asks.
    sweep: the passes of the sweep; the last one is that over rows where any are restored, and is not the sweep's.
    user: the sections of the user hook; none where nothing is forwarded. user_row: whether the layout has them as a
    list.
    promiscuous: whether packets to addresses of other hosts are served as well.
    forwards: fields of the wire that xdp writes into what it passes to the daemon, beside what is handed over.
    sources: the files it was compiled from, relative to the repository's root, in order.
    """

    name: str
    module: str
    constants: tuple[tuple[str, int | bool | str | tuple[str, ...]], ...]
    message: Record
    wire: tuple[str, ...]
    handover: tuple[str, ...]
    port: int
    hashes: tuple[HashIndex, ...]
    env: Record
    tick_ns: int | None
    tables: tuple[TableLayout, ...]
    xdp: tuple[Section, ...]
    tc: tuple[Section, ...]
    user: tuple[Section, ...]
    sweep_period_ms: int
    sweep: tuple[Pass, ...]
    budgets: tuple[tuple[str, Budget], ...]
    sources: tuple[str, ...]
    user_row: bool = False
    forwards: tuple[str, ...] = ()
    tail: TailLayout | None = None
    restore: Restore | None = None
    drain: Drain | None = None
    recovery: Recovery | None = None
    young_ticks: int = 0
    token: str | None = None
    promiscuous: bool = False

    @property
    def daemon_steps(self) -> tuple[Step, ...]:
        """Steps of the drain and of recovery, each once."""
        found = {section.step.name: section.step for section in self.drain.sections} if self.drain else {}
        return (*found.values(), *((self.recovery.step,) if self.recovery else ()))

    @property
    def environment(self) -> Record:
        """What of env each run is given: terms are the same for all, and a constant."""
        return Record(self.env.name, tuple((name, type_) for name, type_ in self.env.fields if name != TERMS))

    @property
    def ahead(self) -> TableLayout | None:
        """The table whose cells xdp reads ahead of the steps."""
        return next((table for table in self.tables if table.ahead), None)
