"""Tests which arms of the steps are found, and that watching them shows which are taken and changes nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.check import __main__ as command
from harness.check import reach
from harness.check.reach import NUMBERS_FROM, Watch, watched, write_watched
from harness.tla import models, tlc
from harness.tla.arms import Arm, arms_in
from harness.tla.tlc import TlcError
from harness.tla.unseen import Unseen, UnseenArm
from tests.tla_module import parsed

STEPS = r"""---------------------------- MODULE CounterSteps ----------------------------
\* A comment may come first.
EXTENDS Integers
CONSTANT Limit

\* Lists of conjuncts depend on their columns.
IsFull(cell) == /\ cell.count = Limit
                /\ \/ cell.open
                   \/ cell.count > 0

Step(cell, amount) ==
  LET Kept(room) == IF room < 0 THEN 0 ELSE room
  IN  CASE IsFull(cell) -> Full :: cell
        [] amount < 0   -> [cell EXCEPT !.count = IF @ > 9 THEN @ ELSE Kept(@ + amount)]
        [] OTHER        -> IF /\ cell.open
                              /\ amount = 0 THEN cell ELSE [cell EXCEPT !.count = @ + amount]

Unused(cell) == IF cell.open THEN 1 ELSE 2
=============================================================================
"""
USE = r"""---- MODULE Use ----
EXTENDS CounterSteps, TLC
Cells == {{[count |-> count, open |-> TRUE] : count \in {counts}}}
ASSUME \A cell \in Cells, amount \in {amounts} : PrintT(<<cell.count, amount, Step(cell, amount)>>)
====
"""


@pytest.fixture
def arms(tmp_path: Path) -> list[Arm]:
    path = tmp_path / "plain/CounterSteps.tla"
    path.parent.mkdir()
    path.write_text(STEPS)
    module = parsed(path)
    return arms_in(module, [module.top["Step"]])


def evaluated(folder: Path, steps: Path, counts: str, amounts: str) -> list[str]:
    folder.mkdir()
    (folder / "Use.cfg").write_text("CONSTANT Limit = 3\n")
    return tlc.evaluate(folder, USE.format(counts=counts, amounts=amounts), [steps])


def test_arms_of_all_that_a_step_uses(arms: list[Arm]) -> None:
    found = [(arm.span.line, arm.operator, arm.word, arm.label) for arm in arms]
    assert found == [
        (7, "IsFull", "FALSE", ""),
        (7, "IsFull", "TRUE", ""),
        (12, "Kept", "THEN", "0"),
        (12, "Kept", "ELSE", "room"),
        (13, "Step", "CASE", "Full"),
        (14, "Step", "CASE", "[cell EXCEPT !.count = IF @ > 9 THEN @ ELSE Kept(@ + ..."),
        (14, "Step", "THEN", "@"),
        (14, "Step", "ELSE", "Kept(@ + amount)"),
        (15, "Step", "CASE", "IF /\\ cell.open"),
        (16, "Step", "THEN", "cell"),
        (16, "Step", "ELSE", "[cell EXCEPT !.count = @ + amount]"),
    ]


@pytest.mark.parametrize(
    "counts, amounts, lines",
    [
        ("{3}", "{1}", {(7, "TRUE"), (13, "CASE")}),
        ("{0}", "{0}", {(7, "FALSE"), (15, "CASE"), (16, "THEN")}),
        ("{0}", "{-1}", {(7, "FALSE"), (14, "CASE"), (14, "ELSE"), (12, "THEN")}),
        ("{10}", "{-1}", {(7, "FALSE"), (14, "CASE"), (14, "THEN")}),
        ("1..2", "{-1, 1}", {(7, "FALSE"), (14, "CASE"), (14, "ELSE"), (12, "ELSE"), (15, "CASE"), (16, "ELSE")}),
    ],
)
def test_watched_steps_say_what_they_take_and_do_the_same(
    tmp_path: Path, arms: list[Arm], counts: str, amounts: str, lines: set[tuple[int, str]]
) -> None:
    write_watched(arms, tmp_path / "watched")
    plain = evaluated(tmp_path / "use", tmp_path / "plain", counts, amounts)
    printed = evaluated(tmp_path / "use-watched", tmp_path / "watched", counts, amounts)
    numbers = [int(line) - NUMBERS_FROM for line in printed if line.isdigit()]
    assert [line for line in printed if not line.isdigit()] == plain
    assert {(arms[number].span.line, arms[number].word) for number in numbers} == lines
    assert len(numbers) == len(set(numbers)), "an arm is told once"


def test_a_module_that_extends_nothing() -> None:
    assert watched("---- MODULE M ----\nA == 1\n====\n", []).splitlines()[:3] == [
        "---- MODULE M ----",
        f"EXTENDS {reach.MODULE}",
        "",
    ]


def test_the_limiter_as_users_see_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["check", "limiter", "--reach"])
    assert command.main() == 0
    said = capsys.readouterr().out
    assert re.search(r"^limiter/small_clock +5 of 5 arms +82,360 states", said, re.MULTILINE)
    assert "\nlimiter: 5 of 5 arms reached, by 4 models that must hold; 0 others with a reason\n" in said


ARMS = ["OnForwarded, CASE: NotForwarded", "OnRequest, THEN: NoMode"]


def _reach_of_one(monkeypatch: pytest.MonkeyPatch, *unseen: str) -> int:
    """Runs the command for one model of the lock, with these arms in the list of those that need not be reached."""
    entries = [UnseenArm(arm=arm, why="It is so.") for arm in unseen]
    monkeypatch.setattr(command, "unseen_of", lambda _protocol: Unseen(arms=entries))
    monkeypatch.setattr("sys.argv", ["check", "lock", "small_renew", "--reach"])
    return command.main()


def test_an_arm_that_is_not_reached_needs_a_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _reach_of_one(monkeypatch, ARMS[0]) == 1
    said = capsys.readouterr().out
    assert re.search(rf"^  not reached: spec/lock/LockSteps.tla:\d+:\d+: {ARMS[0]} \(It is so.\)$", said, re.MULTILINE)
    assert re.search(rf"^  NOT REACHED: spec/lock/LockSteps.tla:\d+:\d+: {ARMS[1]}$", said, re.MULTILINE)
    assert "  a model must reach each of them, or spec/lock/model/unseen.yaml must say why none does\n" in said


def test_an_arm_that_is_reached_may_not_be_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _reach_of_one(monkeypatch, "*", "OnRequest, ELSE: Acquire(lock, msg)") == 1
    stale = "  NO LONGER TRUE: 'OnRequest, ELSE: Acquire(lock, msg)' in spec/lock/model/unseen.yaml fits no arm"
    assert stale in capsys.readouterr().out
    assert _reach_of_one(monkeypatch, "*") == 0


def test_models_that_must_fail_show_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["check", "limiter", "fail_uncapped", "--reach"])
    assert command.main() == 1
    assert "none of these models must hold" in capsys.readouterr().err


def test_other_states_than_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A watch that changes what a step does would be found out."""
    monkeypatch.setattr(reach, "CONFIGS", tmp_path)
    watch = Watch("limiter")
    model = next(each for each in models.models_of("limiter") if each.name == "small_rate")
    steps = watch.folder / "LimiterSteps.tla"
    steps.write_text(steps.read_text().replace("Rate * Elapsed", "2 * Rate * Elapsed"))
    with pytest.raises(TlcError, match="distinct states with arms watched, 11,385 are recorded"):
        watch.explore(model)
