"""Defines pieces of C text: expressions with a precedence and an integer kind, and places in memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

from codegen.ir import Bits, Interval, Type, UInt

# C's precedence, the loosest first.
CONDITIONAL, OR, AND, BIT_OR, BIT_AND, EQUALITY, RELATION, SHIFT, SUM, PRODUCT, UNARY, ATOM = range(12)

_KIND_RANGES = {
    "int": Interval(-(1 << 31), (1 << 31) - 1),
    "u32": Interval(0, (1 << 32) - 1),
    "u64": Interval(0, (1 << 64) - 1),
    "s64": Interval(-(1 << 63), (1 << 63) - 1),
}
KIND_TYPES = {"int": "int", "u32": "__u32", "u64": "__u64", "s64": "__s64"}


@dataclass(frozen=True)
class Text:
    """A C expression."""

    text: str
    precedence: int = ATOM
    kind: str = ""
    """Type of the computation, after C's integer promotion; empty if it is not an integer."""

    def at(self, precedence: int) -> str:
        """Returns the text, in parentheses if it binds less tightly than `precedence`."""
        return self.text if self.precedence >= precedence else f"({self.text})"

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Place:
    """A C object."""

    text: str
    pointer: bool = False
    """Whether the text is the object's address."""
    shared: bool = False
    """Whether it is part of a cell that is stepped in place.

    Then an item is found by its address. A local object has no address, so that it can stay in registers.
    """
    elsewhere: str = ""
    """The member that is a pointer to its value, if there is one."""

    def member(self, name: str) -> Place:
        return Place(
            f"{self.text}{'->' if self.pointer else '.'}{name}", pointer=name == self.elsewhere, shared=self.shared
        )

    def item(self, position: str) -> Place:
        """Returns an item of an array's struct."""
        return Place(f"{self.member('items').text}[{position}]", shared=self.shared)

    @property
    def value(self) -> str:
        return f"*{self.text}" if self.pointer else self.text

    @property
    def address(self) -> str:
        return self.text if self.pointer else f"&{self.text}"


def kind_of_width(bits: int) -> str:
    """Returns the kind of an unsigned object of `bits` bits, after promotion."""
    return "int" if bits <= 16 else "u32" if bits <= 32 else "u64"


def kind_of_type(type_: Type) -> str:
    """Returns the kind of an object of this type; empty if it is not an integer."""
    if isinstance(type_, UInt):
        return kind_of_width(type_.width)
    return "u64" if isinstance(type_, Bits) else ""


def fits(interval: Interval, kind: str) -> bool:
    allowed = _KIND_RANGES[kind]
    return allowed.low <= interval.low and interval.high <= allowed.high


def smallest_kind(interval: Interval) -> str:
    """Returns the smallest kind that holds the interval, unsigned if possible."""
    for kind in ("u32", "u64", "s64"):
        if fits(interval, kind):
            return kind
    raise ValueError(f"no C integer holds {interval.low}..{interval.high}")


def kind_of_interval(interval: Interval) -> str:
    """Returns the kind of a local that holds the interval, after promotion."""
    if interval.low < 0:
        return "int" if fits(interval, "int") else "s64"
    return kind_of_width(interval.high.bit_length())


def common_kind(left: str, right: str) -> str:
    """Returns the kind of an operation on two kinds, by C's usual arithmetic conversions."""
    order = ["int", "u32", "s64", "u64"]
    return order[max(order.index(left), order.index(right))]


def self_comparison(left: Text, right: Text) -> bool:
    """Whether both operands are the same object. Compilers warn of such a comparison, also across a cast."""
    one, other = (_bare(operand.text) for operand in (left, right))
    return one == other and re.fullmatch(r"[\w.>\[\]-]+", one) is not None


def _bare(text: str) -> str:
    """Strips casts and parentheses around an operand."""
    while True:
        inner = re.sub(r"^\(__[us]\d+\)", "", text)
        inner = inner[1:-1] if re.fullmatch(r"\([^()]*\)", inner) else inner
        if inner == text:
            return text
        text = inner


def cast(value: Text, kind: str) -> Text:
    if value.kind == kind:
        return value
    return Text(f"({KIND_TYPES[kind]}){value.at(UNARY)}", UNARY, kind)


def popcount(word: Text) -> Text:
    """Counts the bits of a word. Unlike a field, the count is an int that no smaller unsigned type was promoted to."""
    return Text(f"__builtin_popcountll({word})", UNARY, "int")


def integer(value: int) -> Text:
    if value < 0:
        return Text(str(value), UNARY, "int" if value >= -(1 << 31) else "s64")
    if value < 1 << 31:
        return Text(str(value), ATOM, "int")
    if value < 1 << 32:
        return Text(f"{value}U", ATOM, "u32")
    return Text(f"{value}ULL", ATOM, "u64")
