"""Compares the findings of two sets of runs: each row has an old value, a new one and their difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness.base.command import counted
from harness.report.collect import Everything
from harness.report.formats import figure
from harness.results.models import Build, Model, Program, Prove, StepFaults

NONE = "–"
LIMITS = ("insns", "states", "stack", "jited_bytes")


@dataclass(frozen=True)
class Change:
    """One row. worse: True if the change is for the worse, False if for the better, None if neither is clear."""

    what: str
    old: str
    new: str
    difference: str
    worse: bool | None = None

    @property
    def mark(self) -> str:
        return {True: "worse", False: "better", None: "changed"}[self.worse]


@dataclass
class Part:
    """The changes of one part of the report.

    same: how many things are in both and unchanged. note: the reason why nothing can be compared; empty if there is
    none.
    """

    title: str
    changes: list[Change] = field(default_factory=list)
    same: int = 0
    note: str = ""


Differs = Callable[[str, Any, Any], list[Change]]


def compare(old: Everything, new: Everything) -> list[Part]:
    """Compares every part of the report, and returns the unchanged ones too."""
    speeds = _speeds(old), _speeds(new)
    return [
        _part("Model checking", _models(old), _models(new), _model),
        _part("Conformance", _builds(old), _builds(new), _build),
        _part("Proofs", _proofs(old), _proofs(new), _proved),
        _part("Programs on kernels", _programs(old), _programs(new), _program),
        _part("Seeded faults", _mutants(old), _mutants(new), _mutant),
        _part("Step faults", _steps(old), _steps(new), _step_faults),
        _part("Speed", _beside(*speeds), _beside(*reversed(speeds)), _speed),
        _part("Fuzzing", _fuzz(old), _fuzz(new), _failures),
    ]


def as_text(parts: list[Part]) -> str:
    """Formats the changes for a terminal."""
    lines = []
    for part in parts:
        said = part.note or f"{counted(len(part.changes), 'change')}, {part.same:,} as before"
        lines.append(f"{part.title}: {said}")
        rows = [(f"  {each.mark}", each.what, f"{each.old} -> {each.new}", each.difference) for each in part.changes]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join(lines)


def _part(title: str, old: Mapping[str, Any], new: Mapping[str, Any], differs: Differs) -> Part:
    part = Part(title)
    if not old or not new:
        missing = " nor ".join(name for name, found in (("old", old), ("new", new)) if not found)
        part.note = f"nothing to compare: {missing} results have no figures of it"
        return part
    for name in dict.fromkeys([*old, *new]):
        if name not in new:
            part.changes.append(Change(name, "there", NONE, "gone"))
        elif name not in old:
            part.changes.append(Change(name, NONE, "there", "new"))
        elif changes := differs(name, old[name], new[name]):
            part.changes += changes
        else:
            part.same += 1
    return part


def _number(what: str, old: float, new: float, more_is_worse: bool | None = None) -> list[Change]:
    if old == new:
        return []
    share = f" ({new / old - 1:+.1%})" if old else ""
    worse = None if more_is_worse is None else (new > old) == more_is_worse
    return [Change(what, f"{old:,}", f"{new:,}", f"{new - old:+,}{share}", worse)]


# --- Models, faults, fuzzing ---------------------------------------------------------------------


def _models(found: Everything) -> dict[str, Model]:
    return {
        f"{protocol}/{name}": model
        for protocol, models in found.check.items()
        for name, (model, _) in models.models.items()
    }


def _verdict(model: Model) -> str:
    said = "holds" if model.verdict == "holds" else f"violates {model.violated or model.verdict}"
    return f"{said}, unexpected" if model.surprises else said


def _model(name: str, old: Model, new: Model) -> list[Change]:
    if _verdict(old) != _verdict(new):
        worse = bool(new.surprises) if old.surprises != new.surprises else None
        return [Change(name, _verdict(old), _verdict(new), "verdict", worse)]
    return _number(f"{name}: distinct states", old.distinct, new.distinct)


def _mutants(found: Everything) -> dict[str, bool]:
    return {f"{protocol}: {name}": mutant.caught for (protocol, name), (mutant, _) in found.mutants.items()}


def _mutant(name: str, old: bool, new: bool) -> list[Change]:
    words = {True: "caught", False: "not caught"}
    return [Change(name, words[old], words[new], "verdict", old)] if old != new else []


def _steps(found: Everything) -> dict[str, StepFaults]:
    return {protocol: steps for protocol, (steps, _) in found.steps.items()}


def _step_faults(name: str, old: StepFaults, new: StepFaults) -> list[Change]:
    was, now = old.total, new.total
    # With more or fewer faults, the number of those that are killed tells nothing by itself.
    more_is_worse = False if was.faults == now.faults else None
    changes = _number(f"{name}: faults", was.faults, now.faults)
    changes += _number(f"{name}: killed", was.killed, now.killed, more_is_worse)
    changes += _number(f"{name}: stopped TLC", was.stopped, now.stopped)
    changes += _number(f"{name}: refused by the generator", was.refused, now.refused)
    changes += _number(f"{name}: survivors with a reason", len(old.explained), len(new.explained))
    alone = len(old.unexplained), len(new.unexplained)
    changes += _number(f"{name}: survivors without a reason", *alone, more_is_worse=True)
    return changes + _number(
        f"{name}: stale entries of unseen.yaml", len(old.stale), len(new.stale), more_is_worse=True
    )


def _proofs(found: Everything) -> dict[str, Prove]:
    return {protocol: proofs for protocol, (proofs, _) in found.prove.items()}


def _proved(name: str, old: Prove, new: Prove) -> list[Change]:
    changes = _number(f"{name}: leaves", old.leaves, new.leaves)
    left = old.leaves - old.proved, new.leaves - new.proved
    return changes + _number(f"{name}: leaves not proved", *left, more_is_worse=True)


def _fuzz(found: Everything) -> dict[str, int]:
    return {name: len(fuzz.failures) for name, (fuzz, _) in found.fuzz.items()}


def _failures(name: str, old: int, new: int) -> list[Change]:
    return _number(f"{name}: failures", old, new, more_is_worse=True)


# --- Conformance and programs --------------------------------------------------------------------


def _builds(found: Everything) -> dict[str, Build]:
    each = ((protocol, entry) for protocol, coverage in found.conform.items() for entry in coverage.builds.items())
    return {f"{protocol}, {name}": build for protocol, (name, (build, _)) in each}


def _build(name: str, old: Build, new: Build) -> list[Change]:
    changes = _number(f"{name}: mismatches", len(old.mismatches), len(new.mismatches), more_is_worse=True)
    changes += _number(f"{name}: inputs", sum(old.inputs.values()), sum(new.inputs.values()), more_is_worse=False)
    changes += _number(f"{name}: pairs", old.pairs, new.pairs, more_is_worse=False)
    if (old.taken, len(old.branches)) != (new.taken, len(new.branches)):
        before, after = (f"{build.taken:,} of {len(build.branches):,}" for build in (old, new))
        missed = [build.asked - build.taken for build in (old, new)]
        worse = None if missed[0] == missed[1] else missed[1] > missed[0]
        changes.append(Change(f"{name}: branches taken", before, after, f"{new.taken - old.taken:+,}", worse))
    return changes


def _programs(found: Everything) -> dict[str, Program]:
    each = ((name, program) for name, (kernel, _) in found.kernels.items() for program in kernel.programs)
    return {f"{program.program} on {name}": program for name, program in each}


def _program(name: str, old: Program, new: Program) -> list[Change]:
    if old.verdict != new.verdict:
        worse = len(new.faults) > len(old.faults) if old.faults != new.faults else None
        return [Change(name, old.verdict, new.verdict, "verdict", worse)]
    changes = []
    for limit in LIMITS:
        was, now = getattr(old, limit), getattr(new, limit)
        if old.loads and was is not None and now is not None:
            found = _number(f"{name}: {limit}", was, now, more_is_worse=True)
            changes += [_with_use(change, limit, old, new) for change in found]
    return changes


def _with_use(change: Change, limit: str, old: Program, new: Program) -> Change:
    """Returns the same row, with the used share of the budget if there is one."""

    def used(text: str, program: Program) -> str:
        most = (program.budget or {}).get(limit)
        return f"{text} ({getattr(program, limit) / most:.0%} of its budget)" if most else text

    return replace(change, old=used(change.old, old), new=used(change.new, new))


# --- Speed ---------------------------------------------------------------------------------------

_LESS_IS_BETTER = {"us", "µs", "ns", "ms", "p50", "p99", "p99.9", "lost", "latency"}
_MORE_IS_BETTER = {"mpps", "rate", "throughput", "reflector", "times"}
# Two-hour runs of the same programs on a shared machine differ by this much, even if each run's quartiles are narrow.
_NOISE = 0.05
_NOISE_OF_A_SHARE = 0.01
_NOISE_NS = 2


@dataclass(frozen=True)
class Speed:
    """One figure of a measurement.

    table: the table that contains it. measure: the measured quantity and its unit. low, high: quartiles.
    """

    table: str
    measure: str
    middle: float
    low: float
    high: float

    @property
    def more_is_worse(self) -> bool | None:
        """None if the measure does not tell."""
        if self.words & _LESS_IS_BETTER:
            return True
        return False if self.words & _MORE_IS_BETTER or any("/s" in word for word in self.words) else None

    @property
    def words(self) -> set[str]:
        return set(self.measure.lower().replace("(", " ").replace(")", " ").replace(",", " ").split())

    def is_noise_beside(self, other: Speed) -> bool:
        """True if both runs' quartiles overlap, or if the figures differ no more than runs of one program do."""
        apart = abs(self.middle - other.middle)
        return (
            (self.low <= other.high and other.low <= self.high)
            or apart <= _NOISE * max(abs(self.middle), abs(other.middle))
            or ("share" in self.words and apart <= _NOISE_OF_A_SHARE)
            or ("ns" in self.words and apart <= _NOISE_NS)
        )

    def __str__(self) -> str:
        return f"{figure(self.middle)} [{figure(self.low)}, {figure(self.high)}]"


