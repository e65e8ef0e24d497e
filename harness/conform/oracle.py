"""Has the model checker enumerate and evaluate the domain.

One TLA+ module a build holds every family as a product and prints, for each case, the numbers of the choices
and what the hook did; the inputs are rebuilt here from the numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

from codegen import ir
from harness import tla_values, tlc
from harness.conform.domain import Assignment, Family, Place, Trouble
from harness.conform.values import to_tla, zero

HERE = Path(__file__).parent
MODULE = "ConformRun"
KEPT_MAX = 8


@dataclass(frozen=True)
class Case:
    """One input of a hook, and what the model says of it.

    cells: those that the family names, by table and index; all others hold the build's noise.
    verdict: Reply, Forward, Drop, Malformed, Contended, Lost, or of a sweep how many indexes ended with Continue.
    ended: the section that ended the hook, from 1; of a sweep how many indexes were visited.
    writes: cells that were written, in order: table, index, cell, section.
    """

    family: Family
    message: dict[str, Any]
    cells: dict[tuple[str, int], dict[str, Any]]
    env: dict[str, Any]
    verdict: str | int
    ended: int
    answer: dict[str, Any]
    writes: tuple[tuple[str, int, dict[str, Any], int], ...]


def early_tables(sections: tuple[ir.Section, ...]) -> list[str]:
    """The tables whose index is checked before the first section: no earlier section writes the index field."""
    early, written = [], set()
    for section in sections:
        if section.index is not None and section.index not in written:
            early.append(section.table)
        written |= {assign.path[0] for leaf in leaves(section.step.body) for assign in leaf.message}
    return list(dict.fromkeys(early))


def leaves(body: ir.Body) -> Iterator[ir.Leaf]:
    """The leaves of a step's body."""
    match body:
        case ir.Leaf():
            yield body
        case ir.Decide():
            yield from leaves(body.then)
            yield from leaves(body.otherwise)
        case ir.Bind():
            yield from leaves(body.body)


