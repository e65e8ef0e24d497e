"""Tests that faults which share a run of TLC are each judged as if they were alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from codegen.ir import Enum, Record, UInt
from harness.mutants.steps.changes import Change, changes_in
from harness.mutants.steps.formulas import formulas_of
from harness.mutants.steps.together import Found, hunt_in
from harness.mutants.steps.vocabulary import Vocabulary
from harness.tla.model import Model
from harness.tla.models_file import Settings
from harness.tla.tlc import TlcError
from tests.tla_module import parsed

STEPS = r"""---- MODULE CounterSteps ----
EXTENDS Integers
First == 0
IsFull(cell) == cell.count > 7
Step(cell, msg) ==
  CASE IsFull(cell) -> [cell EXCEPT !.count = 0]
    [] OTHER -> [cell EXCEPT !.count = @ + msg.amount]
====
"""
MODEL = r"""---- MODULE Counter ----
EXTENDS CounterSteps
VARIABLES cell, note
vars == <<cell, note>>
Over(one, other) == "a name that the hunt might have given to something of its own"
View == cell
Init == cell = [count |-> First] /\ note = "begin"
Next == \E amount \in {1, 2} : cell' = Step(cell, [amount |-> amount]) /\ note' = "step"
Spec == Init /\ [][Next]_vars
Fair == Spec /\ WF_vars(Next)
Small == cell.count < 10
Rises ==
  [][\/ cell'.count > cell.count
     \/ cell'.count = 0]_vars
Begins == cell.count = 0 /\ [][TRUE]_vars
Ends == <>(cell.count = 8)
====
"""


DROPPED = "Step: clause dropped: [cell EXCEPT !.count = 0]"


@pytest.fixture
def model(tmp_path: Path) -> Model:
    (tmp_path / "CounterSteps.tla").write_text(STEPS)
    (tmp_path / "Counter.tla").write_text(MODEL)
    settings = Settings(
        specification="Spec", view="View", invariants=["Small"], properties=["Rises", "Begins"], check_deadlock=False
    )
    return Model(
        protocol="counter",
        name="small",
        module=tmp_path / "Counter.tla",
        settings=settings,
        config=tmp_path / "small.cfg",
        size="small",
        verdict="holds",
        violates=None,
        distinct=10,
        seconds=1.0,
        about="A counter.",
    )


@pytest.fixture
def changes(model: Model) -> list[Change]:
    module = parsed(model.module.with_name("CounterSteps.tla"))
    cell, message = Record("cell", (("count", UInt(8)),)), Record("message", (("amount", UInt(8)),))
    vocabulary = Vocabulary(Enum("kind", ("Add",)), {"msg": message, "cell": cell})
    return changes_in(module, [module.top["Step"], module.top["IsFull"]], vocabulary)


def _other(change: Change, new: str) -> Change:
    return Change(change.kind, change.operator, change.span, change.old, new, change.site)


def _hunted(model: Model, changes: list[Change]) -> Found:
    formulas = formulas_of(model)
    assert formulas is not None
    return hunt_in(model, formulas, changes)


def test_each_fault_is_killed_by_the_property_that_it_violates(model: Model, changes: list[Change]) -> None:
    by_name = {change.full_name: change for change in changes}
    late = by_name["IsFull: off by one: 7 -> 8"]
    early = by_name["IsFull: off by one: cell.count > 7 -> cell.count >= 7"]
    stays = by_name["Step: clause dropped: [cell EXCEPT !.count = @ + msg.amount] -> cell"]
    falls = _other(stays, "[cell EXCEPT !.count = IF @ = 5 THEN 3 ELSE @ + msg.amount]")
    found = _hunted(model, [late, early, stays, falls])
    assert found.killed == {late: "Small", falls: "Rises"}
    assert not found.stopped
    assert not found.given_up


def test_a_fault_that_stops_tlc_leaves_the_others_to_be_judged(model: Model, changes: list[Change]) -> None:
    late = next(change for change in changes if change.full_name == "IsFull: off by one: 7 -> 8")
    broken = _other(late, "msg")
    dropped = next(change for change in changes if change.full_name.startswith(DROPPED))
    unknown = _other(dropped, "cell.nothing")
    found = _hunted(model, [unknown, late, dropped])
    assert found.killed == {late: "Small"}
    assert list(found.stopped) == [unknown]
    with pytest.raises(TlcError, match=r"counter/small, with faults together:.*(?s:.)*msg"):
        _hunted(model, [broken])


def test_a_fault_with_too_many_states_is_given_up(model: Model, changes: list[Change]) -> None:
    whole = next(change for change in changes if change.full_name.startswith(DROPPED))
    plain = replace(model, settings=model.settings.model_copy(update={"invariants": [], "properties": []}))
    endless, harmless = _other(whole, "[cell EXCEPT !.count = @ + 1]"), _other(whole, "[count |-> 0]")
    found = _hunted(plain, [endless, harmless])
    assert found.given_up == {endless}
    assert not found.killed


def test_what_takes_more_than_one_step_to_judge_has_no_formulas(model: Model) -> None:
    def with_settings(**changes: object) -> object:
        return formulas_of(replace(model, settings=model.settings.model_copy(update=changes)))

    assert with_settings() is not None
    assert with_settings(specification="Fair") is None
    assert with_settings(properties=["Ends"]) is None
    assert with_settings(check_deadlock=True) is None


def test_definitions_that_tlc_evaluates_first_are_known(model: Model) -> None:
    formulas = formulas_of(model)
    assert formulas is not None
    assert ("CounterSteps", "First") in formulas.constants
    assert ("CounterSteps", "Step") not in formulas.constants
