"""Turns the reports of a check into the findings that harness/results keeps for the report."""

from __future__ import annotations

from dataclasses import asdict

from harness.results.models import Check, Model, Property, Step
from harness.tla import models
from harness.tla.run import Report, violated_by


def subject_of(protocol: str, which: str) -> str:
    """Names the results of one choice of models.

    The small models, which every check runs, have a name of their own. So a run of others does not replace their
    results.
    """
    return protocol if which == "small" else f"{protocol}-{which}"


def findings(protocol: str, reports: list[Report], tlc_version: str) -> Check:
    """Returns the results of one protocol's models, in the order of its models.yaml, and each property's sentence."""
    order = [model.name for model in models.models_of(protocol)]
    own = [report for report in reports if report.model.protocol == protocol]
    own.sort(key=lambda report: order.index(report.model.name))
    meaning: dict[str, str] = {}
    for report in own:
        meaning |= models.sentences(report.model.search_path)
    asked = dict.fromkeys(name for report in own for name in models.properties_of(report.model))
    return Check(
        protocol=protocol,
        tlc=tlc_version,
        properties=[Property(name=name, sentence=meaning.get(name, "")) for name in asked],
        models=[_model(report) for report in own],
    )


def _model(report: Report) -> Model:
    model, outcome = report.model, report.outcome
    return Model(
        name=model.name,
        module=model.module.stem,
        size=model.size,
        must_fail=model.must_fail,
        expected=" ".join(filter(None, (model.verdict, model.violates))),
        verdict=outcome.verdict,
        violated=violated_by(model, outcome),
        surprises=report.surprises,
        shows=model.about,
        states=outcome.states,
        distinct=outcome.distinct,
        depth=outcome.depth or len(outcome.trace),
        seconds=round(outcome.seconds, 1),
        properties=models.properties_of(model),
        steps=[Step(**asdict(step)) for step in report.steps],
    )
