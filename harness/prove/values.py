"""Values of TLA+ as Z3 terms: exact integers, strings, opaque bytes, records, functions over 1..n, and finite sets.

An integer carries an interval, and has as many bits as its interval needs, so arithmetic never wraps. A set is bits, or
a list of elements of which each has a condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import z3

from harness.prove import terms
from harness.prove.memory import Unsupported
from harness.prove.terms import Bits, Truth

WIDTHS = (64, 128, 256)


@dataclass(frozen=True, eq=False)
class Integer:
    """An integer: a signed term, and bounds of its value."""

    term: Bits
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class Text:
    """A string: one of several, chosen by a number. The number is below their count."""

    members: tuple[str, ...]
    number: Bits


@dataclass(frozen=True, eq=False)
class Opaque:
    """Opaque bytes; the first is lowest."""

    term: Bits


@dataclass(frozen=True, eq=False)
class Record:
    fields: dict[str, Value]


@dataclass(frozen=True, eq=False)
class Array:
    """A function over 1..n."""

    items: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Table:
    """A function over 0..capacity-1 whose values are records, each in one word. cell: reads the record of an index."""

    cell: Callable[[Bits], Value]
    capacity: int


@dataclass(frozen=True, eq=False)
class Range:
    """low..high."""

    low: Integer
    high: Integer


@dataclass(frozen=True, eq=False)
class Small:
    """A set of numbers below the number of bits, as bits."""

    term: Bits


@dataclass(frozen=True, eq=False)
class Listed:
    """A set of elements, each with the condition that it is one.

    distinct: whether those that are in it differ. count: their number, if it is known.
    """

    items: tuple[tuple[Truth, Value], ...]
    distinct: bool = False
    count: Integer | None = None


SetValue: TypeAlias = Range | Small | Listed
Value: TypeAlias = Truth | Integer | Text | Opaque | Record | Array | Table | Range | Small | Listed


def integer(value: int) -> Integer:
    """A constant."""
    return Integer(terms.bits(value, _width(value, value)), value, value)


def unsigned(term: Bits, high: int | None = None) -> Integer:
    """The integer that bits stand for."""
    high = (1 << term.size()) - 1 if high is None else high
    return Integer(terms.widen(term, _width(0, high)) if term.size() < _width(0, high) else term, 0, high)


def text(value: str) -> Text:
    """A constant string."""
    return Text((value,), terms.bits(0, 16))


def _width(low: int, high: int) -> int:
    for width in WIDTHS:
        if -(1 << width - 1) <= low and high < 1 << width - 1:
            return width
    raise Unsupported(f"an integer may be in {low}..{high}, which is more than {WIDTHS[-1]} bits hold")


def resized(value: Integer, width: int) -> Bits:
    """The integer's term in at least the bits that it needs."""
    size = value.term.size()
    if size >= width:
        return terms.extract(value.term, width - 1, 0)
    return terms.widen(value.term, width) if value.low >= 0 else terms.widen_signed(value.term, width)


def number(value: Integer) -> int | None:
    """The value of a constant; None of any other integer."""
    return value.low if value.low == value.high else None


def _made(low: int, high: int, operation: Callable[[Bits, Bits], Bits], left: Integer, right: Integer) -> Integer:
    if low == high:
        return integer(low)
    width = max(_width(low, high), _width(left.low, left.high), _width(right.low, right.high))
    term = operation(resized(left, width), resized(right, width))
    return Integer(terms.extract(term, _width(low, high) - 1, 0), low, high)


def plus(left: Integer, right: Integer) -> Integer:
    """Sum."""
    return _made(left.low + right.low, left.high + right.high, terms.add, left, right)


def minus(left: Integer, right: Integer) -> Integer:
    """Difference."""
    return _made(left.low - right.high, left.high - right.low, terms.subtract, left, right)


def times(left: Integer, right: Integer) -> Integer:
    """Product."""
    products = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    return _made(min(products), max(products), terms.multiply, left, right)


