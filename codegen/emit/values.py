"""Builds sets, sequences, arrays and records in place, by statements, because C has no expressions for them.

An element is inserted into a set in place. Only a value that reads its own target is first built in
a local.
"""

from __future__ import annotations

from codegen.c.names import field
from codegen.emit.branchless import Branchless
from codegen.emit.branchless_tests import BranchlessTests
from codegen.emit.c_text import Place
from codegen.emit.locals import Locals
from codegen.emit.loops import Loops
from codegen.emit.masks import Masks
from codegen.emit.places import Places
from codegen.emit.step_context import StepContext
from codegen.emit.types import GeneratorError, Vector, c_type, stack_bytes
from codegen.emit.writers import ScalarWriter
from codegen.ir import (
    Append,
    Array,
    ArrayOf,
    Expr,
    Field,
    Filter,
    If,
    Image,
    Index,
    Int,
    Let,
    Path,
    Range,
    Record,
    RecordOf,
    Sequence,
    SequenceOf,
    Set,
    SetOf,
    SetOp,
    Tail,
    Type,
    UInt,
    Update,
    Var,
    expect,
)
from codegen.ir.locations import Location, location, reads_location
from codegen.ir.measure import is_scalar


class Values:
    """Writes values into places. It makes the writers of places, locals and loops, which it calls."""

    def __init__(self, context: StepContext, scalars: ScalarWriter, tests: BranchlessTests, branchless: Branchless):
        self.context = context
        self.names = context.names
        self.helpers = context.helpers
        self.scalars = scalars
        self.tests = tests
        self.places = Places(context, scalars, self)
        self.locals = Locals(context, scalars, self)
        self.masks = Masks(context, scalars, tests, branchless)
        self.loops = Loops(context, scalars, self.places, tests, branchless, self.masks)

    def into(self, target: Place, type_: Type, expr: Expr, at: Location | None = None) -> None:
        """Adds statements that give `target`, which has the type `type_`, the value of `expr`.

        The value's type may have more or less room; the front end has proven that the value fits.
        at: the target's location in the IR, if it has one.
        """
        if _is_at(expr, at):
            return
        if (at is not None and not _in_place(expr, at)) or _outgrows(expr, type_):
            room = expr.type if _outgrows(expr, type_) else type_
            self._copy(target, type_, self.locals.declare(room, "value", expr), expr.type)
            return
        match expr:
            case If():
                self._choose_into(target, type_, expr, at)
            case Let(name=name, value=value, body=body):
                self.into(target, type_, self.locals.let(name, value, body), at)
            case _ if is_scalar(expr.type):
                self.context.lines.add(f"{target.value} = {self.scalars.scalar(expr)};")
            case Field() if self.places.elsewhere(expr):
                self.context.lines.add(
                    f"{target.value} = {self.places.place(expr.base).member(field(expr.name)).value};"
                )
            case Var() | Field() | Index():
                self._copy(target, type_, self.places.place(expr), expr.type)
            case SetOf(elements=elements) | SequenceOf(elements=elements):
                self._literal_into(target, type_, elements)
            case SetOp(op=op, left=left, right=right):
                self._set_op_into(target, type_, op, left, right, at)
            case Filter() | Image():
                self._comprehension_into(target, type_, expr)
            case Int():
                self.context.lines.add(f"{target.value} = ({c_type(self.names, type_)}){{}};")
            case RecordOf(fields=fields):
                for name, value in fields:
                    self.into(target.member(field(name)), expect(type_, Record).field(name), value)
            case Update(base=base, updates=updates):
                self.into(target, type_, base, at)
                for path, value in updates:
                    self.put(target, type_, path, value)
            case ArrayOf(variable=name, value=value):
                self._array_into(target, expect(type_, Array), name, value)
            case Append(sequence=sequence, element=element):
                self.into(target, type_, sequence, at)
                self.context.lines.add(
                    f"{self.helpers.append(type_)}({target.address}, {self.places.argument(element)});"
                )
            case Tail(sequence=sequence):
                self.into(target, type_, sequence, at)
                self.context.lines.add(f"{self.helpers.tail(type_)}({target.address});")
            case _:
                raise GeneratorError(f"{expr.span}: {type(expr).__name__} of {expr.type} cannot be built")

    def _copy(self, target: Place, type_: Type, source: Place, source_type: Type) -> None:
        """Copies a compound value from its place."""
        if c_type(self.names, type_) == c_type(self.names, source_type):
            self.context.lines.add(f"{target.value} = {source.value};")
        else:
            self.context.lines.add(f"{self.helpers.convert(type_, source_type)}({target.address}, {source.address});")

    def _choose_into(self, target: Place, type_: Type, expr: If, at: Location | None) -> None:
        if self.context.branchless and self.tests.computable(expr):
            self.context.lines.add(f"{target.value} = {self.scalars.scalar(expr)};")
            return
        kept = [_is_at(arm, at) for arm in (expr.then, expr.otherwise)]
        condition = self.scalars.condition_of(expr)
        if all(kept):
            self.context.lines.add(f"(void)({condition});")
            return
        if kept[0]:
            condition = f"!{condition}" if condition.startswith("STEPWISE_CHOOSE(") else f"!({condition})"
        with self.context.lines.block(f"if ({condition})", "}" if any(kept) else "} else {"):
            self.into(target, type_, expr.otherwise if kept[0] else expr.then, at)
        if not any(kept):
            with self.context.lines.indented():
                self.into(target, type_, expr.otherwise, at)
            self.context.lines.add("}")

    def _literal_into(self, target: Place, type_: Type, elements: tuple[Expr, ...]) -> None:
        struct = c_type(self.names, type_)
        if not elements:
            self.context.lines.add(f"{target.value} = ({struct}){{}};")
            return
        vector = Vector.of(type_)
        if is_scalar(vector.element):
            first = self.scalars.scalar(elements[0])
            items = str(first) if vector.packed else f"{{ {first} }}"
            self.context.lines.add(f"{target.value} = ({struct}){{ .count = 1, .items = {items} }};")
        else:
            self.context.lines.add(f"{target.value} = ({struct}){{}};")
            self.context.lines.add(
                f"{self.helpers.append(type_)}({target.address}, {self.places.argument(elements[0])});"
            )
        add = self.helpers.insert(type_) if isinstance(type_, Set) else self.helpers.append(type_)
        for element in elements[1:]:
            self.context.lines.add(f"{add}({target.address}, {self.places.argument(element)});")

    def _set_op_into(self, target: Place, type_: Type, op: str, left: Expr, right: Expr, at: Location | None) -> None:
        if op == "union" and at is not None and not _in_place(left, at):
            left, right = right, left
        if op == "union" and isinstance(left, SetOf) and not isinstance(right, SetOf):
            left, right = right, left
        self.into(target, type_, left, at)
        if isinstance(right, SetOf) and op != "intersect":
            change = self.helpers.insert(type_) if op == "union" else self.helpers.remove(type_)
            for element in right.elements:
                self.context.lines.add(f"{change}({target.address}, {self.places.argument(element)});")
            return
        self.context.lines.add(
            f"{self.helpers.combine(op, type_, right.type)}({target.address}, {self.places.place(right).address});"
        )

    def _comprehension_into(self, target: Place, type_: Type, expr: Filter | Image) -> None:
        self.context.lines.add(f"{target.value} = ({c_type(self.names, type_)}){{}};")
        with self.loops.loop(expr.variable, expr.domain) as element, self.loops.when(expr.predicate):
            item = element.text.removeprefix("*") if isinstance(expr, Filter) else self.places.argument(expr.value)
            selects = isinstance(expr, Filter) or _is_variable(expr.value, expr.variable)
            add = self.helpers.append(type_) if selects else self.helpers.insert(type_)
            hides = self.context.kernel and expr.variable in self.context.iterated and Vector.of(type_).packed
            if hides and selects:
                item = f"stepwise_hide({item})"
            self.context.lines.add(f"{add}({target.address}, {item});")
            if hides:
                # The verifier would know which items the word has, and follow what comes after once for each set of
                # them.
                count = target.member("count").value
                self.context.lines.add(f"{count} = stepwise_hide({count});")

    def _array_into(self, target: Place, type_: Array, name: str, value: Expr) -> None:
        self.context.lines.add(f"{target.value} = ({c_type(self.names, type_)}){{}};")
        domain = Range(
            Int(1, UInt(32), value.span),
            Int(type_.size, UInt(32), value.span),
            type_.size,
            Set(UInt(32), type_.size),
            value.span,
        )
        with self.loops.loop(name, domain) as index:
            self.context.lines.add(
                f"{self.helpers.put(type_)}({target.address}, {index}, {self.places.argument(value)});"
            )

    def put(self, target: Place, type_: Type, path: Path, value: Expr, at: Location | None = None) -> None:
        """Adds statements that replace the value at a path below `target`."""
        if not path:
            self.into(target, type_, value, at)
            return
        head, rest = path[0], path[1:]
        if isinstance(head, str):
            self.put(target.member(field(head)), expect(type_, Record).field(head), rest, value, at)
            return
        vector = Vector.of(type_)
        if target.shared and not vector.packed:
            self.put(target.item(self.places.position(type_, head)), vector.element, rest, value, at)
            return
        if not rest:
            put, index = self.helpers.put(type_), self.scalars.scalar(head)
            self.context.lines.add(f"{put}({target.address}, {index}, {self.places.argument(value)});")
            return
        index = self.scalars.scalar(head)
        item = Place(self.context.fresh("item"))
        found = f"*{self.helpers.at(type_)}({target.address}, {index})"
        self.context.lines.define(f"{c_type(self.names, vector.element)} {item.text}", found)
        self.context.lines.keep(stack_bytes(vector.element))
        self.put(item, vector.element, rest, value)
        self.context.lines.add(f"{self.helpers.put(type_)}({target.address}, {index}, {item.address});")


