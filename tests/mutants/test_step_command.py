"""Tests `just mutants --steps`: what it prints, and that it fails for a survivor without a reason."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from harness.mutants.steps import __main__ as command
from harness.tla.unseen import Unseen, UnseenFault

SURVIVOR = "Least: off by one: a < b -> a <= b"
ONE = ["limiter", "--only", SURVIVOR]


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts other entries into the limiter's list of faults."""

    def put(*faults: str) -> None:
        entries = [UnseenFault(fault=fault, why="It is so.") for fault in faults]
        monkeypatch.setattr(command, "unseen_of", lambda _protocol: Unseen(faults=entries))

    return put


def test_every_fault_in_the_limiter_is_killed_or_has_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["limiter"]) == 0
    said = capsys.readouterr().out
    assert "limiter: 26 of 27 faults noticed (96.3%), 1 survivor with a reason\n" in said
    assert re.search(rf"LimiterSteps.tla:19:19: {SURVIVOR}\n +makes a difference in \d models \(", said)


def test_a_survivor_without_a_reason_fails(listed: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    listed()
    assert command.main(ONE) == 1
    assert f"  SURVIVES: spec/limiter/LimiterSteps.tla:19:19: {SURVIVOR}\n" in capsys.readouterr().out


def test_an_entry_that_fits_no_survivor_fails_a_whole_run(listed: Callable[..., None]) -> None:
    listed(SURVIVOR, "Most: *")
    assert command.main(ONE) == 0, "other faults were not run"
    assert not command._judge("limiter", [], whole=True)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ticket"], "error: 'ticket' has no models; choose from: session, kv, "),
        (["limiter", "--only", "Lest"], "error: no fault has 'Lest' in its line"),
        (["limiter", "--sample", "0"], "error: a sample needs at least 1 fault, not 0"),
    ],
)
def test_a_mistake_is_a_clear_error(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(arguments) == 2
    assert complaint in capsys.readouterr().err


def test_a_sample_runs_as_many_as_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["limiter", "--sample", "2"]) == 0
    assert " of 2 faults noticed " in capsys.readouterr().out