def _speeds(found: Everything) -> dict[str, Speed]:
    """Collects the figures of the tables.

    The tables cover all that the curves show, under names that are the same in both runs. The points of a curve are not
    the same: they lie where each run measured.
    """
    figures: dict[str, Speed] = {}
    for protocol, (bench, _) in found.bench.items():
        for section, rows in bench.sections.items():
            table = f"{protocol}, {section}"
            for row in rows:
                for name, spread in row.figures.items():
                    speed = Speed(table, name, spread.median, spread.low, spread.high)
                    figures[f"{table}: {row.workload}, {row.server}: {name}"] = speed
    return figures


def _beside(figures: Mapping[str, Speed], other: Mapping[str, Speed]) -> dict[str, Speed | None]:
    """Returns one run's figures. A table that the other run lacks is one entry, as none of it can be compared."""
    tables = {speed.table for speed in other.values()}
    alone = Counter(speed.table for speed in figures.values() if speed.table not in tables)
    shared = {name: speed for name, speed in figures.items() if speed.table in tables}
    return shared | {f"{table}: {counted(count, 'figure')}": None for table, count in alone.items()}


def _speed(name: str, old: Speed, new: Speed) -> list[Change]:
    if new.is_noise_beside(old):
        return []
    share = f" ({new.middle / old.middle - 1:+.1%})" if old.middle else ""
    more = new.middle > old.middle
    worse = None if new.more_is_worse is None else more == new.more_is_worse
    return [Change(name, str(old), str(new), f"{'+' if more else ''}{figure(new.middle - old.middle)}{share}", worse)]
