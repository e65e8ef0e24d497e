"""A made-up protocol: its layout, its steps, and the domain of its inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.fuzz_generator import expressions as ex
from harness.fuzz_generator.kinds import Array, Kind, Number, Record

NAME = "made"
MODULE = "MadeSteps"
TOOLS = "MadeTools"
PORT = 20_299
REQUESTS = ("Ask", "Tell", "Move")
ANSWERS = ("Done", "Denied")
HOOKS = ("xdp", "user", "tc", "sweep")
CLOCK = Number(10)
NOTHING = Record(())
UNNAMED = re.compile(r"\{enum: \[[^\]]*\]\}|\{record: \{[^{}]*\}\}")
SWEPT = 3
"""A family of the sweep goes over so many indices; the last may be none of the table's."""


@dataclass(frozen=True)
class Step:
    """A step on the cells of one table. decide: returns the verdict, the new cell and the new message.

    sets: the fields of the message that it may change.
    """

    name: str
    table: str
    text: str
    decide: Callable[[ex.Scope], tuple[str, Any, Any]]
    sets: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Section:
    """A section of a hook. skips: a lost race skips it. reads: it gets a copy of the cell."""

    step: Step
    skips: bool = False
    reads: bool = False

    def layout(self) -> str:
        """Returns the section as layout.yaml has it."""
        more = ", contended: skip" * self.skips + ", reads: cell" * self.reads
        return f"{{{self.step.table}: {self.step.name}{more}}}"


@dataclass(frozen=True)
class Table:
    """A table, whose cell a field of the message selects. hashed: the field that this one is hashed from, or ""."""

    name: str
    cell: Record
    capacity: int
    atomic: str
    index: str
    hashed: str = ""


