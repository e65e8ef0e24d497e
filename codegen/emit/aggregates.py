"""Builds sets, sequences, arrays and records in place, by statements, because C has no expressions for them.

An element is inserted into a set in place. Only a value that reads its own target is first built in
a local.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from codegen.c.names import Names, field
from codegen.emit.c_text import Place, Text
from codegen.emit.helpers import Helpers
from codegen.emit.lines import Lines
from codegen.emit.types import GeneratorError, Vector, c_type
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
    Range,
    RecordOf,
    SequenceOf,
    Set,
    SetOf,
    SetOp,
    Tail,
    Type,
    UInt,
    Update,
    Var,
)
from codegen.ir.locations import location, reads_location
from codegen.ir.measure import is_scalar


class Values:
    """A part of Expressions; its other parts provide the attributes declared here."""

    names: Names
    helpers: Helpers
    lines: Lines
    fresh: Callable[[str], str]
    scalar: Callable[[Expr], Text]
    place: Callable[[Expr], Place]
    argument: Callable[[Expr], str]
    position: Callable[[Type, Expr], str]
    elsewhere: Callable[[Expr], bool]
    declare: Callable[[Type, str, Expr], Place]
    condition_of: Callable[[If], str]
    branchless: bool
    computable: Callable[[Expr], bool]
    loop: Callable[[str, Expr], AbstractContextManager[Text]]
    when: Callable[[Expr | None], AbstractContextManager[None]]
    let: Callable[[str, Expr, Expr], Expr]

    def into(self, target: Place, type_: Type, expr: Expr, at: tuple[str, ...] | None = None) -> None:
        """Adds statements that give `target`, which has the type `type_`, the value of `expr`.

        The value's type may have more or less room; the front end has proven that the value fits.
        at: the target's location in the IR, if it has one.
        """
        if _is_at(expr, at):
            return
        if (at is not None and not _in_place(expr, at)) or _outgrows(expr, type_):
            self._copy(
                target, type_, self.declare(expr.type if _outgrows(expr, type_) else type_, "value", expr), expr.type
            )
            return
        match expr:
            case If():
                self._choose_into(target, type_, expr, at)
            case Let(name=name, value=value, body=body):
                self.into(target, type_, self.let(name, value, body), at)
            case _ if is_scalar(expr.type):
                self.lines.add(f"{target.value} = {self.scalar(expr)};")
            case Field() if self.elsewhere(expr):
                self.lines.add(f"{target.value} = {self.place(expr.base).member(field(expr.name)).value};")
            case Var() | Field() | Index():
                self._copy(target, type_, self.place(expr), expr.type)
            case SetOf(elements=elements) | SequenceOf(elements=elements):
                self._literal_into(target, type_, elements)
            case SetOp(op=op, left=left, right=right):
                self._set_op_into(target, type_, op, left, right, at)
            case Filter() | Image():
                self._comprehension_into(target, type_, expr)
            case Int():
                self.lines.add(f"{target.value} = ({c_type(self.names, type_)}){{}};")
            case RecordOf(fields=fields):
                for name, value in fields:
                    self.into(target.member(field(name)), type_.field(name), value)
            case Update(base=base, updates=updates):
                self.into(target, type_, base, at)
                for path, value in updates:
                    self.put(target, type_, path, value)
            case ArrayOf(variable=name, value=value):
                self._array_into(target, type_, name, value)
            case Append(sequence=sequence, element=element):
                self.into(target, type_, sequence, at)
                self.lines.add(f"{self.helpers.append(type_)}({target.address}, {self.argument(element)});")
            case Tail(sequence=sequence):
                self.into(target, type_, sequence, at)
                self.lines.add(f"{self.helpers.tail(type_)}({target.address});")
            case _:
                raise GeneratorError(f"{expr.span}: {type(expr).__name__} of {expr.type} cannot be built")

    def _copy(self, target: Place, type_: Type, source: Place, source_type: Type) -> None:
        """Copies a compound value from its place."""
        if c_type(self.names, type_) == c_type(self.names, source_type):
            self.lines.add(f"{target.value} = {source.value};")
        else:
            self.lines.add(f"{self.helpers.convert(type_, source_type)}({target.address}, {source.address});")

    def _choose_into(self, target: Place, type_: Type, expr: If, at: tuple[str, ...] | None) -> None:
        if self.branchless and self.computable(expr):
            self.lines.add(f"{target.value} = {self.scalar(expr)};")
            return
        kept = [_is_at(arm, at) for arm in (expr.then, expr.otherwise)]
        condition = self.condition_of(expr)
        if all(kept):
            self.lines.add(f"(void)({condition});")
            return
        if kept[0]:
            condition = f"!{condition}" if condition.startswith("STEPWISE_CHOOSE(") else f"!({condition})"
        with self.lines.block(f"if ({condition})", "}" if any(kept) else "} else {"):
            self.into(target, type_, expr.otherwise if kept[0] else expr.then, at)
        if not any(kept):
            self.lines.depth += 1
            self.into(target, type_, expr.otherwise, at)
            self.lines.depth -= 1
            self.lines.add("}")

    def _literal_into(self, target: Place, type_: Type, elements: tuple[Expr, ...]) -> None:
        struct = c_type(self.names, type_)
        if not elements:
            self.lines.add(f"{target.value} = ({struct}){{}};")
            return
        vector = Vector.of(type_)
        if is_scalar(vector.element):
            first = self.scalar(elements[0])
            items = str(first) if vector.packed else f"{{ {first} }}"
            self.lines.add(f"{target.value} = ({struct}){{ .count = 1, .items = {items} }};")
        else:
            self.lines.add(f"{target.value} = ({struct}){{}};")
            self.lines.add(f"{self.helpers.append(type_)}({target.address}, {self.argument(elements[0])});")
        add = self.helpers.insert(type_) if isinstance(type_, Set) else self.helpers.append(type_)
        for element in elements[1:]:
            self.lines.add(f"{add}({target.address}, {self.argument(element)});")

    def _set_op_into(
        self, target: Place, type_: Type, op: str, left: Expr, right: Expr, at: tuple[str, ...] | None
    ) -> None:
        if op == "union" and at is not None and not _in_place(left, at):
            left, right = right, left
        if op == "union" and isinstance(left, SetOf) and not isinstance(right, SetOf):
            left, right = right, left
        self.into(target, type_, left, at)
        if isinstance(right, SetOf) and op != "intersect":
            change = self.helpers.insert(type_) if op == "union" else self.helpers.remove(type_)
            for element in right.elements:
                self.lines.add(f"{change}({target.address}, {self.argument(element)});")
            return
        self.lines.add(f"{self.helpers.combine(op, type_, right.type)}({target.address}, {self.place(right).address});")

    def _comprehension_into(self, target: Place, type_: Type, expr: Filter | Image) -> None:
        filtered = isinstance(expr, Filter)
        self.lines.add(f"{target.value} = ({c_type(self.names, type_)}){{}};")
        add = self.helpers.append(type_) if filtered else self.helpers.insert(type_)
        with self.loop(expr.variable, expr.domain) as element, self.when(expr.predicate if filtered else None):
            argument = element.text.removeprefix("*") if filtered else self.argument(expr.value)
            self.lines.add(f"{add}({target.address}, {argument});")

    def _array_into(self, target: Place, type_: Array, name: str, value: Expr) -> None:
        self.lines.add(f"{target.value} = ({c_type(self.names, type_)}){{}};")
        domain = Range(
            Int(1, UInt(32), value.span),
            Int(type_.size, UInt(32), value.span),
            type_.size,
            Set(UInt(32), type_.size),
            value.span,
        )
        with self.loop(name, domain) as index:
            self.lines.add(f"{self.helpers.put(type_)}({target.address}, {index}, {self.argument(value)});")

    def put(self, target: Place, type_: Type, path: tuple, value: Expr, at: tuple[str, ...] | None = None) -> None:
        """Adds statements that replace the value at a path below `target`."""
        if not path:
            self.into(target, type_, value, at)
            return
        head, rest = path[0], path[1:]
        if isinstance(head, str):
            self.put(target.member(field(head)), type_.field(head), rest, value, at)
            return
        vector = Vector.of(type_)
        if target.shared and not vector.packed:
            self.put(target.item(self.position(type_, head)), vector.element, rest, value, at)
            return
        if not rest:
            self.lines.add(f"{self.helpers.put(type_)}({target.address}, {self.scalar(head)}, {self.argument(value)});")
            return
        index = self.scalar(head)
        item = Place(self.fresh("item"))
        self.lines.add(
            f"{c_type(self.names, vector.element)} {item.text} = *{self.helpers.at(type_)}({target.address}, {index});"
        )
        self.lines.add("")
        self.put(item, vector.element, rest, value)
        self.lines.add(f"{self.helpers.put(type_)}({target.address}, {index}, {item.address});")


def _is_at(expr: Expr, at: tuple[str, ...] | None) -> bool:
    """Whether the target already has the value. It is False for items of an array, whose indices may differ."""
    return at is not None and "*" not in at and location(expr) == at


def _in_place(expr: Expr, at: tuple[str, ...]) -> bool:
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
            return left.type.max > type_.max or _outgrows(left, type_)
        case Tail(sequence=sequence):
            return sequence.type.max > type_.max
    return False
