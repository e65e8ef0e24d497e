"""Runs a hook on cells and a message by the evaluator's own steps, as docs/reference/layout.md describes hooks."""

from __future__ import annotations

from typing import Any

from harness.conform.cases import Case
from harness.fuzz_generator.protocol import Program, Section, Table

Cells = dict[tuple[str, int], dict[str, Any]]
Outcome = tuple[Any, int, dict[str, Any], tuple[Any, ...]]
"""The verdict, the section that ended the hook, the message, and the cells that were written."""


class Hook:
    """One run of a hook on the input of a case.

    noise: the cells that the case does not name; zero if it lacks the table.
    """

    def __init__(self, program: Program, case: Case, noise: dict[str, list[dict[str, Any]]]) -> None:
        self._program, self._case, self._noise = program, case, noise
        self._tables = {table.name: table for table in program.tables}
        self._cells: Cells = dict(case.cells)
        self._writes: list[tuple[str, int, dict[str, Any], int]] = []

    def outcome(self) -> Outcome:
        return (*self._ended(self._case.family.hook, self._case.message), tuple(self._writes))

    def _ended(self, hook: str, message: dict[str, Any]) -> tuple[Any, int, dict[str, Any]]:
        if hook == "user":
            return self._user(message)
        if hook == "sweep":
            return self._sweep(message)
        if self._is_malformed(hook):
            return "Malformed", 0, message
        return self._sections(self._program.hooks[hook], message)

    # --- Cells ---------------------------------------------------------------------------------

    def _cell(self, table: Table, index: int) -> dict[str, Any]:
        key = table.name, index
        if key not in self._cells:
            noise = self._noise.get(table.name)
            self._cells[key] = noise[index] if noise else table.cell.zero()
        return self._cells[key]

    def _run(self, section: Section, table: Table, index: int, message: dict[str, Any]) -> tuple[str, Any, Any]:
        env = {**self._case.env, "index": index}
        scope = {**self._program.scope, table.name: self._cell(table, index), "msg": message, "env": env}
        return section.step.decide(scope)

    def _write(self, table: Table, index: int, cell: dict[str, Any], at: int) -> None:
        if cell != self._cell(table, index):
            self._cells[table.name, index] = cell
            self._writes.append((table.name, index, cell, at))

    # --- Hooks ---------------------------------------------------------------------------------

    def _is_malformed(self, hook: str) -> bool:
        """Whether a cell is missing, of those that are looked up before the first section."""
        written: set[str] = set()
        for section in self._program.hooks[hook]:
            table = self._tables[section.step.table]
            if table.index not in written and self._case.message[table.index] >= table.capacity:
                return True
            written |= section.step.sets
        return False

    def _sections(
        self, sections: tuple[Section, ...], message: dict[str, Any], swept: int | None = None
    ) -> tuple[str, int, dict[str, Any]]:
        """Runs the sections of xdp or tc, or those of the sweep at an index."""
        continued, trouble = True, self._case.family.trouble
        for at, section in enumerate(sections, 1):
            table = self._tables[section.step.table]
            own = swept is not None and table is self._program.tables[0]
            index = swept if own and swept is not None else message[table.index]
            if index >= table.capacity:
                continued = swept is not None
                continue
            verdict, cell, changed = self._run(section, table, index, message)
            if at == trouble.section and (trouble.always or cell != self._cell(table, index)):
                if not section.skips:
                    return "Contended", at, message
                continued = False
                continue
            self._write(table, index, cell, at)
            message, continued = changed, verdict == "Continue"
            if not continued:
                return verdict, at, message
        return (
            ("Continue" if continued and swept is not None else "Drop" if continued else "Contended"),
            len(sections),
            message,
        )

    def _user(self, message: dict[str, Any]) -> tuple[str, int, dict[str, Any]]:
        sections = self._program.hooks["user"]
        for at, section in enumerate(sections, 1):
            table = self._tables[section.step.table]
            index = message[table.index]
            if index >= table.capacity:
                return "Drop", at, message
            verdict, cell, message = self._run(section, table, index, message)
            if not section.reads:
                self._write(table, index, cell, at)
            if verdict != "Continue":
                return verdict, at, message
        return "Drop", len(sections), message

    def _sweep(self, message: dict[str, Any]) -> tuple[int, int, dict[str, Any]]:
        family, continued = self._case.family, 0
        swept = range(family.first, min(family.first + family.count, self._program.tables[0].capacity))
        for index in swept:
            verdict, _, message = self._sections(self._program.hooks["sweep"], message, index)
            continued += verdict == "Continue"
        return continued, len(swept), message