class Oracle:
    """The oracle of one build of a protocol: `protocol` with its constants and capacities.

    noise: what cells hold that a family does not name; empty: zero.
    search_path: where the generated Hooks module and the modules that it extends are.
    """

    def __init__(
        self, protocol: ir.Protocol, families: list[Family], noise: dict[str, list[dict[str, Any]]], search_path: list[Path]
    ) -> None:
        self.protocol = protocol
        self.families = families
        self.noise = noise
        self.search_path = search_path
        self._tables = {table.name: table for table in protocol.tables}
        self._blank_message, self._blank_env = zero(protocol.message), zero(protocol.env)
        self._blank_cells = {table.name: zero(table.cell) for table in protocol.tables}
        self._message_reader = _record_reader(protocol.message)
        self._cell_readers = {table.name: _record_reader(table.cell) for table in protocol.tables}

    # --- The module ----------------------------------------------------------------------

    def module(self) -> str:
        """The text of the TLA+ module that prints every case."""
        hooks = self.protocol.module.removesuffix("Steps") + "Hooks"
        capacities = ", ".join(f"{table.name} |-> {table.capacity}" for table in self.protocol.tables)
        lines = [
            f"---- MODULE {MODULE} ----",
            "\\* Written by harness.conform.",
            f"EXTENDS {hooks}, TLC",
            f"Capacities == [{capacities}]",
            "O == INSTANCE Oracle WITH Capacity <- Capacities",
            "FlatMessage(m) == <<" + ", ".join(f"m.{name}" for name, _ in self.protocol.message.fields) + ">>",
            "FlatCell(t, c) ==",
            *self._flat_cells(),
            "Writes(writes) == [w \\in DOMAIN writes |-> <<writes[w][1], writes[w][2], FlatCell(writes[w][1], writes[w][3]), writes[w][4]>>]",
        ]
        for table, cells in self.noise.items():
            lines.append(f"Noise_{table} == {to_tla(tuple(cells))}")
        for number, family in enumerate(self.families):
            lines += self._family(number, family)
        return "\n".join([*lines, "====", ""])

    def _flat_cells(self) -> list[str]:
        lines = []
        for at, table in enumerate(self.protocol.tables):
            fields = ", ".join(f"c.{name}" for name, _ in table.cell.fields)
            lines.append(f'  {"[]" if at else "CASE"} t = "{table.name}" -> <<{fields}>>')
        return lines

    def _family(self, number: int, family: Family) -> list[str]:
        lines, bound, printed, places = [], [], [str(number)], {}
        for at, dimension in enumerate(family.dimensions):
            if len(dimension) == 1 and not family.sampled:
                places |= {place: to_tla(value) for place, value in dimension[0]}
                continue
            name, choice = f"V{number}_{at}", f"d{at}"
            texts = (to_tla(tuple(value for _, value in assignment)) for assignment in dimension)
            lines += [f"{name} == <<", ",\n".join(texts), ">>"]
            bound.append(f"{choice} \\in DOMAIN {name}")
            printed.append(choice)
            places |= {place: f"{name}[{choice}][{p}]" for p, (place, _) in enumerate(dimension[0], 1)}
        lines.append(f"\\* {family.name}")
        lines.append(f"ASSUME {chr(92)}A {', '.join(bound)} :" if bound else "ASSUME")
        fields = ((name, places.get(Place("message", None, name), to_tla(zero(kind)))) for name, kind in self._message())
        lines.append(f"  LET msg == {_record(fields)}")
        fields = ((name, places.get(Place("env", None, name), to_tla(zero(kind)))) for name, kind in self.protocol.env.fields)
        lines.append(f"      env == {_record(fields)}")
        lines.append(f"      cells == [{', '.join(self._table(table, family, places) for table in self.protocol.tables)}]")
        lines.append(f"      r == {self._run(family)}")
        lines.append(f"  IN  PrintT(ToString(<<{', '.join(printed)}, r.verdict, r.ended, FlatMessage(r.msg), Writes(r.writes)>>))")
        return lines

    def _message(self) -> tuple[tuple[str, ir.Type], ...]:
        return self.protocol.message.fields

    def _table(self, table: ir.TableLayout, family: Family, places: dict[Place, str]) -> str:
        each = self.protocol.sweep[family.sweep_pass - 1].each if family.hook == "sweep" else None
        named: dict[int | None, dict[str, str]] = {}
        for place, text in places.items():
            if place.home == table.name:
                named.setdefault(place.index, {})[place.field] = text
        cell = f"Noise_{table.name}[i + 1]" if self.noise else f'InitialCell("{table.name}")'
        for index, given in sorted(named.items(), key=lambda item: (item[0] is not None, item[0])):
            fields = ((name, given.get(name, to_tla(zero(kind)))) for name, kind in table.cell.fields)
            base = family.first if table.name == each else 0
            where = f"msg.{table.index}" if index is None else str(index + base)
            cell = f"IF i = {where} THEN {_record(fields)} ELSE {cell}"
        return f"{table.name} |-> [i \\in 0..{table.capacity - 1} |-> {cell}]"

    def _run(self, family: Family) -> str:
        match family.hook:
            case "user":
                return "O!RunUser(UserStep, UserTable, cells, msg, env)"
            case "sweep":
                step = f"LAMBDA at, c, m, e : SweepStep({family.sweep_pass}, at, c, m, e)"
                sweep_pass = f"SweepPasses[{family.sweep_pass}]"
                return f"O!RunSweep({sweep_pass}, {step}, {family.first}, {family.count}, cells, msg, env)"
        name = family.hook.capitalize()
        sections = self.protocol.xdp if family.hook == "xdp" else self.protocol.tc
        tables = to_tla(set(early_tables(sections)))
        return f"O!RunHook({name}Sections, {name}Step, {tables}, {_trouble(family.trouble)}, cells, msg, env)"

    def config(self) -> str:
        """The values of the module's constants."""
        lines = ["CONSTANTS"]
        for name, value in self.protocol.constants:
            if isinstance(value, tuple):
                value = frozenset(value)
            lines.append(f"  {name} = {to_tla(value)}")
        return "\n".join(lines if len(lines) > 1 else ["\\* No constants."]) + "\n"

    # --- Running it ------------------------------------------------------------------------

    def lines(self, workdir: Path) -> list[str]:
        """What TLC prints, or what it printed of the same modules before: a result is kept in workdir."""
        module, config = self.module(), self.config()
        digest = hashlib.sha256(f"{module}\0{config}\0{os.stat(tlc.jar()).st_size}".encode())
        for folder in (*self.search_path, HERE):
            for path in sorted(folder.glob("*.tla")):
                digest.update(path.read_bytes())
        kept = workdir / f"{digest.hexdigest()[:24]}.cases"
        if not kept.exists():
            workdir.mkdir(parents=True, exist_ok=True)
            (workdir / f"{MODULE}.cfg").write_text(config)
            lines = tlc.evaluate(workdir, module, [*self.search_path, HERE])
            for old in sorted(workdir.glob("*.cases"), key=lambda path: path.stat().st_mtime)[:-KEPT_MAX]:
                old.unlink()
            partial = kept.with_suffix(f".{os.getpid()}")
            partial.write_text("\n".join(lines))
            partial.replace(kept)
        return kept.read_text().splitlines()

    def cases(self, workdir: Path) -> Iterator[Case]:
        """Every case of every family with the model's result."""
        choices = [self._chosen(family) for family in self.families]
        for line in self.lines(workdir):
            number, *rest = _parse(line)
            dimensions = choices[number]
            picked, (verdict, ended, answer, writes) = rest[:-4], rest[-4:]
            assignment: dict[Place, Any] = dict(self._fixed[number])
            for dimension, choice in zip(dimensions, picked, strict=True):
                assignment.update(dimension[choice - 1])
            yield self._case(self.families[number], assignment, verdict, ended, answer, writes)

    def _chosen(self, family: Family) -> list[tuple[Assignment, ...]]:
        return [each for each in family.dimensions if len(each) > 1 or family.sampled]

    @property
    def _fixed(self) -> list[dict[Place, Any]]:
        if not hasattr(self, "_fixed_places"):
            self._fixed_places = [
                {place: value for each in family.dimensions if len(each) == 1 and not family.sampled for place, value in each[0]}
                for family in self.families
            ]
        return self._fixed_places

    def _case(self, family: Family, given: dict[Place, Any], verdict: Any, ended: int, answer: Any, writes: Any) -> Case:
        message, env = dict(self._blank_message), dict(self._blank_env)
        named: list[tuple[Place, Any]] = []
        for place, value in given.items():
            if place.home == "message":
                message[place.field] = value
            elif place.home == "env":
                env[place.field] = value
            else:
                named.append((place, value))
        each = self.protocol.sweep[family.sweep_pass - 1].each if family.hook == "sweep" else None
        cells: dict[tuple[str, int], dict[str, Any]] = {}
        for focused in (True, False):  # an index that is named outweighs the cell that the message addresses
            touched: dict[tuple[str, int], dict[str, Any]] = {}
            for place, value in named:
                if (place.index is None) == focused:
                    base = family.first if place.home == each else 0
                    index = message[self._tables[place.home].index] if focused else place.index + base
                    if index < self._tables[place.home].capacity:
                        where = (place.home, index)
                        if where not in touched:
                            touched[where] = dict(self._blank_cells[place.home])
                        touched[where][place.field] = value
            cells |= touched
        written = tuple((table, index, self._cell_readers[table](cell), at) for table, index, cell, at in writes)
        return Case(family, message, cells, env, verdict, ended, self._message_reader(answer), written)


