"""Hunts all faults: stage by stage, many at a time, and in each model as many together as can be."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from harness.base import command
from harness.mutants.steps.changes import Change
from harness.mutants.steps.formulas import formulas_of
from harness.mutants.steps.hunt import TIMES_AS_LONG_MAX, Verdict, hunt
from harness.mutants.steps.infection import Infected
from harness.mutants.steps.plan import STAGES, Stage, changes_of, compare, first_the_shortest, runs_for
from harness.mutants.steps.together import hunt_in

PARALLEL = 2
TOGETHER_MAX = 100
"""Faults that one run of TLC takes. Where TLC cannot evaluate one, it has to begin again with the others."""

Of = tuple[str, Verdict]
"""A protocol, and the verdict on a fault in its steps."""


def hunt_all(changes: Sequence[tuple[str, Change]]) -> Iterator[Of]:
    """Hunts faults, each of a protocol. Yields each verdict as soon as there is one.

    Raises TlcError if TLC cannot explore a model for another reason than a fault.
    """
    every = [change for name in dict.fromkeys(name for name, _ in changes) for change in changes_of(name)]
    alive: list[Of] = [(protocol, Verdict.of_none(change)) for protocol, change in changes]
    for stage in STAGES:
        verdicts = _hunt_in(stage, alive, every)
        alive = []
        for protocol, verdict in verdicts:
            if verdict.survives and stage is not STAGES[-1]:
                alive.append((protocol, verdict))
            else:
                yield protocol, verdict


def _hunt_in(stage: Stage, alive: Sequence[Of], every: Sequence[Change]) -> Iterator[Of]:
    """Hunts faults that are alive on the models of a stage."""
    groups: dict[tuple[str, ...], list[Of]] = {}
    for protocol, verdict in alive:
        groups.setdefault(tuple(stage.protocols(protocol, verdict.change)), []).append((protocol, verdict))
    runs = {
        name: compare(name, stage, every, PARALLEL) for name in sorted({each for names in groups for each in names})
    }

    def one(part: tuple[tuple[str, ...], list[Of]]) -> list[Of]:
        names, faults = part
        return _hunt_on([runs[name] for name in names], faults)

    parts = [(names, faults) for names, of_group in groups.items() for faults in _parts(of_group)]
    for found in command.side_by_side(one, parts, PARALLEL):
        yield from found


def _parts(faults: list[Of]) -> list[list[Of]]:
    """Deals faults out to at least as many parts as there are runs of TLC at once."""
    count = max(min(PARALLEL, len(faults)), -(-len(faults) // TOGETHER_MAX))
    return [faults[start::count] for start in range(count)]


def _hunt_on(runs: Sequence[Sequence[Infected]], faults: Sequence[Of]) -> list[Of]:
    """Hunts some faults on the models of some protocols, one model after the other.

    runs: for each protocol, what differs in its models.
    """
    verdicts = {verdict.change: verdict for _, verdict in faults}
    for of_protocol in runs:
        chosen = {change: runs_for(change, of_protocol) for change in verdicts}
        ordered = sorted({run.name: run for some in chosen.values() for run in some}.values(), key=first_the_shortest)
        for run in ordered:
            here = [change for change, verdict in verdicts.items() if verdict.survives and run in chosen[change]]
            for later in _hunt_in_one(run, here):
                verdicts[later.change] = verdicts[later.change].then(later)
    return [(protocol, verdicts[verdict.change]) for protocol, verdict in faults]


def _hunt_in_one(run: Infected, changes: Sequence[Change]) -> Iterator[Verdict]:
    """Hunts some faults in one model: together, but for those that TLC meets before it comes to a behaviour."""
    formulas = formulas_of(run.model) if len(changes) > 1 else None
    together = [
        change
        for change in changes
        if formulas and change not in run.failing and (change.module, change.operator) not in formulas.constants
    ]
    for change in changes:
        if change not in together:
            yield hunt(change, [run])
    if formulas is None or not together:
        return
    started = time.monotonic()
    found = hunt_in(run.model, formulas, together, TIMES_AS_LONG_MAX, run.seconds)
    seconds = (time.monotonic() - started) / len(together)
    for change in together:
        given_up = int(change in found.given_up)
        if change in found.killed:
            yield Verdict(change, "killed", run.name, found.killed[change], 1, given_up, seconds)
        elif change in found.stopped:
            yield Verdict(change, "stopped", run.name, found.stopped[change], 1, given_up, seconds)
        else:
            yield Verdict(change, "survives", "", "", 1, given_up, seconds)
