"""Computes values without branches, for steps on cells that are stepped in place.

The verifier follows both sides of every branch. It then follows the rest of the hook once for each side, unless it
sees that both reach the same state. So a search among a few items, or a choice between two known values, becomes
arithmetic: a condition becomes a bit, and a choice a multiplication.
"""

from __future__ import annotations

from codegen.emit.branch_numbers import Choice
from codegen.emit.c_text import ATOM, BIT_AND, BIT_OR, PRODUCT, SHIFT, SUM, Text
from codegen.emit.step_context import StepContext
from codegen.emit.writers import ScalarWriter
from codegen.ir import Bits, Compare, Expr, First, If, In, Int, Logic, Not, SetOf, UInt, expect
from codegen.ir.measure import WORD_BITS, held_interval, width_bits


class Branchless:
    """Writes what BranchlessTests allows. It asks `scalars` for operands."""

    def __init__(self, context: StepContext, scalars: ScalarWriter):
        self.context = context
        self.scalars = scalars

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
                members = " | ".join(f"(1ULL << {self.scalars.scalar(member)})" for member in elements)
                return Text(f"(({members}) >> {self.scalars.scalar(element).at(SUM)}) & 1", BIT_AND, "u64")
            case In(element=element, set=within):
                return Text(
                    f"({self.scalars.scalar(within).at(SHIFT)} >> {self.scalars.scalar(element).at(PRODUCT)}) & 1",
                    BIT_AND,
                    "u64",
                )
        return self.scalars.scalar(expr)

    def _compared(self, expr: Compare) -> Text:
        left, right = expr.left, expr.right
        if expr.op in (">", "<="):
            left, right = right, left
        one, other = self.scalars.scalar(left), self.scalars.scalar(right)
        if expr.op == "=":
            narrow = max(width_bits(left.type), width_bits(right.type)) < WORD_BITS
            return Text(f"stepwise_{'equal' if narrow else 'same'}_bit({one}, {other})", ATOM, "u64")
        less = Text(f"stepwise_less_bit({one}, {other})", ATOM, "u64")
        return less if expr.op in ("<", ">") else Text(f"stepwise_not_bit({less})", ATOM, "u64")

    def chosen(self, expr: If) -> Text:
        """Renders a computable choice."""
        with self.context.whatever_holds():
            bit = self.bit(expr.condition).text
            arms = f"{self.scalars.scalar(expr.then)}, {self.scalars.scalar(expr.otherwise)}"
        if isinstance(expr, Choice):
            bit = f"STEPWISE_CHOOSE({expr.macro}, {bit})"
        kind = "u64" if isinstance(expr.type, (UInt, Bits)) else ""
        return Text(f"stepwise_choose({bit}, {arms})", ATOM, kind)

    def searched(self, expr: First) -> Text:
        """Renders a search for the least number that satisfies a testable predicate, from the last number down."""
        assert expr.none is not None
        context = self.context
        local = context.result("first")
        found = context.number(local, held_interval(expr), self.scalars.scalar(expr.none))
        low = expect(expr.domain.low, Int).value
        first, last = self.scalars.scalar(expr.domain.low), self.scalars.scalar(expr.domain.high)
        name = context.fresh(expr.variable)
        context.bind(expr.variable, Text(name, ATOM, "u32"))
        context.counters.add(expr.variable)
        context.lines.add("STEPWISE_UNROLL")
        head = (
            f"for (__u32 {name} = {last}; {name} >= {first}; {name}--)"
            if low
            else f"for (__s32 {name} = {last}; {name} >= 0; {name}--)"
        )
        with context.whatever_holds():
            bit, statements = context.captured(lambda: self.bit(expr.predicate))
        step = f"{local} = stepwise_choose({bit}, {name}, {local});"
        if statements:
            with context.lines.block(head):
                context.lines.extend(statements)
                context.lines.add(step)
        else:
            context.lines.add(head)
            with context.lines.indented():
                context.lines.add(step)
        return found
