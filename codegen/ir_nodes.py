"""Nodes of the intermediate representation: expressions and steps. A part of ir.py, which has all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from codegen.ir_types import Interval, Record, Span, Table, Type

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

    value: bool | str
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
    base: Expr
    name: str
    type: Type
    span: Span
    interval: Interval | None = None


@dataclass(frozen=True)
class Index:
    """Element of an Array or Sequence (index from 1), or cell of a Table (index from 0); shown to be in range."""

    base: Expr
    index: Expr
    type: Type
    span: Span
    interval: Interval | None = None


@dataclass(frozen=True)
class Arith:
    """`+ - * div %` on integers; `interval` bounds the exact result, which may be negative for `-`."""

    op: str
    left: Expr
    right: Expr
    type: Type
    span: Span
    interval: Interval


@dataclass(frozen=True)
class Compare:
    """`< <= > >=` on integers, `=` on any type. `#` and `/=` arrive as Not of `=`."""

    op: str
    left: Expr
    right: Expr
    type: Type
    span: Span


@dataclass(frozen=True)
class Not:
    operand: Expr
    type: Type
    span: Span


@dataclass(frozen=True)
class Logic:
    """`and` or `or` of two or more operands, in order, evaluated from the left and no further than needed."""

    op: str
    operands: tuple[Expr, ...]
    type: Type
    span: Span


@dataclass(frozen=True)
class If:
    """A value chosen by a condition; CASE arrives as a chain of these."""

    condition: Expr
    then: Expr
    otherwise: Expr
    type: Type
    span: Span
    interval: Interval | None = None


@dataclass(frozen=True)
class Let:
    name: str
    value: Expr
    body: Expr
    type: Type
    span: Span
    interval: Interval | None = None


@dataclass(frozen=True)
class SetOf:
    """A set literal. Its elements may be equal to one another."""

    elements: tuple[Expr, ...]
    type: Type
    span: Span


@dataclass(frozen=True)
class SetOp:
    """`union`, `intersect` or `minus` of two sets or two bit sets; a union is shown to fit its type."""

    op: str
    left: Expr
    right: Expr
    type: Type
    span: Span


@dataclass(frozen=True)
class In:
    element: Expr
    set: Expr
    type: Type
    span: Span


@dataclass(frozen=True)
class Subset:
    left: Expr
    right: Expr
    type: Type
    span: Span


@dataclass(frozen=True)
class Cardinality:
    """Of a Set or Bits, or `Len` of a Sequence."""

    operand: Expr
    type: Type
    span: Span
    interval: Interval


@dataclass(frozen=True)
class Range:
    """low..high, only as the domain of a binder; `bound` is the most iterations there can be."""

    low: Expr
    high: Expr
    bound: int
    type: Type
    span: Span


@dataclass(frozen=True)
class Filter:
    """{variable \\in domain : predicate}, a set of the place's type, which may not be the domain's."""

    variable: str
    domain: Expr
    predicate: Expr
    type: Type
    span: Span


@dataclass(frozen=True)
class Image:
    """{value : variable \\in domain}, duplicates removed; only of those that satisfy the predicate, where there is one.

    The domain is a Range only where the result has type Bits.
    """

    variable: str
    domain: Expr
    value: Expr
    type: Type
    span: Span
    predicate: Expr | None = None


@dataclass(frozen=True)
class Quantifier:
    """`exists` or `forall` over a Set, Bits or Range."""

    op: str
    variable: str
    domain: Expr
    predicate: Expr
    type: Type
    span: Span


@dataclass(frozen=True)
class First:
    """The least of a Range that satisfies the predicate, or `none` where there is one and none does."""

    variable: str
    domain: Range
    predicate: Expr
    none: Expr | None
    type: Type
    span: Span
    interval: Interval


@dataclass(frozen=True)
class Count:
    """How many of the domain satisfy the predicate: the Cardinality of a Filter that need not be built."""

    variable: str
    domain: Expr
    predicate: Expr
    type: Type
    span: Span
    interval: Interval


@dataclass(frozen=True)
class RecordOf:
    """A record with every field of its type given."""

    fields: tuple[tuple[str, Expr], ...]
    type: Type
    span: Span


@dataclass(frozen=True)
class ArrayOf:
    """[variable \\in 1..size |-> value]"""

    variable: str
    value: Expr
    type: Type
    span: Span


@dataclass(frozen=True)
class SequenceOf:
    """<<a, b>>"""

    elements: tuple[Expr, ...]
    type: Type
    span: Span


@dataclass(frozen=True)
class Append:
    """Append(sequence, element), shown to fit its type."""

    sequence: Expr
    element: Expr
    type: Type
    span: Span


@dataclass(frozen=True)
class Tail:
    """The sequence without its first element; shown not to be empty."""

    sequence: Expr
    type: Type
    span: Span


Path = tuple[Union[str, "Expr"], ...]
"""From a record: field names, and index expressions into arrays."""


@dataclass(frozen=True)
class Update:
    """[base EXCEPT !.path = value, ...], one after the other; `@` arrives as the old value's Field or Index."""

    base: Expr
    updates: tuple[tuple[Path, Expr], ...]
    type: Type
    span: Span


Expr = (
    Int
    | Literal
    | Var
    | Field
    | Index
    | Arith
    | Compare
    | Not
    | Logic
    | If
    | Let
    | SetOf
    | SetOp
    | In
    | Subset
    | Cardinality
    | Range
    | Filter
    | Image
    | Quantifier
    | First
    | Count
    | RecordOf
    | ArrayOf
    | SequenceOf
    | Append
    | Tail
    | Update
)


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
    then: Body
    otherwise: Body
    operator: str
    span: Span


@dataclass(frozen=True)
class Bind:
    """A LET that more than one place below uses."""

    name: str
    value: Expr
    body: Body
    span: Span


Body = Leaf | Decide | Bind


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
    cell_type: Record | Table
    body: Body
    span: Span