@dataclass(frozen=True)
class Program:
    """A made-up protocol.

    message: the fields on the wire. local: fields that are not. hooks: sections; the sweep goes over the first table.
    clock: whether steps have env. texts: definitions before the steps. tools: a module that they use, or "".
    scope: the values of definitions and constants. samples: how many inputs it is run on. values: numbers among them.
    """

    message: Record
    tables: tuple[Table, ...]
    hooks: Mapping[str, tuple[Section, ...]]
    local: Record = NOTHING
    handover: Record = NOTHING
    clock: bool = False
    constants: Mapping[str, int] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    tools: str = ""
    scope: Mapping[str, Any] = field(default_factory=dict)
    values: tuple[int, ...] = ()
    samples: int = 300

    @property
    def whole(self) -> Record:
        """The message as the steps see it."""
        hashed = tuple((table.index, Number(2)) for table in self.tables if table.hashed)
        return Record((*self.message.fields, *self.handover.fields, *self.local.fields, *hashed))

    # --- The layout --------------------------------------------------------------------------

    def layout(self) -> str:
        """The text of layout.yaml, where equal enums and records have one name."""
        return _with_types(self._layout())

    def _layout(self) -> str:
        tables = [
            f"  {each.name}: {{cell: {each.cell.body()}, capacity: {each.capacity}, index: msg.{each.index}, "
            f"atomic: {each.atomic}}}"
            for each in self.tables
        ]
        hooks = [f"{hook}: [{self._sections(hook)}]" for hook in ("xdp", "user", "tc") if hook in self.hooks]
        limits = ", ".join(
            f"{hook}: {{insns: 1000000, states: 100000, stack: 512}}" for hook in self.hooks if hook != "user"
        )
        order = ", ".join(name for name, _ in self.message.fields)
        return "\n".join(
            [
                f"protocol: {NAME}\nmodule: {MODULE}",
                *self._optional(),
                f"message: {self.message.body()}",
                "tables:",
                *tables,
                f"hooks: {{{', '.join(hooks)}}}",
                *self._sweep(),
                f"wire: {{transport: udp, port: {PORT}, order: [{order}]}}",
                f"budget: {{{limits}}}\n",
            ]
        )

    def _sections(self, hook: str) -> str:
        return ", ".join(each.layout() for each in self.hooks[hook])

    def _optional(self) -> list[str]:
        """The lines of keys that a layout need not have."""
        lines = []
        if self.constants:
            lines.append(f"constants: {{{', '.join(f'{name}: {value}' for name, value in self.constants.items())}}}")
        if self.clock:
            lines.append(f"env: {{now: {{type: {CLOCK.layout()}, tick_ns: 134_217_728}}}}")
        if self.handover.fields:
            lines.append(f"handover: {self.handover.body()}")
        local = [f"{name}: {kind.layout()}" for name, kind in self.local.fields]
        local += [
            f'{each.index}: {{type: u2, from: "hash(msg.{each.hashed}, {each.name}.capacity)"}}'
            for each in self.tables
            if each.hashed
        ]
        if local:
            lines.append(f"local: {{{', '.join(local)}}}")
        return lines

    def _sweep(self) -> list[str]:
        if "sweep" not in self.hooks:
            return []
        table = self.tables[0].name
        return [f"sweep: {{period_ms: 100, passes: [{{each: {table}, sections: [{self._sections('sweep')}]}}]}}"]

    # --- The steps ---------------------------------------------------------------------------

    def module(self) -> str:
        """The text of the module with the steps."""
        constants = [f"CONSTANTS {', '.join(self.constants)}"] if self.constants else []
        steps = {section.step.name: section.step.text for sections in self.hooks.values() for section in sections}
        parts = [*constants, *self.texts, *steps.values()]
        return f"---- MODULE {MODULE} ----\nEXTENDS Offload\n\n" + "\n\n".join(parts) + "\n====\n"

    # --- The inputs --------------------------------------------------------------------------

    def domain(self) -> str:
        """The text of conform.yaml."""
        families = [self._family(hook) for hook in HOOKS if hook in self.hooks]
        lost = [
            self._family("xdp", f", contended: {at}")
            for at, section in enumerate(self.hooks["xdp"], 1)
            if self._may_lose(section)
        ][-1:]
        values = [
            f"{place}: {self._values(place, kind)}"
            for table in self.tables
            for name, whole in table.cell.fields
            for place, kind in _inner(f"{table.name}.{name}", whole)
        ]
        told = f"values: {{{', '.join(values)}}}\n" if values else ""
        return f"{told}families:\n" + "".join([*families, *lost]) + "samples: 50\npairs_min: 1\n"

    def _may_lose(self, section: Section) -> bool:
        """Whether a section may fail to lock its cell. (A word is left out: writing what it has may lose as well.)"""
        return any(each.name == section.step.table and each.atomic == "res_spin_lock" for each in self.tables)

    def _family(self, hook: str, more: str = "") -> str:
        count = max(1, self.samples // len(self.hooks)) // (3 if more else 1)
        number = "1" if hook == "sweep" else hook
        places = self._places(hook)
        vary = ", ".join(f"{place}: {self._values(place, kind)}" for place, kind in places.items())
        chunk = f", first: 0, count: {SWEPT}" if hook == "sweep" else ""
        name = f"{hook}{' that loses' * bool(more)}"
        return f"  - {{name: {name}, hook: {number}{chunk}{more}, sample: {count}, vary: {{{vary}}}}}\n"

    def _places(self, hook: str) -> dict[str, Kind]:
        fields = self.message.fields + (self.handover.fields if hook in ("user", "tc") else ())
        places = {f"message.{name}": kind for name, kind in fields}
        for at, table in enumerate(self.tables):
            homes = [f"{table.name}.{index}" for index in (0, 1)] if hook == "sweep" and at == 0 else [table.name]
            places |= {f"{home}.{name}": kind for home in homes for name, kind in table.cell.fields}
        if self.clock:
            places["env.now"] = CLOCK
        return places

    def _values(self, place: str, kind: Kind) -> str:
        capacities = {f"message.{table.index}": table.capacity for table in self.tables if not table.hashed}
        if place in capacities and isinstance(kind, Number):
            return f"[{', '.join(map(str, range(min(capacities[place], kind.last) + 1)))}]"
        if place in {f"message.{table.hashed}" for table in self.tables}:
            return "all"
        if isinstance(kind, Number):
            return f"[{', '.join(map(str, self.numbers(kind.last)))}]"
        return "all"

    def numbers(self, last: int) -> list[int]:
        """The numbers of the program that fit, and those at both ends."""
        near = {value + by for value in self.values for by in (-1, 0, 1)} | {0, 1, 2, 3, last // 2, last - 1, last}
        return sorted(each for each in near if 0 <= each <= last)

    def write(self, folder: Path) -> None:
        """Writes the files of the protocol."""
        folder.mkdir(parents=True, exist_ok=True)
        texts = {f"{MODULE}.tla": self.module(), "layout.yaml": self.layout(), "conform.yaml": self.domain()}
        if self.tools:
            texts[f"{TOOLS}.tla"] = self.tools
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")


def _inner(place: str, kind: Kind) -> list[tuple[str, Kind]]:
    """The numbers inside of a value, for which the domain has values of their own."""
    if isinstance(kind, Record):
        return [
            found
            for name, each in kind.fields
            for found in ([(f"{place}.{name}", each)] if isinstance(each, Number) else _inner(f"{place}.{name}", each))
        ]
    if isinstance(kind, Array):
        return _inner(place, kind.item)
    return []


def _with_types(layout: str) -> str:
    """Gives names to the enums and records of cells. Two types without names differ, even if they look the same."""
    types: dict[str, str] = {}
    before, marker, tables = layout.partition("\ntables:\n")
    while found := UNNAMED.search(tables):
        name = types.setdefault(found.group(), f"type_{len(types)}")
        tables = tables.replace(found.group(), name)
    named = "".join(f"\n  {name}: {text}" for text, name in types.items())
    return before + (f"\ntypes:{named}" if types else "") + marker + tables
