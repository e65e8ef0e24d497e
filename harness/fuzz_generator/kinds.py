"""The types of made-up layouts: what a field may be, and how YAML writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Kind:
    """Base of all types."""

    def layout(self) -> str:
        """Returns the type as layout.yaml has it."""
        raise NotImplementedError

    def width(self) -> int:
        """Returns the bits that it takes in a word."""
        raise NotImplementedError

    def zero(self) -> Any:
        """Returns the value that everything has at first."""
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Kind):
    """A number below 2^bits. TLC counts with 32 bits, so `bits` is at most 30."""

    bits: int

    def layout(self) -> str:
        return f"u{self.bits}"

    def width(self) -> int:
        return self.bits

    def zero(self) -> int:
        return 0

    @property
    def last(self) -> int:
        """The largest value."""
        return (1 << self.bits) - 1


@dataclass(frozen=True)
class Opaque(Kind):
    """Bytes that are only compared and copied. In the model they are small numbers."""

    size: int

    def layout(self) -> str:
        return f"{{bytes: {self.size}}}"

    def width(self) -> int:
        return 8 * self.size

    def zero(self) -> int:
        return 0


@dataclass(frozen=True)
class Truth(Kind):
    """A truth value."""

    def layout(self) -> str:
        return "bool"

    def width(self) -> int:
        return 1

    def zero(self) -> bool:
        return False


@dataclass(frozen=True)
class Enum(Kind):
    """One of some names."""

    members: tuple[str, ...]

    def layout(self) -> str:
        return f"{{enum: [{', '.join(self.members)}]}}"

    def width(self) -> int:
        return (len(self.members) - 1).bit_length()

    def zero(self) -> str:
        return self.members[0]


@dataclass(frozen=True)
class Bits(Kind):
    """A set of numbers below `size`, a bit for each."""

    size: int

    def layout(self) -> str:
        return f"{{bits: {self.size}}}"

    def width(self) -> int:
        return self.size

    def zero(self) -> frozenset[int]:
        return frozenset()

    @property
    def last(self) -> int:
        """The largest item."""
        return self.size - 1


@dataclass(frozen=True)
class Counted(Kind):
    """Base of types with at most `most` items."""

    item: Kind
    most: int
    word: ClassVar[str] = "set"
    """The layout's word for it."""

    def layout(self) -> str:
        return f"{{{self.word}: {self.item.layout()}, max: {self.most}}}"

    def width(self) -> int:
        return self.most.bit_length() + self.most * self.item.width()

    def zero(self) -> Any:
        return frozenset()


@dataclass(frozen=True)
class Several(Counted):
    """A set of at most `most` numbers."""

    item: Number

    @property
    def last(self) -> int:
        """The largest item."""
        return self.item.last


@dataclass(frozen=True)
class Members(Counted):
    """A set of at most `most` members of an enum."""

    item: Enum


@dataclass(frozen=True)
class Queue(Counted):
    """A sequence of at most `most` numbers."""

    item: Number
    word: ClassVar[str] = "sequence"

    def zero(self) -> tuple[int, ...]:
        return ()


@dataclass(frozen=True)
class Record(Kind):
    """Named fields."""

    fields: tuple[tuple[str, Kind], ...]

    def layout(self) -> str:
        return f"{{record: {self.body()}}}"

    def body(self) -> str:
        """Returns the fields as YAML."""
        return "{" + ", ".join(f"{name}: {kind.layout()}" for name, kind in self.fields) + "}"

    def width(self) -> int:
        return sum(kind.width() for _, kind in self.fields)

    def zero(self) -> dict[str, Any]:
        return {name: kind.zero() for name, kind in self.fields}


@dataclass(frozen=True)
class Array(Kind):
    """A function over 1..size."""

    item: Kind
    size: int

    def layout(self) -> str:
        return f"{{array: {self.item.layout()}, size: {self.size}}}"

    def width(self) -> int:
        return self.size * self.item.width()

    def zero(self) -> tuple[Any, ...]:
        return (self.item.zero(),) * self.size
