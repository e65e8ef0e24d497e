"""Measures types: their width in a packed cell, and the interval of their values."""

from __future__ import annotations

from codegen.ir.nodes import Arith, Expr, Field, First, If, Index, Int, Var
from codegen.ir.types import Array, Bits, Bool, Bytes, Enum, Interval, Record, Sequence, Set, Type, UInt

WORD_BITS = 64

WORD_WIDTH = 6
"""Width of the widest numbers that can each have a bit of a word."""

UNROLL_MAX = 32
"""Loops with more iterations are not unrolled."""

OPERATIONS = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}


def is_scalar(type_: Type) -> bool:
    """Whether a value is one C integer, compared with `==`."""
    return isinstance(type_, (UInt, Bool, Enum, Bits)) or (isinstance(type_, Bytes) and type_.size <= 8)


def is_vector(type_: Type) -> bool:
    return isinstance(type_, (Set, Sequence, Array))


def width_bits(type_: Type) -> int:
    """Returns the number of bits of a value in a packed cell."""
    match type_:
        case UInt(width):
            return width
        case Bool():
            return 1
        case Enum(_, members):
            return max(1, (len(members) - 1).bit_length())
        case Bytes(size):
            return 8 * size
        case Bits(size):
            return size
        case Set(element, size) | Sequence(element, size):
            return size.bit_length() + size * width_bits(element)
        case Array(element, size):
            return size * width_bits(element)
        case Record(_, fields):
            return sum(width_bits(inner) for _, inner in fields)
    raise ValueError(f"a value of {type_} cannot be packed")


def width_bytes(type_: Type) -> int:
    """Returns the number of bytes of a value in a message or in a file."""
    return -(-width_bits(type_) // 8)


def is_packed(element: Type, size: int) -> bool:
    """True if `size` items of a type fit into one word together."""
    return is_scalar(element) and width_bits(element) * size <= WORD_BITS


def compacted(kind: Set) -> Set | Bits:
    """Returns bits for a set of values so few that a bit for each of them takes no more room; else the set."""
    match kind.element:
        case UInt(width) if width <= WORD_WIDTH:
            size, enum = 1 << width, None
        case Enum(_, members) if len(members) <= WORD_BITS:
            size, enum = len(members), kind.element
        case _:
            return kind
    return Bits(size, source=kind, enum=enum) if size <= width_bits(kind) else kind


def natural_interval(expr: Expr) -> Interval | None:
    """Returns the interval of a number by the types of its operands, whatever conditions hold; None if unknown."""
    match expr:
        case Int(value=value):
            return Interval(value, value)
        case If(then=then, otherwise=otherwise):
            return _either(natural_interval(then), natural_interval(otherwise))
        case Arith(op=op, left=left, right=right):
            one, other = natural_interval(left), natural_interval(right)
            return None if one is None or other is None else _computed(op, one, other)
        case Var(interval=Interval() as known):
            return known
        case Var() | Field() | Index() if isinstance(expr.type, UInt) and expr.type.width < 64:
            return type_interval(expr.type)
    return None


def hull(one: Interval, other: Interval) -> Interval:
    """Returns the smallest interval around two."""
    return Interval(min(one.low, other.low), max(one.high, other.high))


def _either(one: Interval | None, other: Interval | None) -> Interval | None:
    return None if one is None or other is None else hull(one, other)


def _computed(op: str, one: Interval, other: Interval) -> Interval | None:
    if op in ("div", "%"):
        if one.low < 0 or other.low < 1:
            return None
        if op == "%":
            return Interval(0, min(one.high, other.high - 1))
        return Interval(one.low // other.high, one.high // other.low)
    return computed_interval(op, one, other)


def computed_interval(op: str, one: Interval, other: Interval) -> Interval:
    """Returns the interval of a sum, a difference or a product of numbers in two intervals."""
    values = [OPERATIONS[op](a, b) for a in (one.low, one.high) for b in (other.low, other.high)]
    return Interval(min(values), max(values))


def interval_of(expr: Expr) -> Interval:
    """Returns the interval of an integer expression; that of its type if no smaller one is known."""
    if isinstance(expr, Int):
        return Interval(expr.value, expr.value)
    known: Interval | None = getattr(expr, "interval", None)
    return known if known is not None else type_interval(expr.type)


def held_interval(expr: Expr) -> Interval:
    """Returns the interval of what a local holds for an integer expression, also where conditions exclude a part."""
    if isinstance(expr, First) and expr.none is not None:
        return hull(interval_of(expr), interval_of(expr.none))
    return interval_of(expr)


def type_interval(type_: Type) -> Interval:
    """Returns the interval of the values that C stores for a type; at most that of 64 bits."""
    if isinstance(type_, (UInt, Enum, Bits)):
        return Interval(0, (1 << width_bits(type_)) - 1)
    return Interval(0, (1 << 64) - 1)
