"""Renders expressions of the IR as C.

A scalar becomes a C expression. C has no expressions for loops, sets and records, so they become
statements before the one that uses them. These statements stay inside the condition that guards them:
TLA+ evaluates from the left and no further than needed, and so does the C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from codegen.c.names import ENVIRONMENT, Names, field, variable
from codegen.emit.aggregates import Values
from codegen.emit.branch_numbers import Choice
from codegen.emit.branchless import Branchless
from codegen.emit.c_text import (
    AND,
    ATOM,
    BIT_AND,
    BIT_OR,
    CONDITIONAL,
    EQUALITY,
    OR,
    PRODUCT,
    RELATION,
    SHIFT,
    SUM,
    UNARY,
    Place,
    Text,
    cast,
    common_kind,
    fits,
    integer,
    kind_of_width,
    smallest_kind,
)
from codegen.emit.helpers import Helpers
from codegen.emit.lines import Lines
from codegen.emit.loops import Loops
from codegen.emit.types import GeneratorError, Vector, c_type
from codegen.ir import (
    TERMS,
    Arith,
    Array,
    Bits,
    Bool,
    Cardinality,
    Compare,
    Count,
    Enum,
    Expr,
    Field,
    Filter,
    First,
    If,
    Image,
    In,
    Index,
    Int,
    Interval,
    Let,
    Literal,
    Logic,
    Not,
    Quantifier,
    Range,
    Record,
    RecordOf,
    Sequence,
    SequenceOf,
    Set,
    SetOf,
    SetOp,
    Subset,
    Table,
    Type,
    UInt,
    Var,
)
from codegen.ir.locations import is_path, location
from codegen.ir.measure import interval_of, is_scalar
from codegen.ir.walk import substitute


class Expressions(Values, Loops, Branchless):
    """Renders the expressions of one step into `lines`; with `branchless`, conditions become bits if they can."""

    def __init__(self, names: Names, helpers: Helpers, taken: set[str], branchless: bool = False):
        self.branchless = branchless
        # The depth of code that also runs if the conditions around it do not hold.
        self.unconditional = 0
        # Intervals of bound numbers that hold regardless of the conditions at their uses.
        self.ranges: dict[str, Interval] = {}
        self.names = names
        self.helpers = helpers
        self.lines = Lines()
        self.bound: dict[str, Place | Text] = {}
        self.taken = taken  # The C names that this function uses.
        self.counters: set[str] = set()  # Variables of loops whose ends are constants.
        # Locals with a position, by the index and the size of its array.
        self.positions: dict[tuple[str, int], str] = {}
        self.hint = ""  # The name of the next loop's result.

    # --- Names and blocks -----------------------------------------------------------------------

    def fresh(self, name: str) -> str:
        plain = candidate = variable(name)
        number = 2
        while candidate in self.taken:
            candidate = f"{plain}_{number}"
            number += 1
        self.taken.add(candidate)
        return candidate

    def result(self, name: str) -> str:
        """Returns the name of the local for a loop's result."""
        name, self.hint = self.hint or name, ""
        return self.fresh(name)

    def captured(self, render: Callable[[], Text]) -> tuple[Text, list[str]]:
        """Returns a value and the statements that it needs first, which the caller adds."""
        outer, self.lines = self.lines, self.lines.nested()
        try:
            value = render()
            return value, self.lines.lines
        finally:
            self.lines = outer

    def declare(self, type_: Type, name: str, value: Expr) -> Place:
        """Declares a local that holds a value."""
        if isinstance(value, (Quantifier, First, Count)) and not isinstance(value.domain, SetOf):
            self.hint = name  # The loop's result is itself the local.
            return Place(self.scalar(value).text)
        local = self.fresh(name)
        if is_scalar(type_):
            text = self.scalar(value)
            self.lines.add(f"const {self.local_type(value)} {local} = {text};")
        else:
            self.lines.add(f"{c_type(self.names, type_)} {local};")
            self.lines.add("")
            self.into(Place(local), type_, value)
        return Place(local)

    def local_type(self, value: Expr) -> str:
        """Returns the C type of a local for a scalar, wide enough for its interval."""
        if isinstance(value.type, UInt):
            interval = interval_of(value)
            if interval.low < 0:
                return "int" if fits(interval, "int") else "__s64"
            return c_type(self.names, UInt(max(1, interval.high.bit_length())))
        return c_type(self.names, value.type)

    def condition_of(self, expr: If) -> str:
        """Returns the condition of a choice between two values; it reports the choice to coverage."""
        condition = self.scalar(expr.condition).text
        return f"STEPWISE_CHOOSE({expr.number}, {condition})" if isinstance(expr, Choice) else condition

    # --- Places -----------------------------------------------------------------------------------

    def place(self, expr: Expr) -> Place:
        """Returns the place of a compound value. A value that is not stored is computed into a local first."""
        match expr:
            case Var(name=name):
                bound = self.bound[name]
                return bound if isinstance(bound, Place) else Place(bound.text)
            case Field() if (constant := self.environment_constant(expr)) is not None:
                return Place(constant)
            case Field(base=base, name=name) if not self.elsewhere(expr):
                return self.place(base).member(field(name))
            case Index(base=base) if isinstance(base.type, Table):
                table = self.place(base).text
                return Place(f"{self.names.function(base.type.name, 'at')}({table}, {self.scalar(expr.index)})")
            case Index(base=base) if not is_scalar(expr.type):
                found = self.place(base)
                if isinstance(expr.index, Int):
                    return found.item(str(expr.index.value - 1))
                if found.shared:
                    return found.item(self.position(base.type, expr.index))
                return Place(
                    f"{self.helpers.at(base.type)}({self.place(base).address}, {self.scalar(expr.index)})", True
                )
        local = self.fresh(_label(expr))
        self.lines.add(f"{c_type(self.names, expr.type)} {local};")
        self.lines.add("")
        self.into(Place(local), expr.type, expr)
        return Place(local)

    def environment_constant(self, expr: Field) -> str | None:
        """Returns the macro for a field of env that is the same in every run; None for another field."""
        is_terms = expr.name == TERMS and isinstance(expr.base, Var) and self.place(expr.base).text == ENVIRONMENT
        return self.names.macro(TERMS) if is_terms else None

    def elsewhere(self, expr: Expr) -> bool:
        """Whether it is a field whose bytes are elsewhere, maybe unaligned. Such bytes can only be copied."""
        if not isinstance(expr, Field) or not isinstance(expr.base, Var):
            return False
        bound = self.bound[expr.base.name]
        return isinstance(bound, Place) and bound.elsewhere == field(expr.name)

    def position(self, type_: Type, index: Expr) -> str:
        """Returns the C index of an array's item, in a form that the verifier sees to be in range."""
        if isinstance(index, Int):
            return str(index.value - 1)
        if isinstance(index, Var) and index.name in self.counters:
            return f"{self.scalar(index)} - 1"
        known = self.positions.get((index_key(index), Vector.of(type_).size))
        if known is not None:
            return known
        return f"stepwise_position({self.scalar(index)}, {Vector.of(type_).size})"

    def argument(self, expr: Expr) -> str:
        """Returns a value as a function's argument: a scalar itself, or the address of another value."""
        return self.scalar(expr).text if is_scalar(expr.type) else self.place(expr).address

    # --- Scalars ------------------------------------------------------------------------------------

    def scalar(self, expr: Expr) -> Text:
        match expr:
            case Int(value=value):
                return integer(value)
            case Literal(value=value, type=type_):
                return Text(self.names.member(type_, value) if isinstance(type_, Enum) else str(value).lower())
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
                return self.scalar(self.let(name, value, body))
            case In():
                return self._in(expr.element, expr.set)
            case Subset():
                return self._subset(expr)
            case Cardinality(operand=operand):
                return self._cardinality(operand)
            case Quantifier():
                return self.quantifier(expr)
            case First():
                return self.first(expr)
            case Count():
                return self.count(expr)
        if isinstance(expr.type, Bits):
            return self._bits(expr)
        raise GeneratorError(f"{expr.span}: {type(expr).__name__} of {expr.type} is no scalar")

    def kind(self, type_: Type) -> str:
        if isinstance(type_, UInt):
            return kind_of_width(type_.width)
        return "u64" if isinstance(type_, Bits) else ""

    def _read(self, expr: Expr) -> Text:
        if isinstance(expr, Var):
            bound = self.bound[expr.name]
            if isinstance(bound, Text):
                return bound
            return Text(bound.value, UNARY if bound.pointer else ATOM, self.kind(expr.type))
        return Text(self.place(expr).value, ATOM, self.kind(expr.type))

    def _index(self, expr: Index) -> Text:
        base = self.place(expr.base)
        if not Vector.of(expr.base.type).packed and (isinstance(expr.index, Int) or base.shared):
            return Text(base.item(self.position(expr.base.type, expr.index)).text, ATOM, self.kind(expr.type))
        function = self.helpers.at(expr.base.type)
        return Text(f"{function}({base.address}, {self.scalar(expr.index)})", ATOM, self.kind(expr.type))

    def _arith(self, expr: Arith) -> Text:
        left, right = self.scalar(expr.left), self.scalar(expr.right)
        if expr.op in ("div", "%"):
            return self._divide(expr, left, right)
        kind = common_kind(left.kind, right.kind)
        interval = self.natural(expr) or expr.interval if self.unconditional else expr.interval
        if not fits(interval, kind):
            kind = smallest_kind(interval)
            left = cast(left, kind)
            if kind == "s64" and right.kind == "u64":
                right = cast(right, kind)
        precedence = PRODUCT if expr.op == "*" else SUM
        return Text(f"{left.at(precedence)} {expr.op} {right.at(precedence + 1)}", precedence, kind)

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
        left, right = self.scalar(left_expr), self.scalar(right_expr)
        if left.kind and right.kind:
            left, right = self._same_sign(left_expr, left, right_expr, right)
        precedence = EQUALITY if expr.op == "=" else RELATION
        op = "==" if expr.op == "=" else expr.op
        return Text(f"{left.at(precedence + 1)} {op} {right.at(precedence + 1)}", precedence)

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

    def _equal(self, left: Expr, right: Expr) -> Text:
        if isinstance(left, (SetOf, RecordOf, SequenceOf)):
            left, right = right, left
        if isinstance(right, SetOf) and isinstance(left.type, Set):
            if not right.elements:
                return Text(f"{self.place(left).member('count').text} == 0", EQUALITY)
            if len(right.elements) == 1:
                return Text(
                    f"{self.helpers.only(left.type)}({self.place(left).address}, {self.argument(right.elements[0])})"
                )
        function = self.helpers.equality(left.type, right.type)
        return Text(f"{function}({self.place(left).address}, {self.place(right).address})")

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
        return self.joined(expr.op, [lambda operand=operand: self.scalar(operand) for operand in expr.operands])

    def joined(self, op: str, operands: list[Callable[[], Text]]) -> Text:
        """Joins operands in order. The statements of an operand go inside an `if`."""
        symbol, precedence = ("&&", AND) if op == "and" else ("||", OR)
        # Compilers warn about && within || even though the precedence is clear.
        within = AND + 1
        parts: list[str] = []
        first = operands[0]()
        if len(operands) == 1:
            return first
        parts.append(first.at(within))
        for operand in operands[1:]:
            value, statements = self.captured(operand)
            if statements:
                local = self.fresh("holds")
                self.lines.add(f"bool {local} = {f' {symbol} '.join(parts)};")
                self.lines.add("")
                with self.lines.block(f"if ({local if op == 'and' else '!' + local})"):
                    self.lines.lines += statements
                    self.lines.add(f"{local} = {value};")
                parts = [local]
            else:
                parts.append(value.at(within))
        if len(parts) == 1:
            return Text(parts[0])
        return Text(f" {symbol} ".join(parts), precedence)

    def _if(self, expr: If) -> Text:
        if self.branchless and self.computable(expr):
            return self.chosen(expr)
        condition = self.condition_of(expr)
        then, then_lines = self.captured(lambda: self.scalar(expr.then))
        otherwise, otherwise_lines = self.captured(lambda: self.scalar(expr.otherwise))
        kind = common_kind(then.kind, otherwise.kind) if then.kind else ""
        if not then_lines and not otherwise_lines:
            return Text(
                f"{condition} ? {then.at(CONDITIONAL + 1)} : {otherwise.at(CONDITIONAL + 1)}", CONDITIONAL, kind
            )
        local = self.fresh("value")
        self.lines.add(f"{self.local_type(expr)} {local};")
        self.lines.add("")
        with self.lines.block(f"if ({condition})", "} else {"):
            self.lines.lines += then_lines
            self.lines.add(f"{local} = {then};")
        self.lines.lines += otherwise_lines
        self.lines.depth += 1
        self.lines.add(f"{local} = {otherwise};")
        self.lines.depth -= 1
        self.lines.add("}")
        return Text(local, ATOM, kind)

    def let(self, name: str, value: Expr, body: Expr) -> Expr:
        """Binds the name in C, and returns the body, which the caller renders."""
        if is_path(value):
            return substitute(body, name, value)
        self.bind(name, value)
        return body

    def bind(self, name: str, value: Expr, c_name: str = "") -> None:
        place = self.declare(value.type, c_name or name, value)
        if is_scalar(value.type):
            interval = self.ranges[name] = interval_of(value)
            kind = (
                ""
                if not isinstance(value.type, (UInt, Bits))
                else (
                    ("int" if fits(interval, "int") else "s64")
                    if interval.low < 0
                    else kind_of_width(interval.high.bit_length())
                )
            )
            self.bound[name] = Text(place.text, ATOM, kind)
        else:
            self.bound[name] = place

    # --- Sets, seen from outside ---------------------------------------------------------------------

    def _in(self, element: Expr, set_: Expr) -> Text:
        if not isinstance(element, (Int, Literal)) and not is_path(element) and not isinstance(set_, (Var, Field)):
            name = f"element {len(self.bound)}"
            self.bind(name, element, _item_name(element))
            element = Var(
                name, element.type, element.span, interval_of(element) if isinstance(element.type, UInt) else None
            )
        same = lambda other: Compare("=", element, other, Bool(), element.span)  # noqa: E731
        match set_:
            case SetOf(elements=elements):
                if not elements:
                    return Text("false")
                return self.joined("or", [lambda other=other: self.scalar(same(other)) for other in elements])
            case SetOp(op=op, left=left, right=right):
                within = [lambda: self._in(element, left), lambda: self._in(element, right)]
                if op == "minus":
                    within[1] = lambda: self._negated(self._in(element, right))
                return self.joined("or" if op == "union" else "and", within)
            case Range(low=low, high=high):
                bounds = [
                    Compare(">=", element, low, Bool(), set_.span),
                    Compare("<=", element, high, Bool(), set_.span),
                ]
                return self.joined("and", [lambda bound=bound: self.scalar(bound) for bound in bounds])
            case Filter(variable=name, domain=domain, predicate=predicate):
                test = substitute(predicate, name, element)
                return self.joined("and", [lambda: self._in(element, domain), lambda: self.scalar(test)])
            case If(then=then, otherwise=otherwise) if isinstance(set_.type, Set):
                then, otherwise = (In(element, arm, Bool(), set_.span) for arm in (then, otherwise))
                return self._if(replace(set_, then=then, otherwise=otherwise, type=Bool(), interval=None))
        if isinstance(set_.type, Bits):
            bits = self.scalar(set_)
            inside = Text(f"({bits.at(SHIFT)} >> {self.scalar(element).at(PRODUCT)} & 1)", ATOM)
            if interval_of(element).high < set_.type.size:
                return inside
            bound = Compare("<", element, Int(set_.type.size, UInt(8), set_.span), Bool(), set_.span)
            return self.joined("and", [lambda: self.scalar(bound), lambda: inside])
        return Text(f"{self.helpers.has(set_.type)}({self.place(set_).address}, {self.argument(element)})")

    def _negated(self, value: Text) -> Text:
        return Text(f"!{value.at(UNARY)}", UNARY)

    def _subset(self, expr: Subset) -> Text:
        left, right = expr.left, expr.right
        if isinstance(left.type, Bits):
            return Text(f"!({self.scalar(left).at(BIT_AND)} & ~{self.scalar(right).at(UNARY)})", UNARY)
        if isinstance(left, SetOf):
            if not left.elements:
                return Text("true")
            return self.joined("and", [lambda element=element: self._in(element, right) for element in left.elements])
        place = self.place(left)
        if isinstance(right, SetOf) and len(right.elements) <= 1:
            empty = Text(f"{place.member('count').text} == 0", EQUALITY)
            if not right.elements:
                return empty
            only = Text(f"{self.helpers.only(left.type)}({place.address}, {self.argument(right.elements[0])})")
            return self.joined("or", [lambda: empty, lambda: only])
        return Text(f"{self.helpers.subset(left.type, right.type)}({place.address}, {self.place(right).address})")

    def _cardinality(self, operand: Expr) -> Text:
        if isinstance(operand.type, Bits):
            return Text(f"__builtin_popcountll({self.scalar(operand)})", ATOM, "int")
        return Text(self.place(operand).member("count").text, ATOM, "int")

    def _bits(self, expr: Expr) -> Text:
        wide = "u64" if expr.type.size > 32 else "u32"
        one = Text("1ULL" if wide == "u64" else "1U")
        match expr:
            case SetOf(elements=elements):
                if not elements:
                    return integer(0)
                parts = [f"{one} << {self.scalar(element).at(PRODUCT)}" for element in elements]
                return (
                    Text(parts[0], SHIFT, wide)
                    if len(parts) == 1
                    else Text(" | ".join(f"({part})" for part in parts), BIT_OR, wide)
                )
            case SetOp(op="minus", left=left, right=right):
                return Text(f"{self.scalar(left).at(BIT_AND + 1)} & ~{self.scalar(right).at(UNARY)}", BIT_AND, wide)
            case SetOp(op=op, left=left, right=right):
                symbol, precedence = ("|", BIT_OR) if op == "union" else ("&", BIT_AND)
                return Text(f"{self.scalar(left).at(SHIFT)} {symbol} {self.scalar(right).at(SHIFT)}", precedence, wide)
            case Filter() | Image():
                local = self.fresh("bits")
                self.lines.add(f"{c_type(self.names, expr.type)} {local} = 0;")
                self.lines.add("")
                with self.loop(expr.variable, expr.domain) as element, self.when(expr.predicate):
                    value = element if isinstance(expr, Filter) else self.scalar(expr.value)
                    self.lines.add(f"{local} |= {one} << {value.at(PRODUCT)};")
                return Text(local, ATOM, wide)
        raise GeneratorError(f"{expr.span}: {type(expr).__name__} is no bit set")


def index_key(index: Expr) -> str:
    """Returns a key for an index: equal paths have the same key, other expressions have that of their place."""
    return ".".join(location(index) or ()) if is_path(index) else f"at {index.span}"


def _item_name(expr: Expr) -> str:
    """Returns the name of a local for a value, for example `slots_item` for an item of `slots`."""
    if isinstance(expr, Index) and isinstance(expr.base, Field):
        return f"{expr.base.name} item"
    return ""


def _label(expr: Expr) -> str:
    return {Set: "set", Sequence: "sequence", Array: "array", Record: "record"}.get(type(expr.type), "value")
