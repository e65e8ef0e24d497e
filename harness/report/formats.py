"""Reads the findings of runs: the models of each command, by the name of the command."""

from __future__ import annotations

from dataclasses import dataclass

import pydantic

from harness.results import Kept
from harness.results.models import (
    Bench,
    Check,
    Conform,
    Containers,
    Fill,
    Found,
    Fuzz,
    Kernel,
    Mutants,
    Prove,
    StepFaults,
    Veristat,
)


class ReportError(RuntimeError):
    """The report cannot be made; the message says why, and what would help."""


KINDS: dict[str, type[Found]] = {
    "check": Check,
    "conform": Conform,
    "prove": Prove,
    "kernels": Kernel,
    "mutants": Mutants,
    "steps": StepFaults,
    "bench": Bench,
    "fuzz": Fuzz,
    "veristat": Veristat,
    "fill": Fill,
    "docker": Containers,
}


def figure(value: float) -> str:
    """Formats a number with four digits, or with all digits before the point if these are more."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


@dataclass(frozen=True)
class Run:
    """One run of a command. found: one of KINDS; None if the report has no part for the command."""

    kept: Kept
    found: Found | None


def understood(kept: Kept) -> Run:
    """Parses the findings of a run. Raises ReportError if this version's command does not write such results."""
    kind = KINDS.get(kept.command)
    if kind is None:
        return Run(kept, None)
    try:
        return Run(kept, kind.model_validate(kept.found))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ReportError(
            f"the results of {kept.command} on {kept.subject} are not as this version of Stepwise writes them "
            f"({place}: {first['msg']}): run the command again, or remove {kept.command}/{kept.subject}.json"
        ) from None
