"""Hunts all faults: stage by stage, model by model, and in each model as many together as can be."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from harness.base import command
from harness.mutants.steps.changes import Change
from harness.mutants.steps.formulas import formulas_of
from harness.mutants.steps.hunt import TIMES_AS_LONG_MAX, Verdict, hunt
from harness.mutants.steps.infection import Comparison, Infected
from harness.mutants.steps.plan import STAGES, models_in
from harness.mutants.steps.together import hunt_in
from harness.tla import config, models
from harness.tla.model import Model

PARALLEL = 2
TOGETHER_MAX = 100
"""Faults that one run of TLC takes. Where TLC cannot evaluate one, it has to begin again with the others."""
STATES_MAX = 400_000
"""States that the models of one protocol in one stage have, without a fault, that are run for a fault.

It is not a time, because the verdict on a fault should not depend on the machine.
"""

Of = tuple[str, Verdict]
"""A protocol, and the verdict on a fault in its steps."""


def hunt_all(changes: Sequence[tuple[str, Change]], *, remember: bool) -> Iterator[Of]:
    """Hunts faults, each of a protocol. Yields each verdict as soon as there is one.

    remember: whether to keep, for another run on the same faults, in which models of their protocol they differ.
    Raises TlcError if TLC cannot explore a model for another reason than a fault.
    """
    protocol_of = {change: protocol for protocol, change in changes}
    verdicts = {change: Verdict.of_none(change) for change in protocol_of}
    own = {
        name: Comparison(name, [change for protocol, change in changes if protocol == name], remember)
        for name in models.protocols()
    }
    for stage in STAGES:
        for name in models.protocols():
            alive = [
                change
                for change, verdict in verdicts.items()
                if verdict.survives and name in stage.protocols(protocol_of[change], change)
            ]
            comparison = own[name] if stage.own else Comparison(name, alive, remember=False)
            for later in _hunt_among(models_in(name, stage), comparison, alive):
                change = later.change
                verdicts[change] = verdicts[change].then(later)
                if not later.survives:
                    yield protocol_of[change], verdicts[change]
    yield from ((protocol_of[change], verdict) for change, verdict in verdicts.items() if verdict.survives)


def _hunt_among(chosen: Sequence[Model], comparison: Comparison, faults: Sequence[Change]) -> Iterator[Verdict]:
    """Hunts faults in some models of a protocol, in their order, until all are noticed.

    Yields a verdict on a fault for each model that it was run in.
    """
    alive = set(faults)
    spent = dict.fromkeys(faults, 0)

    def one(model: Model) -> list[Verdict]:
        if not alive:
            return []
        config.write(model)
        run = comparison.explore(model)
        states = model.distinct or 0
        here = [
            change
            for change in faults
            if change in alive and change in run.changes and (not spent[change] or spent[change] + states <= STATES_MAX)
        ]
        for change in here:
            spent[change] += states
        # The other run may notice one meanwhile.
        found = [verdict for verdict in _hunt_in_one(run, here) if verdict.change in alive]
        alive.difference_update(verdict.change for verdict in found if not verdict.survives)
        return found

    for found in command.side_by_side(one, chosen, PARALLEL):
        yield from found


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
            yield hunt(change, run)
    for start in range(0, len(together), TOGETHER_MAX):
        part = together[start : start + TOGETHER_MAX]
        assert formulas is not None, "else none are together"
        started = time.monotonic()
        found = hunt_in(run.model, formulas, part, TIMES_AS_LONG_MAX, run.seconds)
        seconds = (time.monotonic() - started) / len(part)
        for change in part:
            given_up = int(change in found.given_up)
            if change in found.killed:
                yield Verdict(change, "killed", run.name, found.killed[change], 1, given_up, seconds)
            elif change in found.stopped:
                yield Verdict(change, "stopped", run.name, found.stopped[change], 1, given_up, seconds)
            else:
                yield Verdict(change, "survives", "", "", 1, given_up, seconds)
