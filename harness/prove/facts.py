"""Facts about Z3 terms that need no solver: constants, bits that may be set, and how hard a term is. See terms.py."""

from __future__ import annotations

from typing import TypeAlias, cast

import z3

Bits: TypeAlias = z3.BitVecRef

_masks: dict[int, tuple[Bits, int]] = {}
_hard: dict[int, tuple[Bits, bool]] = {}


def forget() -> None:
    """Clears what is remembered of terms."""
    _masks.clear()
    _hard.clear()


def bits(value: int, width: int) -> Bits:
    """A constant."""
    return z3.BitVecVal(value, width)


def variable(name: str, width: int) -> Bits:
    """A variable."""
    return z3.BitVec(name, width)


def constant(term: Bits) -> int | None:
    """The value of a constant; None of any other term."""
    return cast(int, term.as_long()) if z3.is_bv_value(term) else None


def kind(term: z3.ExprRef) -> int:
    return cast(int, term.decl().kind())


def mask(term: Bits) -> int:
    """The bits that may be set."""
    known = _masks.get(term.get_id())
    if known is None:
        known = _masks[term.get_id()] = (term, _mask(term))
    return known[1]


def greatest(term: Bits) -> int:
    """A bound of the term's unsigned value."""
    return mask(term)


def _mask(term: Bits) -> int:
    everything = (1 << term.size()) - 1
    if z3.is_bv_value(term):
        return cast(int, term.as_long())
    of, arguments = kind(term), cast("list[Bits]", term.children())
    match of:
        case z3.Z3_OP_CONCAT:
            result = 0
            for part in arguments:
                result = result << part.size() | mask(part)
            return result
        case z3.Z3_OP_ITE:
            return mask(arguments[1]) | mask(arguments[2])
        case z3.Z3_OP_EXTRACT:
            high, low = cast("list[int]", term.params())
            return mask(arguments[0]) >> low & ((1 << high - low + 1) - 1)
        case z3.Z3_OP_BAND:
            result = everything
            for part in arguments:
                result &= mask(part)
            return result
        case z3.Z3_OP_BOR | z3.Z3_OP_BXOR:
            result = 0
            for part in arguments:
                result |= mask(part)
            return result
        case z3.Z3_OP_BADD | z3.Z3_OP_BMUL:
            bound = 0 if of == z3.Z3_OP_BADD else 1
            for part in arguments:
                bound = bound + mask(part) if of == z3.Z3_OP_BADD else bound * mask(part)
            return min(everything, (1 << bound.bit_length()) - 1)
        case z3.Z3_OP_BLSHR:
            return (1 << mask(arguments[0]).bit_length()) - 1
        case z3.Z3_OP_BUREM | z3.Z3_OP_BUREM_I:
            return (1 << max(mask(arguments[0]), 0).bit_length()) - 1
        case z3.Z3_OP_BUDIV | z3.Z3_OP_BUDIV_I:
            return (1 << (mask(arguments[0]) // (constant(arguments[1]) or 1)).bit_length()) - 1
    return everything


def is_hard(term: Bits) -> bool:
    """Whether the term has a product or a quotient that bits are slow for."""
    known = _hard.get(term.get_id())
    if known is None:
        known = _hard[term.get_id()] = (term, _is_hard(term))
    return known[1]


def _is_hard(term: Bits) -> bool:
    if is_product(term):
        return True
    return kind(term) in SKELETON and any(is_hard(cast(Bits, each)) for each in term.children() if z3.is_bv(each))


SKELETON = {z3.Z3_OP_BADD, z3.Z3_OP_BMUL, z3.Z3_OP_CONCAT, z3.Z3_OP_EXTRACT}
QUOTIENTS = {z3.Z3_OP_BUDIV, z3.Z3_OP_BUDIV_I, z3.Z3_OP_BUREM, z3.Z3_OP_BUREM_I}


def is_product(term: z3.ExprRef) -> bool:
    """Whether the term is a quotient, or a product by anything but a power of two or -1."""
    of = kind(term)
    if of != z3.Z3_OP_BMUL:
        return of in QUOTIENTS
    value = constant(cast(Bits, term.arg(1)))
    return value is None or (value.bit_count() > 1 and value != (1 << cast(Bits, term).size()) - 1)
