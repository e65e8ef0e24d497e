"""Expressions and steps of the intermediate representation. The package exports them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

from codegen.ir.types import Array, Bits, Interval, Record, Sequence, Set, Span, Table, Type

# --- Expressions: every one has a type and a span ---------------------------------------
#
# Some numbers are not fields: a constant, a result of Arith, a Cardinality, Count or First, and the
# variable of a Range or of Bits. They have the type UInt(64). Their interval bounds the value, which
# may be negative. If the interval's low end is negative, its high end fits a signed 64-bit integer.
#
# The types of both sides of a comparison differ at most in widths and rooms. The left operand of a
# SetOp has the type of the whole, and a value assigned to a field has the field's type. (A stored set
# of another type is first joined to an empty literal.) The right operand of a SetOp may have any width
# and room. The branches of an If that makes a set have its type. A loop's body uses its variable.


@dataclass(frozen=True)
class Int:
    """A constant. With type Bytes, its value must be 0: all bytes are zero."""

    value: int
    type: Type
    span: Span
    constant: str = field(default="", compare=False)
    """The layout's constant that it is; empty for a number of the text."""


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
    """Element of an Array or Sequence (index from 1), or cell of a Table (index from 0); proven to be in range."""

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
    """`and` or `or` of two or more operands, evaluated from the left until the result is known."""

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
    type: Set | Bits
    span: Span


@dataclass(frozen=True)
class SetOp:
    """`union`, `intersect` or `minus` of two sets or two bit sets; a union is proven to fit its type."""

    op: str
    left: Expr
    right: Expr
    type: Set | Bits
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
    """Number of elements of a Set or Bits, or `Len` of a Sequence."""

    operand: Expr
    type: Type
    span: Span
    interval: Interval


@dataclass(frozen=True)
class Range:
    """low..high, only as the domain of a binder."""

    low: Expr
    high: Expr
    bound: int
    """Greatest number of iterations."""
    type: Type
    span: Span


@dataclass(frozen=True)
class Filter:
    """{variable \\in domain : predicate}. The set has the type of its place, which may differ from the domain's."""

    variable: str
    domain: Expr
    predicate: Expr
    type: Set | Bits
    span: Span
    interval: Interval | None = None
    """Bounds its elements, if they are numbers."""


@dataclass(frozen=True)
class Image:
    """{value : variable \\in domain}, without duplicates. A predicate selects elements of the domain.

    The domain can be a Range only if the result has type Bits.
    """

    variable: str
    domain: Expr
    value: Expr
    type: Set | Bits
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
    """The least number of a Range that satisfies the predicate."""

    variable: str
    domain: Range
    predicate: Expr
    none: Expr | None
    """The value if no number satisfies it; None if one surely does."""
    type: Type
    span: Span
    interval: Interval


@dataclass(frozen=True)
class Count:
    """Number of elements of the domain that satisfy the predicate: the Cardinality of a Filter that is never built."""

    variable: str
    domain: Expr
    predicate: Expr
    type: Type
    span: Span
    interval: Interval


@dataclass(frozen=True)
class RecordOf:
    """A record literal with every field of its type."""

    fields: tuple[tuple[str, Expr], ...]
    type: Record
    span: Span


@dataclass(frozen=True)
class ArrayOf:
    """An array literal: [variable \\in 1..size |-> value]."""

    variable: str
    value: Expr
    type: Array
    span: Span


@dataclass(frozen=True)
class SequenceOf:
    """A sequence literal: <<a, b>>."""

    elements: tuple[Expr, ...]
    type: Sequence
    span: Span


@dataclass(frozen=True)
class Append:
    """Append(sequence, element), proven to fit its type."""

    sequence: Expr
    element: Expr
    type: Sequence
    span: Span


@dataclass(frozen=True)
class Tail:
    """The sequence without its first element. The sequence is proven not to be empty."""

    sequence: Expr
    type: Sequence
    span: Span


Path = tuple[Union[str, "Expr"], ...]
"""Way from a record to a part of it: field names, and index expressions into arrays."""


@dataclass(frozen=True)
class Update:
    """[base EXCEPT !.path = value, ...], applied in order; `@` arrives as the old value's Field or Index."""

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

Loop = Filter | Image | Quantifier | First | Count
"""An expression that binds a variable over its field `domain`."""


# --- Steps -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assign:
    """A change of one field (or element) of the cell or of the message. All assignments of a leaf are simultaneous."""

    path: Path
    value: Expr
    span: Span


@dataclass(frozen=True)
class Leaf:
    """The end of one branch of a step."""

    name: str
    """Its TLA+ label, else the step's name and the leaf's number (`Begin.3`); unique in its step."""
    verdict: str
    cell: tuple[Assign, ...]
    message: tuple[Assign, ...]
    operator: str
    """The user's operator whose text contains the leaf, for the comment in the C."""
    span: Span


@dataclass(frozen=True)
class Decide:
    """A choice between two branches of a step."""

    condition: Expr
    then: Body
    otherwise: Body
    operator: str
    """The user's operator whose text contains the choice."""
    span: Span


@dataclass(frozen=True)
class Bind:
    """A LET that is used in more than one place below."""

    name: str
    value: Expr
    body: Body
    span: Span


Body = Leaf | Decide | Bind


@dataclass(frozen=True)
class Step:
    """One operator of the steps module, for one table."""

    name: str
    cell: str
    """Name of the first parameter."""
    message: str
    """Name of the second parameter."""
    env: str | None
    """Name of the third parameter; None if the step has two."""
    cell_type: Record | Table
    """A Record, or a Table for a user hook that reads the whole table."""
    body: Body
    span: Span

    def __repr__(self) -> str:
        """Returns a short text: a failed test would otherwise print every node of the body."""
        return f"<Step {self.name} of {self.cell_type.name}>"
