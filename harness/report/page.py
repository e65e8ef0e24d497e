"""Renders the page from Jinja2 templates: one file that needs nothing from outside and no JavaScript."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from harness.base.command import counted
from harness.report import heat, versions
from harness.report.collect import Coverage, Everything, embedded
from harness.report.compare import Part
from harness.report.formats import figure
from harness.report.summary import duration, mark, moment, same_mark, verdicts
from harness.results import plot
from harness.results.models import Branch, Conform, Curve, Model, Program, Row
from harness.tla import diagram, trace

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Source:
    """One TLA+ file as a heat map. count: number of its branches. taken: number of those that were taken."""

    file: str
    lines: list[heat.Line]
    taken: int
    count: int


def sources(coverage: Coverage) -> list[Source]:
    """Makes the heat maps of one protocol, from all builds that were compared with the newest text."""
    newest = coverage.newest.sources
    runs = ((build, run.found) for build, run in coverage.builds.values())
    heats = heat.added(build for build, run in runs if isinstance(run, Conform) and run.sources == newest)
    found = []
    for file, text in newest.items():
        own = [each for each in heats if each.branch.file == file]
        if own:
            found.append(Source(file, heat.lines(text, file, heats), sum(bool(each.times) for each in own), len(own)))
    return found


def branches(coverage: Coverage) -> list[tuple[Branch, list[str]]]:
    """Lists each branch with its count in each build that counts branches."""
    counting = [build for build, _ in coverage.builds.values() if build.branches]
    rows: dict[tuple[str, str], tuple[Branch, dict[str, str]]] = {}
    for build in counting:
        for branch in build.branches:
            text = "lost races only" if branch.excused else f"{branch.times:,}" if branch.times else "✗ 0"
            rows.setdefault((branch.label, branch.place), (branch, {}))[1][build.name] = text
    return [(branch, [counts.get(build.name, "–") for build in counting]) for branch, counts in rows.values()]


def steps(coverage: Coverage) -> list[tuple[str, list[str]]]:
    """Lists each step with its evaluations in each build that counts branches."""
    counting = [build for build, _ in coverage.builds.values() if build.branches]
    names = dict.fromkeys(name for build in counting for name in build.steps)
    return [(name, [f"{build.steps[name]:,}" if name in build.steps else "–" for build in counting]) for name in names]


def asking(models: Any, name: str) -> int:
    """Counts the models that must hold and ask for a property."""
    return sum(name in model.properties and not model.must_fail for model, _ in models.models.values())


def sequence(protocol: str, model: Model) -> Markup:
    steps = [trace.Step(**step.model_dump()) for step in model.steps]
    return Markup(diagram.as_svg(f"{protocol}/{model.name}: the counterexample, step by step", steps))


def columns(rows: list[Row]) -> list[str]:
    """Returns the names of all figures; those of the rows with the most figures come first."""
    return list(dict.fromkeys(name for row in sorted(rows, key=lambda row: -len(row.figures)) for name in row.figures))


def curve(drawn: Curve) -> Markup:
    return Markup(plot.svg(drawn))


def use(found: int | None, budget: dict[str, int] | None, limit: str) -> float | None:
    """Returns the used percentage of a budget; None if there is none."""
    most = (budget or {}).get(limit)
    return 100 * found / most if most and found is not None else None


def growth(found: int | None, baseline: dict[str, int] | None, limit: str) -> str:
    """Formats the change since the committed baseline, such as `+1.2%`; empty if unchanged or unknown."""
    before = (baseline or {}).get(limit)
    return f"{found / before - 1:+.1%}" if before and found is not None and found != before else ""


def beside(found: Everything) -> list[tuple[str, list[Program | None]]]:
    """Lists each program with its result on each kernel; None where it was not tried."""
    by_kernel = [{program.program: program for program in kernel.programs} for kernel, _ in found.kernels.values()]
    names = dict.fromkeys(name for programs in by_kernel for name in programs)
    return [(name, [programs.get(name) for programs in by_kernel]) for name in names]


def environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"duration": duration, "moment": moment, "count": lambda number: f"{number:,}", "figure": figure}
    helpers = (asking, sequence, curve, sources, branches, steps, use, columns, growth, beside, counted)
    made.globals |= {helper.__name__: helper for helper in helpers} | {"heat_key": heat.KEY}
    return made


def render(found: Everything, head: str, differences: list[Part] | None = None, old: str = "") -> str:
    """Renders the whole page.

    head: the current commit, with which the runs' commits are compared. differences: changes since the results in
    `old`, if any were given.
    """
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8") + diagram.STYLE
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            found=found,
            verdicts=verdicts(found, head),
            differences=differences,
            old=old,
            head=head,
            now=time.time(),
            mark=lambda run: mark(run, head),
            same_mark=lambda entries: same_mark([run for _, run in entries], head),
            style=Markup(style),
            tools=versions.tools(),
            packages=versions.python_packages(),
            embedded=Markup(embedded(found.runs)),
        )
    )
