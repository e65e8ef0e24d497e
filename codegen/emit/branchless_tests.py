"""Tells which values can be computed without a branch, even if conditions around them do not hold."""

from __future__ import annotations

from codegen.emit.c_text import Place
from codegen.emit.step_context import StepContext
from codegen.ir import (
    Arith,
    Bits,
    Bool,
    Compare,
    Enum,
    Expr,
    Field,
    First,
    If,
    In,
    Index,
    Int,
    Interval,
    Let,
    Literal,
    Logic,
    Not,
    SetOf,
    SetOp,
    UInt,
    Var,
)
from codegen.ir.locations import is_path
from codegen.ir.measure import WORD_BITS, computed_interval, hull, interval_of, is_scalar, type_interval

SEARCHED_MAX = 16
"""Greatest number of items to search without a branch. Among more items, most reads would be wasted."""


class BranchlessTests:
    """Tests of expressions, which write nothing."""

    def __init__(self, context: StepContext):
        self.context = context

    def computable(self, expr: Expr, counters: frozenset[str] = frozenset()) -> bool:
        """Whether a scalar can be computed without a branch; `counters` are variables of the searches around it."""
        if not is_scalar(expr.type):
            return False
        match expr:
            case Int() | Literal():
                return True
            case Var() | Field():
                return is_path(expr) or (isinstance(expr, Field) and self._places(expr.base, counters))
            case Index(base=base, index=index):
                return self._places(base, counters) and self._counts(index, counters)
            case Arith(left=left, right=right):
                found = self.natural(expr)
                fits = found is not None and found.low >= 0 and found.high < 1 << (WORD_BITS - 1)
                return fits and self.computable(left, counters) and self.computable(right, counters)
            case If(condition=condition, then=then, otherwise=otherwise):
                return self.testable(condition, counters) and all(
                    self.computable(arm, counters) for arm in (then, otherwise)
                )
            case First():
                return self.searchable(expr, counters)
            case Let(value=value, body=body):
                return self.computable(value, counters) and self.computable(body, counters)
            case SetOp(left=left, right=right):
                return (
                    isinstance(expr.type, Bits) and self.computable(left, counters) and self.computable(right, counters)
                )
            case SetOf(elements=elements):
                return isinstance(expr.type, Bits) and all(
                    self._counts_within(element, expr.type.size, counters) and self.computable(element, counters)
                    for element in elements
                )
        return isinstance(expr.type, Bool) and self.testable(expr, counters)

    def testable(self, expr: Expr, counters: frozenset[str] = frozenset()) -> bool:
        """Whether a condition can be computed as a bit."""
        match expr:
            case Compare(left=left, right=right):
                ends = [self.natural(side) or type_interval(side.type) for side in (left, right)]
                narrow = expr.op == "=" or max(end.high for end in ends) < 1 << (WORD_BITS - 1)
                return narrow and self.computable(left, counters) and self.computable(right, counters)
            case Not(operand=operand):
                return self.testable(operand, counters)
            case Logic(operands=operands):
                return all(self.testable(operand, counters) for operand in operands)
            case In(element=element, set=SetOf(elements=elements)):
                return (
                    isinstance(element.type, Enum)
                    and all(isinstance(member, Literal) for member in elements)
                    and len(element.type.members) <= WORD_BITS
                    and self.computable(element, counters)
                )
            case In(element=element, set=within):
                return (
                    isinstance(within.type, Bits)
                    and self._counts_within(element, within.type.size, counters)
                    and self.computable(element, counters)
                    and self.computable(within, counters)
                )
            case Literal():
                return True
            case Var() | Field() | Index():
                return isinstance(expr.type, Bool) and self.computable(expr, counters)
        return False

    def searchable(self, expr: First, counters: frozenset[str] = frozenset()) -> bool:
        domain = expr.domain
        if not (isinstance(domain.low, Int) and isinstance(domain.high, Int) and 0 < domain.bound <= SEARCHED_MAX):
            return False
        self.context.ranges[expr.variable] = Interval(domain.low.value, domain.high.value)
        return (
            expr.none is not None
            and self.computable(expr.none, counters)
            and self.testable(expr.predicate, counters | {expr.variable})
        )

    def _places(self, expr: Expr, counters: frozenset[str]) -> bool:
        """Whether an object has an address even if the conditions around it do not hold."""
        match expr:
            case Var():
                return isinstance(self.context.bound.get(expr.name), Place)
            case Field(base=base):
                return self._places(base, counters)
            case Index(base=base, index=index):
                return self._places(base, counters) and self._counts(index, counters)
        return False

    def _counts(self, index: Expr, counters: frozenset[str]) -> bool:
        return isinstance(index, Int) or (
            isinstance(index, Var) and (index.name in counters or index.name in self.context.counters)
        )

    def natural(self, expr: Expr) -> Interval | None:
        """Returns the interval of a number even if the conditions around it do not hold; None if it is unknown."""
        match expr:
            case Int(value=value):
                return Interval(value, value)
            case Var(name=name) if name in self.context.ranges:
                return self.context.ranges[name]
            case If(then=then, otherwise=otherwise):
                one, other = self.natural(then), self.natural(otherwise)
                if one is None or other is None:
                    return None
                return hull(one, other)
            case First(domain=domain, none=none) if isinstance(domain.low, Int) and isinstance(domain.high, Int):
                end = self.natural(none) if none is not None else Interval(domain.low.value, domain.low.value)
                return None if end is None else hull(Interval(domain.low.value, domain.high.value), end)
            case Arith(op=op, left=left, right=right):
                one, other = self.natural(left), self.natural(right)
                if one is None or other is None:
                    return None
                if op in ("div", "%"):
                    if one.low < 0 or not isinstance(right, Int):
                        return None
                    return (
                        Interval(0, right.value - 1)
                        if op == "%"
                        else Interval(one.low // right.value, one.high // right.value)
                    )
                return computed_interval(op, one, other)
        return type_interval(expr.type) if isinstance(expr.type, UInt) and not isinstance(expr, First) else None

    def _counts_within(self, element: Expr, size: int, counters: frozenset[str]) -> bool:
        """Whether the position of a bit is in range even if the conditions around it do not hold."""
        if isinstance(element, Arith) and element.op in ("+", "-"):
            if self._counts(element.left, counters) and isinstance(element.right, Int):
                return interval_of(element).low >= 0 and interval_of(element).high < size
        if isinstance(element, Int) or self._counts(element, counters):
            return interval_of(element).low >= 0 and interval_of(element).high < size
        return is_path(element) and isinstance(element.type, UInt) and (1 << element.type.width) <= size
