"""Puts the verdicts on the faults in a protocol's steps into the form that is kept for the report: harness/results."""

from __future__ import annotations

from collections.abc import Sequence

from harness.mutants.steps.changes import KINDS
from harness.mutants.steps.hunt import Verdict
from harness.results import models
from harness.tla.unseen import Compared


def findings(protocol: str, verdicts: Sequence[Verdict], listed: Compared) -> models.StepFaults:
    """Returns the findings of a whole run on one protocol, in the order of the steps' text.

    listed: the survivors' full names, compared with unseen.yaml.
    """
    ordered = sorted(verdicts, key=_place)
    return models.StepFaults(
        protocol=protocol,
        seconds=round(sum(verdict.seconds for verdict in ordered), 1),
        kinds=[kind_of(name, ordered) for name in KINDS],
        stopped=[
            models.StoppedFault(
                name=verdict.change.full_name,
                place=str(verdict.change.span),
                model=verdict.model,
                complaint=verdict.violated,
            )
            for verdict in ordered
            if verdict.how == "stopped"
        ],
        refused=[
            models.RefusedFault(
                name=verdict.change.full_name, place=str(verdict.change.span), complaint=verdict.violated
            )
            for verdict in ordered
            if verdict.how == "refused"
        ],
        survivors=[
            models.Survivor(
                name=verdict.change.full_name,
                place=str(verdict.change.span),
                models=verdict.models,
                given_up=verdict.given_up,
                reason=listed.reasons.get(verdict.change.full_name, ""),
            )
            for verdict in ordered
            if verdict.survives
        ],
        stale=listed.stale,
    )


def _place(verdict: Verdict) -> tuple[str, int, int, str]:
    change = verdict.change
    return change.span.file, change.span.line, change.span.column, change.full_name


def kind_of(name: str, verdicts: Sequence[Verdict]) -> models.FaultKind:
    """Counts the faults of one kind by their verdicts."""
    found = [verdict.how for verdict in verdicts if verdict.change.kind == name]
    return models.FaultKind(
        name=name,
        faults=len(found),
        killed=found.count("killed"),
        stopped=found.count("stopped"),
        refused=found.count("refused"),
        survive=found.count("survives"),
    )
