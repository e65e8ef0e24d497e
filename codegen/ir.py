"""The typed intermediate representation: what the front end hands to the emitters.

Operators are inlined, constants folded, names unique within a step, and every integer expression carries the interval that was
inferred for it. A step's body is a tree of decisions whose leaves say what becomes of the cell and of the message. Everything is
immutable; a pass returns new nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from codegen.ir_types import Array, Bits, Bool, Bytes, Enum, Interval, Record, Sequence, Set, Span, Table, UInt


Type = Union[UInt, Bool, Enum, Bytes, Set, Bits, Array, Sequence, Table, Record]


# --- Expressions: every one has a type and a span ---------------------------------------
#
# A number that is no field (a constant, a result of Arith, a Cardinality, Count or First, the
# variable of a Range or of Bits) has the type UInt(64); its interval says what it can be, and that
# may be negative. Where the interval's low end is negative, its high end fits a signed 64-bit integer.
#
# Both sides of a comparison have types that agree but for widths and rooms. The left operand of a
# SetOp, and what is assigned to a field, have the type of the whole (a set that lies somewhere with
# another type is joined to an empty literal first); the right operand may be a set of any width and
# room. The branches of an If that makes a set have its type. A loop's body uses its variable.


@dataclass(frozen=True)
class Int:
    """A constant. Of type Bytes only with value 0: all bytes zero."""

    value: int
    type: Type
    span: Span


@dataclass(frozen=True)
class Literal:
    """A constant of a Bool (True, False) or of an Enum (the member's name)."""

    value: Union[bool, str]
    type: Type
    span: Span


@dataclass(frozen=True)
class Var:
    """A step's parameter, or a name bound by Let, a quantifier, a filter, an image or an array literal."""

    name: str
    type: Type
    span: Span
    interval: Interval | None = None


@dataclass(frozen=True)
class Field:
    base: "Expr"
    name: str
    type: Type
    span: Span
    interval: Interval | None = None


@dataclass(frozen=True)
class Index:
    """Element of an Array or Sequence (index from 1), or cell of a Table (index from 0); shown to be in range."""

    base: "Expr"
    index: "Expr"
    type: Type
    span: Span
    interval: Interval | None = None


@dataclass(frozen=True)
class Arith:
    """`+ - * div %` on integers; `interval` bounds the exact result, which may be negative for `-`."""

    op: str
    left: "Expr"
    right: "Expr"
    type: Type
    span: Span
    interval: Interval


@dataclass(frozen=True)
class Compare:
    """`< <= > >=` on integers, `=` on any type. `#` and `/=` arrive as Not of `=`."""

    op: str
    left: "Expr"
    right: "Expr"
    type: Type
    span: Span


@dataclass(frozen=True)
class Not:
    operand: "Expr"
    type: Type
    span: Span


@dataclass(frozen=True)
class Logic:
    """`and` or `or` of two or more operands, in order, evaluated from the left and no further than needed."""

    op: str
    operands: tuple["Expr", ...]
    type: Type
    span: Span


@dataclass(frozen=True)
class If:
    """A value chosen by a condition; CASE arrives as a chain of these."""

    condition: "Expr"
    then: "Expr"
    otherwise: "Expr"
    type: Type
    span: Span
    interval: Interval | None = None


@dataclass(frozen=True)
class Let:
    name: str
    value: "Expr"
    body: "Expr"
    type: Type
    span: Span
    interval: Interval | None = None


@dataclass(frozen=True)
class SetOf:
    """A set literal. Its elements may be equal to one another."""

    elements: tuple["Expr", ...]
    type: Type
    span: Span


@dataclass(frozen=True)
class SetOp:
    """`union`, `intersect` or `minus` of two sets or two bit sets; a union is shown to fit its type."""

    op: str
    left: "Expr"
    right: "Expr"
    type: Type
    span: Span


@dataclass(frozen=True)
class In:
    element: "Expr"
    set: "Expr"
    type: Type
    span: Span


@dataclass(frozen=True)
class Subset:
    left: "Expr"
    right: "Expr"
    type: Type
    span: Span


@dataclass(frozen=True)
class Cardinality:
    """Of a Set or Bits, or `Len` of a Sequence."""

    operand: "Expr"
    type: Type
    span: Span
    interval: Interval


@dataclass(frozen=True)
class Range:
    """low..high, only as the domain of a binder; `bound` is the most iterations there can be."""

    low: "Expr"
    high: "Expr"
    bound: int
    type: Type
    span: Span


@dataclass(frozen=True)
class Filter:
    """{variable \\in domain : predicate}, a set of the place's type, which may not be the domain's."""

    variable: str
    domain: "Expr"
    predicate: "Expr"
    type: Type
    span: Span


@dataclass(frozen=True)
class Image:
    """{value : variable \\in domain}, duplicates removed; only of those that satisfy the predicate, where there is one.

    The domain is a Range only where the result has type Bits.
    """

    variable: str
    domain: "Expr"
    value: "Expr"
    type: Type
    span: Span
    predicate: Union["Expr", None] = None


@dataclass(frozen=True)
class Quantifier:
    """`exists` or `forall` over a Set, Bits or Range."""

    op: str
    variable: str
    domain: "Expr"
    predicate: "Expr"
    type: Type
    span: Span


@dataclass(frozen=True)
class First:
    """The least of a Range that satisfies the predicate, or `none` where there is one and none does."""

    variable: str
    domain: Range
    predicate: "Expr"
    none: Union["Expr", None]
    type: Type
    span: Span
    interval: Interval


@dataclass(frozen=True)
class Count:
    """How many of the domain satisfy the predicate: the Cardinality of a Filter that need not be built."""

    variable: str
    domain: "Expr"
    predicate: "Expr"
    type: Type
    span: Span
    interval: Interval


@dataclass(frozen=True)
class RecordOf:
    """A record with every field of its type given."""

    fields: tuple[tuple[str, "Expr"], ...]
    type: Type
    span: Span


@dataclass(frozen=True)
class ArrayOf:
    """[variable \\in 1..size |-> value]"""

    variable: str
    value: "Expr"
    type: Type
    span: Span


@dataclass(frozen=True)
class SequenceOf:
    """<<a, b>>"""

    elements: tuple["Expr", ...]
    type: Type
    span: Span


@dataclass(frozen=True)
class Append:
    """Append(sequence, element), shown to fit its type."""

    sequence: "Expr"
    element: "Expr"
    type: Type
    span: Span


@dataclass(frozen=True)
class Tail:
    """The sequence without its first element; shown not to be empty."""

    sequence: "Expr"
    type: Type
    span: Span


Path = tuple[Union[str, "Expr"], ...]
"""From a record: field names, and index expressions into arrays."""


@dataclass(frozen=True)
class Update:
    """[base EXCEPT !.path = value, ...], one after the other; `@` arrives as the old value's Field or Index."""

    base: "Expr"
    updates: tuple[tuple[Path, "Expr"], ...]
    type: Type
    span: Span


Expr = Union[
    Int, Literal, Var, Field, Index, Arith, Compare, Not, Logic, If, Let, SetOf, SetOp, In, Subset, Cardinality,
    Range, Filter, Image, Quantifier, First, Count, RecordOf, ArrayOf, SequenceOf, Append, Tail, Update,
]  # fmt: skip


# --- Steps -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assign:
    """One field (or element) of the cell or of the message that a leaf changes; all of a leaf's are simultaneous."""

    path: Path
    value: Expr
    span: Span


@dataclass(frozen=True)
class Leaf:
    """Where a step ends.

    name: its TLA+ label, else the step's name and the leaf's number (`Begin.3`); unique in its step.
    operator: the user's operator whose text the leaf stands in, for the comment in the C.
    """

    name: str
    verdict: str
    cell: tuple[Assign, ...]
    message: tuple[Assign, ...]
    operator: str
    span: Span


@dataclass(frozen=True)
class Decide:
    """`operator`: as in Leaf."""

    condition: Expr
    then: "Body"
    otherwise: "Body"
    operator: str
    span: Span


@dataclass(frozen=True)
class Bind:
    """A LET that more than one place below uses."""

    name: str
    value: Expr
    body: "Body"
    span: Span


Body = Union[Leaf, Decide, Bind]


@dataclass(frozen=True)
class Step:
    """One operator of the steps module, for one table.

    cell: name of the first parameter; `cell_type` is a Record, or a Table for a user hook that reads the whole of it.
    env: name of the third parameter, None where the step has two.
    """

    name: str
    cell: str
    message: str
    env: str | None
    cell_type: Union[Record, Table]
    body: Body
    span: Span


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
    reads: of a user section, what it only reads: `table` (the whole of it, the step's cell type is a Table) or `cell`; ''
        where it steps a cell, as the sections of all other hooks do.
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
    """Rows that were recovered, in cells of a table. fate: the field that says what became of a row; done: members that are as it should be."""

    rows: str
    fate: str
    done: tuple[str, ...]


@dataclass(frozen=True)
class TableLayout:
    """atomic: `word`, `spin_lock`, `res_spin_lock`, `user` (only the daemon's) or `owned` (at any time one section's); map: `array`.

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

    lanes: the capacity of the table `each`, whose index is the message's field `lane`; number: the field that counts the records
        of a lane.
    takes: each reads a word, and all that was written before it, or a cell where it lies; written, synced, begins: each swaps a word. A step that stands
        in sections on several tables, whose cells have the same fields, has the cell type of the first.
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

    message: wire fields, handover fields and local fields in one record; `wire` lists the first in their order on the wire.
    handover: fields that follow on the wire, which the hooks hand to one another: zero when a packet comes from a client.
    env: fields now (when the layout has a clock), cpu, age, terms, peer, token and validated (when it asks for those), random (Bytes(8)) and index (UInt(32)).
    tick_ns: length of a tick of env.now, a power of two; None without a clock.
    young_ticks: from what age on the tables are old to every step: see env.age. 0 where no step asks.
    token: the field of the wire in which a client shows a token: see env.validated. None where no step asks.
    sweep: the passes of the sweep; the last one is that over rows where any are restored, and is not the sweep's.
    user: the sections of the user hook; none where nothing is forwarded. user_row: whether the layout has them as a list.
    promiscuous: whether packets to addresses of other hosts are served as well.
    forwards: fields of the wire that xdp writes into what it passes to the daemon, beside what is handed over.
    sources: the files it was compiled from, relative to the repository's root, in order.
    """

    name: str
    module: str
    constants: tuple[tuple[str, Union[int, bool, str, tuple[str, ...]]], ...]
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
