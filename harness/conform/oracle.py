"""Has the model checker enumerate and evaluate the domain.

A TLA+ module for each build holds every family as a product. For each case it prints the numbers of the choices and the
hook's result. The inputs are rebuilt here from the numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from codegen import ir
from codegen.ir.walk import leaves
from codegen.layout.drain import ENTRY
from harness.conform import drain_cases, gathered
from harness.conform.cases import Assignment, Case, Family, Trouble
from harness.conform.outline import outline
from harness.conform.places import Place, Value, nest
from harness.data.model_values import TERMS_NUMBER, Patterns, refers, resolved, tail_size, to_tla, zero
from harness.tla import notation, tlc

HERE = Path(__file__).parent
MODULE = "ConformRun"
KEPT_MAX = 24
EXTENDS = re.compile(r"^EXTENDS\s+((?:\w+\s*,\s*)*\w+)", re.MULTILINE)
INSTANCE = re.compile(r"\bINSTANCE\s+(\w+)")


@dataclass(frozen=True)
class Part:
    """Every `stride`-th case, or all others."""

    stride: int
    others: bool = False


EVERYTHING = Part(1)

Way = tuple[str | int, ...]
"""A path from a record to a part of it: names of fields and numbers of elements."""


def early_tables(sections: tuple[ir.Section, ...], of_operation: tuple[str, ...]) -> list[str]:
    """The tables whose index is checked before the first section, as no earlier section writes the index field.

    of_operation: the fields that a group's sections write for their operation alone.
    """
    early, written = [], set()
    for section in sections:
        for_all = section.when is None and not section.group
        if section.index is not None and for_all and section.index not in written:
            early.append(section.table)
        changed = {assign.path[0] for leaf in leaves(section.step.body) for assign in leaf.message}
        written |= changed - {*of_operation} if section.group else changed
    return list(dict.fromkeys(early))


class Oracle:
    """The oracle of one build of a protocol: `protocol` with its constants and capacities.

    noise: the contents of cells that a family does not name; zero if empty.
    search_path: the folders of the generated Hooks module and of the modules that it extends.
    patterns: what the numbers of the families stand for, which are hashed for operations.
    """

    def __init__(
        self,
        protocol: ir.Protocol,
        families: list[Family],
        noise: dict[str, list[dict[str, Any]]],
        search_path: list[Path],
        patterns: Patterns,
    ) -> None:
        self._early = dict(self.early(protocol))
        self.protocol = protocol = gathered.with_operations(drain_cases.with_entry(outline(protocol)))
        self._patterns = patterns
        self.families = families
        self.noise = noise
        self.search_path = search_path
        self._tables = {table.name: table for table in protocol.tables}
        self._zeros: dict[int, Any] = {}
        self._message_reader = _record_reader(protocol.message)
        self._cell_readers = {table.name: _record_reader(table.cell) for table in protocol.tables}

    # --- The module ----------------------------------------------------------------------

    @staticmethod
    def early(protocol: ir.Protocol) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The tables whose index is checked first, by hook. An oracle uses nothing else of what steps do."""
        return tuple(
            (hook, tuple(early_tables(sections, protocol.of_operation())))
            for hook, sections in (("xdp", protocol.xdp), ("tc", protocol.tc))
        )

    @staticmethod
    def modules(protocol: ir.Protocol, search_path: list[Path]) -> tuple[str, ...]:
        """The texts of the modules that an oracle of the protocol evaluates."""
        return tuple(path.read_text() for path in reached("\n".join(Oracle._named(protocol)), [*search_path, HERE]))

    @staticmethod
    def _named(protocol: ir.Protocol) -> tuple[str, str]:
        """The module's lines that name other modules."""
        hooks = protocol.module.removesuffix("Steps") + "Hooks"
        return f"EXTENDS {hooks}, TLC", "O == INSTANCE Oracle WITH Capacity <- Capacities"

    def module(self) -> str:
        """The text of the TLA+ module that prints every case."""
        extends, instance = self._named(self.protocol)
        capacities = ", ".join(f"{table.name} |-> {table.capacity}" for table in self.protocol.tables)
        lines = [
            f"---- MODULE {MODULE} ----",
            "\\* Written by harness.conform.",
            extends,
            f"Capacities == [{capacities}]",
            instance,
            f"FlatMessage(m) == {flat(self.protocol.message, 'm')}",
            "FlatCell(t, c) ==",
            *self._flat_cells(),
            "FlatWrites(writes) == [w \\in DOMAIN writes |-> <<writes[w][1], writes[w][2], FlatCell(writes[w][1], "
            "writes[w][3]), writes[w][4]>>]",
        ]
        lines += gathered.definitions(self.protocol, self._patterns, self.families)
        for table, cells in self.noise.items():
            lines.append(f"Noise_{table} == {to_tla(tuple(cells))}")
        for number, family in enumerate(self.families):
            lines += self._family(number, family)
        return "\n".join([*lines, "====", ""])

    def _flat_cells(self) -> list[str]:
        lines = []
        for at, table in enumerate(self.protocol.tables):
            lines.append(f'  {"[]" if at else "CASE"} t = "{table.name}" -> {flat(table.cell, "c")}')
        return lines

    def _family(self, number: int, family: Family) -> list[str]:
        lines, bound, printed = [], [], [str(number)]
        places: dict[Place, str] = {}
        for at, dimension in enumerate(family.dimensions):
            if len(dimension) == 1 and not family.sampled:
                places |= {place: to_tla(value) for place, value in dimension[0]}
                continue
            name, choice = f"V{number}_{at}", f"d{at}"
            columns = list(zip(*([value for _, value in assignment] for assignment in dimension)))
            related = [any(map(refers, column)) for column in columns]
            lines += [f"{name} == <<", ",\n".join(_row(row, related, False) for row in zip(*columns)), ">>"]
            if any(related):  # the message that they refer to must not use them
                lines += [f"{name}_of(msg) == <<", ",\n".join(_row(row, related, True) for row in zip(*columns)), ">>"]
            bound.append(f"{choice} \\in 1..{len(dimension)}")
            printed.append(choice)
            for column, (place, _) in enumerate(dimension[0]):
                places[place] = f"{name}{'_of(msg)' * related[column]}[{choice}][{column + 1}]"
        lines.append(f"\\* {family.name}")
        lines.append(f"ASSUME {chr(92)}A {', '.join(bound)} :" if bound else "ASSUME")
        lines.append(f"  LET msg == {self._message(places)}")
        lines.append(f"      env == {_text(self.protocol.env, self._surroundings(places, str))}")
        tables = [table for table in self.protocol.tables if table.name != ENTRY or family.hook == "recover"]
        lines.append(f"      cells == [{', '.join(self._table(table, family, places) for table in tables)}]")
        lines.append(f"      r == {self._run(family)}")
        lines.append(
            f"  IN  PrintT(ToString(<<{', '.join(printed)}, r.verdict, r.ended, FlatMessage(r.msg), "
            "FlatWrites(r.writes)>>))"
        )
        return lines

    def _surroundings(self, places: dict[Place, Value], form: Callable[[int], Value]) -> dict[Way, Value]:
        """The given parts of env, and the terms, which all runs have in common. form: converts a number to a value."""
        terms = {(ir.TERMS,): form(TERMS_NUMBER)} if ir.TERMS in dict(self.protocol.env.fields) else {}
        return terms | _parts(places, "env")

    def _message(self, places: dict[Place, str]) -> str:
        """Builds the message, with a tail only if its length allows one."""
        tail, given = self.protocol.tail, _parts(places, "message")
        if tail is not None and (tail.field,) in given:
            length = given.get((tail.length,), "0")
            given[tail.field,] = (
                f"IF {length} > {tail.over} /\\ {length} <= {tail.max} THEN {given[tail.field,]} ELSE 0"
            )
        return _text(self.protocol.message, given)

    def _table(self, table: ir.TableLayout, family: Family, places: dict[Place, str]) -> str:
        each = self.protocol.sweep[family.sweep_pass - 1].each if family.hook == "sweep" else None
        indexes = {place.index for place in places if place.home == table.name}
        cell = f"Noise_{table.name}[i + 1]" if table.name in self.noise else f'InitialCell("{table.name}")'
        for index in sorted(indexes, key=lambda index: (index is not None, index)):
            base = family.first if table.name == each else 0
            where = f"msg.{table.index}" if index is None else str(index + base)
            cell = f"IF i = {where} THEN {_text(table.cell, _parts(places, table.name, index))} ELSE {cell}"
        return f"{table.name} |-> [i \\in 0..{table.capacity - 1} |-> {cell}]"

    def _run(self, family: Family) -> str:
        match family.hook:
            case "user":
                return "O!RunUser(UserSections, UserStep, cells, msg, env)"
            case "sweep":
                step = f"LAMBDA at, c, m, e : SweepStep({family.sweep_pass}, at, c, m, e)"
                restored = self.protocol.sweep[family.sweep_pass - 1].program == "restore"
                sweep_pass = "RestorePass" if restored else f"SweepPasses[{family.sweep_pass}]"
                return f"O!RunSweep({sweep_pass}, {step}, {family.first}, {family.count}, cells, msg, env)"
            case _ if family.hook in drain_cases.HOOKS:
                return drain_cases.evaluation(self.protocol, family.hook, family.count)
        name = family.hook.capitalize()
        tables = to_tla(set(self._early[family.hook]))
        if family.hook == "xdp" and self.protocol.operations is not None:
            return gathered.evaluation(self.protocol, tables, _trouble(family.trouble))
        return f"O!RunHook({name}Sections, {name}Step, {tables}, {_trouble(family.trouble)}, cells, msg, env)"

    def config(self) -> str:
        """The text of TLC's configuration, which gives the module's constants their values."""
        lines = ["CONSTANTS"]
        for name, value in self.protocol.constants:
            lines.append(f"  {name} = {to_tla(frozenset(value) if isinstance(value, tuple) else value)}")
        return "\n".join(lines if len(lines) > 1 else ["\\* No constants."]) + "\n"

    # --- Running it ------------------------------------------------------------------------

    @cached_property
    def _texts(self) -> tuple[str, str]:
        return self.module(), self.config()

    @cached_property
    def digest(self) -> str:
        """A hash of everything that determines the cases."""
        module, config = self._texts
        digest = hashlib.sha256(f"{module}\0{config}\0{os.stat(tlc.jar()).st_size}".encode())
        for path in reached(module, [*self.search_path, HERE]):
            digest.update(path.read_bytes())
        return digest.hexdigest()[:24]

    def lines(self, workdir: Path) -> list[str]:
        """Returns TLC's output. workdir keeps the output, which is reused if the modules are the same."""
        kept = workdir / f"{self.digest}.cases"
        try:
            return kept.read_text().splitlines()
        except FileNotFoundError:
            return self._evaluated(kept)

    def _evaluated(self, kept: Path) -> list[str]:
        """Runs TLC and keeps its output; removes the oldest outputs of the folder.

        Other processes may do the same in this folder at the same time.
        """
        module, config = self._texts
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            (Path(scratch) / f"{MODULE}.cfg").write_text(config)
            lines = tlc.evaluate(Path(scratch), module, [*self.search_path, HERE])
            printed = Path(scratch) / kept.name
            printed.write_text("\n".join(lines))
            printed.replace(kept)
        for old in sorted(kept.parent.glob("*.cases"), key=lambda path: path.stat().st_mtime)[:-KEPT_MAX]:
            old.unlink(missing_ok=True)
        return lines

    def cases(self, workdir: Path, part: Part = EVERYTHING) -> Iterator[Case]:
        """Yields the cases of all families with the model's results."""
        choices = [self._chosen(family) for family in self.families]
        for at, line in enumerate(self.lines(workdir)):
            if (at % part.stride == 0) == part.others:
                continue
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
                {
                    place: value
                    for each in family.dimensions
                    if len(each) == 1 and not family.sampled
                    for place, value in each[0]
                }
                for family in self.families
            ]
        return self._fixed_places

    def _case(
        self, family: Family, given: dict[Place, Any], verdict: str | int, ended: int, answer: Any, writes: Any
    ) -> Case:
        message = self._built(self.protocol.message, _parts(given, "message"))
        if self.protocol.tail is not None and not tail_size(self.protocol.tail, message):
            message[self.protocol.tail.field] = 0
        env = self._built(self.protocol.env, self._surroundings(given, int))
        each = self.protocol.sweep[family.sweep_pass - 1].each if family.hook == "sweep" else None
        named: dict[tuple[str, int | None], dict[Way, Any]] = {}
        for place, value in given.items():
            if place.home in self._tables:
                named.setdefault((place.home, place.index), {})[place.field, *place.rest] = resolved(value, message)
        cells: dict[tuple[str, int], dict[str, Any]] = {}
        for focused in (True, False):  # a cell named by index overrides the one that the message addresses
            for (home, number), parts in named.items():
                table = self._tables[home]
                index = message[table.index] if number is None else number + (family.first if home == each else 0)
                if (number is None) == focused and index < table.capacity:
                    cells[home, index] = self._built(table.cell, parts)
        written = tuple((table, index, self._cell_readers[table](cell), at) for table, index, cell, at in writes)
        return Case(family, message, cells, env, verdict, ended, self._message_reader(answer), written)

    def _built(self, kind: ir.Type, parts: dict[Way, Any]) -> Any:
        return nest(kind, parts, self._zero, dict, tuple)

    def _zero(self, kind: ir.Type) -> Any:
        """Zero of a type of the protocol, made once because every case needs it."""
        if id(kind) not in self._zeros:
            self._zeros[id(kind)] = zero(kind)
        return self._zeros[id(kind)]


