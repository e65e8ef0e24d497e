"""Hunts all faults: stage by stage, model by model, and in each model as many together as can be."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from harness.base import command
from harness.mutants.steps.changes import Change
from harness.mutants.steps.formulas import formulas_of
from harness.mutants.steps.hunt import Verdict, hunt
from harness.mutants.steps.infection import Comparison
from harness.mutants.steps.plan import SESSION, STAGES, models_in, users_of
from harness.mutants.steps.refusal import refusal_of
from harness.mutants.steps.together import hunt_in
from harness.tla import config, models
from harness.tla.model import Model

PARALLEL = 2
SECONDS_MAX = 200.0
"""Seconds that models.yaml has recorded for the models of one protocol in one stage that are run for one fault.

They are recorded ones, because the verdict on a fault should not depend on the machine. A fault that nobody can notice
would take as long as all models together.
"""

Of = tuple[str, Verdict]
"""A protocol, and the verdict on a fault in its steps."""


def hunt_all(changes: Sequence[tuple[str, Change]], argued: Collection[Change] = ()) -> Iterator[Of]:
    """Hunts faults, each of a protocol. Yields each verdict as soon as there is one.

    argued: faults that have a reason to survive. Only the quick models of their own protocol are run for them. No model
    is expected to notice them, so all models would explore them to the end.
    Raises TlcError if TLC cannot explore a model for another reason than a fault.
    """
    protocol_of = {change: protocol for protocol, change in changes}
    verdicts = {change: Verdict.of_none(change) for change in protocol_of}
    for stage in STAGES:
        for name in models.protocols():
            alive = [
                change
                for change, verdict in verdicts.items()
                if verdict.survives and (stage == STAGES[0] or change not in argued)
                if name in stage.protocols(protocol_of[change], change)
            ]
            for later in _hunt_among(models_in(name, stage), alive):
                change = later.change
                if not verdicts[change].survives:
                    continue  # two runs have noticed it at the same time
                verdicts[change] = verdicts[change].then(later)
                if not later.survives:
                    yield protocol_of[change], verdicts[change]
    for change, verdict in verdicts.items():
        if verdict.survives:
            yield protocol_of[change], _asked(verdict, protocol_of[change])


def _asked(verdict: Verdict, protocol: str) -> Verdict:
    """Returns the verdict on a fault that no model noticed, once the generator was asked for its own."""
    change = verdict.change
    complaint = refusal_of(change, users_of(protocol, change) if protocol == SESSION else [protocol])
    return verdict if complaint is None else replace(verdict, how="refused", violated=complaint)


def _hunt_among(chosen: Sequence[Model], faults: Sequence[Change]) -> Iterator[Verdict]:
    """Hunts faults in some models of a protocol, in their order, until all are noticed.

    Yields a verdict on a fault for each model in which it makes a difference.
    """
    alive = set(faults)
    spent = dict.fromkeys(faults, 0.0)

    def one(model: Model) -> list[Verdict]:
        here = [
            change
            for change in faults
            if change in alive and (not spent[change] or spent[change] + model.seconds <= SECONDS_MAX)
        ]
        if not here:
            return []  # else SANY reads the model's modules for nothing
        # The other run may notice one meanwhile.
        found = [verdict for verdict in _hunt_in_one(model, here) if verdict.change in alive]
        for verdict in found:
            spent[verdict.change] += model.seconds
        alive.difference_update(verdict.change for verdict in found if not verdict.survives)
        return found

    for found in command.side_by_side(one, chosen, PARALLEL):
        yield from found


def _hunt_in_one(model: Model, changes: Sequence[Change]) -> Iterator[Verdict]:
    """Hunts some faults in one model: together, but for those that TLC meets before the first step."""
    formulas = formulas_of(model)
    together: list[Change] = []
    apart: list[Change] = []
    for change in changes:
        is_apart = formulas is None or (change.module, change.operator) in formulas.constants
        (apart if is_apart else together).append(change)
    if apart:
        config.write(model)
        run = Comparison(apart).explore(model)
        yield from (hunt(change, run) for change in apart if change in run.changes)
    if formulas is None or not together:
        return
    started = time.monotonic()
    found = hunt_in(model, formulas, together)
    seconds = (time.monotonic() - started) / (len(found.differing) or 1)
    for change in together:
        given_up = int(change in found.given_up)
        if change in found.killed:
            yield Verdict(change, "killed", model.full_name, found.killed[change], 1, given_up, seconds)
        elif change in found.stopped:
            yield Verdict(change, "stopped", model.full_name, found.stopped[change], 1, given_up, seconds)
        elif change in found.differing or given_up:
            yield Verdict(change, "survives", "", "", 1, given_up, seconds)