def divided(left: Integer, right: Integer) -> Integer:
    """Quotient. The dividend is not negative, and the divisor is a positive constant."""
    by = _divisor(right)
    low, high = max(left.low, 0), max(left.high, 0)
    return _made(low // by, high // by, terms.divide, Integer(left.term, low, high), right)


def modulo(left: Integer, right: Integer) -> Integer:
    """Remainder. The dividend is not negative, and the divisor is a positive constant."""
    by = _divisor(right)
    high = max(left.high, 0)
    if left.low == left.high:
        return integer(left.low % by)
    return _made(0, min(high, by - 1), terms.remainder, Integer(left.term, 0, high), right)


def _divisor(value: Integer) -> int:
    by = number(value)
    if by is None or by <= 0:
        raise Unsupported("division by something that is not a positive constant")
    return by


def less(left: Integer, right: Integer) -> Truth:
    """Whether one integer is less than another."""
    if left.high < right.low:
        return terms.TRUE
    if left.low >= right.high:
        return terms.FALSE
    width = max(_width(left.low, left.high), _width(right.low, right.high))
    if left.low >= 0 and right.low >= 0:
        return terms.below(resized(left, width), resized(right, width))
    return terms.below_signed(resized(left, width), resized(right, width))


# --- Equality and IF -------------------------------------------------------------------------------------


def equal(left: Value, right: Value) -> Truth:
    """Whether two values are equal. Values of different kinds are an error, as in TLC."""
    match left, right:
        case z3.BoolRef(), z3.BoolRef():
            return terms.same_truth(left, right)
        case Integer(), Integer():
            if left.high < right.low or right.high < left.low:
                return terms.FALSE
            width = max(_width(left.low, left.high), _width(right.low, right.high))
            return terms.equal(resized(left, width), resized(right, width))
        case Text(), Text():
            if left.members == right.members:
                return terms.equal(left.number, right.number)
            common = [member for member in left.members if member in right.members]
            return terms.any_of([terms.all_of([is_text(left, each), is_text(right, each)]) for each in common])
        case (Opaque(), _) | (_, Opaque()):
            one, other = left, right
            size = one.term.size() if isinstance(one, Opaque) else cast(Opaque, other).term.size()
            return terms.equal(opaque(one, size), opaque(other, size))
        case Record(), Record():
            if left.fields.keys() != right.fields.keys():
                return terms.FALSE
            return terms.all_of([equal(each, right.fields[name]) for name, each in left.fields.items()])
        case Array(), Array():
            if len(left.items) != len(right.items):
                return terms.FALSE
            return terms.all_of([equal(a, b) for a, b in zip(left.items, right.items)])
    if isinstance(left, SetValue) and isinstance(right, SetValue):
        if isinstance(left, Small) and isinstance(right, Small) and left.term.size() == right.term.size():
            return terms.equal(left.term, right.term)
        return terms.all_of([subset(left, right), subset(right, left)])
    raise Unsupported(f"a comparison of {type(left).__name__} with {type(right).__name__}")


def is_text(value: Text, member: str) -> Truth:
    """Whether a string is a given one."""
    if member not in value.members:
        return terms.FALSE
    return terms.equal(value.number, terms.bits(value.members.index(member), value.number.size()))


def opaque(value: Value, size: int) -> Bits:
    """The bytes of a value; the number 0 stands for zero bytes."""
    if isinstance(value, Opaque) and value.term.size() == size:
        return value.term
    if isinstance(value, Integer) and number(value) == 0:
        return terms.bits(0, size)
    raise Unsupported("a comparison of opaque bytes with something else")


def choose(condition: Truth, then: Value, otherwise: Value) -> Value:
    """IF."""
    if then is otherwise or z3.is_true(condition):
        return then
    if z3.is_false(condition):
        return otherwise
    match then, otherwise:
        case z3.BoolRef(), z3.BoolRef():
            return terms.truth_if(condition, then, otherwise)
        case Integer(), Integer():
            low, high = min(then.low, otherwise.low), max(then.high, otherwise.high)
            width = _width(low, high)
            return Integer(terms.bits_if(condition, resized(then, width), resized(otherwise, width)), low, high)
        case Text(), Text():
            members = tuple(dict.fromkeys((*otherwise.members, *then.members)))
            if set(then.members) >= set(otherwise.members):
                members = then.members
            numbers = [renumbered(each, members) for each in (then, otherwise)]
            return Text(members, terms.bits_if(condition, *numbers))
        case (Opaque(), _) | (_, Opaque()):
            one, other = then, otherwise
            size = one.term.size() if isinstance(one, Opaque) else cast(Opaque, other).term.size()
            return Opaque(terms.bits_if(condition, opaque(one, size), opaque(other, size)))
        case Record(), Record() if then.fields.keys() == otherwise.fields.keys():
            return Record({name: choose(condition, each, otherwise.fields[name]) for name, each in then.fields.items()})
        case Array(), Array() if len(then.items) == len(otherwise.items):
            return Array(tuple(choose(condition, a, b) for a, b in zip(then.items, otherwise.items)))
    if isinstance(then, SetValue) and isinstance(otherwise, SetValue):
        return _chosen_set(condition, then, otherwise)
    raise Unsupported(f"IF with {type(then).__name__} and {type(otherwise).__name__}")


def renumbered(value: Text, members: Sequence[str]) -> Bits:
    """The number that a string has among other members, which have all of its own."""
    if value.members == tuple(members):
        return value.number
    width = value.number.size()
    result = terms.bits(members.index(value.members[-1]), width)
    for at, member in reversed(list(enumerate(value.members[:-1]))):
        chosen = terms.equal(value.number, terms.bits(at, width))
        result = terms.bits_if(chosen, terms.bits(members.index(member), width), result)
    return result


def _chosen_set(condition: Truth, then: SetValue, otherwise: SetValue) -> SetValue:
    if isinstance(then, Small) or isinstance(otherwise, Small):
        size = max(each.term.size() for each in (then, otherwise) if isinstance(each, Small))
        (one, fits), (other, also) = as_small(then, size), as_small(otherwise, size)
        if z3.is_true(fits) and z3.is_true(also):  # otherwise bits would lose an element
            return Small(terms.bits_if(condition, one.term, other.term))
    one_list, other_list = listed(then), listed(otherwise)
    count = None
    if one_list.count and other_list.count:
        count = cast(Integer, choose(condition, one_list.count, other_list.count))
    distinct = one_list.distinct and other_list.distinct
    shared = len(one_list.items) == len(other_list.items) and all(
        a[1] is b[1] for a, b in zip(one_list.items, other_list.items)
    )
    if shared:
        pairs = zip(one_list.items, other_list.items)
        return Listed(tuple((terms.truth_if(condition, a[0], b[0]), a[1]) for a, b in pairs), distinct, count)
    items = [(terms.all_of([condition, guard]), item) for guard, item in one_list.items]
    items += [(terms.all_of([terms.negated(condition), guard]), item) for guard, item in other_list.items]
    return Listed(tuple(items), distinct, count)


# --- Sets -----------------------------------------------------------------------------------------------


def listed(value: SetValue) -> Listed:
    """Any finite set as a list."""
    if isinstance(value, Listed):
        return value
    if isinstance(value, Range):
        low, high = value.low.low, value.high.high
        items = []
        for at in range(low, high + 1):
            here = integer(at)
            inside = [terms.negated(less(here, value.low)), terms.negated(less(value.high, here))]
            items.append((terms.all_of(inside), here))
        return Listed(tuple(items), distinct=True)
    bits = [terms.extract(value.term, at, at) for at in range(value.term.size())]
    return Listed(tuple((terms.equal(bit, terms.bits(1, 1)), integer(at)) for at, bit in enumerate(bits)), True)


def member(element: Value, of: SetValue) -> Truth:
    """Whether a value is in a set."""
    if isinstance(of, Range):
        if not isinstance(element, Integer):
            raise Unsupported("an element of a range that is not a number")
        return terms.all_of([terms.negated(less(element, of.low)), terms.negated(less(of.high, element))])
    if isinstance(of, Small):
        if not isinstance(element, Integer):
            raise Unsupported("an element of bits that is not a number")
        return terms.equal(terms.extract(terms.shift_right(_wide(of.term), _position(element)), 0, 0), terms.bits(1, 1))
    return terms.any_of([terms.all_of([guard, equal(element, item)]) for guard, item in of.items])


def _position(element: Integer) -> Bits:
    """A number as the amount of a shift. A negative one is more than any width."""
    return resized(element, 64) if _width(element.low, element.high) == 64 else _unsupported()


def _unsupported() -> Bits:
    raise Unsupported("an element of bits with more than 64 bits")


def _wide(term: Bits) -> Bits:
    return terms.widen(term, 64) if term.size() < 64 else term


def as_small(value: SetValue, size: int) -> tuple[Small, Truth]:
    """A set of numbers as bits, and the condition that they have place."""
    if isinstance(value, Small) and value.term.size() == size:
        return value, terms.TRUE
    result, fits = terms.bits(0, size), []
    for guard, item in listed(value).items:
        if not isinstance(item, Integer):
            raise Unsupported("bits of something that is not a number")
        inside = member(item, Range(integer(0), integer(size - 1)))
        fits.append(terms.implied(guard, inside))
        bit = terms.extract(terms.shift_left(terms.bits(1, 64), _position(item)), size - 1, 0)
        result = terms.join(result, terms.bits_if(guard, bit, terms.bits(0, size)))
    return Small(result), terms.all_of(fits)


def subset(left: SetValue, right: SetValue) -> Truth:
    """Whether a set is part of another."""
    return terms.all_of([terms.implied(guard, member(item, right)) for guard, item in listed(left).items])


def union(left: SetValue, right: SetValue) -> tuple[SetValue, Truth]:
    """Union, and the condition that bits can hold it if one of the two is bits."""
    if isinstance(left, Small) or isinstance(right, Small):
        size = max(each.term.size() for each in (left, right) if isinstance(each, Small))
        (one, fits), (other, also) = as_small(left, size), as_small(right, size)
        return Small(terms.join(one.term, other.term)), terms.all_of([fits, also])
    one_list, other_list = listed(left), listed(right)
    items, count = list(one_list.items), one_list.count
    for guard, item in other_list.items:
        new = terms.all_of([guard, terms.negated(member(item, Listed(tuple(items))))])
        items.append((new, item))
        if count is not None:
            count = cast(Integer, choose(new, plus(count, integer(1)), count))
    return Listed(tuple(items), one_list.distinct, count), terms.TRUE


def kept(of: SetValue, test: Callable[[Value], Truth]) -> SetValue:
    """The elements that pass a test."""
    if isinstance(of, Small):
        bits = [terms.truth_bit(terms.all_of([guard, test(item)])) for guard, item in listed(of).items]
        return Small(terms.concat(bits[::-1]))
    found = listed(of)
    return Listed(tuple((terms.all_of([guard, test(item)]), item) for guard, item in found.items), found.distinct)


def without(left: SetValue, right: SetValue) -> SetValue:
    """Difference."""
    if isinstance(left, Small):
        size = left.term.size()
        term = left.term
        if isinstance(right, Small) and right.term.size() == size:
            return Small(terms.conjoin(term, terms.invert(right.term)))
        for guard, item in listed(right).items:
            if not isinstance(item, Integer):
                raise Unsupported("bits without something that is not a number")
            bit = terms.extract(terms.shift_left(terms.bits(1, 64), _position(item)), size - 1, 0)
            term = terms.conjoin(term, terms.invert(terms.bits_if(guard, bit, terms.bits(0, size))))
        return Small(term)
    return kept(left, lambda item: terms.negated(member(item, right)))


def cardinality(of: SetValue) -> Integer:
    """The number of elements."""
    if isinstance(of, Range):
        return cardinality(listed(of))
    found = listed(of)
    if found.count is not None:
        return found.count
    bits: list[Truth] = []
    before: list[tuple[Truth, Value]] = []
    for guard, item in found.items:
        new = guard
        if not found.distinct:
            new = terms.all_of([guard, terms.negated(member(item, Listed(tuple(before))))])
            before.append((guard, item))
        bits.append(new)
    total = terms.bits(0, 64)
    for bit in bits:
        total = terms.add(total, terms.widen(terms.truth_bit(bit), 64))
    return Integer(total, 0, len(bits)) if bits else integer(0)
