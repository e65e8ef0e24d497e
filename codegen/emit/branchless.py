"""Computes values without branches, for steps on cells that are stepped in place.

The verifier follows both sides of every branch. It then follows the rest of the hook once for each side, unless it
sees that both reach the same state. So a search among a few items, or a choice between two known values, becomes
arithmetic: a condition becomes a bit, and a choice a multiplication.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from codegen.emit.branch_numbers import Choice
from codegen.emit.c_text import ATOM, BIT_AND, BIT_OR, PRODUCT, SHIFT, SUM, Place, Text, kind_of_width
from codegen.emit.lines import Lines
from codegen.emit.types import WORD_BITS, c_type
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
    Type,
    UInt,
    Var,
)
from codegen.ir.locations import is_path
from codegen.ir.measure import interval_of, is_scalar, type_interval, width_bits

SEARCHED_MAX = 16
"""Greatest number of items to search without a branch. Among more items, most reads would be wasted."""


class Branchless:
    """A part of Expressions; its other parts provide the attributes declared here."""

    lines: Lines
    counters: set[str]
    branchless: bool
    unconditional: int
    ranges: dict[str, Interval]
    scalar: Callable[[Expr], Text]
    result: Callable[[str], str]
    fresh: Callable[[str], str]
    let: Callable[[str, Expr, Expr], Expr]
    bound: dict[str, Place | Text]

    # --- Tests: can it be computed without a branch, even if conditions around it do not hold? ----------------------

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
                members = isinstance(element.type, Enum) and all(isinstance(member, Literal) for member in elements)
                return members and len(element.type.members) <= WORD_BITS and self.computable(element, counters)
            case In(element=element, set=within):
                bits = isinstance(within.type, Bits) and self._counts_within(element, within.type.size, counters)
                return bits and self.computable(element, counters) and self.computable(within, counters)
            case Literal():
                return True
            case Var() | Field() | Index():
                return isinstance(expr.type, Bool) and self.computable(expr, counters)
        return False

    def searchable(self, expr: First, counters: frozenset[str] = frozenset()) -> bool:
        domain = expr.domain
        if not (isinstance(domain.low, Int) and isinstance(domain.high, Int) and 0 < domain.bound <= SEARCHED_MAX):
            return False
        self.ranges[expr.variable] = Interval(domain.low.value, domain.high.value)
        return (
            expr.none is not None
            and self.computable(expr.none, counters)
            and self.testable(expr.predicate, counters | {expr.variable})
        )

    def _places(self, expr: Expr, counters: frozenset[str]) -> bool:
        """Whether an object has an address even if the conditions around it do not hold."""
        match expr:
            case Var():
                return isinstance(self.bound.get(expr.name), Place)
            case Field(base=base):
                return self._places(base, counters)
            case Index(base=base, index=index):
                return self._places(base, counters) and self._counts(index, counters)
        return False

    def _counts(self, index: Expr, counters: frozenset[str]) -> bool:
        return isinstance(index, Int) or (
            isinstance(index, Var) and (index.name in counters or index.name in self.counters)
        )

    def natural(self, expr: Expr) -> Interval | None:
        """Returns the interval of a number even if the conditions around it do not hold; None if it is unknown."""
        match expr:
            case Int(value=value):
                return Interval(value, value)
            case Var(name=name) if name in self.ranges:
                return self.ranges[name]
            case If(then=then, otherwise=otherwise):
                ends = self.natural(then), self.natural(otherwise)
                return None if None in ends else Interval(min(end.low for end in ends), max(end.high for end in ends))
            case First(domain=domain, none=none) if isinstance(domain.low, Int) and isinstance(domain.high, Int):
                end = self.natural(none) if none is not None else Interval(domain.low.value, domain.low.value)
                return (
                    None if end is None else Interval(min(domain.low.value, end.low), max(domain.high.value, end.high))
                )
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
                values = [_OPERATIONS[op](a, b) for a in (one.low, one.high) for b in (other.low, other.high)]
                return Interval(min(values), max(values))
        return type_interval(expr.type) if isinstance(expr.type, UInt) and not isinstance(expr, First) else None

    def _counts_within(self, element: Expr, size: int, counters: frozenset[str]) -> bool:
        """Whether the position of a bit is in range even if the conditions around it do not hold."""
        if isinstance(element, Arith) and element.op in ("+", "-"):
            if self._counts(element.left, counters) and isinstance(element.right, Int):
                return interval_of(element).low >= 0 and interval_of(element).high < size
        if isinstance(element, Int) or self._counts(element, counters):
            return interval_of(element).low >= 0 and interval_of(element).high < size
        return is_path(element) and isinstance(element.type, UInt) and (1 << element.type.width) <= size

    # --- Rendering --------------------------------------------------------------------------------------------------

    def bit(self, expr: Expr) -> Text:
        """Renders a testable condition as 1 or 0."""
        match expr:
            case Compare():
                return self._compared(expr)
            case Not(operand=operand):
                return Text(f"stepwise_not_bit({self.bit(operand)})", ATOM, "u64")
            case Logic(op=op, operands=operands):
                symbol, precedence = ("&", BIT_AND) if op == "and" else ("|", BIT_OR)
                return Text(f" {symbol} ".join(self.bit(operand).at(ATOM) for operand in operands), precedence, "u64")
            case In(element=element, set=SetOf(elements=elements)):
                members = " | ".join(f"1ULL << {self.scalar(member)}" for member in elements)
                return Text(f"({members}) >> {self.scalar(element).at(SUM)} & 1", BIT_AND, "u64")
            case In(element=element, set=within):
                return Text(
                    f"{self.scalar(within).at(SHIFT)} >> {self.scalar(element).at(PRODUCT)} & 1", BIT_AND, "u64"
                )
        return self.scalar(expr)

    def _compared(self, expr: Compare) -> Text:
        left, right = expr.left, expr.right
        if expr.op in (">", "<="):
            left, right = right, left
        one, other = self.scalar(left), self.scalar(right)
        if expr.op == "=":
            narrow = max(_width(left.type), _width(right.type)) < WORD_BITS
            return Text(f"stepwise_{'equal' if narrow else 'same'}_bit({one}, {other})", ATOM, "u64")
        less = Text(f"stepwise_less_bit({one}, {other})", ATOM, "u64")
        return less if expr.op in ("<", ">") else Text(f"stepwise_not_bit({less})", ATOM, "u64")

    @contextmanager
    def whatever_holds(self) -> Iterator[None]:
        """Marks that the code rendered inside also runs if the conditions around it do not hold."""
        self.unconditional += 1
        yield
        self.unconditional -= 1

    def chosen(self, expr: If) -> Text:
        """Renders a computable choice."""
        with self.whatever_holds():
            bit = self.bit(expr.condition).text
            arms = f"{self.scalar(expr.then)}, {self.scalar(expr.otherwise)}"
        if isinstance(expr, Choice):
            bit = f"STEPWISE_CHOOSE({expr.number}, {bit})"
        kind = "u64" if isinstance(expr.type, (UInt, Bits)) else ""
        return Text(f"stepwise_choose({bit}, {arms})", ATOM, kind)

    def searched(self, expr: First) -> Text:
        """Renders a search for the least number that satisfies a testable predicate, from the last number down."""
        local = self.result("first")
        bits = max(1, interval_of(expr).high.bit_length())
        none = self.scalar(expr.none)
        self.lines.add(f"{c_type(self.names, UInt(bits))} {local} = {none};")
        self.lines.add("")
        name, low, high = self.fresh(expr.variable), expr.domain.low.value, expr.domain.high.value
        self.bound[expr.variable] = Text(name, ATOM, "u32")
        self.counters.add(expr.variable)
        self.lines.add("STEPWISE_UNROLL")
        head = (
            f"for (__u32 {name} = {high}; {name} >= {low}; {name}--)"
            if low
            else f"for (__s32 {name} = {high}; {name} >= 0; {name}--)"
        )
        bit_lines = self.lines.nested()
        outer, self.lines = self.lines, bit_lines
        try:
            with self.whatever_holds():
                bit = self.bit(expr.predicate)
        finally:
            self.lines = outer
        if bit_lines.lines:
            with self.lines.block(head):
                self.lines.lines += bit_lines.lines
                self.lines.add(f"{local} = stepwise_choose({bit}, {name}, {local});")
        else:
            self.lines.add(head)
            self.lines.add(f"\t{local} = stepwise_choose({bit}, {name}, {local});")
        return Text(local, ATOM, kind_of_width(bits))


def _width(type_: Type) -> int:
    return width_bits(type_)


_OPERATIONS = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}
