"""Measures types: their width in a packed cell, and the interval of their values."""

from __future__ import annotations

from codegen.ir.nodes import Expr, Int
from codegen.ir.types import Array, Bits, Bool, Bytes, Enum, Interval, Record, Sequence, Set, Type, UInt


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


def interval_of(expr: Expr) -> Interval:
    """Returns the interval of an integer expression; that of its type if no smaller one is known."""
    if isinstance(expr, Int):
        return Interval(expr.value, expr.value)
    known: Interval | None = getattr(expr, "interval", None)
    return known if known is not None else type_interval(expr.type)


def type_interval(type_: Type) -> Interval:
    """Returns the interval of the values that C stores for a type; at most that of 64 bits."""
    if isinstance(type_, (UInt, Enum, Bits)):
        return Interval(0, (1 << width_bits(type_)) - 1)
    return Interval(0, (1 << 64) - 1)
