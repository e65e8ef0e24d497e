"""Writes what can be asked of sets (members, subsets, sizes), and sets that are bits of a word."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from codegen.emit.c_text import (
    ATOM,
    BIT_AND,
    BIT_OR,
    EQUALITY,
    PRODUCT,
    SHIFT,
    UNARY,
    Text,
    integer,
    popcount,
)
from codegen.emit.joined import joined
from codegen.emit.locals import Locals
from codegen.emit.loops import Loops
from codegen.emit.masks import Masks
from codegen.emit.places import Places
from codegen.emit.step_context import StepContext
from codegen.emit.types import GeneratorError, c_type
from codegen.emit.writers import ScalarWriter
from codegen.ir import (
    Bits,
    Bool,
    Compare,
    Expr,
    Field,
    Filter,
    If,
    Image,
    In,
    Index,
    Int,
    Literal,
    Range,
    Set,
    SetOf,
    SetOp,
    Subset,
    UInt,
    Var,
    expect,
)
from codegen.ir.locations import is_path
from codegen.ir.measure import interval_of
from codegen.ir.walk import substitute

EMPTY = integer(0)


class Sets:
    """Writes scalars that depend on sets. It asks `scalars` for elements and bits, and `places` for other sets."""

    def __init__(
        self,
        context: StepContext,
        scalars: ScalarWriter,
        places: Places,
        local_names: Locals,
        loops: Loops,
        masks: Masks,
    ):
        self.context = context
        self.names = context.names
        self.helpers = context.helpers
        self.scalars = scalars
        self.places = places
        self.locals = local_names
        self.loops = loops
        self.masks = masks

    def has(self, element: Expr, set_: Expr) -> Text:
        """Renders whether an element is in a set. A set that is not stored is not made for it."""
        if not isinstance(element, (Int, Literal)) and not is_path(element) and not isinstance(set_, (Var, Field)):
            name = f"element {len(self.context.bound)}"
            self.locals.bind(name, element, _item_name(element))
            element = Var(
                name, element.type, element.span, interval_of(element) if isinstance(element.type, UInt) else None
            )
        match set_:
            case SetOf(elements=elements):
                if not elements:
                    return Text("false")
                same = [Compare("=", element, other, Bool(), element.span) for other in elements]
                return joined(self.context, "or", [partial(self.scalars.scalar, each) for each in same])
            case SetOp(op=op, left=left, right=right):
                in_right = partial(self._has_not if op == "minus" else self.has, element, right)
                within = [partial(self.has, element, left), in_right]
                return joined(self.context, "or" if op == "union" else "and", within)
            case Range(low=low, high=high):
                bounds = [
                    Compare(">=", element, low, Bool(), set_.span),
                    Compare("<=", element, high, Bool(), set_.span),
                ]
                return joined(self.context, "and", [partial(self.scalars.scalar, bound) for bound in bounds])
            case Filter(variable=name, domain=domain, predicate=predicate):
                selected = substitute(predicate, name, element)
                return joined(
                    self.context, "and", [partial(self.has, element, domain), partial(self.scalars.scalar, selected)]
                )
            case If(then=then, otherwise=otherwise) if isinstance(set_.type, Set):
                then, otherwise = (In(element, arm, Bool(), set_.span) for arm in (then, otherwise))
                return self.scalars.scalar(replace(set_, then=then, otherwise=otherwise, type=Bool(), interval=None))
        if isinstance(set_.type, Bits):
            bits = self.scalars.scalar(set_)
            inside = Text(f"({bits.at(SHIFT)} >> {self.scalars.scalar(element).at(PRODUCT)}) & 1", BIT_AND)
            if set_.type.enum is not None or interval_of(element).high < set_.type.size:
                return inside
            bound = Compare("<", element, Int(set_.type.size, UInt(8), set_.span), Bool(), set_.span)
            return joined(self.context, "and", [partial(self.scalars.scalar, bound), lambda: inside])
        has = self.helpers.has_any(set_.type, element.type, interval_of(element))
        return Text(f"{has}({self.places.place(set_).address}, {self.places.argument(element)})")

    def _has_not(self, element: Expr, set_: Expr) -> Text:
        return Text(f"!{self.has(element, set_).at(UNARY)}", UNARY)

    def subset(self, expr: Subset) -> Text:
        left, right = expr.left, expr.right
        if isinstance(left.type, Bits):
            one, other = self.scalars.scalar(left), self.scalars.scalar(right)
            if one.text in (EMPTY.text, other.text):
                return Text("true")
            return Text(f"!({one.at(BIT_AND)} & ~{other.at(UNARY)})", UNARY)
        if isinstance(left, SetOf):
            if not left.elements:
                return Text("true")
            return joined(self.context, "and", [partial(self.has, element, right) for element in left.elements])
        place = self.places.place(left)
        if isinstance(right, SetOf) and len(right.elements) <= 1:
            empty = Text(f"{place.member('count').text} == 0", EQUALITY)
            if not right.elements:
                return empty
            only = Text(f"{self.helpers.only(left.type)}({place.address}, {self.places.argument(right.elements[0])})")
            return joined(self.context, "or", [lambda: empty, lambda: only])
        return Text(
            f"{self.helpers.subset(left.type, right.type)}({place.address}, {self.places.place(right).address})"
        )

    def cardinality(self, operand: Expr) -> Text:
        if isinstance(operand.type, Bits):
            return popcount(self.scalars.scalar(operand))
        return Text(self.places.place(operand).member("count").text, ATOM, "int")

    def bits(self, expr: Expr) -> Text:
        wide = "u64" if expect(expr.type, Bits).size > 32 else "u32"
        one = Text("1ULL" if wide == "u64" else "1U")
        match expr:
            case SetOf(elements=elements):
                if not elements:
                    return EMPTY
                parts = [f"{one} << {self.scalars.scalar(element).at(PRODUCT)}" for element in elements]
                return (
                    Text(parts[0], SHIFT, wide)
                    if len(parts) == 1
                    else Text(" | ".join(f"({part})" for part in parts), BIT_OR, wide)
                )
            case SetOp(op=op, left=left, right=right):
                return _combined(op, self.scalars.scalar(left), self.scalars.scalar(right), wide)
            case Filter() if (word := self.masks.selected(expr.variable, expr.domain, expr.predicate)) is not None:
                return word
            case Image() if (word := self.masks.image(expr)) is not None:
                return word
            case Filter() | Image():
                local = self.context.fresh("bits")
                self.context.lines.define(f"{c_type(self.names, expr.type)} {local}", 0)
                with self.loops.loop(expr.variable, expr.domain) as element, self.loops.when(expr.predicate):
                    value = element if isinstance(expr, Filter) else self.scalars.scalar(expr.value)
                    self.context.lines.add(f"{local} |= {one} << {value.at(PRODUCT)};")
                return Text(local, ATOM, wide)
        raise GeneratorError(f"{expr.span}: {type(expr).__name__} cannot be rendered as a bit set")


def _combined(op: str, left: Text, right: Text, kind: str) -> Text:
    """Renders an operation on two bit sets, without an operand that adds nothing.

    gcc warns of some comparisons with such an operand.
    """
    if left.text == right.text:
        return EMPTY if op == "minus" else left
    if right.text == EMPTY.text:
        return EMPTY if op == "intersect" else left
    if left.text == EMPTY.text:
        return right if op == "union" else EMPTY
    symbol, precedence = {"union": ("| ", BIT_OR), "intersect": ("& ", BIT_AND), "minus": ("& ~", BIT_AND)}[op]
    return Text(f"{left.at(UNARY)} {symbol}{right.at(UNARY)}", precedence, kind)


def _item_name(expr: Expr) -> str:
    """Returns the name of a local for a value, for example `slots_item` for an item of `slots`."""
    if isinstance(expr, Index) and isinstance(expr.base, Field):
        return f"{expr.base.name} item"
    return ""
