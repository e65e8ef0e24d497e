"""Merges runs: for everything that was checked, it keeps what the latest run found."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.report.formats import ReportError, Run, understood
from harness.results import Kept, ResultsError, parse, plain, read_all
from harness.results.models import (
    Bench,
    Build,
    Check,
    Conform,
    Containers,
    Fill,
    Found,
    Fuzz,
    Kernel,
    Model,
    Mutant,
    Mutants,
    Property,
    Prove,
    StepFaults,
    Veristat,
)

EMBEDDED = re.compile(r'<script type="application/json" id="results">(.*?)</script>', re.DOTALL)


@dataclass
class Models:
    """One protocol's properties and models, by name. Each model comes with the run that checked it."""

    properties: dict[str, Property] = field(default_factory=dict)
    models: dict[str, tuple[Model, Run]] = field(default_factory=dict)


@dataclass
class Coverage:
    """One protocol's builds, each with the run that compared it. newest: the findings of the last run."""

    newest: Conform
    builds: dict[str, tuple[Build, Run]] = field(default_factory=dict)


@dataclass
class Everything:
    """All findings, by protocol.

    kernels: by the names that `just kernels` uses. mutants: by protocol and name. fuzz, containers: by the subject of
    the run.
    """

    runs: list[Run]
    check: dict[str, Models] = field(default_factory=dict)
    conform: dict[str, Coverage] = field(default_factory=dict)
    prove: dict[str, tuple[Prove, Run]] = field(default_factory=dict)
    kernels: dict[str, tuple[Kernel, Run]] = field(default_factory=dict)
    mutants: dict[tuple[str, str], tuple[Mutant, Run]] = field(default_factory=dict)
    steps: dict[str, tuple[StepFaults, Run]] = field(default_factory=dict)
    bench: dict[str, tuple[Bench, Run]] = field(default_factory=dict)
    fuzz: dict[str, tuple[Fuzz, Run]] = field(default_factory=dict)
    veristat: dict[str, tuple[Veristat, Run]] = field(default_factory=dict)
    fill: dict[str, tuple[Fill, Run]] = field(default_factory=dict)
    containers: dict[str, tuple[Containers, Run]] = field(default_factory=dict)

    def add(self, run: Run) -> None:
        match run.found:
            case Check() as found:
                models = self.check.setdefault(found.protocol, Models())
                models.properties |= {each.name: each for each in found.properties}
                models.models |= {each.name: (each, run) for each in found.models}
            case Conform() as found:
                coverage = self.conform.setdefault(found.protocol, Coverage(found))
                coverage.newest = found
                coverage.builds |= {each.name: (each, run) for each in found.builds}
            case Prove() as found:
                self.prove[found.protocol] = (found, run)
            case Mutants() as found:
                self.mutants |= {(each.protocol, each.name): (each, run) for each in found.mutants}
            case StepFaults() as found:
                self.steps[found.protocol] = (found, run)
            case Kernel() as found:
                self.kernels[run.kept.subject] = (found, run)
            case Bench() as found:
                self.bench[found.protocol] = (found, run)
            case Fuzz() as found:
                self.fuzz[run.kept.subject] = (found, run)
            case Veristat() as found:
                self.veristat[found.protocol] = (found, run)
            case Fill() as found:
                self.fill[found.protocol] = (found, run)
            case Containers() as found:
                self.containers[run.kept.subject] = (found, run)


def together(kept: Iterable[Kept], protocols: Collection[str] | None = None) -> Everything:
    """Merges runs by their start time: the latest wins. Raises ReportError for a malformed file.

    protocols: the only ones whose findings count; all by default.
    """
    runs = sorted((understood(each) for each in kept), key=lambda run: run.kept.began)
    if protocols is not None:
        runs = [limited for run in runs if (limited := _limited(run, protocols)) is not None]
    everything = Everything(runs)
    for run in runs:
        everything.add(run)
    for name in ("check", "conform", "prove", "steps", "bench", "fuzz", "kernels", "veristat", "fill"):
        setattr(everything, name, dict(sorted(getattr(everything, name).items(), key=lambda item: _in_order(item[0]))))
    return everything


def _limited(run: Run, protocols: Collection[str]) -> Run | None:
    """Returns a run without the findings on other protocols; None if nothing is left of it."""
    found: Found | None = run.found
    match found:
        case Check() | Conform() | Prove() | StepFaults() | Bench() | Veristat() | Fill():
            return run if found.protocol in protocols else None
        case Fuzz():
            return run if run.kept.subject in protocols else None
        case Mutants():
            left = [mutant for mutant in found.mutants if mutant.protocol in protocols]
            return replace(run, found=found.model_copy(update={"mutants": left})) if left else None
        case Kernel():
            programs = [each for each in found.programs if each.protocol in protocols]
            compared = [each for each in found.conformance if each.protocol in protocols]
            limited = found.model_copy(update={"programs": programs, "conformance": compared})
            return replace(run, found=limited) if programs else None
    return run


def _in_order(name: str) -> list[tuple[int, int, str]]:
    """Returns a sort key: 6.1 comes before 6.2, 6.2 before 6.12, and numbers before words."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.findall(r"\d+|\D+", name)]


# --- Loading and embedding -----------------------------------------------------------------------


def load(where: Path) -> list[Kept]:
    """Reads results from a folder, or from an HTML report that contains some. Raises ReportError."""
    try:
        if where.is_dir():
            return read_all(where)
        text = where.read_text(encoding="utf-8")
        embedded = EMBEDDED.search(text)
        if embedded is None:
            raise ReportError(
                f"{where} is neither a folder of results nor a report of `just report`: it contains no results"
            )
        return [parse(each, str(where)) for each in json.loads(embedded[1])]
    except OSError as error:
        raise ReportError(
            f"cannot read the results in {where}: {error.strerror}; name a folder of results, or a report"
        ) from error
    except (ValueError, TypeError) as error:
        raise ReportError(f"cannot read the results in {where}: {error}") from error
    except ResultsError as error:
        raise ReportError(str(error)) from error


def embedded(runs: list[Run]) -> str:
    """Returns JSON for a <script> of the page, from which load() can read the runs again."""
    content: list[dict[str, Any]] = [plain(run.kept) for run in runs]
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