def _parts(places: dict[Place, Value], home: str, index: int | None = None) -> dict[Way, Value]:
    """The given parts of the message, of the environment or of a cell, by their paths."""
    return {
        (place.field, *place.rest): given
        for place, given in places.items()
        if place.home == home and place.index == index
    }


def _row(row: tuple[Any, ...], related: list[bool], wanted: bool) -> str:
    """TLA+ of a choice's values that refer to a message, or of those that do not; the other values become 0."""
    return to_tla(tuple(value if of == wanted else 0 for value, of in zip(row, related)))


def _text(kind: ir.Type, parts: dict[Way, str]) -> str:
    """TLA+ of a value whose parts are given as TLA+."""
    return nest(
        kind,
        parts,
        lambda each: to_tla(zero(each)),
        lambda fields: _record(fields.items()),
        lambda items: f"<<{', '.join(items)}>>",
    )


def flat(kind: ir.Type, text: str) -> str:
    """Converts a value to one without names of fields, because its text is then parsed much faster."""
    match kind:
        case ir.Record():
            return "<<" + ", ".join(flat(field, f"{text}.{name}") for name, field in kind.fields) + ">>"
        case ir.Array() if isinstance(kind.element, (ir.Array, ir.Record)):
            return "<<" + ", ".join(flat(kind.element, f"{text}[{at}]") for at in range(1, kind.size + 1)) + ">>"
    return text


