"""Computes with a set of bits as a word, without a loop: filters are masks, and images that add a number are shifts.

A loop would be a branch for each bit, and the verifier follows both sides of each. Here a predicate of the loop's
variable becomes the word of all numbers that satisfy it. Its other operands are computed once, even if the set is
empty, so they must be safe to compute whatever conditions hold.
"""

from __future__ import annotations

from dataclasses import replace

from codegen.emit.branchless import Branchless
from codegen.emit.branchless_tests import BranchlessTests
from codegen.emit.c_text import ATOM, BIT_AND, BIT_OR, PRODUCT, SHIFT, UNARY, Text, cast
from codegen.emit.step_context import StepContext
from codegen.emit.types import c_type
from codegen.emit.writers import ScalarWriter
from codegen.ir import (
    Arith,
    Bits,
    Compare,
    Enum,
    Expr,
    Image,
    In,
    Int,
    Interval,
    Literal,
    Logic,
    Not,
    Quantifier,
    SetOf,
    SetOp,
    UInt,
    Var,
    expect,
)
from codegen.ir.build import INTEGER
from codegen.ir.locations import is_path
from codegen.ir.measure import UNROLL_MAX, WORD_BITS, interval_of
from codegen.ir.walk import uses

SIGNED_MAX = (1 << (WORD_BITS - 1)) - 2
"""Greatest number that can be compared as a signed one, and still be incremented."""

ALL = Text("~0ULL", UNARY, "u64")
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


