"""Sums up the report: the result of each part, its faults, and the commands that were not run."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from harness.check import models
from harness.command import counted
from harness.protocols import SPEC, protocols
from harness.report.collect import Everything
from harness.report.formats import Run

HASH_LENGTH = 10


@dataclass(frozen=True)
class Verdict:
    """The verdict on one part of the report.

    holds: None without results. faults: a sentence each. missing: commands that would add results. marks: see
    mark().
    """

    anchor: str
    title: str
    holds: bool | None
    text: str
    faults: list[str]
    missing: list[str]
    marks: list[str]

    @property
    def word(self) -> str:
        return {True: "✓ holds", False: f"✗ {counted(len(self.faults), 'fault')}", None: "– not run"}[self.holds]


def mark(run: Run, head: str) -> str:
    """Returns how a run's commit differs from the current one; empty if it does not."""
    commit = run.kept.commit
    if not commit:
        return "of an unknown commit"
    base = commit.rstrip("+")
    if base != head.rstrip("+"):
        return f"of commit {base[:HASH_LENGTH]}, not HEAD"
    return "of HEAD with changes that were not committed" if commit.endswith("+") else ""


def marks(runs: Iterable[Run], head: str) -> list[str]:
    """Returns the marks of several runs, each once."""
    return sorted({mark(run, head) for run in runs} - {""})


def same_mark(runs: list[Run], head: str) -> str | None:
    """Returns the mark that all runs share; None if they differ."""
    found = {mark(run, head) for run in runs}
    return found.pop() if len(found) == 1 else None if found else ""


def duration(seconds: float) -> str:
    """Formats a duration: `4.2 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def moment(seconds: float) -> str:
    """Formats seconds since 1970 as a date and time in UTC."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M")


def verdicts(found: Everything, head: str) -> list[Verdict]:
    """Returns one verdict for each part, in the order of the page."""
    return [part(found, head) for part in (_check, _conform, _kernels, _mutants, _bench, _fuzz)]


def _missing(known: Iterable[str], found: Iterable[str], command: str, every: str) -> list[str]:
    """Returns the commands that would add the missing results; a single one if all are missing."""
    lacking = [each for each in known if each not in found]
    return [every] if not found and lacking else [f"{command} {each}" for each in lacking]


def _with(file: str) -> list[str]:
    """Returns the protocols that have this file."""
    return [name for name in protocols() if (SPEC / name / file).exists()]


def _check(found: Everything, head: str) -> Verdict:
    each = [(f"{protocol}/{name}", *entry) for protocol, of in found.check.items() for name, entry in of.models.items()]
    faults = [f"{name}: {surprise}" for name, model, _ in each for surprise in model.surprises]
    failing = sum(model.must_fail for _, model, _ in each)
    states = counted(sum(model.distinct for _, model, _ in each), "distinct state")
    seconds = sum(model.seconds for _, model, _ in each)
    text = (
        f"{counted(len(each), 'model')}, {failing} of them must fail; {states}, {duration(seconds)} of TLC"
        if each
        else ""
    )
    missing = _missing(models.protocols(), found.check, "just check", "just check")
    return Verdict(
        "models", "Models", not faults if each else None, text, faults, missing, marks((run for *_, run in each), head)
    )


def _conform(found: Everything, head: str) -> Verdict:
    each = [(protocol, *entry) for protocol, coverage in found.conform.items() for entry in coverage.builds.values()]
    faults = [f"{protocol}, {build.name}: {mismatch}" for protocol, build, _ in each for mismatch in build.mismatches]
    newest = {protocol: coverage.newest for protocol, coverage in found.conform.items()}
    faults += [f"{protocol}: {problem}" for protocol, run in newest.items() for problem in run.problems]
    inputs = counted(sum(sum(build.inputs.values()) for _, build, _ in each), "input")
    pairs = counted(sum(build.pairs for _, build, _ in each), "pair")
    forms = [build for _, build, _ in each if build.is_form and build.branches]
    asked, taken = sum(build.asked for build in forms), sum(build.taken for build in forms)
    text = f"{inputs}, {pairs} of an input and a step; {taken:,} of {asked:,} branches taken" if each else ""
    missing = _missing(_with("conform.yaml"), found.conform, "just conform", "just conform")
    holds = not faults if each else None
    return Verdict("conformance", "Conformance", holds, text, faults, missing, marks((run for *_, run in each), head))


def _kernels(found: Everything, head: str) -> Verdict:
    kernels = found.kernels.values()
    programs = [(kernel.kernel, program) for kernel, _ in kernels for program in kernel.programs]
    compared = [(kernel.kernel, each) for kernel, _ in kernels for each in kernel.conformance]
    faults = [f"{release}: {fault}" for release, program in programs for fault in program.faults]
    faults += [
        f"{release}: {each.protocol}, {each.form}: {problem}" for release, each in compared for problem in each.problems
    ]
    inputs = counted(sum(each.inputs for _, each in compared), "input")
    loaded = sum(program.loads for _, program in programs)
    loads = f"{loaded:,} of {counted(len(programs), 'program')} loaded"
    text = f"{counted(len(kernels), 'kernel')}, {loads}, {inputs} compared" if kernels else ""
    missing = [] if kernels else ["just kernels"]
    holds = not faults if kernels else None
    return Verdict("kernels", "Kernels", holds, text, faults, missing, marks((run for _, run in kernels), head))


def _mutants(found: Everything, head: str) -> Verdict:
    each = found.mutants.values()
    faults = [f"{mutant.name} ({mutant.place}): {mutant.how}" for mutant, _ in each if not mutant.caught]
    caught = sum(mutant.caught for mutant, _ in each)
    text = f"{caught:,} of {counted(len(each), 'mutant')} caught as they must be" if each else ""
    missing = [] if each else ["just mutants"]
    return Verdict(
        "mutants", "Mutants", not faults if each else None, text, faults, missing, marks((run for _, run in each), head)
    )


def _bench(found: Everything, head: str) -> Verdict:
    each = [bench for bench, _ in found.bench.values()]
    faults = [
        f"{bench.protocol}: {target}" for bench in each for target in bench.targets if target.startswith("MISSED")
    ]
    rows = counted(sum(len(rows) for bench in each for rows in bench.sections.values()), "row")
    curves = counted(sum(len(bench.curves) for bench in each), "curve")
    targets = sum(len(bench.targets) for bench in each)
    text = f"{rows} of figures, {curves}; {targets - len(faults):,} of {counted(targets, 'target')} met" if each else ""
    missing = _missing(_with("bench.py"), found.bench, "just bench", "just bench all")
    holds = not faults if each else None
    return Verdict(
        "benchmarks", "Benchmarks", holds, text, faults, missing, marks((run for _, run in found.bench.values()), head)
    )


def _fuzz(found: Everything, head: str) -> Verdict:
    faults = [f"{name}: {failure.text}" for name, (fuzz, _) in found.fuzz.items() for failure in fuzz.failures]
    seconds = sum(stage.seconds for fuzz, _ in found.fuzz.values() for stage in fuzz.stages)
    text = (
        f"{counted(len(found.fuzz), 'run')}, {duration(seconds)}; {counted(len(faults), 'failure')}"
        if found.fuzz
        else ""
    )
    missing = [] if found.fuzz else ["just fuzz all --minutes 20"]
    holds = not faults if found.fuzz else None
    return Verdict(
        "fuzzing", "Fuzzing", holds, text, faults, missing, marks((run for _, run in found.fuzz.values()), head)
    )