def _is_variable(expr: Expr, name: str) -> bool:
    return isinstance(expr, Var) and expr.name == name


def _is_at(expr: Expr, at: Location | None) -> bool:
    """Whether the target already has the value. It is False for items of an array, whose indices may differ."""
    return at is not None and "*" not in at and location(expr) == at


def _in_place(expr: Expr, at: Location) -> bool:
    """Whether the target at `at` may be overwritten during the construction of the value."""
    if is_scalar(expr.type) or location(expr) == at or not reads_location(expr, at):
        return True
    match expr:
        case If(then=then, otherwise=otherwise):
            return _in_place(then, at) and _in_place(otherwise, at)
        case Let(body=body):
            return _in_place(body, at)
        case SetOp(op=op, left=left, right=right):
            if not reads_location(right, at):
                return _in_place(left, at)
            return op == "union" and not reads_location(left, at) and _in_place(right, at)
        case Append(sequence=sequence, element=element):
            return not reads_location(element, at) and _in_place(sequence, at)
        case Tail(sequence=sequence):
            return _in_place(sequence, at)
    return False


def _outgrows(expr: Expr, type_: Type) -> bool:
    """Whether an intermediate value may have more elements than the type has room for."""
    match expr:
        case SetOp(op="union", left=left, right=right):
            return _outgrows(left, type_) or _outgrows(right, type_)
        case SetOp(left=left) if isinstance(type_, Set):
            return expect(left.type, Set).max > type_.max or _outgrows(left, type_)
        case Tail(sequence=sequence):
            return expect(sequence.type, Sequence).max > expect(type_, Sequence).max
    return False
