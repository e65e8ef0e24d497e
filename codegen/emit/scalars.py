"""Renders expressions of the IR as C.

A scalar becomes a C expression. C has no expressions for loops, sets and records, so they become
statements before the one that uses them. These statements stay inside the condition that guards them:
TLA+ evaluates from the left and no further than needed, and so does the C.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from codegen.emit.branch_numbers import Choice
from codegen.emit.branchless import Branchless
from codegen.emit.branchless_tests import BranchlessTests
from codegen.emit.c_text import (
    ATOM,
    CONDITIONAL,
    EQUALITY,
    PRODUCT,
    RELATION,
    SHIFT,
    SUM,
    UNARY,
    Text,
    cast,
    common_kind,
    fits,
    integer,
    kind_of_type,
    self_comparison,
    smallest_kind,
)
from codegen.emit.joined import joined
from codegen.emit.sets import Sets
from codegen.emit.step_context import StepContext
from codegen.emit.types import GeneratorError, Vector
from codegen.emit.values import Values
from codegen.ir import (
    Arith,
    Bits,
    Cardinality,
    Compare,
    Count,
    Enum,
    Expr,
    Field,
    First,
    If,
    In,
    Index,
    Int,
    Let,
    Literal,
    Logic,
    Not,
    Quantifier,
    RecordOf,
    SequenceOf,
    Set,
    SetOf,
    Subset,
    Var,
)
from codegen.ir.measure import interval_of, is_scalar

C_MODULI = {1 << 8: "__u8", 1 << 16: "__u16", 1 << 32: "__u32"}
"""The unsigned types of C, by the modulus of their arithmetic."""

SIGNED = ("int", "s64")
"""Kinds of signed C integers. An unsigned object of 8 or 16 bits is promoted to int."""


class Scalars:
    """Writes scalars. It makes the other writers of a step, and hands each those that it calls."""

    def __init__(self, context: StepContext):
        self.context = context
        self.names = context.names
        self.helpers = context.helpers
        self.tests = BranchlessTests(context)
        self.branchless = Branchless(context, self)
        self.values = Values(context, self, self.tests, self.branchless)
        self.places = self.values.places
        self.locals = self.values.locals
        self.loops = self.values.loops
        self.sets = Sets(context, self, self.places, self.locals, self.loops, self.values.masks)

    def scalar(self, expr: Expr) -> Text:
        match expr:
            case Int(value=value, constant=constant):
                return replace(integer(value), text=self.names.macro(constant)) if constant else integer(value)
            case Literal(value=value, type=type_):
                if isinstance(type_, Enum) and isinstance(value, str):
                    return Text(self.names.member(type_, value))
                return Text(str(value).lower())
            case Var() | Field():
                return self._read(expr)
            case Index():
                return self._index(expr)
            case Arith():
                return self._arith(expr)
            case Compare():
                return self._compare(expr)
            case Not(operand=operand):
                return self._not(operand)
            case Logic():
                return self._logic(expr)
            case If():
                return self._if(expr)
            case Let(name=name, value=value, body=body):
                return self.scalar(self.locals.let(name, value, body))
            case In():
                return self.sets.has(expr.element, expr.set)
            case Subset():
                return self.sets.subset(expr)
            case Cardinality(operand=operand):
                return self.sets.cardinality(operand)
            case Quantifier():
                return self.loops.quantifier(expr)
            case First():
                return self.loops.first(expr)
            case Count():
                return self.loops.count(expr)
        if isinstance(expr.type, Bits):
            return self.sets.bits(expr)
        raise GeneratorError(f"{expr.span}: {type(expr).__name__} of {expr.type} cannot be rendered as a scalar")

    def condition_of(self, expr: If) -> str:
        """Returns the condition of a choice between two values; it reports the choice to coverage."""
        condition = self.scalar(expr.condition).text
        return f"STEPWISE_CHOOSE({expr.macro}, {condition})" if isinstance(expr, Choice) else condition

    def _read(self, expr: Expr) -> Text:
        if isinstance(expr, Var):
            bound = self.context.bound[expr.name]
            if isinstance(bound, Text):
                return bound
            return Text(bound.value, UNARY if bound.pointer else ATOM, kind_of_type(expr.type))
        return Text(self.places.place(expr).value, ATOM, kind_of_type(expr.type))

    def _index(self, expr: Index) -> Text:
        base = self.places.place(expr.base)
        if not Vector.of(expr.base.type).packed and (isinstance(expr.index, Int) or base.shared):
            return Text(base.item(self.places.position(expr.base.type, expr.index)).text, ATOM, kind_of_type(expr.type))
        function = self.helpers.at(expr.base.type)
        return Text(f"{function}({base.address}, {self.scalar(expr.index)})", ATOM, kind_of_type(expr.type))

    def _arith(self, expr: Arith) -> Text:
        if expr.op == "%" and isinstance(expr.right, Int) and expr.right.value in C_MODULI:
            return self._wrapped(expr.left, expr.right.value)
        left, right = self.scalar(expr.left), self.scalar(expr.right)
        if expr.op in ("div", "%"):
            return self._divide(expr, left, right)
        kind = common_kind(left.kind, right.kind)
        interval = self.tests.natural(expr) or expr.interval if self.context.unconditional else expr.interval
        if not fits(interval, kind):
            kind = smallest_kind(interval)
            left = cast(left, kind)
            if kind == "s64" and right.kind == "u64":
                right = cast(right, kind)
        precedence = PRODUCT if expr.op == "*" else SUM
        return Text(f"{left.at(precedence)} {expr.op} {right.at(precedence + 1)}", precedence, kind)

    def _wrapped(self, expr: Expr, modulus: int) -> Text:
        """Renders a value modulo 2^8, 2^16 or 2^32: unsigned integers of C wrap there."""
        if isinstance(expr, Arith) and expr.op in ("+", "-", "*"):
            left, right = self.scalar(expr.left), self.scalar(expr.right)
            if right.kind != "int":
                right = cast(right, "u32")
            left = cast(left, "u32")
            precedence = PRODUCT if expr.op == "*" else SUM
            found = Text(f"{left.at(precedence)} {expr.op} {right.at(precedence + 1)}", precedence, "u32")
        else:
            found = cast(self.scalar(expr), "u32")
        if modulus == 1 << 32:
            return found
        return Text(f"({C_MODULI[modulus]}){found.at(UNARY)}", UNARY, "int")

    def _divide(self, expr: Arith, left: Text, right: Text) -> Text:
        """Renders a division. TLA+ rounds down; C's operators do so only if no operand is negative."""
        if interval_of(expr.left).low < 0:
            name = "stepwise_floor_div" if expr.op == "div" else "stepwise_floor_mod"
            return Text(f"{name}({left}, {right})", ATOM, "s64")
        if left.kind in ("int", "s64") and left.precedence < ATOM:
            left = cast(left, smallest_kind(interval_of(expr.left)))
        kind = common_kind(left.kind, right.kind)
        return Text(f"{left.at(PRODUCT)} {'/' if expr.op == 'div' else '%'} {right.at(PRODUCT + 1)}", PRODUCT, kind)

    def _compare(self, expr: Compare) -> Text:
        left_expr, right_expr = expr.left, expr.right
        if not is_scalar(left_expr.type):
            return self._equal(left_expr, right_expr)
        left, right = self._compared(left_expr), self._compared(right_expr)
        if left.kind and right.kind:
            left, right = self._same_sign(left_expr, left, right_expr, right)
        if self_comparison(left, right):
            return Text(str(expr.op in ("=", "<=", ">=")).lower())
        precedence = EQUALITY if expr.op == "=" else RELATION
        op = "==" if expr.op == "=" else expr.op
        # Compilers warn about a comparison of comparisons without parentheses, and about a `!` on its left.
        first = f"({left})" if left.text.startswith("!") else left.at(SHIFT)
        return Text(f"{first} {op} {right.at(SHIFT)}", precedence)

    def _compared(self, expr: Expr) -> Text:
        """Renders a side of a comparison. clang must not know the variable of a loop there.

        It may see that the loop ends in its first iteration or never, and make an endless one, which nothing reaches.
        The verifier does not see that, and refuses it.
        """
        text = self.scalar(expr)
        known = self.context.kernel and isinstance(expr, Var) and expr.name in self.context.iterated
        return Text(f"stepwise_index({text})", ATOM, text.kind) if known and text.kind == "u32" else text

    def _same_sign(self, left_expr: Expr, left: Text, right_expr: Expr, right: Text) -> tuple[Text, Text]:
        """Casts operands so that both are signed or both unsigned, if their values need it."""
        low = min(interval_of(left_expr).low, interval_of(right_expr).low)
        if low < 0:
            if common_kind(left.kind, right.kind) in ("u32", "u64"):
                return cast(left, "s64"), cast(right, "s64")
            return left, right

        def unsigned(expr: Expr, value: Text, other: Text) -> Text:
            computed = value.kind in ("int", "s64") and value.precedence < ATOM
            return cast(value, smallest_kind(interval_of(expr))) if computed and other.kind in ("u32", "u64") else value

        return unsigned(left_expr, left, right), unsigned(right_expr, right, left)

    def _same_kind(self, expr: If, then: Text, otherwise: Text) -> tuple[Text, Text]:
        """Casts the arms of a choice if one is signed and the other unsigned: compilers warn about such a choice."""
        if "" in (then.kind, otherwise.kind) or (then.kind in SIGNED) is (otherwise.kind in SIGNED):
            return then, otherwise

        def same(arm: Expr, value: Text) -> Text:
            natural = self.context.ranges.get(arm.name) if isinstance(arm, Var) else None
            computed = value.precedence < ATOM or (natural is not None and natural.low < 0)
            return cast(value, smallest_kind(interval_of(expr))) if value.kind in SIGNED and computed else value

        return same(expr.then, then), same(expr.otherwise, otherwise)

    def _equal(self, left: Expr, right: Expr) -> Text:
        if isinstance(left, (SetOf, RecordOf, SequenceOf)):
            left, right = right, left
        if isinstance(right, SetOf) and isinstance(left.type, Set):
            if not right.elements:
                return Text(f"{self.places.place(left).member('count').text} == 0", EQUALITY)
            if len(right.elements) == 1:
                only, place = self.helpers.only(left.type), self.places.place(left)
                return Text(f"{only}({place.address}, {self.places.argument(right.elements[0])})")
        function = self.helpers.equality(left.type, right.type)
        return Text(f"{function}({self.places.place(left).address}, {self.places.place(right).address})")

    def _not(self, operand: Expr) -> Text:
        if isinstance(operand, Not):
            return self.scalar(operand.operand)
        inner = self.scalar(operand)
        if isinstance(operand, Compare) and inner.precedence == EQUALITY:
            return (
                Text(inner.text.replace(" == ", " != ", 1), EQUALITY)
                if inner.text.count(" == ") == 1
                else Text(f"!({inner})", UNARY)
            )
        return Text(f"!{inner.at(UNARY)}", UNARY)

    def _logic(self, expr: Logic) -> Text:
        return joined(self.context, expr.op, [partial(self.scalar, operand) for operand in expr.operands])

    def _if(self, expr: If) -> Text:
        if self.context.branchless and self.tests.computable(expr):
            return self.branchless.chosen(expr)
        condition = self.condition_of(expr)
        then, then_lines = self.context.captured(partial(self.scalar, expr.then))
        otherwise, otherwise_lines = self.context.captured(partial(self.scalar, expr.otherwise))
        if not then_lines and not otherwise_lines:
            then, otherwise = self._same_kind(expr, then, otherwise)
        # A member of an enum is a number if it comes from a loop over bits.
        kind = common_kind(then.kind, otherwise.kind) if then.kind and otherwise.kind else ""
        if not then_lines and not otherwise_lines:
            return Text(
                f"{condition} ? {then.at(CONDITIONAL + 1)} : {otherwise.at(CONDITIONAL + 1)}", CONDITIONAL, kind
            )
        local = self.context.fresh("value")
        self.context.lines.declare(f"{self.locals.type_of(expr)} {local}")
        with self.context.lines.block(f"if ({condition})", "} else {"):
            self.context.lines.extend(then_lines)
            self.context.lines.add(f"{local} = {then};")
        self.context.lines.extend(otherwise_lines)
        with self.context.lines.indented():
            self.context.lines.add(f"{local} = {otherwise};")
        self.context.lines.add("}")
        return Text(local, ATOM, kind)