class Masks:
    """Writes words of bits. It asks `scalars` for operands."""

    def __init__(self, context: StepContext, scalars: ScalarWriter, tests: BranchlessTests, branchless: Branchless):
        self.context = context
        self.scalars = scalars
        self.tests = tests
        self.branchless = branchless

    # --- Loops over bits ------------------------------------------------------------------------

    def selected(self, name: str, domain: Expr, predicate: Expr | None) -> Text | None:
        """Renders the elements of a set that satisfy a predicate; None if they take a loop."""
        if not isinstance(domain.type, Bits):
            return None
        if predicate is None:
            return self.scalars.scalar(domain)
        mask = self.mask(name, predicate)
        if mask is None:
            return None
        return Text(f"{self.scalars.scalar(domain).at(UNARY)} & {mask.at(UNARY)}", BIT_AND, "u64")

    def deciding(self, expr: Quantifier) -> Text | None:
        """Renders the elements that make `exists` true, or `forall` false; None if they take a loop."""
        predicate = expr.predicate if expr.op == "exists" else Not(expr.predicate, expr.type, expr.span)
        return self.selected(expr.variable, expr.domain, predicate)

    def image(self, expr: Image) -> Text | None:
        """Renders an image; None if it takes a branch for each element."""
        word = self.selected(expr.variable, expr.domain, expr.predicate)
        if word is None:
            return None
        by = self._distance(expr.variable, expr.value)
        size = expect(expr.domain.type, Bits).size
        return self._spread(expr, _wide(word, size)) if by is None else self._moved(word, size, *by)

    def _moved(self, word: Text, size: int, sign: int, amount: Expr | None) -> Text:
        """Renders the elements, each with a number added or subtracted."""
        if amount is None:
            return word
        natural, text = self._natural(amount), self._number(amount)
        if natural.low < 0:
            return Text(f"stepwise_bits_moved({word}, {text if sign > 0 else f'-({text})'})", ATOM, "u64")
        if natural.high < WORD_BITS:
            symbol = "<<" if sign > 0 else ">>"
            return Text(f"{_wide(word, size).at(UNARY)} {symbol} {text.at(PRODUCT)}", SHIFT, "u64")
        return Text(f"stepwise_bits_{'up' if sign > 0 else 'down'}({word}, {text})", ATOM, "u64")

    def _spread(self, expr: Image, word: Text) -> Text | None:
        """Renders a loop that moves each bit to its place without a branch, if the place is one whatever holds."""
        context, size = self.context, expect(expr.domain.type, Bits).size
        context.ranges[expr.variable] = Interval(0, size - 1)
        natural = self.tests.natural(expr.value)
        if natural is None or natural.low < 0 or natural.high >= WORD_BITS or not self.tests.computable(expr.value):
            return None
        local, name = context.fresh("bits"), context.fresh(expr.variable)
        context.bind(expr.variable, Text(name, ATOM, "u32"))
        with context.whatever_holds():
            value, statements = context.captured(lambda: self.scalars.scalar(expr.value))
        if statements:
            return None
        context.lines.define(f"{c_type(context.names, expr.type)} {local}", 0)
        if size <= UNROLL_MAX:
            context.lines.add("STEPWISE_UNROLL")
        context.lines.add(f"for (__u32 {name} = 0; {name} < {size}; {name}++)")
        with context.lines.indented():
            context.lines.add(f"{local} |= ({word.at(SHIFT)} >> {name} & 1) << {value.at(PRODUCT)};")
        return Text(local, ATOM, "u64")

    # --- Predicates -----------------------------------------------------------------------------

    def mask(self, name: str, predicate: Expr) -> Text | None:
        """Renders the numbers that satisfy a predicate of the variable; None if that takes a loop."""
        match predicate:
            case Literal(value=value):
                return ALL if value else Text("0ULL", ATOM, "u64")
            case Not(operand=operand):
                inner = self.mask(name, operand)
                return None if inner is None else Text(f"~{cast(inner, 'u64').at(UNARY)}", UNARY, "u64")
            case Logic(op=op, operands=operands):
                parts = [self.mask(name, operand) for operand in operands]
                found = [part.at(UNARY) for part in parts if part is not None]
                symbol, precedence = ("&", BIT_AND) if op == "and" else ("|", BIT_OR)
                return Text(f" {symbol} ".join(found), precedence, "u64") if len(found) == len(parts) else None
            case Compare(op=op, left=left, right=right) if isinstance(left.type, UInt):
                if not uses(predicate, name):
                    return self._always(predicate)
                if uses(left, name) and not uses(right, name):
                    return self._compared(name, op, left, right)
                return self._compared(name, FLIPPED[op], right, left) if not uses(left, name) else None
            case Compare(op="=", left=left, right=right) if isinstance(left.type, Enum) and uses(predicate, name):
                side, other = (left, right) if isinstance(left, Var) and left.name == name else (right, left)
                alone = isinstance(side, Var) and side.name == name and self._steady(name, other)
                return self._single(other) if alone else None
            case In(element=Var(name=element), set=within) if element == name:
                return self._within(name, within)
        return None if uses(predicate, name) else self._always(predicate)

    def _always(self, condition: Expr) -> Text | None:
        """Renders a condition without the variable: all numbers satisfy it, or none."""
        if not self.tests.testable(condition):
            return None
        with self.context.whatever_holds():
            return Text(f"-{cast(self.branchless.bit(condition), 'u64').at(UNARY)}", UNARY, "u64")

    def _within(self, name: str, within: Expr) -> Text | None:
        if isinstance(within, SetOf):
            if not within.elements or not all(self._steady(name, element) for element in within.elements):
                return None
            return Text(" | ".join(self._single(each).at(UNARY) for each in within.elements), BIT_OR, "u64")
        if not isinstance(within.type, Bits) or not self._steady_set(name, within):
            return None
        with self.context.whatever_holds():
            return _wide(self.scalars.scalar(within), within.type.size)

    def _compared(self, name: str, op: str, side: Expr, other: Expr) -> Text | None:
        """Renders `side op other`, where `side` is the variable, or adds a number to it."""
        by = self._distance(name, side)
        if by is None or not self._steady(name, other):
            return None
        sign, amount = by
        if amount is not None:
            other = Arith("-" if sign > 0 else "+", other, amount, INTEGER, side.span, Interval(0, 0))
            other = replace(other, interval=self._natural(other))
            if not self._steady(name, other):
                return None
        if op == "=":
            return self._single(other)
        if op in ("<=", ">"):
            other = self._next(other)
        below = self._below(other)
        return below if op in ("<", "<=") else Text(f"~{below.at(UNARY)}", UNARY, "u64")

    def _single(self, number: Expr) -> Text:
        """Renders the set of one number, which may be out of range, or of one member of an enum."""
        if isinstance(number.type, Enum):
            return Text(f"1ULL << {self._number(number).at(PRODUCT)}", SHIFT, "u64")
        natural = self._natural(number)
        if isinstance(number, Int):
            return Text(f"{(1 << number.value) if 0 <= number.value < WORD_BITS else 0:#x}ULL", ATOM, "u64")
        if natural.low >= 0 and natural.high < WORD_BITS:
            return Text(f"1ULL << {self._number(number).at(PRODUCT)}", SHIFT, "u64")
        if natural.low >= 0:
            return Text(f"stepwise_bits_of({self._number(number)})", ATOM, "u64")
        one, other = self._below(self._next(number)), self._below(number)
        return Text(f"({one.at(UNARY)} & ~{other.at(UNARY)})", ATOM, "u64")

    def _below(self, end: Expr) -> Text:
        """Renders the set of all numbers below `end`."""
        if isinstance(end, Int):
            return Text(f"{(1 << max(0, min(WORD_BITS, end.value))) - 1:#x}ULL", ATOM, "u64")
        signed = "_signed" if self._natural(end).low < 0 else ""
        return Text(f"stepwise_bits_below{signed}({self._number(end)})", ATOM, "u64")

    def _next(self, number: Expr) -> Expr:
        if isinstance(number, Int):
            return replace(number, value=number.value + 1, constant="")
        natural = self._natural(number)
        more = Interval(natural.low + 1, natural.high + 1)
        return Arith("+", number, Int(1, INTEGER, number.span), INTEGER, number.span, more)

    # --- Operands -------------------------------------------------------------------------------

    def _distance(self, name: str, value: Expr) -> tuple[int, Expr | None] | None:
        """Returns the sign and the number that a value adds to the variable (none if it is the variable)."""
        match value:
            case Var(name=found) if found == name:
                return 1, None
            case Arith(op="+", left=Var(name=found), right=amount) if found == name and self._steady(name, amount):
                return 1, amount
            case Arith(op="+", left=amount, right=Var(name=found)) if found == name and self._steady(name, amount):
                return 1, amount
            case Arith(op="-", left=Var(name=found), right=amount) if found == name and self._steady(name, amount):
                return -1, amount
        return None

    def _steady(self, name: str, number: Expr) -> bool:
        """Whether a number, or a member of an enum, can be computed outside of the loop, whatever conditions hold."""
        if isinstance(number.type, Enum):
            return isinstance(number, Literal) or (is_path(number) and not uses(number, name))
        found = self.tests.natural(number)
        if found is None or found.low < -SIGNED_MAX or found.high > SIGNED_MAX or uses(number, name):
            return False
        match number:
            case Int():
                return True
            case Var():
                return True
            case Arith(op=op, left=left, right=right):
                return op in ("+", "-", "*") and self._steady(name, left) and self._steady(name, right)
        return is_path(number)

    def _steady_set(self, name: str, within: Expr) -> bool:
        match within:
            case Var():
                return True
            case SetOf(elements=elements, type=Bits() as kind):
                return all(self._steady(name, each) and self._is_within(each, kind) for each in elements)
            case SetOp(left=left, right=right):
                return self._steady_set(name, left) and self._steady_set(name, right)
        return is_path(within)

    def _is_within(self, element: Expr, kind: Bits) -> bool:
        natural = self._natural(element)
        return kind.enum is not None or (natural.low >= 0 and natural.high < kind.size)

    def _natural(self, number: Expr) -> Interval:
        return self.tests.natural(number) or interval_of(number)

    def _number(self, number: Expr) -> Text:
        with self.context.whatever_holds():
            return self.scalars.scalar(number)


def _wide(word: Text, size: int) -> Text:
    """Casts bits to 64, because C inverts and shifts only as many as the type has."""
    return word if size > WORD_BITS // 2 else Text(f"(__u64){word.at(UNARY)}", UNARY, "u64")
