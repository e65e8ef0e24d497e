"""Tests which arms of the steps are found, and that watching them shows which are taken and changes nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.display import Display
from codegen.errors import Errors
from codegen.tla import sany
from harness.check import __main__ as command
from harness.check import reach
from harness.check.reach import NUMBERS_FROM, Watch, watched, write_watched
from harness.tla import models, tlc
from harness.tla.arms import Arm, arms_in
from harness.tla.tlc import ROOT, TlcError

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
    errors = Errors()
    module = sany.read(path, [], Display(ROOT, {}), errors)
    assert module is not None, errors.found
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
    """All that a limiter's client may send is a request, so one arm is there for others' packets only."""
    monkeypatch.setattr("sys.argv", ["check", "limiter", "--reach"])
    assert command.main() == 0
    said = capsys.readouterr().out.splitlines()
    assert "limiter: 4 of 5 arms reached, by 1 model" in said
    assert [line.partition(": OnTake")[2] for line in said if "not reached" in line] == [", CASE: NotARequest"]


def test_models_that_must_fail_show_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["check", "limiter", "fail_uncapped", "--reach"])
    assert command.main() == 1
    assert "none of these models must hold" in capsys.readouterr().err


def test_other_states_than_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch that changes what a step does would be found out."""
    watch = Watch("limiter")
    model = next(each for each in models.models_of("limiter") if each.name == "small_clock")
    steps = watch.folder / "LimiterSteps.tla"
    steps.write_text(steps.read_text().replace("Rate * Elapsed", "2 * Rate * Elapsed"))
    with pytest.raises(TlcError, match="distinct states with arms watched, 31,063 are recorded"):
        watch.explore(model)
