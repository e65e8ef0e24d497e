"""Types of the intermediate representation, and where a node stands: a part of ir.py, which has all of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar


@dataclass(frozen=True)
class Span:
    """Where a node stands in the TLA+ source. Lines and columns count from 1.

    last_line, last_column: of its last character, where they are known, else 0. Two spans that begin at one place are
    the same.
    """

    file: str
    line: int
    column: int
    last_line: int = field(default=0, compare=False, repr=False)
    last_column: int = field(default=0, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


# --- Types -----------------------------------------------------------------------------


@dataclass(frozen=True)
class UInt:
    """An unsigned integer of `width` bits, 1 to 64."""

    width: int


@dataclass(frozen=True)
class Bool:
    pass


@dataclass(frozen=True)
class Enum:
    """Strings of TLA+. `name` is where the layout defines it (`door.mode`); the first member is 0."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Bytes:
    """`size` opaque bytes: compared for equality and copied, nothing else."""

    size: int


@dataclass(frozen=True)
class Set:
    """At most `max` distinct elements."""

    element: Type
    max: int


@dataclass(frozen=True)
class Bits:
    """A set of integers 0..size-1, size at most 64, kept in one word."""

    size: int


@dataclass(frozen=True)
class Array:
    """A function over 1..size."""

    element: Type
    size: int


@dataclass(frozen=True)
class Sequence:
    """A sequence of at most `max` elements."""

    element: Type
    max: int


@dataclass(frozen=True)
class Table:
    """A whole table, a function over 0..capacity-1; only a user hook sees one, and only reads it."""

    name: str
    cell: Record
    capacity: int


@dataclass(frozen=True)
class Record:
    """`name` is the C struct's tag without the protocol's prefix: `lock_cell`, `message`, `env`."""

    name: str
    fields: tuple[tuple[str, Type], ...]

    def field(self, name: str) -> Type:
        return dict(self.fields)[name]


Type = UInt | Bool | Enum | Bytes | Set | Bits | Array | Sequence | Table | Record


Wanted = TypeVar("Wanted")


def expect(found: object, wanted: type[Wanted]) -> Wanted:
    """What was found, where it can only be one of that class: a type, a node, or a part that a protocol may lack.

    Another one is a mistake of the caller, not of the user.
    """
    if not isinstance(found, wanted):
        raise TypeError(f"only {wanted.__name__} can be here, not {found!r}")
    return found


@dataclass(frozen=True)
class Interval:
    """Both ends included. Expressions are evaluated exactly: no intermediate result wraps."""

    low: int
    high: int
