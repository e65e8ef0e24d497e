"""Writes a step as one C function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from codegen.analysis.step_facts import StepFacts, step_facts
from codegen.c.names import ENVIRONMENT, MESSAGE, Names, field
from codegen.emit.c_text import Place, Text
from codegen.emit.helpers import Helpers
from codegen.emit.lines import line_directive, quoted
from codegen.emit.scalars import Scalars
from codegen.emit.step_context import ItemKey, StepContext, index_key
from codegen.emit.types import Vector, c_type
from codegen.emit.unused import used
from codegen.ir import (
    TERMS,
    Assign,
    Bind,
    Body,
    Decide,
    Expr,
    Field,
    Index,
    Int,
    Leaf,
    Protocol,
    Record,
    Span,
    Table,
    Type,
    Var,
    expect,
)
from codegen.ir.locations import Location, is_path, location, overlap, reads_location, target_location
from codegen.ir.measure import interval_of
from codegen.ir.walk import walk

_VERDICTS = {
    "Continue": "stepwise_continue",
    "Reply": "stepwise_reply",
    "Forward": "stepwise_forward",
    "Drop": "stepwise_drop",
}


INLINE_WEIGHT_MAX = 12
"""Operators with more lines than about this become functions of their own."""


@dataclass(frozen=True)
class _Parameter:
    name: str
    declared: str
    used: bool = True


class StepWriter:
    """Renders one step, or a part of it, and collects the helpers that it needs in `helpers`.

    For `quoting` see generate(). `parts`: the functions that there are already for parts of the step.
    """

    def __init__(
        self,
        protocol: Protocol,
        names: Names,
        helpers: Helpers,
        facts: StepFacts,
        quoting: bool = False,
        parts: Counter[str] | None = None,
    ):
        self.protocol = protocol
        self.functions: list[str] = []
        self.parts: Counter[str] = Counter() if parts is None else parts
        """How many functions there are for each operator of the step."""
        self.quoting = quoting
        self.names = names
        self.facts = facts
        self.step = step = facts.step
        self.cell = names.local(step.cell, {MESSAGE, ENVIRONMENT})
        shared = not self._is_word()
        in_kernel = step.name not in {
            step.name for step in (*(section.step for section in protocol.user), *protocol.daemon_steps)
        }
        taken = {self.cell, MESSAGE, ENVIRONMENT}
        self.context = StepContext(names, helpers, taken, branchless=shared and in_kernel, kernel=in_kernel)
        self.context.bind(step.cell, Place(self.cell, pointer=True, shared=shared))
        tail = field(protocol.tail.field) if protocol.tail else ""
        self.context.bind(step.message, Place(MESSAGE, pointer=True, elsewhere=tail))
        if step.env is not None:
            self.context.bind(step.env, Place(ENVIRONMENT, pointer=True))
        self.scalars = Scalars(self.context)
        self.values = self.scalars.values
        self.locals = self.scalars.locals

    @property
    def scans(self) -> bool:
        """Whether the step works on a whole table (a user step) instead of on one cell."""
        return isinstance(self.step.cell_type, Table)

    def _is_word(self) -> bool:
        """Whether the cell is a local that was unpacked from its word."""
        cell = self.step.cell_type
        return any(
            table.atomic == "word" for table in self.protocol.tables if cell == table.cell or cell.name == table.name
        )

    def text(self) -> str:
        """Returns the step's function, after those of the operators that it calls."""
        return self.function(self.names.step(self.step), self.step.name, self.step.span, self.parameters())

    def function(self, name: str, operator: str, span: Span, parameters: list[_Parameter]) -> str:
        """Renders the body as a function. Parts of it that are functions of their own come before it."""
        own = _end(self.step.body).operator
        self._enter(own, operator, span)
        self._body(self.step.body, own)
        named = {each.name for each in parameters}
        lines = used(self.context.lines.finished(), (each.name for each in parameters), self.context.taken - named)
        head = f"static __always_inline __u32 {name}({', '.join(each.declared for each in parameters)})"
        body = quoted(lines) if self.quoting else lines
        text = "\n".join([f"/* {operator}, {_where(span)} */", head, "{", *body, "}"]) + "\n"
        return "\n".join([*self.functions, text])

    def parameters(self) -> list[_Parameter]:
        """Returns the parameters of a step, and whether the body uses them."""
        facts = self.facts

        def used(parameter: str) -> bool:
            constants = {(TERMS,)} if parameter == self.step.env else set()
            return any(where[0] == parameter and where[1:] not in constants for where in facts.reads)

        const = "" if facts.changes_cell else "const "
        type_ = c_type(self.names, self.step.cell_type) if not self.scans else ""
        if self.scans:
            const, type_ = "const ", value_type(self.names, self.protocol, self.step.cell_type.name)
        found = [_Parameter(self.cell, f"{const}{type_} *{self.cell}", facts.changes_cell or used(self.step.cell))]
        const = "" if facts.written else "const "
        declared = f"{const}{c_type(self.names, self.protocol.message)} *{MESSAGE}"
        found.append(_Parameter(MESSAGE, declared, bool(facts.written) or used(self.step.message)))
        if self.step.env is not None:
            declared = f"const {c_type(self.names, self.protocol.environment)} *{ENVIRONMENT}"
            found.append(_Parameter(ENVIRONMENT, declared, used(self.step.env)))
        return found

    # --- Bodies -------------------------------------------------------------------------------------

    def _body(self, body: Body, operator: str) -> None:
        """Renders a body. Every body ends in a return, so the code after an `if` needs no `else`."""
        end = _end(body)
        if end.operator != operator and _weight(body) > INLINE_WEIGHT_MAX:
            self._call(body, end)
            return
        match body:
            case Bind(name=name, value=value, body=inner):
                self._quote(value.span)
                self.locals.bind(name, value)
                self._body(inner, operator)
            case Decide():
                self._enter(body.operator, operator, body.span)
                self._quote(body.condition.span)
                condition = self.scalars.scalar(body.condition)
                with self.context.lines.block(f"if ({condition})"):
                    self._body(body.then, body.operator)
                self._body(body.otherwise, body.operator)
            case Leaf():
                self._enter(body.operator, operator, body.span)
                self._quote(body.span)
                self._leaf(body)

    def _call(self, body: Body, end: Decide | Leaf) -> None:
        """Makes a function from the body of an operator that the step ends in, and calls it."""
        part = StepWriter(
            self.protocol,
            self.names,
            self.context.helpers,
            step_facts(replace(self.step, body=body)),
            self.quoting,
            self.parts,
        )
        parameters = [each for each in part.parameters() if each.used]
        arguments = [each.name for each in parameters]
        free = dict.fromkeys(node for node in walk(body) if isinstance(node, Var) and node.name in self._locals())
        for local in {node.name: node for node in free}.values():
            arguments.append(self._argument(local))
            parameters.append(part.receive(local, self.context))
        name = self.context.helpers.part_name(self.protocol, self.step.name, end.operator, self.parts)
        self.functions.append(part.function(name, end.operator, end.span, parameters))
        self.context.lines.call(part.context.lines)
        self._quote(end.span)
        self.context.lines.add(f"return {name}({', '.join(arguments)});")

    def _locals(self) -> set[str]:
        """Returns the names that the step has bound so far."""
        return set(self.context.bound) - {self.step.cell, self.step.message, self.step.env}

    def _argument(self, local: Var) -> str:
        bound = self.context.bound[local.name]
        return bound.text if isinstance(bound, Text) else bound.address

    def receive(self, local: Var, outer: StepContext) -> _Parameter:
        """Binds a local of the calling function as a parameter of this one."""
        bound = outer.bound[local.name]
        self.context.taken.add(bound.text)
        if isinstance(bound, Place):
            self.context.bind(local.name, Place(bound.text, pointer=True, shared=bound.shared))
            return _Parameter(bound.text, f"const {c_type(self.names, local.type)} *{bound.text}")
        self.context.bind(local.name, bound)
        if local.name in outer.ranges:
            self.context.ranges[local.name] = outer.ranges[local.name]
            local = replace(local, interval=outer.ranges[local.name])
        return _Parameter(bound.text, f"{self.locals.type_of(local)} {bound.text}")

    def _enter(self, operator: str, outer: str, span: Span) -> None:
        if operator != outer:
            self.context.lines.add(f"/* {operator}, {_where(span)} */")

    def _quote(self, span: Span) -> None:
        """Marks the origin of the lines that follow."""
        if self.quoting:
            self.context.lines.mark(line_directive(span.line, span.file))

    def _leaf(self, leaf: Leaf) -> None:
        self._find_items(leaf)
        self._assign(leaf)
        self.context.forget_positions()
        outcome = f"{_VERDICTS[leaf.verdict]}({self.names.leaf(self.step, leaf)})"
        if leaf.cell:
            outcome = f"stepwise_changed({outcome})"
        self._quote(leaf.span)
        self.context.lines.add(f"return {outcome};")

    def _find_items(self, leaf: Leaf) -> None:
        """Declares locals for the positions of items that a leaf accesses more than once."""
        context = self.context
        found: Counter[ItemKey] = Counter()
        indices: dict[ItemKey, Expr] = {}
        for index, vector in self._indices(leaf):
            where = location(index) if is_path(index) else None
            counts = isinstance(index, Var) and index.name in context.counters
            if where is not None and where[0] in context.bound and not counts:
                item = (index_key(index), vector.size)
                found[item] += 1
                indices[item] = index
        for item, times in found.items():
            if times > 1:
                local = context.fresh("at")
                index_text = self.scalars.scalar(indices[item])
                context.lines.define(f"__u32 {local}", f"stepwise_position({index_text}, {item[1]})", const=True)
                context.positions[item] = local

    def _indices(self, leaf: Leaf) -> Iterator[tuple[Expr, Vector]]:
        """Yields every index into an unpacked array of a cell that is stepped in place."""
        if not self.context.object(self.step.cell).shared:
            return
        for root, group in ((self.step.cell, leaf.cell), (self.step.message, leaf.message)):
            for assign in group:
                type_ = self._root_type(root)
                for part in assign.path:
                    if isinstance(part, str):
                        type_ = expect(type_, Record).field(part)
                        continue
                    vector = Vector.of(type_)
                    if root == self.step.cell and not vector.packed:
                        yield part, vector
                    type_ = vector.element
                for node in walk(assign.value):
                    if isinstance(node, Index) and self._lies_in_cell(node):
                        yield node.index, Vector.of(node.base.type)

    def _lies_in_cell(self, node: Index) -> bool:
        """Whether an item is in an unpacked array of the cell, and so is found by its position."""
        return (location(node) or ("",))[0] == self.step.cell and not Vector.of(node.base.type).packed

    # --- Simultaneous assignment ---------------------------------------------------------------------

    def _assign(self, leaf: Leaf) -> None:
        """Writes all assignments of a leaf, so that none reads a place that another has overwritten.

        An assignment waits for others that read its place, and for earlier ones that may write to the same place.
        If assignments wait for each other in a circle, one value is first computed into a local.
        """
        pending = [
            _Pending(target_location(root, assign.path), root, assign)
            for root, group in ((self.step.cell, leaf.cell), (self.step.message, leaf.message))
            for assign in group
        ]
        late: list[_Pending] = []
        while pending:
            free = next((entry for entry in pending if not _awaited(entry, pending)), None)
            if free is not None:
                pending.remove(free)
                self._write(free)
            elif not _follows(pending[0], pending[1:]):
                late.append(self._computed(pending.pop(0)))
            else:
                at = next(at for at, entry in enumerate(pending) if entry.place is None)
                pending[at] = self._computed(pending[at])
        for entry in late:
            self._write(entry)

    def _computed(self, entry: _Pending) -> _Pending:
        """Computes the value and the path's indices of an assignment into locals."""
        assign = entry.assign
        place = self.locals.declare(self._target_type(entry.root, assign), _last_name(assign), assign.value)
        path = tuple(part if isinstance(part, (str, Int)) else self._held(part) for part in assign.path)
        return replace(entry, assign=replace(assign, path=path), place=place)

    def _held(self, index: Expr) -> Expr:
        """Computes an index now, so that later assignments cannot change it."""
        if is_path(index) and not isinstance(index, Field):
            return index
        name = f"index {len(self.context.bound)}"
        self.locals.bind(name, index)
        return Var(name, index.type, index.span, interval_of(index))

    def _write(self, entry: _Pending) -> None:
        self._quote(entry.assign.span)
        target, type_ = self.context.object(entry.root), self._root_type(entry.root)
        value = entry.assign.value
        if entry.place is not None:
            name = f"value {len(self.context.bound)}"
            self.context.bind(name, entry.place)
            value = Var(name, self._target_type(entry.root, entry.assign), value.span)
        self.values.put(target, type_, entry.assign.path, value, entry.where)

    def _root_type(self, root: str) -> Type:
        return self.step.cell_type if root == self.step.cell else self.protocol.message

    def _target_type(self, root: str, assign: Assign) -> Type:
        type_ = self._root_type(root)
        for part in assign.path:
            type_ = expect(type_, Record).field(part) if isinstance(part, str) else Vector.of(type_).element
        return type_


