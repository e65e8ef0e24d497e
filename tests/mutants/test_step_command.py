"""Tests `just mutants --steps`: what it prints and keeps, and that it fails for a survivor without a reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.ir import Span
from harness.mutants.steps import __main__ as command
from harness.mutants.steps.changes import KINDS, Change
from harness.mutants.steps.hunt import Verdict
from harness.results import read
from harness.results.models import FaultKind, StepFaults, StoppedFault, Survivor
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


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEPWISE_RESULTS", str(tmp_path / "results"))
    return tmp_path / "results"


def test_every_fault_in_the_limiter_is_killed_or_has_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["limiter"]) == 0
    said = capsys.readouterr().out
    assert "limiter: 26 of 27 faults noticed (96.3%), 1 survivor with a reason\n" in said
    assert re.search(rf"LimiterSteps.tla:19:19: {SURVIVOR}\n +makes a difference in 1 model \(", said)


def test_a_survivor_without_a_reason_fails(
    hunted: None, listed: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    listed()
    assert command.main(ONE) == 1
    assert f"  SURVIVES: spec/limiter/LimiterSteps.tla:19:19: {SURVIVOR}\n" in capsys.readouterr().out


def test_an_entry_that_fits_no_survivor_fails_a_whole_run(hunted: None, listed: Callable[..., None]) -> None:
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


def test_a_sample_has_no_fault_that_is_known_to_survive(
    hunted: None, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["limiter", "--sample", "3"]) == 0
    assert "limiter: 2 of 2 faults noticed (100.0%), 0 survivors with a reason" in capsys.readouterr().out


def test_a_sample_is_of_one_protocol(hunted: None, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["session", "limiter", "--sample", "9"]) == 0
    assert capsys.readouterr().out.count(" of 2 faults noticed ") == 1


# --- Findings for the report -----------------------------------------------------------------------


def _fault(kind: str, line: int, old: str, new: str) -> Change:
    span = Span("spec/limiter/LimiterSteps.tla", line, 19, line, 23)
    return Change(kind, "Least", span, old, new, span)


KILLED = Verdict(_fault("comparison", 19, "a < b", "a >= b"), "killed", "limiter/small_rate", "Limited", 1, 0, 2.0)
ALIVE = Verdict(_fault("off by one", 19, "a < b", "a <= b"), "survives", "", "", 3, 1, 4.26)
STOPPED = Verdict(_fault("off by one", 18, "1", "2"), "stopped", "limiter/small_clock", "no value", 1, 0, 0.5)


def _told(verdicts: dict[Change, Verdict]) -> Callable[..., list[tuple[str, Verdict]]]:
    def told(changes: list[tuple[str, Change]], _argued: set[Change]) -> list[tuple[str, Verdict]]:
        return [(name, verdicts[change]) for name, change in changes]

    return told


@pytest.fixture
def hunted(monkeypatch: pytest.MonkeyPatch, listed: Callable[..., None]) -> None:
    """Each protocol has three faults and an entry for one of them. They are hunted in no time."""
    listed(SURVIVOR)
    verdicts = {verdict.change: verdict for verdict in (ALIVE, KILLED, STOPPED)}
    monkeypatch.setattr(command, "changes_of", lambda _protocol: list(verdicts))
    monkeypatch.setattr(command, "hunt_all", _told(verdicts))


def kept_in(results: Path) -> list[str]:
    return sorted(str(path.relative_to(results)) for path in results.rglob("*.json"))


def test_a_whole_run_keeps_its_findings(hunted: None, results: Path) -> None:
    assert command.main(["limiter"]) == 0
    assert kept_in(results) == ["steps/limiter.json"]
    found = StepFaults.model_validate(read(results / "steps/limiter.json").found)
    assert (found.protocol, found.seconds, found.stale) == ("limiter", 6.8, [])
    assert [kind.name for kind in found.kinds] == list(KINDS)
    assert found.kinds[1] == FaultKind(name="off by one", faults=2, killed=0, stopped=1, refused=0, survive=1)
    assert found.total == FaultKind(name="all", faults=3, killed=1, stopped=1, refused=0, survive=1)
    place = "spec/limiter/LimiterSteps.tla"
    assert found.survivors == [
        Survivor(name=SURVIVOR, place=f"{place}:19:19", models=3, given_up=1, reason="It is so.")
    ]
    assert found.stopped == [
        StoppedFault(
            name="Least: off by one: 1 -> 2", place=f"{place}:18:19", model="limiter/small_clock", complaint="no value"
        )
    ]


def test_each_protocol_has_a_file_of_its_own(hunted: None, results: Path) -> None:
    assert command.main(["session", "limiter", "limiter"]) == 0
    assert kept_in(results) == ["steps/limiter.json", "steps/session.json"]
    assert StepFaults.model_validate(read(results / "steps/limiter.json").found).total.faults == 3


def test_a_run_that_fails_keeps_what_is_wrong(hunted: None, listed: Callable[..., None], results: Path) -> None:
    listed("Most: *")
    assert command.main(["limiter"]) == 1
    found = StepFaults.model_validate(read(results / "steps/limiter.json").found)
    assert ([each.name for each in found.unexplained], found.stale) == ([SURVIVOR], ["Most: *"])


@pytest.mark.parametrize("picked", [["--sample", "2"], ["--sample", "3"], ["--only", "Least"]])
def test_a_run_of_some_faults_keeps_nothing(hunted: None, results: Path, picked: list[str]) -> None:
    assert command.main(["limiter", *picked]) == 0
    assert kept_in(results) == []


def test_findings_that_cannot_be_kept_are_an_error(
    hunted: None, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results.write_text("not a folder")
    assert command.main(["limiter"]) == 2
    assert "error: cannot keep results in " in capsys.readouterr().err
