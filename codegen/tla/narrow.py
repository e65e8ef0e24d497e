"""Chooses how a set is kept that has no place of its own: a bit for each possible element, or a list of items."""

from __future__ import annotations

from codegen import ir
from codegen.ir.build import INTEGER, wider
from codegen.ir.measure import compacted, natural_interval
from codegen.tla.kinds import element_type, size_max


def common(found: list[ir.Expr]) -> ir.Type:
    """Returns the type of expressions that are compared, or chosen between: that of the first, but bits go before sets.

    Narrow sets, which are kept as bits, go before nothing: beside wider sets they are sets.
    """
    bits = [each.type for each in found if isinstance(each.type, ir.Bits)]
    stated = next((kind for kind in bits if kind.source is None), None)
    if stated is not None:
        return stated
    if not bits or not all(is_alike(each.type, bits[0]) for each in found):
        return found[0].type
    return compacted(ir.Set(_element(found), max(_room(each) for each in found)))


def union(left: ir.Expr, right: ir.Expr) -> ir.Set | ir.Bits:
    """Returns the type of a union without a place; `common` has given both parts the same kind of type."""
    if isinstance(left.type, ir.Bits) and left.type.source is None:
        return left.type
    room = _room(left) + _room(right)
    if is_alike(left.type, right.type):
        found = compacted(ir.Set(_element([left, right]), room))
        if isinstance(found, ir.Bits):
            return found
    return ir.Set(wider(element_type(left.type), element_type(right.type)), room)


def image(value: ir.Expr, domain: ir.Type) -> ir.Set | ir.Bits:
    """Returns the type of {value : x \\in domain}."""
    plain = ir.Set(value.type, size_max(domain))
    if isinstance(value.type, ir.Enum):
        return compacted(plain)
    natural = natural_interval(value) if isinstance(value.type, ir.UInt) else None
    if natural is None or natural.low < 0:
        return plain
    found = compacted(ir.Set(ir.UInt(max(1, natural.high.bit_length())), plain.max))
    return found if isinstance(found, ir.Bits) else plain


def is_alike(one: ir.Type, other: ir.Type) -> bool:
    """Whether both types are sets of numbers, or both are sets of one enum's members."""
    family = _family(one)
    return family is not None and family == _family(other)


def _family(kind: ir.Type) -> ir.UInt | ir.Enum | None:
    """Returns INTEGER for a set of numbers, the enum for a set of its members, and None for other types."""
    element = element_type(kind) if isinstance(kind, (ir.Set, ir.Bits)) else None
    if isinstance(element, ir.UInt):
        return INTEGER
    return element if isinstance(element, ir.Enum) else None


def is_narrow_set(kind: ir.Type) -> bool:
    """Whether a type is a narrow set: it is kept as bits, and the layout says set."""
    return isinstance(kind, ir.Bits) and kind.source is not None


def may_widen(kind: ir.Type) -> bool:
    """Whether a set of this type may get another type beside a wider one."""
    return isinstance(kind, ir.Set) or is_narrow_set(kind)


def beyond(value: ir.Expr, kind: ir.Bits) -> bool:
    """Whether a stored set may have numbers that do not fit the bits."""
    if not isinstance(value, (ir.Var, ir.Field, ir.Index)) or _family(value.type) != INTEGER:
        return False
    return _highest(value) >= kind.size


def _element(found: list[ir.Expr]) -> ir.UInt | ir.Enum:
    """Returns the type of the elements of sets that are alike."""
    family = _family(found[0].type)
    if isinstance(family, ir.Enum):
        return family
    return ir.UInt(max(1, max(map(_highest, found)).bit_length()))


def _highest(value: ir.Expr) -> int:
    """Returns the greatest number that a set may have by the types of its parts."""
    if isinstance(value, ir.SetOf):
        known = [natural_interval(element) for element in value.elements]
        return max((2**64 - 1 if each is None else max(0, each.high) for each in known), default=0)
    if isinstance(value.type, ir.Bits):
        return value.type.size - 1
    return (1 << ir.expect(element_type(value.type), ir.UInt).width) - 1


def _room(value: ir.Expr) -> int:
    return len(value.elements) if isinstance(value, ir.SetOf) else size_max(value.type)
