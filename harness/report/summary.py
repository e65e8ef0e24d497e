"""Sums up the report: the result of each part, its faults, and the commands that were not run."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from harness.base.command import counted
from harness.report import missing
from harness.report.collect import Everything
from harness.report.formats import Run

HASH_LENGTH = 10


@dataclass(frozen=True)
class Verdict:
    """The verdict on one part of the report.

    anchor: the part's name in links, and that of its template. title: short. heading: for readers who do not know the
    commands. holds: None without results. faults: a sentence each. missing: commands that would add results. marks: see
    mark().
    """

    anchor: str
    title: str
    heading: str
    holds: bool | None
    text: str
    faults: list[str]
    missing: list[str]
    marks: list[str]

    @property
    def is_partial(self) -> bool:
        """Whether all that was run holds, but not all was run."""
        return bool(self.holds and self.missing)

    @property
    def word(self) -> str:
        if self.is_partial:
            return "◐ partly"
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
    parts = (_check, _conform, _prove, _veristat, _kernels, _mutants, _steps, _bench, _fuzz, _fill, _containers)
    return [part(found, head) for part in parts]


def _check(found: Everything, head: str) -> Verdict:
    each = [(f"{protocol}/{name}", *entry) for protocol, of in found.check.items() for name, entry in of.models.items()]
    faults = [f"{name}: {surprise}" for name, model, _ in each for surprise in model.surprises]
    failing = sum(model.must_fail for _, model, _ in each)
    states = counted(sum(model.distinct for _, model, _ in each), "distinct state")
    seconds = sum(model.seconds for _, model, _ in each)
    return Verdict(
        "models",
        "Model checking",
        "Model checking: every state that a protocol can reach",
        not faults if each else None,
        f"{counted(len(each), 'model')}, {failing} of them must fail; {states}, {duration(seconds)} of TLC"
        if each
        else "",
        faults,
        missing.check(found),
        marks((run for *_, run in each), head),
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
    return Verdict(
        "conformance",
        "Conformance",
        "Conformance: the compiled programs against the model",
        not faults if each else None,
        f"{inputs}, {pairs} of an input and a step; {taken:,} of {asked:,} branches taken" if each else "",
        faults,
        missing.conform(found),
        marks((run for *_, run in each), head),
    )


def _prove(found: Everything, head: str) -> Verdict:
    each = [proofs for proofs, _ in found.prove.values()]
    faults = [f"{proofs.protocol}: {problem}" for proofs in each for problem in proofs.problems]
    proved, leaves = sum(proofs.proved for proofs in each), sum(proofs.leaves for proofs in each)
    share = f" ({proved / leaves:.1%})" if leaves else ""
    steps = counted(sum(len(proofs.steps) for proofs in each), "step")
    return Verdict(
        "proofs",
        "Proofs",
        "Proofs: each step and its bytecode, for all inputs",
        not faults if each else None,
        f"{steps}, {proved:,} of {leaves:,} leaves proved{share}" if each else "",
        faults,
        missing.prove(found),
        marks((run for _, run in found.prove.values()), head),
    )


def _veristat(found: Everything, head: str) -> Verdict:
    each = [program for veristat, _ in found.veristat.values() for program in veristat.programs]
    return Verdict(
        "budgets",
        "Verifier budgets",
        "Verifier budgets: how much of the kernel's limits each program needs",
        not any(program.faults for program in each) if each else None,
        f"{sum(program.loads for program in each):,} of {counted(len(each), 'program')} loaded" if each else "",
        [fault for program in each for fault in program.faults],
        missing.veristat(found),
        marks((run for _, run in found.veristat.values()), head),
    )


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
    return Verdict(
        "kernels",
        "Kernels",
        "Kernels: the same programs on older and newer ones",
        not faults if kernels else None,
        f"{counted(len(kernels), 'kernel')}, {loads}, {inputs} compared" if kernels else "",
        faults,
        missing.kernels(found),
        marks((run for _, run in kernels), head),
    )


def _mutants(found: Everything, head: str) -> Verdict:
    each = found.mutants.values()
    faults = [f"{mutant.name} ({mutant.place}): {mutant.how}" for mutant, _ in each if not mutant.caught]
    caught = sum(mutant.caught for mutant, _ in each)
    return Verdict(
        "mutants",
        "Seeded faults",
        "Seeded faults: mistakes that a check must notice",
        not faults if each else None,
        f"{caught:,} of {counted(len(each), 'fault')} noticed by the right check" if each else "",
        faults,
        missing.mutants(found),
        marks((run for _, run in each), head),
    )


def _steps(found: Everything, head: str) -> Verdict:
    each = [steps for steps, _ in found.steps.values()]
    faults = [f"{steps.protocol}: {problem}" for steps in each for problem in steps.problems]
    totals = [steps.total for steps in each]
    killed, every = sum(total.killed for total in totals), sum(total.faults for total in totals)
    stopped, refused = sum(total.stopped for total in totals), sum(total.refused for total in totals)
    explained = sum(len(steps.explained) for steps in each)
    share = f" ({killed / every:.1%})" if every else ""
    return Verdict(
        "steps",
        "Step faults",
        "Faults in the steps: one-line mistakes that a model must notice",
        not faults if each else None,
        f"{killed:,} of {counted(every, 'fault')} killed{share}, {stopped:,} stopped TLC, {refused:,} refused; "
        f"{counted(explained, 'survivor')} with a reason"
        if each
        else "",
        faults,
        missing.steps(found),
        marks((run for _, run in found.steps.values()), head),
    )


def _bench(found: Everything, head: str) -> Verdict:
    each = [bench for bench, _ in found.bench.values()]
    faults = [
        f"{bench.protocol}: {target}" for bench in each for target in bench.targets if target.startswith("MISSED")
    ]
    rows = counted(sum(len(rows) for bench in each for rows in bench.sections.values()), "row")
    curves = counted(sum(len(bench.curves) for bench in each), "curve")
    targets = sum(len(bench.targets) for bench in each)
    met = f"{targets - len(faults):,} of {counted(targets, 'target')} met"
    return Verdict(
        "benchmarks",
        "Speed",
        "Speed: throughput and latency, beside other servers",
        not faults if each else None,
        f"{rows} of figures, {curves}; {met}" if each else "",
        faults,
        missing.bench(found),
        marks((run for _, run in found.bench.values()), head),
    )


def _fuzz(found: Everything, head: str) -> Verdict:
    faults = [f"{name}: {failure.text}" for name, (fuzz, _) in found.fuzz.items() for failure in fuzz.failures]
    seconds = sum(stage.seconds for fuzz, _ in found.fuzz.values() for stage in fuzz.stages)
    runs, failures = counted(len(found.fuzz), "run"), counted(len(faults), "failure")
    return Verdict(
        "fuzzing",
        "Fuzzing",
        "Fuzzing: random operations, faults and packets",
        not faults if found.fuzz else None,
        f"{runs}, {duration(seconds)}; {failures}" if found.fuzz else "",
        faults,
        missing.fuzz(found),
        marks((run for _, run in found.fuzz.values()), head),
    )


def _fill(found: Everything, head: str) -> Verdict:
    each = [fill for fill, _ in found.fill.values()]
    faults = [
        f"{fill.protocol}, {one.title}: {count:,} {complaint}"
        for fill in each
        for one in fill.passes
        for complaint, count in one.complaints.items()
    ]
    keys, requests = sum(fill.keys for fill in each), sum(one.requests for fill in each for one in fill.passes)
    return Verdict(
        "filling",
        "Full tables",
        "Full tables: millions of keys, and a daemon that is killed meanwhile",
        not faults if each else None,
        f"{counted(keys, 'key')}, {counted(requests, 'request')}" if each else "",
        faults,
        missing.fill(found),
        marks((run for _, run in found.fill.values()), head),
    )


def _containers(found: Everything, head: str) -> Verdict:
    steps = [step for containers, _ in found.containers.values() for step in containers.steps]
    faults = [f"{step.name} ended with {step.status}" for step in steps if step.status]
    return Verdict(
        "containers",
        "Containers",
        "Containers: the checks with no more privileges than they need",
        not faults if steps else None,
        f"{len(steps) - len(faults):,} of {counted(len(steps), 'step')} passed" if steps else "",
        faults,
        missing.containers(found),
        marks((run for _, run in found.containers.values()), head),
    )