def _trouble(trouble: Trouble) -> str:
    rivals = () if trouble.rival is None else (dict(trouble.rival),)
    return "[" + f"at |-> {trouble.section}, always |-> {to_tla(trouble.always)}, rivals |-> {to_tla(rivals)}" + "]"


def _record(fields: Any) -> str:
    return "[" + ", ".join(f"{name} |-> {text}" for name, text in fields) + "]"


Reader = Callable[[Any], Any]


def reader(kind: ir.Type) -> Reader | None:
    """Turns a printed value into the Python types of its layout type; None where it is one already."""
    match kind:
        case ir.Record():
            return _record_reader(kind)
        case ir.Set() | ir.Bits():
            item = reader(kind.element) if isinstance(kind, ir.Set) else None
            return lambda value: frozenset(_items(value["set"] if type(value) is dict else value, item))
        case ir.Array() | ir.Sequence():
            item = reader(kind.element)
            return lambda value: tuple(_items(value, item))
    return None


def _items(values: Any, item: Reader | None) -> Any:
    return values if item is None else map(item, values)


def _record_reader(kind: ir.Record) -> Reader:
    names = [name for name, _ in kind.fields]
    readers = [(name, read) for name, field in kind.fields if (read := reader(field))]

    def read_record(value: Any) -> dict[str, Any]:
        record = {name: value[name] for name in names} if isinstance(value, dict) else dict(zip(names, value, strict=True))
        for name, read in readers:
            record[name] = read(record[name])
        return record

    return read_record


def _parse(line: str) -> Any:
    """A printed line, `"<<...>>"`. What has no records or functions in it is read as JSON, forty times faster."""
    text = line[1:-1].replace('\\"', '"')
    if "|->" in text or ":>" in text or ".." in text:
        return tla_values.parse(text)
    text = text.replace("<<", "[").replace(">>", "]").replace("TRUE", "true").replace("FALSE", "false")
    return json.loads(text.replace("{", '{"set": [').replace("}", "]}"))
