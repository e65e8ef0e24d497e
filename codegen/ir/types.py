"""Types and spans of the intermediate representation. The package exports them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar


@dataclass(frozen=True)
class Span:
    """The place of a node in the TLA+ source. Lines and columns count from 1.

    Two spans that start at the same place are equal.
    """

    file: str
    line: int
    column: int
    last_line: int = field(default=0, compare=False, repr=False)
    """Line of the node's last character; 0 if it is unknown."""
    last_column: int = field(default=0, compare=False, repr=False)
    """Column of the node's last character; 0 if it is unknown."""

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
    """Strings of TLA+."""

    name: str
    """Where the layout defines it, for example `door.mode`."""
    members: tuple[str, ...]
    """The first member is 0 in C."""


@dataclass(frozen=True)
class Bytes:
    """`size` opaque bytes. Steps can only copy them and compare them for equality."""

    size: int


@dataclass(frozen=True)
class Set:
    """At most `max` distinct elements."""

    element: Type
    max: int
    bound: str = field(default="", compare=False, repr=False)
    """The constant in which the layout gives `max`; empty for a plain number."""


@dataclass(frozen=True)
class Bits:
    """A set of integers 0..size-1, or of an enum's members, kept in one word. size: at most 64."""

    size: int
    bound: str = field(default="", compare=False, repr=False)
    """The constant in which the layout gives `size`; empty for a plain number."""
    source: Set | None = field(default=None, compare=False, repr=False)
    """The narrow set that is kept as bits; None for the layout's own `bits`."""
    enum: Enum | None = None
    """The enum of the elements; None for integers."""

    @property
    def most(self) -> int:
        """Returns the greatest number of elements."""
        return self.size if self.source is None else min(self.source.max, self.size)

    @property
    def elements(self) -> tuple[int, ...] | tuple[str, ...]:
        """Returns the possible elements, in the order of their bits."""
        return tuple(range(self.size)) if self.enum is None else self.enum.members

    def __repr__(self) -> str:
        """Returns a text that the identity of tables is made of: it tells how many elements a cell may have."""
        most = f", most={self.most}" if self.most < self.size else ""
        of = f", enum={self.enum}" if self.enum is not None else ""
        return f"Bits(size={self.size}{most}{of})"


@dataclass(frozen=True)
class Array:
    """A function over 1..size."""

    element: Type
    size: int
    bound: str = field(default="", compare=False, repr=False)
    """The constant in which the layout gives `size`; empty for a plain number."""


@dataclass(frozen=True)
class Sequence:
    """A sequence of at most `max` elements."""

    element: Type
    max: int
    bound: str = field(default="", compare=False, repr=False)
    """The constant in which the layout gives `max`; empty for a plain number."""


@dataclass(frozen=True)
class Table:
    """A whole table: a function over 0..capacity-1. Only a user hook can see one, and it can only read it."""

    name: str
    cell: Record
    capacity: int


@dataclass(frozen=True)
class Record:
    """A record of TLA+, and a struct in C."""

    name: str
    """Tag of the C struct without the protocol's prefix: `lock_cell`, `message`, `env`."""
    fields: tuple[tuple[str, Type], ...]

    def field(self, name: str) -> Type:
        return dict(self.fields)[name]


Type = UInt | Bool | Enum | Bytes | Set | Bits | Array | Sequence | Table | Record


Wanted = TypeVar("Wanted")


def expect(found: object, wanted: type[Wanted]) -> Wanted:
    """Returns `found` (a type, a node or an optional part of a protocol), which must be of the wanted class.

    Another class is a mistake of the caller, not of the user.
    """
    if not isinstance(found, wanted):
        raise TypeError(f"expected {wanted.__name__}, found {found!r}")
    return found


@dataclass(frozen=True)
class Interval:
    """An interval that includes both ends. It bounds exact results: no intermediate result wraps."""

    low: int
    high: int
