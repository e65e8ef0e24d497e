"""Runs one model and compares TLC's result with the expected one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness.tla import possible
from harness.tla.diagram import as_html
from harness.tla.model import Model
from harness.tla.models import sentences
from harness.tla.tlc import ROOT, Outcome, TlcError
from harness.tla.trace import Step, steps_of

PLAIN_STATES_MAX = 30_000
"""Below this many states the optimising compiler costs more time than it saves.

The limit counts states, because recorded times depend on the machine that recorded them.
"""


@dataclass
class Report:
    """The result of a run. `surprises` lists the differences from models.yaml."""

    model: Model
    outcome: Outcome
    surprises: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    diagram: Path | None = None


def violated_by(model: Model, outcome: Outcome) -> str | None:
    """Returns the violated property. TLC does not name a temporal one, so such a model has only one."""
    if outcome.violated is not None or outcome.verdict != "property":
        return outcome.violated
    asked = model.settings.properties
    return asked[0] if len(asked) == 1 else None


def _surprises(model: Model, outcome: Outcome, recording: bool) -> list[str]:
    found = []
    violated = violated_by(model, outcome)
    if outcome.verdict != model.verdict:
        if model.must_fail and outcome.verdict == "holds":
            must = " ".join(filter(None, (model.verdict, model.violates)))
            found.append(f"passes, but must fail ({must})" + (f": {model.about}" if model.about else ""))
        else:
            found.append(f"expected {model.verdict!r}, found {outcome.verdict!r} {violated or ''}".rstrip())
    elif violated != model.violates:
        found.append(f"violates {violated or 'a property without a name'}, but must violate {model.violates}")
    elif not recording:
        counts = ("distinct", outcome.distinct, model.distinct), ("generated", outcome.states, model.generated)
        found += [
            f"{states:,} {kind} states, {recorded:,} are recorded in models.yaml: "
            "if the change is meant, run the check again with --record"
            for kind, states, recorded in counts
            if recorded is not None and states != recorded
        ]
    return found


def run(model: Model, *, recording: bool = False, progress: Callable[[str], None] | None = None) -> Report:
    """Checks one model, and leaves its .cfg below build/check/. Raises TlcError if TLC cannot."""
    quick = model.size == "small" and (model.distinct or 0) < PLAIN_STATES_MAX
    try:
        outcome, unseen = possible.explore(model, quick=quick, progress=progress)
    except TlcError as error:
        raise TlcError(f"{model.full_name}: {error}") from None
    report = Report(model, outcome, _surprises(model, outcome, recording))
    if outcome.verdict == "holds":
        report.surprises += [f"never comes to a state of {name}, which its `possible` names" for name in unseen]
    if outcome.trace:
        report.steps = steps_of(outcome)
        report.diagram = _save_diagram(model, outcome, report.steps)
    return report


def _save_diagram(model: Model, outcome: Outcome, steps: list[Step]) -> Path:
    violated = violated_by(model, outcome) or outcome.verdict
    meaning = sentences(model.search_path).get(violated, "")
    title = f"{model.full_name} violates {violated}"
    path = ROOT / "build" / "check" / f"{model.protocol}-{model.name}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_html(title, " ".join(filter(None, [model.about, meaning])), steps))
    return path
