"""Tests that comparing both texts shows on which inputs a fault makes a difference, and changes nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.ir import Enum, Record, UInt
from harness.base.write_files import replace_whole
from harness.mutants.steps.changes import Change, changes_in
from harness.mutants.steps.infection import DEFINITIONS, MODULE, NUMBERS_FROM, Comparison, compared
from harness.mutants.steps.plan import changes_of
from harness.mutants.steps.vocabulary import Vocabulary
from harness.tla import models, tlc
from tests.tla_module import parsed

STEPS = r"""---- MODULE CounterSteps ----
\* A comment may come first.
EXTENDS Integers
CONSTANT Limit

IsFull(cell) == /\ cell.count >= Limit
                /\ cell.shut = 0

Step(cell, msg) ==
  CASE IsFull(cell) -> Full :: cell
    [] msg.amount > 3 -> [cell EXCEPT !.count = IF @ > 9 THEN @ ELSE @ + 1,
                                      !.shut = 1]
    [] OTHER -> [cell EXCEPT !.count = @ + msg.amount]
====
"""
USE = r"""---- MODULE Use ----
EXTENDS CounterSteps, TLC
ASSUME \A count \in {counts}, amount \in {amounts} :
         PrintT(<<count, amount, Step([count |-> count, shut |-> 0], [amount |-> amount])>>)
====
"""
CELL = Record("cell", (("count", UInt(8)), ("shut", UInt(1))))
MESSAGE = Record("message", (("kind", Enum("kind", ("Add",))), ("amount", UInt(8))))


@pytest.fixture
def changes(tmp_path: Path) -> list[Change]:
    path = tmp_path / "plain/CounterSteps.tla"
    path.parent.mkdir()
    path.write_text(STEPS)
    module = parsed(path)
    vocabulary = Vocabulary(Enum("kind", ("Add",)), {"msg": MESSAGE, "cell": CELL})
    return changes_in(module, [module.top["Step"], module.top["IsFull"]], vocabulary)


def _printed(
    tmp_path: Path, folder: str, changes: list[Change], counts: str, amounts: str
) -> tuple[list[str], set[int]]:
    """Returns what the steps come to, and the numbers of the faults that made a difference."""
    room = tmp_path / folder
    room.mkdir()
    replace_whole(room / "CounterSteps.tla", compared(STEPS, list(enumerate(changes))).text)
    numbers = f"{NUMBERS_FROM}..{NUMBERS_FROM + len(changes)}"
    replace_whole(room / f"{MODULE}.tla", DEFINITIONS.format(module=MODULE, numbers=numbers))
    (room / "Use.cfg").write_text("CONSTANT Limit = 12\n")
    lines = tlc.evaluate(room, USE.replace("{counts}", counts).replace("{amounts}", amounts), [room])
    numbers_printed = {int(line) - NUMBERS_FROM for line in lines if line.isdigit()}
    return [line for line in lines if not line.isdigit()], numbers_printed


def test_the_steps_come_to_the_same(changes: list[Change], tmp_path: Path) -> None:
    with_faults, _ = _printed(tmp_path, "with", changes, "{0, 9, 10, 12}", "0..4")
    without, _ = _printed(tmp_path, "without", [], "{0, 9, 10, 12}", "0..4")
    assert with_faults == without
    assert len(without) == 20


def test_a_fault_is_named_where_it_makes_a_difference(changes: list[Change], tmp_path: Path) -> None:
    names = [change.full_name for change in changes]
    _, none = _printed(tmp_path, "none", changes, "{0}", "{0}")
    _, some = _printed(tmp_path, "some", changes, "{9, 12}", "{3, 4}")
    boundary = names.index("Step: off by one: msg.amount > 3 -> msg.amount >= 3")
    assert boundary in some
    assert boundary not in none
    assert names.index("IsFull: off by one: cell.count >= Limit -> cell.count > Limit") in some - none
    assert names.index("IsFull: comparison: cell.count >= Limit -> cell.count < Limit") in none


def test_each_fault_of_the_limiter_differs_in_some_model_but_none_in_all_of_nothing() -> None:
    changes = changes_of("limiter")
    comparison = Comparison(changes)
    model = next(each for each in models.models_of("limiter") if each.name == "twin_uncapped")
    found = comparison.explore(model)
    assert len(found.changes) > len(changes) * 3 // 4
    assert not comparison.failing


def test_a_fault_that_tlc_cannot_evaluate_counts_as_one_that_differs() -> None:
    changes = changes_of("limiter")
    whole = next(each for each in changes if each.new == "env.index")
    broken = Change(whole.kind, whole.operator, whole.span, whole.old, "env.nothing", whole.site)
    comparison = Comparison([*changes, broken])
    model = next(each for each in models.models_of("limiter") if each.name == "twin_uncapped")
    assert broken in comparison.explore(model).changes
    assert comparison.failing == {len(changes)}
