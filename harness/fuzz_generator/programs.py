"""Made-up protocols: a layout, steps and the domain of their inputs, all drawn."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from harness.fuzz_generator import expressions as ex
from harness.fuzz_generator.drawing import Choices, Drawing, Operator, parts_of
from harness.fuzz_generator.expressions import Expression
from harness.fuzz_generator.kinds import Array, Bits, Enum, Kind, Number, Opaque, Queue, Record, Several, Truth

NAME = "made"
MODULE = "MadeSteps"
PORT = 20_299
WORD_BITS = 64
REQUESTS = ("Ask", "Tell", "Move")
ANSWERS = ("Done", "Denied")
LAST_OPERAND = 255


@dataclass(frozen=True)
class Step:
    """A step on the cells of one table. decide: returns the verdict, the new cell and the new message."""

    name: str
    table: str
    text: str
    decide: Callable[[ex.Scope], tuple[str, Any, Any]]


@dataclass(frozen=True)
class Table:
    """A table, whose cell a field of the message selects."""

    name: str
    cell: Record
    capacity: int
    atomic: str
    index: str


@dataclass(frozen=True)
class Program:
    """A made-up protocol. samples: how many inputs it is run on. seed: changes these."""

    message: Record
    local: Record
    tables: tuple[Table, ...]
    operators: tuple[tuple[Operator, str], ...]
    steps: tuple[Step, ...]
    values: tuple[int, ...]
    samples: int = 300

    def layout(self) -> str:
        """The text of layout.yaml."""
        tables = "\n".join(
            f"  {each.name}: {{cell: {each.cell.body()}, capacity: {each.capacity}, index: msg.{each.index}, "
            f"atomic: {each.atomic}}}"
            for each in self.tables
        )
        order = ", ".join(name for name, _ in self.message.fields)
        sections = ", ".join(f"{{{each.table}: {each.name}}}" for each in self.steps)
        local = f"local: {self.local.body()}\n" if self.local.fields else ""
        return (
            f"protocol: {NAME}\nmodule: {MODULE}\nmessage: {self.message.body()}\n{local}tables:\n{tables}\n"
            f"hooks: {{xdp: [{sections}]}}\nwire: {{transport: udp, port: {PORT}, order: [{order}]}}\n"
            "budget: {xdp: {insns: 1000000, states: 100000, stack: 512}}\n"
        )

    def module(self) -> str:
        """The text of the module with the steps."""
        operators = "".join(f"\n{text}\n" for _, text in self.operators)
        steps = "".join(f"\n{each.text}\n" for each in self.steps)
        return f"---- MODULE {MODULE} ----\nEXTENDS Offload\n{operators}{steps}====\n"

    def domain(self) -> str:
        """The text of conform.yaml."""
        places = {f"message.{name}": kind for name, kind in self.message.fields}
        places |= {f"{table.name}.{name}": kind for table in self.tables for name, kind in table.cell.fields}
        vary = ", ".join(f"{place}: {self._values(place, kind)}" for place, kind in places.items())
        values = [
            f"{place}: {self._values(place, kind)}"
            for whole, kind in places.items()
            for place, kind in _inner(whole, kind)
        ]
        told = f"values: {{{', '.join(values)}}}\n" if values else ""
        return (
            f"{told}families:\n  - {{name: made up, hook: xdp, sample: {self.samples}, vary: {{{vary}}}}}\n"
            "samples: 50\npairs_min: 1\n"
        )

    def _values(self, place: str, kind: Kind) -> str:
        indices = {f"message.{table.index}": table.capacity for table in self.tables}
        if place in indices:
            return f"[{', '.join(map(str, range(indices[place])))}]"
        if isinstance(kind, Number):
            return f"[{', '.join(map(str, self.numbers(kind.last)))}]"
        return "all"

    def numbers(self, last: int) -> list[int]:
        """The numbers of the program that fit, and those at both ends."""
        near = {value + by for value in self.values for by in (-1, 0, 1)} | {0, 1, 2, 3, last // 2, last - 1, last}
        return sorted(each for each in near if 0 <= each <= last)

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{MODULE}.tla").write_text(self.module(), encoding="utf-8")
        (folder / "layout.yaml").write_text(self.layout(), encoding="utf-8")
        (folder / "conform.yaml").write_text(self.domain(), encoding="utf-8")


def _inner(place: str, kind: Kind) -> list[tuple[str, Kind]]:
    """The numbers inside of a value, for which the domain has values of their own."""
    if isinstance(kind, Record):
        return [found for name, each in kind.fields for found in _inner(f"{place}.{name}", each)]
    if isinstance(kind, Array):
        return _inner(place, kind.item)
    return []


# --- Drawing -----------------------------------------------------------------------------------


def _scalar(drawing: Drawing) -> Kind:
    return drawing.made_by(
        lambda: Number(drawing.one_of([8, 3, 1, 5, 12, 16])),
        Truth,
        lambda: Enum(("Idle", "Busy", "Gone")[: drawing.count(2, 3)]),
        lambda: Number(drawing.count(1, 24)),
    )


def _field(drawing: Drawing) -> Kind:
    """A type of a field of a cell."""
    item = Number(drawing.one_of([3, 4, 8, 5, 1]))
    return drawing.made_by(
        lambda: _scalar(drawing),
        lambda: _scalar(drawing),
        lambda: Bits(drawing.one_of([4, 8, 16, 9, 64, 1])),
        lambda: Several(item, drawing.count(1, 4)),
        lambda: Queue(item, drawing.count(1, 4)),
        lambda: Array(_scalar(drawing), drawing.count(2, 4)),
        lambda: Record((("left", _scalar(drawing)), ("right", _scalar(drawing)))),
        lambda: Array(Record((("used", Truth()), ("owner", item))), drawing.count(2, 3)),
        lambda: Opaque(8),
    )


def _table(drawing: Drawing, name: str, index: str) -> Table:
    cell = Record(tuple((f"{'abcd'[at]}", _field(drawing)) for at in range(drawing.count(1, 4))))
    forms = ["spin_lock", "res_spin_lock", *(["word", "word"] if cell.width() <= WORD_BITS else [])]
    return Table(name, cell, 4, drawing.one_of(forms), index)


def _wire_field(drawing: Drawing) -> Kind:
    return drawing.made_by(lambda: Number(drawing.one_of([8, 4, 16, 12])), Truth, lambda: Bits(drawing.one_of([8, 16])))


@dataclass
class _StepDrawing:
    """Draws one step: a tree of decisions, whose leaves are results."""

    drawing: Drawing
    cell: Expression
    record: Record
    message: Expression
    name: str
    verdicts: tuple[str, ...]
    leaves: int = 0

    def leaf(self, drawing: Drawing) -> Expression:
        self.leaves += 1
        verdict = drawing.one_of(self.verdicts)
        cell = drawing.made_by(lambda: self.cell, lambda: drawing.record(self.record))
        message = drawing.made_by(lambda: self.message, lambda: drawing.changed(self.message))
        label = f"{self.name}Leaf{self.leaves} :: " if drawing.count(0, 2) == 2 else ""
        return Expression(
            ex.TRUTH,
            f"{label}{verdict}({cell}, {message})",
            lambda scope: (verdict, cell.value(scope), message.value(scope)),
        )

    def tree(self, drawing: Drawing, depth: int) -> Expression:
        if depth == 0 or drawing.count(0, 3) == 0:
            return self.leaf(drawing)
        return drawing.branching(lambda inner: self.tree(inner, depth - 1))


@st.composite
def programs(draw: Any) -> Program:
    """Draws a protocol of one or two tables and one to three steps."""
    names = itertools.count(1)
    plain = Drawing(Choices(draw), (), names=names)
    tables = tuple(
        _table(plain, name, index) for name, index in [("cell", "where"), ("row", "there")][: plain.count(1, 2)]
    )
    fields: list[tuple[str, Kind]] = [("kind", Enum((*REQUESTS, *ANSWERS)))]
    fields += [(table.index, Number(2)) for table in tables]
    fields += [(f"{'xyz'[at]}", _wire_field(plain)) for at in range(plain.count(1, 3))]
    message = Record(tuple(fields))
    local = Record((("noted", Number(8)),)[: plain.count(0, 1)])
    whole = Record((*message.fields, *local.fields))
    operators = tuple(_operator(replace(plain, loops=0), f"Helper{at}") for at in range(plain.count(0, 2)))
    steps = []
    for at in range(plain.count(1, 3)):
        table = plain.one_of(tables)
        steps.append(_step(plain, f"Step{at + 1}", table, whole, tuple(each for each, _ in operators)))
    values = tuple(sorted({plain.count(0, 40) for _ in range(3)}))
    return Program(message, local, tables, operators, tuple(steps), values)


def _operator(plain: Drawing, name: str) -> tuple[Operator, str]:
    parameters = ["p", "q"][: plain.count(1, 2)]
    atoms = tuple(ex.bound(each, 0, LAST_OPERAND) for each in parameters)
    body = replace(plain, atoms=atoms, depth=2).number()

    def value(scope: ex.Scope) -> Any:
        return body.value(scope)

    called = replace(body, value=value)
    return Operator(name, called, len(parameters), LAST_OPERAND), f"{name}({', '.join(parameters)}) == {body}"


def _step(plain: Drawing, name: str, table: Table, message: Record, operators: tuple[Operator, ...]) -> Step:
    cell, msg = ex.named(table.name, table.cell), ex.named("msg", message)
    atoms = tuple(part for part in (*parts_of(cell), *parts_of(msg)) if part.kind is not None)
    drawing = replace(plain, atoms=atoms, operators=operators)
    verdicts = ("Reply", "Drop", "Continue")
    tree = _StepDrawing(drawing, cell, table.cell, msg, name, verdicts).tree(drawing, 3)
    called = {each.name: _callable(each) for each in operators}

    def decide(scope: ex.Scope) -> tuple[str, Any, Any]:
        found: tuple[str, Any, Any] = tree.value({**called, **scope})
        return found

    return Step(name, table.name, f"{name}({table.name}, msg) ==\n  {tree}", decide)


def _callable(operator: Operator) -> Callable[..., Any]:
    names = ["p", "q"][: operator.parameters]
    return lambda *arguments: operator.body.value(dict(zip(names, arguments, strict=True)))
