"""Makes the report: medians and quartiles, the table, and the JSON file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from harness.bench.curves import Curve
from harness.bench.spread import Spread
from harness.results import models


@dataclass(frozen=True)
class Row:
    """One line of the table. `notes`: why the figures cannot be trusted, or what was lost and why."""

    workload: str
    server: str
    figures: dict[str, Spread]
    notes: tuple[str, ...] = ()


@dataclass
class Report:
    """The results that are printed and saved."""

    protocol: str
    settings: dict[str, Any]
    sections: dict[str, list[Row]] = field(default_factory=dict)
    targets: list[str] = field(default_factory=list)
    missed: int = 0
    curves: list[Curve] = field(default_factory=list)

    def text(self) -> str:
        parts = []
        for title, rows in self.sections.items():
            parts.append(f"{title}\n{_table(rows)}")
        if self.targets:
            parts.append("Targets\n" + "\n".join(f"  {line}" for line in self.targets))
        return "\n\n".join(parts)

    def judge(self, targets: dict[str, dict[str, Any]], rows: list[Row]) -> None:
        """Compare figures of the generated server with the targets of the protocol's bench.py.

        `<figure>_min` and `<figure>_max` bound a figure of the table, whose spaces become underscores.
        `of_<workload>_min` bounds its rate as a multiple of another workload's.
        """
        own = {row.workload: row.figures for row in rows if row.server == "generated"}
        for workload, bounds in targets.items():
            for name, bound in bounds.items():
                figure, is_least = name.rpartition("_")[0], name.endswith("_min")
                found, shown = _figure(own, workload, figure)
                met = found >= bound if is_least else found <= bound
                self.missed += not met
                verdict = "met" if met else "MISSED"
                self.targets.append(
                    f"{verdict}: {workload}, {shown}: {found:.2f}, {'at least' if is_least else 'at most'} {bound}"
                )

    def found(self) -> models.Bench:
        """The report for harness/results, and so for `just report`."""

        def kept(row: Row) -> models.Row:
            figures = {name: models.Spread(**vars(spread)) for name, spread in row.figures.items()}
            return models.Row(workload=row.workload, server=row.server, figures=figures, notes=list(row.notes))

        return models.Bench(
            protocol=self.protocol,
            settings=self.settings,
            sections={title: [kept(row) for row in rows] for title, rows in self.sections.items()},
            targets=self.targets,
            curves=[curve.found() for curve in self.curves],
        )


def _figure(own: dict[str, dict[str, Spread]], workload: str, figure: str) -> tuple[float, str]:
    for shown, spread in own[workload].items():
        if _plain(shown) == figure:
            return spread.median, shown
    for other, figures in own.items():
        if figure == f"of_{_plain(other)}":
            return own[workload]["of reflector"].median / figures["of reflector"].median, f"of {other}"
    raise ValueError(f"a target of {workload} names {figure}; choose from: {', '.join(map(_plain, own[workload]))}")


def _plain(name: str) -> str:
    """A figure's name as targets write it."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _table(rows: list[Row]) -> str:
    complete = sorted(rows, key=lambda row: -len(row.figures))
    figures = list(dict.fromkeys(name for row in complete for name in row.figures))
    lines = [["workload", "server", *figures]]
    lines += [[row.workload, row.server, *(_cell(row.figures.get(name), name) for name in figures)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines)]
    text = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    noted: dict[str, list[str]] = {}
    for row in rows:
        for note in row.notes:
            noted.setdefault(note, []).append(f"{row.workload} {row.server}")
    text += [f"  note: {note} ({', '.join(where)})" for note, where in noted.items()]
    return "\n".join(text)


def _cell(spread: Spread | None, name: str) -> str:
    if spread is None:
        return "-"
    digits = 3 if "share" in name or name.startswith("of ") else 2 if spread.median < 100 else 1
    return spread.text(digits)
