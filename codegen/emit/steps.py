"""Writes a step as one C function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from codegen.analysis.step_facts import StepFacts
from codegen.c.names import ENVIRONMENT, MESSAGE, Names, field, variable
from codegen.emit.c_text import Place
from codegen.emit.helpers import Helpers
from codegen.emit.lines import line_directive, quoted, wrapped
from codegen.emit.scalars import Scalars
from codegen.emit.step_context import ItemKey, StepContext, index_key
from codegen.emit.types import Vector, c_type
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


class StepWriter:
    """Renders one step, and collects the helpers that it needs in `helpers`. For `quoting` see generate()."""

    def __init__(self, protocol: Protocol, names: Names, helpers: Helpers, facts: StepFacts, quoting: bool = False):
        self.protocol = protocol
        self.quoting = quoting
        self.names = names
        self.facts = facts
        self.step = step = facts.step
        self.cell = variable(step.cell, {MESSAGE, ENVIRONMENT})
        shared = not self._is_word()
        in_kernel = step.name not in {
            step.name for step in (*(section.step for section in protocol.user), *protocol.daemon_steps)
        }
        taken = {self.cell, MESSAGE, ENVIRONMENT}
        self.context = StepContext(names, helpers, taken, branchless=shared and in_kernel)
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

    def parameters(self) -> list[str]:
        if self.scans:
            cell = f"const {value_type(self.names, self.protocol, self.step.cell_type.name)} *{self.cell}"
        else:
            const = "" if self.facts.changes_cell else "const "
            cell = f"{const}{c_type(self.names, self.step.cell_type)} *{self.cell}"
        const = "" if self.facts.written else "const "
        found = [cell, f"{const}{c_type(self.names, self.protocol.message)} *{MESSAGE}"]
        if self.step.env is not None:
            found.append(f"const {c_type(self.names, self.protocol.environment)} *{ENVIRONMENT}")
        return found

    def text(self) -> str:
        span = self.step.span
        self._body(self.step.body, self.step.name)
        unused = [
            name for name, parameter in self._arguments() if not self._used(parameter) and not self._assigned(parameter)
        ]
        head = _signature(f"static __always_inline __u32 {self.names.step(self.step)}(", self.parameters())
        comment = f"/* {self.step.name}, {_where(span)} */"
        voids = [f"\t(void){name};" for name in unused]
        lines = self.context.lines.lines
        body = quoted(lines) if self.quoting else map(wrapped, lines)
        return "\n".join([comment, head, "{", *voids, *body, "}"]) + "\n"

    def _arguments(self) -> list[tuple[str, str]]:
        found = [(self.cell, self.step.cell), (MESSAGE, self.step.message)]
        return found + ([(ENVIRONMENT, self.step.env)] if self.step.env is not None else [])

    def _used(self, parameter: str) -> bool:
        constants = {(TERMS,)} if parameter == self.step.env else set()
        return any(where[0] == parameter and where[1:] not in constants for where in self.facts.reads)

    def _assigned(self, parameter: str) -> bool:
        if parameter == self.step.cell:
            return self.facts.changes_cell
        return parameter == self.step.message and bool(self.facts.written)

    # --- Bodies -------------------------------------------------------------------------------------

    def _body(self, body: Body, operator: str) -> None:
        """Renders a body. Every body ends in a return, so the code after an `if` needs no `else`."""
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
                context.lines.declare(f"const __u32 {local} = stepwise_position({index_text}, {item[1]});")
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


def _signature(head: str, parameters: list[str]) -> str:
    """Returns a function's head, with its parameters wrapped at 120 columns."""
    lines = [head]
    column = len(head)
    for number, parameter in enumerate(parameters):
        piece = parameter + (")" if number == len(parameters) - 1 else ",")
        if column + len(piece) + 1 > 110 and number:
            lines.append("\t\t" + piece)
            column = 16 + len(piece)
        else:
            lines[-1] += ("" if not number else " ") + piece
            column += len(piece) + 1
    return "\n".join(lines)


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
