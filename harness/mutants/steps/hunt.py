"""Runs a model on steps with a fault in them, and says whether it noticed."""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from harness.base.write_files import replace_whole
from harness.mutants.steps.changes import Change, changed
from harness.mutants.steps.infection import Infected
from harness.tla import tlc
from harness.tla.run import violated_by
from harness.tla.tlc import ROOT, TlcError, TlcTimeout

SECONDS_MIN = 6
TIMES_AS_LONG_MAX = 3
"""A fault may make a model's states endless. It is then given up after this many times its usual duration.

Seconds are those of a processor, because others may use the machine as well.
"""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a fault.

    how: `killed` if a model violated a property; `stopped` if TLC could not evaluate the steps; else `survives`. If the
    generator does not accept the steps of one that survives, it is `refused`.
    model: the model that killed or stopped it. violated: the property, or the complaint of TLC or the generator.
    models: how many models were run. given_up: how many of them did not end in time.
    """

    change: Change
    how: str
    model: str
    violated: str
    models: int
    given_up: int
    seconds: float

    @staticmethod
    def of_none(change: Change) -> Verdict:
        """Returns the verdict of no model."""
        return Verdict(change, "survives", "", "", 0, 0, 0.0)

    @property
    def survives(self) -> bool:
        return self.how == "survives"

    def then(self, later: Verdict) -> Verdict:
        """Returns the verdict of these models, which is that the fault survives, and of the models of a later one."""
        return replace(
            later,
            models=self.models + later.models,
            given_up=self.given_up + later.given_up,
            seconds=self.seconds + later.seconds,
        )


def hunt(change: Change, run: Infected) -> Verdict:
    """Runs the model of a run with this fault alone."""
    started = time.monotonic()

    def verdict(how: str, violated: str = "", given_up: int = 0) -> Verdict:
        name = "" if how == "survives" else run.model.full_name
        return Verdict(change, how, name, violated, 1, given_up, time.monotonic() - started)

    with tempfile.TemporaryDirectory(prefix="stepwise-steps-") as folder:
        text = (ROOT / change.span.file).read_text(encoding="utf-8")
        replace_whole(Path(folder) / Path(change.span.file).name, changed(text, change))
        model = run.model
        try:
            outcome = tlc.check(
                model.module,
                model.config,
                [Path(folder), *model.search_path],
                quick=True,
                processor_seconds_max=math.ceil(max(SECONDS_MIN, TIMES_AS_LONG_MAX * run.seconds)),
            )
        except TlcTimeout:
            return verdict("survives", given_up=1)
        except TlcError as error:
            return verdict("stopped", str(error).strip().splitlines()[-1])
    if outcome.verdict == "holds":
        return verdict("survives")
    return verdict("killed", violated_by(model, outcome) or outcome.verdict)
