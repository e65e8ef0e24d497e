"""Builds Z3 terms, and simplifies them while it does: constants are folded, and bits find the field that they are of.

Z3 is correct without this, but it is much faster if both sides of an equation are the same term. The rules here are
tested against Z3's own operators, because a wrong rule could make two different terms equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import z3

from harness.prove import facts
from harness.prove.facts import Bits, bits, constant, greatest, is_hard, is_product, kind, mask, variable
from harness.prove.truths import FALSE, TRUE, Truth, all_of, any_of, implied, negated, same_truth, truth_if

__all__ = [
    "FALSE",
    "TRUE",
    "Bits",
    "Truth",
    "all_of",
    "any_of",
    "bits",
    "constant",
    "greatest",
    "implied",
    "is_hard",
    "is_product",
    "kind",
    "mask",
    "negated",
    "same_truth",
    "truth_if",
    "variable",
]


_extracted: dict[tuple[int, int, int], tuple[Bits, Bits]] = {}
_equal: dict[tuple[int, int], tuple[Bits, Bits, Truth]] = {}


def forget() -> None:
    """Clears what is remembered of terms. It saves time within a step, and memory between steps."""
    facts.forget()
    _extracted.clear()
    _equal.clear()


def _ordered(left: Bits, right: Bits) -> tuple[Bits, Bits]:
    """Operands of an operation that commutes, in an order that does not depend on the program."""
    if constant(left) is not None or (constant(right) is None and left.get_id() > right.get_id()):
        return right, left
    return left, right


# --- Pieces -------------------------------------------------------------------------------------------


def bits_if(condition: Truth, then: Bits, otherwise: Bits) -> Bits:
    """IF of bits."""
    if z3.is_true(condition) or then.eq(otherwise):
        return then
    if z3.is_false(condition):
        return otherwise
    if z3.is_not(condition):
        return bits_if(negated(condition), otherwise, then)
    if kind(then) == z3.Z3_OP_ITE and then.arg(0).eq(condition):
        then = cast(Bits, then.arg(1))
    if kind(otherwise) == z3.Z3_OP_ITE and otherwise.arg(0).eq(condition):
        otherwise = cast(Bits, otherwise.arg(2))
    return then if then.eq(otherwise) else z3.If(condition, then, otherwise)


def extract(term: Bits, high: int, low: int) -> Bits:
    """The bits high..low."""
    if low == 0 and high == term.size() - 1:
        return term
    value = constant(term)
    if value is not None:
        return bits(value >> low, high - low + 1)
    key = (term.get_id(), high, low)
    known = _extracted.get(key)
    if known is None:
        known = _extracted[key] = (term, _extract(term, high, low))
    return known[1]


LOWEST_FIRST = {z3.Z3_OP_BADD: "add", z3.Z3_OP_BMUL: "multiply"}
BITWISE = {z3.Z3_OP_BAND, z3.Z3_OP_BOR, z3.Z3_OP_BXOR, z3.Z3_OP_BNOT}


def _extract(term: Bits, high: int, low: int) -> Bits:
    if not mask(term) >> low & ((1 << high - low + 1) - 1):
        return bits(0, high - low + 1)
    of, arguments = kind(term), cast("list[Bits]", term.children())
    if of == z3.Z3_OP_CONCAT:
        parts, at = [], term.size()
        for part in arguments:
            at -= part.size()
            first, last = min(high, at + part.size() - 1), max(low, at)
            if first >= last:
                parts.append(extract(part, first - at, last - at))
        return concat(parts)
    if of == z3.Z3_OP_EXTRACT:
        below = cast("list[int]", term.params())[1]
        return extract(arguments[0], high + below, low + below)
    if of == z3.Z3_OP_ITE:
        return bits_if(
            cast(Truth, term.arg(0)),
            extract(cast(Bits, term.arg(1)), high, low),
            extract(cast(Bits, term.arg(2)), high, low),
        )
    if of in BITWISE:
        parts = [extract(part, high, low) for part in arguments]
        if of == z3.Z3_OP_BNOT:
            return invert(parts[0])
        return _folded({z3.Z3_OP_BAND: conjoin, z3.Z3_OP_BOR: join, z3.Z3_OP_BXOR: exclusive}[of], parts)
    if low == high == term.size() - 1:
        sign = _sign(term)
        if sign is not None:
            return truth_bit(sign)
    if of in LOWEST_FIRST and low == 0 and not is_hard(term):
        parts = [extract(part, high, 0) for part in arguments]
        return _folded(add if of == z3.Z3_OP_BADD else multiply, parts)
    return z3.Extract(high, low, term)


def _sign(term: Bits) -> Truth | None:
    """The highest bit of the idioms that compare without a branch: see runtime/bpf/stepwise_sets.h."""
    of, half = kind(term), 1 << term.size() - 1
    if of == z3.Z3_OP_BADD and term.num_args() == 2:
        for left, right in (term.children(), term.children()[::-1]):
            less = _negative(cast(Bits, right))
            if less is not None and mask(cast(Bits, left)) < half and mask(less) < half:
                return below(cast(Bits, left), less)
    if of == z3.Z3_OP_BMUL and (of_what := _negative(term)) is not None and mask(of_what) < half:
        return negated(equal(of_what, bits(0, term.size())))
    if of == z3.Z3_OP_BOR and term.num_args() == 2:
        for left, right in (term.children(), term.children()[::-1]):
            same = _negative(cast(Bits, right))
            if same is not None and same.eq(left):
                return negated(equal(same, bits(0, term.size())))
    return None


def _negative(term: Bits) -> Bits | None:
    """x, if the term is -x."""
    value = constant(term)
    if value is not None:
        return bits(-value, term.size())
    if kind(term) == z3.Z3_OP_BMUL and constant(cast(Bits, term.arg(1))) == (1 << term.size()) - 1:
        return cast(Bits, term.arg(0))
    return None


def _folded(operation: Callable[[Bits, Bits], Bits], parts: list[Bits]) -> Bits:
    result = parts[0]
    for part in parts[1:]:
        result = operation(result, part)
    return result


def concat(parts: Sequence[Bits]) -> Bits:
    """Bits side by side, the highest first."""
    flat: list[Bits] = []
    for part in parts:
        for piece in pieces(part):
            merged = _beside(flat[-1], piece) if flat else None
            if merged is None:
                flat.append(piece)
            else:
                flat[-1] = merged
    return flat[0] if len(flat) == 1 else z3.Concat(*flat)


def _beside(left: Bits, right: Bits) -> Bits | None:
    """One term for two neighbours, if there is a simple one."""
    values = constant(left), constant(right)
    if values[0] is not None and values[1] is not None:
        return bits(values[0] << right.size() | values[1], left.size() + right.size())
    of, other = kind(left), kind(right)
    if of == z3.Z3_OP_EXTRACT and other == z3.Z3_OP_EXTRACT and left.arg(0).eq(right.arg(0)):
        (high, middle), (below, low) = cast("list[int]", left.params()), cast("list[int]", right.params())
        return extract(cast(Bits, left.arg(0)), high, low) if middle == below + 1 else None
    if of == z3.Z3_OP_ITE and other == z3.Z3_OP_ITE and left.arg(0).eq(right.arg(0)):
        halves = [concat([cast(Bits, left.arg(at)), cast(Bits, right.arg(at))]) for at in (1, 2)]
        return bits_if(cast(Truth, left.arg(0)), halves[0], halves[1])
    return None


def pieces(term: Bits) -> list[Bits]:
    """The parts of a term side by side, the highest first."""
    if kind(term) != z3.Z3_OP_CONCAT:
        return [term]
    return [piece for part in term.children() for piece in pieces(cast(Bits, part))]


def widen(term: Bits, width: int) -> Bits:
    """The same unsigned number in more bits."""
    return term if width == term.size() else concat([bits(0, width - term.size()), term])


def widen_signed(term: Bits, width: int) -> Bits:
    """The same signed number in more bits."""
    if width == term.size():
        return term
    value = constant(term)
    if value is not None:
        sign = value >> term.size() - 1
        return bits(value - (sign << term.size()), width)
    if not mask(term) >> term.size() - 1:
        return widen(term, width)
    return z3.SignExt(width - term.size(), term)


# --- Arithmetic ----------------------------------------------------------------------------------------


def add(left: Bits, right: Bits) -> Bits:
    """Sum, modulo 2^width."""
    values = constant(left), constant(right)
    if values[0] is not None and values[1] is not None:
        return bits(values[0] + values[1], left.size())
    if values[0] is not None:
        left, right, values = right, left, (None, values[0])
    if values[1] == 0:
        return left
    if values[1] is not None and kind(left) == z3.Z3_OP_BADD and left.num_args() == 2:
        inner = constant(cast(Bits, left.arg(1)))
        if inner is not None:
            return add(cast(Bits, left.arg(0)), bits(values[1] + inner, left.size()))
    chosen = _chosen(left, right)
    if chosen is None:
        chosen = _chosen(right, left)
    if chosen is not None:
        return chosen
    left, right = _ordered(left, right)
    fewer = _narrowed(add, left, right, mask(left) + mask(right))
    if fewer is not None:
        return fewer
    return left + right


def _chosen(left: Bits, right: Bits) -> Bits | None:
    """IF as stepwise_choose() calculates it: otherwise + (then - otherwise if the bit is set, else 0)."""
    if kind(left) != z3.Z3_OP_ITE or constant(cast(Bits, left.arg(2))) != 0:
        return None
    then = cast(Bits, left.arg(1))
    if kind(then) != z3.Z3_OP_BADD or then.num_args() != 2:
        return None
    for one, other in (then.children(), then.children()[::-1]):
        less = _negative(cast(Bits, other)) if constant(cast(Bits, other)) is None else None
        if less is not None and less.eq(right):
            return bits_if(cast(Truth, left.arg(0)), cast(Bits, one), right)
    value = constant(right)
    if value is not None and constant(cast(Bits, then.arg(1))) == -value % (1 << right.size()):
        return bits_if(cast(Truth, left.arg(0)), cast(Bits, then.arg(0)), right)
    return None


def _narrowed(operation: Callable[[Bits, Bits], Bits], left: Bits, right: Bits, bound: int) -> Bits | None:
    """The operation in the bits that its result has; None if it needs all."""
    width = bound.bit_length()
    if not 0 < width < left.size():
        return None
    return widen(operation(extract(left, width - 1, 0), extract(right, width - 1, 0)), left.size())


def subtract(left: Bits, right: Bits) -> Bits:
    """Difference, modulo 2^width."""
    value = constant(right)
    if value is not None:
        return add(left, bits(-value, left.size()))
    if left.eq(right):
        return bits(0, left.size())
    return add(left, multiply(right, bits(-1, right.size())))


def multiply(left: Bits, right: Bits) -> Bits:
    """Product, modulo 2^width."""
    values = constant(left), constant(right)
    if values[0] is not None and values[1] is not None:
        return bits(values[0] * values[1], left.size())
    for one, other in ((left, right), (right, left)):
        if mask(one) <= 1:
            return bits_if(equal(one, bits(1, one.size())), other, bits(0, other.size()))
        value = constant(one)
        if value is not None and value.bit_count() == 1:
            return shift_left(other, bits(value.bit_length() - 1, other.size()))
    left, right = _ordered(left, right)
    fewer = _narrowed(multiply, left, right, mask(left) * mask(right))
    if fewer is not None:
        return fewer
    return left * right


def divide(left: Bits, right: Bits) -> Bits:
    """Quotient of unsigned numbers. The divisor is a positive constant."""
    value, top = constant(right), constant(left)
    if not value:
        raise ValueError("a divisor is not a positive constant")
    if top is not None:
        return bits(top // value, left.size())
    if value.bit_count() == 1:
        return shift_right(left, bits(value.bit_length() - 1, left.size()))
    return z3.UDiv(left, right)


def remainder(left: Bits, right: Bits) -> Bits:
    """Remainder of unsigned numbers. The divisor is a positive constant."""
    value, top = constant(right), constant(left)
    if not value:
        raise ValueError("a divisor is not a positive constant")
    if top is not None:
        return bits(top % value, left.size())
    if value.bit_count() == 1:
        return conjoin(left, bits(value - 1, left.size()))
    return left if greatest(left) < value else z3.URem(left, right)


def shift_left(left: Bits, right: Bits) -> Bits:
    """Shift; an amount of the width or more gives zero."""
    by, width = constant(right), left.size()
    if by is None:
        return left << right if mask(left) else left
    if by >= width:
        return bits(0, width)
    return left if by == 0 else concat([extract(left, width - 1 - by, 0), bits(0, by)])


def shift_right(left: Bits, right: Bits) -> Bits:
    """Logical shift; an amount of the width or more gives zero."""
    by, width = constant(right), left.size()
    if by is None:
        return z3.LShR(left, right) if mask(left) else left
    if by >= width:
        return bits(0, width)
    return left if by == 0 else concat([bits(0, by), extract(left, width - 1, by)])


def shift_signed(left: Bits, right: Bits) -> Bits:
    """Arithmetic shift."""
    by, width = constant(right), left.size()
    if not mask(left) >> width - 1:
        return shift_right(left, right)
    if by is None:
        return left >> right
    by = min(by, width - 1)
    return widen_signed(extract(left, width - 1, by), width)


def conjoin(left: Bits, right: Bits) -> Bits:
    """Bitwise and."""
    if left.eq(right):
        return left
    for one, other in ((left, right), (right, left)):
        value = constant(one)
        if value is None:
            continue
        if not mask(other) & ~value:
            return other
        return concat(
            [
                extract(other, high, low) if kept else bits(0, high - low + 1)
                for high, low, kept in _runs(value, one.size())
            ]
        )
    common = mask(left) & mask(right)
    if not common:
        return bits(0, left.size())
    if left.size() == 1:
        return truth_bit(all_of([is_set(left), is_set(right)]))
    fewer = _narrowed(conjoin, left, right, common)
    left, right = _ordered(left, right)
    return left & right if fewer is None else fewer


def is_set(bit: Bits) -> Truth:
    """Whether one bit is set."""
    return equal(bit, bits(1, 1))


def _runs(value: int, width: int) -> list[tuple[int, int, bool]]:
    """The runs of equal bits, the highest first."""
    runs, high = [], width - 1
    for at in range(width - 1, -1, -1):
        if at == 0 or (value >> at & 1) != (value >> at - 1 & 1):
            runs.append((high, at, bool(value >> at & 1)))
            high = at - 1
    return runs


def join(left: Bits, right: Bits) -> Bits:
    """Bitwise or."""
    if left.eq(right):
        return left
    for one, other in ((left, right), (right, left)):
        value = constant(one)
        if value == 0:
            return other
        if value == (1 << one.size()) - 1:
            return one
    if not mask(left) & mask(right):
        return _interleaved(left, right)
    if left.size() == 1:
        return truth_bit(any_of([is_set(left), is_set(right)]))
    fewer = _narrowed(join, left, right, mask(left) | mask(right))
    left, right = _ordered(left, right)
    return left | right if fewer is None else fewer


def _interleaved(left: Bits, right: Bits) -> Bits:
    """Joins terms that have no bit in common, piece by piece if the pieces are simple."""
    if not any(kind(each) == z3.Z3_OP_CONCAT or constant(each) is not None for each in (left, right)):
        left, right = _ordered(left, right)
        return left | right
    parts = []
    for high, low, kept in _runs(mask(left), left.size()):
        piece = extract(left if kept else right, high, low)
        parts.append(piece)
    # Each piece is of one term alone: where the mask of `left` is zero, `left` is zero, and likewise of `right`.
    return concat(parts)


def invert(term: Bits) -> Bits:
    """Bitwise not."""
    value = constant(term)
    if value is not None:
        return bits(~value, term.size())
    if kind(term) == z3.Z3_OP_ITE:
        return bits_if(cast(Truth, term.arg(0)), invert(cast(Bits, term.arg(1))), invert(cast(Bits, term.arg(2))))
    return ~term


def exclusive(left: Bits, right: Bits) -> Bits:
    """Bitwise exclusive or."""
    if left.eq(right):
        return bits(0, left.size())
    values = constant(left), constant(right)
    if values[0] is not None and values[1] is not None:
        return bits(values[0] ^ values[1], left.size())
    for value, other in ((values[0], right), (values[1], left)):
        if value == 0:
            return other
        if value == 1 and mask(other) <= 1:
            return bits_if(equal(other, bits(0, other.size())), bits(1, other.size()), bits(0, other.size()))
    if left.size() == 1:
        return truth_bit(negated(same_truth(is_set(left), is_set(right))))
    fewer = _narrowed(exclusive, left, right, mask(left) | mask(right))
    if fewer is not None:
        return fewer
    left, right = _ordered(left, right)
    return left ^ right


# --- Comparisons ---------------------------------------------------------------------------------------


def equal(left: Bits, right: Bits) -> Truth:
    """Equality."""
    if left.eq(right):
        return TRUE
    if constant(left) is not None:
        left, right = right, left
    value = constant(right)
    if value is None:
        high = (mask(left) | mask(right)).bit_length()
        if 0 < high < left.size():
            return equal(extract(left, high - 1, 0), extract(right, high - 1, 0))
        for one, other in ((left, right), (right, left)):
            first = pieces(one)[0]
            if first is not one and constant(first) is not None:
                width, size = one.size(), first.size()
                top = equal(extract(other, width - 1, width - size), first)
                rest = equal(extract(one, width - size - 1, 0), extract(other, width - size - 1, 0))
                return all_of([top, rest])
        left, right = _ordered(left, right)
        return cast(Truth, left == right)
    if value & ~mask(left):
        return FALSE
    key = (left.get_id(), value)
    known = _equal.get(key)
    if known is None:
        known = _equal[key] = (left, right, _equal_constant(left, value))
    return known[2]


def _equal_constant(left: Bits, value: int) -> Truth:
    top = constant(left)
    if top is not None:
        return TRUE if top == value else FALSE
    of, width = kind(left), left.size()
    if of == z3.Z3_OP_CONCAT:
        results, at = [], width
        for part in cast("list[Bits]", left.children()):
            at -= part.size()
            results.append(equal(part, bits(value >> at, part.size())))
        return all_of(results)
    if of == z3.Z3_OP_ITE:
        arms = [equal(cast(Bits, left.arg(at)), bits(value, width)) for at in (1, 2)]
        return truth_if(cast(Truth, left.arg(0)), arms[0], arms[1])
    if of == z3.Z3_OP_BADD and left.num_args() == 2:
        inner = constant(cast(Bits, left.arg(1)))
        if inner is not None:
            return equal(cast(Bits, left.arg(0)), bits(value - inner, width))
    if of == z3.Z3_OP_BXOR and left.num_args() == 2 and value == 0:
        return equal(cast(Bits, left.arg(0)), cast(Bits, left.arg(1)))
    return cast(Truth, left == bits(value, width))


def below(left: Bits, right: Bits) -> Truth:
    """Less, of unsigned numbers."""
    values, width = (constant(left), constant(right)), left.size()
    if values[0] is not None and values[1] is not None:
        return TRUE if values[0] < values[1] else FALSE
    if values[1] is not None and greatest(left) < values[1]:
        return TRUE
    if values[1] == 0 or (values[0] is not None and values[0] >= greatest(right)) or left.eq(right):
        return FALSE
    if values[1] == 1:
        return equal(left, bits(0, width))
    if values[0] == 0:
        return negated(equal(right, bits(0, width)))
    for one in (left, right):
        if kind(one) == z3.Z3_OP_ITE and _simple(cast(Bits, one.arg(1))) and _simple(cast(Bits, one.arg(2))):
            arms = [cast(Bits, one.arg(at)) for at in (1, 2)]
            pairs = [(arm, right) if one is left else (left, arm) for arm in arms]
            if all(_simple(each) for pair in pairs for each in pair):
                return truth_if(cast(Truth, one.arg(0)), below(*pairs[0]), below(*pairs[1]))
    high = (mask(left) | mask(right)).bit_length()
    if 0 < high < width:
        return cast(Truth, z3.ULT(extract(left, high - 1, 0), extract(right, high - 1, 0)))
    return cast(Truth, z3.ULT(left, right))


def _simple(term: Bits) -> bool:
    return constant(term) is not None


def below_signed(left: Bits, right: Bits) -> Truth:
    """Less, of signed numbers."""
    width = left.size()
    if not (mask(left) | mask(right)) >> width - 1:
        return below(left, right)
    values = constant(left), constant(right)
    if values[0] is not None and values[1] is not None:
        turned = [value - (value >> width - 1 << width) for value in values if value is not None]
        return TRUE if turned[0] < turned[1] else FALSE
    if values[1] == 0:
        return is_set(extract(left, width - 1, width - 1))
    if values[0] == (1 << width) - 1:
        return negated(is_set(extract(right, width - 1, width - 1)))
    return cast(Truth, left < right)


def truth_bit(truth: Truth) -> Bits:
    """One bit, set if it holds."""
    if z3.is_eq(truth):
        for one, other in (truth.children(), truth.children()[::-1]):
            if z3.is_bv(one) and cast(Bits, one).size() == 1 and z3.is_bv_value(other):
                return cast(Bits, one) if cast(Bits, other).as_long() else invert(cast(Bits, one))
    return bits_if(truth, bits(1, 1), bits(0, 1))