def reached(module: str, folders: list[Path]) -> list[Path]:
    """Finds the files of the modules that a module uses, except TLC's own.

    They do not include a model that uses the same steps.
    """
    found: dict[str, Path] = {}
    texts = [module]
    while texts:
        text = texts.pop()
        names = [name for names in EXTENDS.findall(text) for name in re.findall(r"\w+", names)] + INSTANCE.findall(text)
        for name in names:
            path = next((folder / f"{name}.tla" for folder in folders if (folder / f"{name}.tla").exists()), None)
            if name not in found and path is not None:
                found[name] = path
                texts.append(path.read_text())
    return [path for _, path in sorted(found.items())]


def _trouble(trouble: Trouble) -> str:
    rivals = () if trouble.rival is None else (dict(trouble.rival),)
    fields = {"at": trouble.section, "always": trouble.always, "rivals": rivals, "operation": trouble.operation}
    return to_tla(fields)


def _record(fields: Iterable[tuple[str, str]]) -> str:
    return "[" + ", ".join(f"{name} |-> {text}" for name, text in fields) + "]"


Reader = Callable[[Any], Any]


def reader(kind: ir.Type) -> Reader | None:
    """Returns a function that converts a printed value to its Python type; None if no conversion is needed."""
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
        record = (
            {name: value[name] for name in names} if isinstance(value, dict) else dict(zip(names, value, strict=True))
        )
        for name, read in readers:
            record[name] = read(record[name])
        return record

    return read_record


def _parse(line: str) -> Any:
    """Parses a printed line, `"<<...>>"`. A line without records and functions is read as JSON, forty times faster."""
    text = line[1:-1].replace('\\"', '"')
    if "|->" in text or ":>" in text or ".." in text:
        return notation.parse(text)
    text = text.replace("<<", "[").replace(">>", "]").replace("TRUE", "true").replace("FALSE", "false")
    return json.loads(text.replace("{", '{"set": [').replace("}", "]}"))
