"""Puts one mutant into a copy of the repository and runs the check that must notice it."""

from __future__ import annotations

import re
import subprocess
import time
from dataclasses import dataclass

from harness.mutants.catalogue import PROGRAM, Mutant
from harness.mutants.conform_worker import Warm
from harness.mutants.scratch import TIMEOUT_SECONDS, NoLongerApplies, Scratch, work_of

EXPLORED_SECONDS = 45


@dataclass(frozen=True)
class Verdict:
    """The verdict on a mutant."""

    mutant: Mutant
    caught: bool
    """Whether the check that it names caught it; or, without the fault, whether that check passed."""
    how: str
    """A line of the check's output, or what went wrong."""
    seconds: float


def hunt(mutant: Mutant, scratch: Scratch, warm: Warm | None = None) -> Verdict:
    """Find out whether the check that the mutant names catches it.

    warm: runs the mutants that spare the checker. Without it, these need a copy of the checker too, which takes longer.
    """
    started = time.monotonic()
    try:
        scratch.prepare(mutant, whole=_whole(mutant, warm))
        caught, how = _ask(mutant, scratch, warm)
    except NoLongerApplies as error:
        caught, how = False, f"no longer applies: {error}"
    except subprocess.TimeoutExpired as error:
        caught, how = False, f"SURVIVES: its check did not finish within {error.timeout:.0f} s"
    return Verdict(mutant, caught, how, time.monotonic() - started)


def passes(mutant: Mutant, scratch: Scratch, warm: Warm | None = None) -> Verdict:
    """Find out whether the mutant's check passes without the fault. If it does not, it proves nothing.

    A model that must fail may have many states once its rule is right. It is then explored only for EXPLORED_SECONDS.
    """
    started = time.monotonic()
    scratch.prepare(mutant, with_fault=False, whole=_whole(mutant, warm))
    try:
        caught, how = _ask(mutant, scratch, warm, EXPLORED_SECONDS)
    except subprocess.TimeoutExpired:
        return Verdict(mutant, bool(mutant.caught_by.model), f"nothing in {EXPLORED_SECONDS} s", EXPLORED_SECONDS)
    return Verdict(mutant, not caught and how.startswith("SURVIVES"), how, time.monotonic() - started)


def _whole(mutant: Mutant, warm: Warm | None) -> bool:
    """Whether the mutant needs a copy of the checker."""
    return warm is None or not mutant.spares_the_checker


def _ask(
    mutant: Mutant, scratch: Scratch, warm: Warm | None, model_seconds: float = TIMEOUT_SECONDS
) -> tuple[bool, str]:
    check = mutant.caught_by
    if check.model:
        return _ask_model(mutant, scratch, model_seconds)
    if check.test:
        return _ask_test(check.test, scratch)
    arguments = [
        mutant.protocol,
        "--form",
        "layout",
        "--stop-early",
        "--edits",
        "edits.json",
        "--work",
        str(work_of(scratch.root, mutant.protocol)),
        *(["--program", f"{PROGRAM}/{mutant.protocol}"] if (scratch.root / PROGRAM).is_dir() else []),
    ]
    if warm is None or _whole(mutant, warm):
        run = scratch.run("-m", "harness.conform", *arguments)
    else:
        run = warm.conform(mutant.protocol, arguments, scratch)
    if run.returncode == 0:
        return False, "SURVIVES: conformance finds nothing"
    text = run.stdout if run.returncode == 1 else run.stderr
    if run.returncode == 2 and "not once" in text:
        return False, f"no longer applies: {_last(text)}"
    wanted, expected_code = (check.conform, 1) if check.conform else (check.refused, 2)
    if run.returncode == expected_code and wanted in text:
        return True, _line_with(wanted, text)
    what = "a mismatch without" if run.returncode == 1 else "an error and not"
    return False, f"caught by the wrong check: {what} {wanted!r}: {_shortened(run.stdout + run.stderr)}"


def _ask_model(mutant: Mutant, scratch: Scratch, timeout_seconds: float) -> tuple[bool, str]:
    check = mutant.caught_by
    run = scratch.run("-m", "harness.mutants.model", mutant.protocol, check.model, timeout_seconds=timeout_seconds)
    if run.returncode:
        return False, f"caught by the wrong check: model {check.model} cannot be run: {_shortened(run.stderr)}"
    verdict, violated, distinct = run.stdout.split()[-3:]
    if verdict == "holds":
        return False, f"SURVIVES: model {check.model} holds ({int(distinct):,} states)"
    if violated != check.property:
        return False, f"caught by the wrong check: model {check.model} finds {violated} violated"
    return True, f"{violated} is violated after {int(distinct):,} states"


def _ask_test(node: str, scratch: Scratch) -> tuple[bool, str]:
    run = scratch.run("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", node)
    if run.returncode == 0:
        return False, "SURVIVES: the test passes"
    failed = re.search(r"^FAILED (\S+)(.*)", run.stdout, re.MULTILINE)
    if run.returncode != 1 or failed is None:
        return False, f"caught by the wrong check: the test could not be run: {_shortened(run.stdout + run.stderr)}"
    return True, f"{failed[1]} fails"


def _line_with(wanted: str, text: str) -> str:
    return next(line.strip() for line in text.splitlines() if wanted in line)[:110]


def _last(text: str) -> str:
    return text.strip().splitlines()[-1]


def _shortened(text: str) -> str:
    return " | ".join(line.strip() for line in text.strip().splitlines()[-12:])[:900]