@dataclass(frozen=True)
class _Pending:
    """An assignment that is not written yet."""

    where: Location
    root: str
    assign: Assign
    place: Place | None = None
    """The local with its value, if it is computed already."""

    def reads(self, where: Location) -> bool:
        value = () if self.place is not None else (self.assign.value,)
        return any(reads_location(part, where) for part in (*value, *self.assign.path) if not isinstance(part, str))


def _end(body: Body) -> Decide | Leaf:
    """Returns what a body comes to after its binds."""
    while isinstance(body, Bind):
        body = body.body
    return body


def _weight(body: Body) -> int:
    """Returns about how many lines of C a body becomes."""
    match body:
        case Bind(body=inner):
            return 1 + _weight(inner)
        case Decide(then=then, otherwise=otherwise):
            return 2 + _weight(then) + _weight(otherwise)
    return 1 + len(body.cell) + len(body.message)


def _awaited(entry: _Pending, pending: list[_Pending]) -> bool:
    """Whether another assignment still reads this one's place, or an earlier one may write to it."""
    before = pending[: pending.index(entry)]
    return any(other is not entry and other.reads(entry.where) for other in pending) or _follows(entry, before)


def _follows(entry: _Pending, others: list[_Pending]) -> bool:
    """Whether the others may write to the same place."""
    return any(overlap(other.where, entry.where) for other in others)


def _last_name(assign: Assign) -> str:
    return next((part for part in reversed(assign.path) if isinstance(part, str)), "value")


def _where(span: Span) -> str:
    return f"{span.file.rsplit('/', 1)[-1]}:{span.line}"


def element_type(names: Names, protocol: Protocol, table: str) -> str:
    """Returns the C type that a section works on: a word, or the cell's struct with its guard."""
    layout = next(entry for entry in protocol.tables if entry.name == table)
    return "__u64" if layout.atomic == "word" else c_type(names, layout.cell)


def is_lined(protocol: Protocol, table: str) -> bool:
    """Whether a table's element is a word with the rest of its cache line."""
    layout = next(entry for entry in protocol.tables if entry.name == table)
    return layout.atomic == "word" and layout.own_line


def value_type(names: Names, protocol: Protocol, table: str) -> str:
    """Returns the C type of a value in a table's map."""
    return "struct stepwise_lined_word" if is_lined(protocol, table) else element_type(names, protocol, table)
