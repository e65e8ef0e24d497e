"""Draws made-up protocols: tables, a message, definitions, and steps in hooks."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from harness.fuzz_generator import expressions as ex
from harness.fuzz_generator.drawing import Choices, Drawing, Operator, parts_of
from harness.fuzz_generator.expressions import Expression
from harness.fuzz_generator.kinds import Array, Bits, Enum, Kind, Members, Number, Opaque, Queue, Record, Several, Truth
from harness.fuzz_generator.protocol import ANSWERS, CLOCK, REQUESTS, TOOLS, Program, Section, Step, Table

WORD_BITS = 64
LAST_OPERAND = 255
FORWARDED, ANSWERED = REQUESTS[:2], ANSWERS[:1]
"""The kinds that xdp may forward, and those that the daemon may reply with."""
UPDATED = re.compile(r"!\.(\w+)")


# --- Types -------------------------------------------------------------------------------------


def _enum(drawing: Drawing) -> Enum:
    return Enum(("Idle", "Busy", "Gone")[: drawing.count(2, 3)])


def _scalar(drawing: Drawing) -> Kind:
    return drawing.made_by(
        lambda: Number(drawing.one_of([8, 3, 1, 5, 12, 16])),
        Truth,
        lambda: _enum(drawing),
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
        lambda: Members(_enum(drawing), drawing.count(1, 3)),
        lambda: Queue(item, drawing.count(1, 4)),
        lambda: Array(_scalar(drawing), drawing.count(2, 4)),
        lambda: Record((("left", _scalar(drawing)), ("right", _scalar(drawing)))),
        lambda: Array(Record((("used", Truth()), ("owner", item))), drawing.count(2, 3)),
        lambda: Opaque(8),
    )


def _table(drawing: Drawing, name: str, index: str) -> Table:
    cell = Record(tuple((f"{'abcd'[at]}", _field(drawing)) for at in range(drawing.count(1, 4))))
    forms = ["spin_lock", "res_spin_lock", *(["word", "word"] if cell.width() <= WORD_BITS else [])]
    atomic = drawing.one_of(forms)
    capacity = drawing.one_of([4, 4, 4, 3, 2])
    hashed = "x" if drawing.count(0, 4) == 4 else ""
    return Table(name, cell, capacity, atomic, index, hashed)


def _wire_field(drawing: Drawing) -> Kind:
    return drawing.made_by(lambda: Number(drawing.one_of([8, 4, 16, 12])), Truth, lambda: Bits(drawing.one_of([8, 16])))


# --- Definitions -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Definition:
    """A definition of a module. applied: its name, as the steps apply it; value: it, for the evaluator."""

    operator: Operator
    text: str
    value: Callable[..., Any]


def _definition(plain: Drawing, name: str, constants: dict[str, int], *, takes: bool = False) -> _Definition:
    """An operator on one or two numbers. takes: whether another operator is its first argument."""
    parameters = ["p", "q"][: plain.count(1, 2)]
    known = [ex.bound(each, 0, LAST_OPERAND) for each in parameters]
    known += [ex.bound(each, value, value) for each, value in constants.items()]
    inside = replace(plain, atoms=tuple(known), depth=2, loops=0)
    if takes:
        given = Operator("F", ex.bound("F", 0, LAST_OPERAND), 1, LAST_OPERAND)
        inside = replace(inside, operators=(given,))
        body = ex.arithmetic("+", inside.called(given), inside.number())
    else:
        body = inside.number()
    names = (["F"] if takes else []) + parameters
    heads = (["F(_)"] if takes else []) + parameters

    def value(*arguments: Any) -> Any:
        return body.value({**constants, **dict(zip(names, arguments, strict=True))})

    made = Operator(name, body, len(parameters), LAST_OPERAND, takes)
    return _Definition(made, f"{name}({', '.join(heads)}) == {body}", value)


@dataclass(frozen=True)
class _Definitions:
    """The definitions of a protocol. texts: of its module; tools: the text of the other module, or ""."""

    operators: tuple[Operator, ...]
    texts: tuple[str, ...]
    tools: str
    scope: dict[str, Any]


def _definitions(plain: Drawing, constants: dict[str, int]) -> _Definitions:
    found = [_definition(plain, f"Helper{at}", {}) for at in range(plain.count(0, 2))]
    if plain.count(0, 2) == 2:
        found.append(_definition(plain, "Using", {}, takes=True))
    operators, texts = [each.operator for each in found], [each.text for each in found]
    scope = {**constants, **{each.operator.name: each.value for each in found}}
    tools = ""
    if plain.count(0, 2) == 2:
        limit = plain.count(0, 20)
        tool = _definition(plain, "Tool", {"Bound": limit})
        tools = f"---- MODULE {TOOLS} ----\nEXTENDS Integers\n\nCONSTANT Bound\n\n{tool.text}\n====\n"
        prefix = plain.one_of(["Near!", ""])
        named = f"Near == INSTANCE {TOOLS} WITH" if prefix else f"INSTANCE {TOOLS} WITH"
        texts.append(f"{named} Bound <- {limit}")
        operators.append(replace(tool.operator, name=f"{prefix}Tool"))
        scope[f"{prefix}Tool"] = tool.value
    return _Definitions(tuple(operators), tuple(texts), tools, scope)


# --- Steps -------------------------------------------------------------------------------------


@dataclass
class _StepDrawing:
    """Draws one step of a hook: a tree of decisions, whose leaves are results.

    reads: whether it gets a copy of its cell, which it cannot change. handover: fields that a Forward may change.
    """

    cell: Expression
    record: Record
    message: Expression
    name: str
    hook: str
    verdicts: tuple[str, ...]
    reads: bool
    handover: Record
    leaves: int = 0

    def leaf(self, drawing: Drawing) -> Expression:
        self.leaves += 1
        needed = {"xdp": "Forward", "user": "Reply"}.get(self.hook)
        verdict = needed if self.leaves == 1 and needed in self.verdicts else drawing.one_of(self.verdicts)
        cell = self.cell if self.reads else drawing.made_by(lambda: self.cell, lambda: drawing.record(self.record))
        label = f"{self.name}Leaf{self.leaves} :: " if drawing.count(0, 2) == 2 else ""
        found = _result(label + verdict, verdict, cell, self._message(drawing, verdict))
        if verdict != "Forward":
            return found
        return ex.chosen(_is_one_of(self.message, FORWARDED), found, _result("Drop", "Drop", self.cell, self.message))

    def _message(self, drawing: Drawing, verdict: str) -> Expression:
        if verdict == "Forward":
            updates = [
                drawing.update_of((name,), kind) for name, kind in self.handover.fields if drawing.count(0, 1) == 1
            ]
            return ex.except_(self.message, updates) if updates else self.message
        changed = drawing.made_by(lambda: self.message, lambda: drawing.changed(self.message))
        if self.hook == "user" and verdict == "Reply":
            kind = dict(self.message.kind.fields)["kind"]  # type: ignore[attr-defined]  # it is a record
            return ex.except_(changed, [ex.Update(("kind",), ex.member(kind, ANSWERED[0]))])
        return changed

    def tree(self, drawing: Drawing, depth: int) -> Expression:
        if depth == 0 or drawing.count(0, 3) == 0:
            return self.leaf(drawing)
        return drawing.branching(lambda inner: self.tree(inner, depth - 1))

    def guarded(self, drawing: Drawing) -> Expression:
        """A tree that drops each message which no hook before this one lets through."""
        tree = self.tree(drawing, 3)
        if self.hook not in ("user", "tc"):
            return tree
        kinds = FORWARDED if self.hook == "user" else ANSWERED
        drop = _result("Drop", "Drop", self.cell, self.message)
        return ex.chosen(_is_one_of(self.message, kinds), tree, drop)


def _result(text: str, verdict: str, cell: Expression, message: Expression) -> Expression:
    return Expression(
        ex.TRUTH,
        f"{text}({cell}, {message})",
        lambda scope: (verdict, cell.value(scope), message.value(scope)),
    )


def _is_one_of(message: Expression, kinds: tuple[str, ...]) -> Expression:
    names = ", ".join(f'"{each}"' for each in kinds)
    return Expression(
        ex.TRUTH, f"({message}.kind \\in {{{names}}})", lambda scope: message.value(scope)["kind"] in kinds
    )


@dataclass(frozen=True)
class _Ground:
    """Everything that the steps of a protocol have in common."""

    plain: Drawing
    tables: tuple[Table, ...]
    message: Record
    handover: Record
    constants: dict[str, int]
    definitions: _Definitions
    clock: bool
    numbers: itertools.count[int]

    def sections(self, hook: str, most: int, verdicts: tuple[str, ...]) -> tuple[Section, ...]:
        """Sections of a hook, of which those after the first may be skipped."""
        made = []
        for at in range(self.plain.count(1, most)):
            tables = self.tables if hook != "sweep" or at else self.tables[:1]
            table = self.plain.one_of(tables)
            skips = at > 0 and self.plain.count(0, 5) > 0
            made.append(Section(self.step(hook, table, verdicts, reads=False), skips))
        return tuple(made)

    def user(self) -> tuple[Section, ...]:
        """Sections of the user hook, which read cells, or write them if they are words."""
        made = []
        tables = [each for each in self.tables if each.atomic in ("word", "spin_lock")]
        for _ in range(self.plain.count(1, 2)):
            table = self.plain.one_of(tables)
            reads = table.atomic != "word"
            step = self.step("user", table, ("Reply", "Drop", "Continue", "Reply"), reads=reads)
            made.append(Section(step, reads=reads))
        return tuple(made)

    def step(self, hook: str, table: Table, verdicts: tuple[str, ...], *, reads: bool) -> Step:
        """A step on the cells of a table."""
        name = f"Step{next(self.numbers)}"
        cell, msg = ex.named(table.name, table.cell), ex.named("msg", self.message)
        atoms = [*parts_of(cell), *parts_of(msg)]
        atoms += [ex.bound(each, value, value) for each, value in self.constants.items()]
        clock = self.clock and self.plain.count(0, 1) == 1
        if clock:
            surroundings = [("now", CLOCK)] + ([("index", Number(2))] if hook != "user" else [])
            atoms += parts_of(ex.named("env", Record(tuple(surroundings))))
        drawing = replace(self.plain, atoms=tuple(atoms), operators=self.definitions.operators)
        drawn = _StepDrawing(cell, table.cell, msg, name, hook, verdicts, reads, self.handover)
        tree = drawn.guarded(drawing)
        parameters = [table.name, "msg", *(["env"] if clock else [])]
        sets = {each for each, _ in self.message.fields} & set(UPDATED.findall(tree.text))

        def decide(scope: ex.Scope) -> tuple[str, Any, Any]:
            found: tuple[str, Any, Any] = tree.value(scope)
            return found

        return Step(name, table.name, f"{name}({', '.join(parameters)}) ==\n  {tree}", decide, frozenset(sets))


# --- Protocols ---------------------------------------------------------------------------------


@st.composite
def programs(draw: Any) -> Program:
    """Draws a protocol of one or two tables, with one to three steps for each of its hooks."""
    plain = Drawing(Choices(draw), (), names=itertools.count(1))
    tables = tuple(
        _table(plain, name, index) for name, index in [("cell", "where"), ("row", "there")][: plain.count(1, 2)]
    )
    wire: list[tuple[str, Kind]] = [("kind", Enum((*REQUESTS, *ANSWERS)))]
    wire += [(table.index, Number(2)) for table in tables if not table.hashed]
    hashed = any(table.hashed for table in tables)
    wire += [
        (f"{'xyz'[at]}", Number(8) if hashed and at == 0 else _wire_field(plain)) for at in range(plain.count(1, 3))
    ]
    daemon = any(each.atomic in ("word", "spin_lock") for each in tables) and plain.count(0, 2) == 2
    handover = Record((("asked", Number(8)), ("deep", Truth()))[: plain.count(0, 2)] if daemon else ())
    constants = {"Limit": plain.count(0, 30)} if plain.count(0, 1) else {}
    empty = Program(
        message=Record(tuple(wire)),
        tables=tables,
        hooks={},
        local=Record((("noted", Number(8)),)[: plain.count(0, 1)]),
        handover=handover,
        clock=plain.count(0, 2) == 2,
        constants=constants,
    )
    definitions = _definitions(plain, constants)
    ground = _Ground(plain, tables, empty.whole, handover, constants, definitions, empty.clock, itertools.count(1))
    verdicts = ("Reply", "Drop", "Continue", *(["Forward", "Forward"] if daemon else []))
    hooks = {"xdp": ground.sections("xdp", 3, verdicts)}
    if daemon:
        hooks |= {"user": ground.user(), "tc": ground.sections("tc", 2, ("Reply", "Drop", "Continue"))}
    if plain.count(0, 3) == 3:
        hooks["sweep"] = ground.sections("sweep", 2, ("Continue", "Drop"))
    return replace(
        empty,
        hooks=hooks,
        texts=definitions.texts,
        tools=definitions.tools,
        scope=definitions.scope,
        values=tuple(sorted({plain.count(0, 40) for _ in range(3)})),
    )
