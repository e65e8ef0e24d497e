"""Tests running TLC and reading its output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.tla import tlc
from harness.tla.notation import parse

COUNTER = """---- MODULE Counter ----
EXTENDS Integers
VARIABLES count, words
Init == count = 0 /\\ words = <<"start of a text that is long enough for TLC to break the line", {1, 2, 3}>>
Up == count < 5 /\\ count' = count + 1 /\\ words' = words
Back == count = 5 /\\ count' = 0 /\\ words' = words
Next == Up \\/ Back
Spec == Init /\\ [][Next]_<<count, words>>
FairSpec == Spec /\\ WF_count(Next)
Small == count < 3
Rises == [][count' > count]_count
Reaches == <>(count = 7)
====
"""


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    path = tmp_path / "Counter.tla"
    path.write_text(COUNTER)
    return path


def _check(module: Path, config: str) -> tlc.Outcome:
    path = module.with_name("model.cfg")
    path.write_text(config)
    return tlc.check(module, path, [], quick=True)


def test_a_model_that_holds(counter: Path) -> None:
    outcome = _check(counter, "SPECIFICATION Spec\nINVARIANT\n")
    assert (outcome.verdict, outcome.distinct, outcome.states, outcome.depth) == ("holds", 6, 7, 6)
    assert outcome.violated is None
    assert outcome.trace == []
    assert "TLC" in outcome.version


def test_an_invariant_that_is_violated_comes_with_its_trace(counter: Path) -> None:
    outcome = _check(counter, "SPECIFICATION Spec\nINVARIANT Small\n")
    assert (outcome.verdict, outcome.violated) == ("invariant", "Small")
    assert [state.variables["count"] for state in outcome.trace] == ["0", "1", "2", "3"]
    assert outcome.trace[1].action == "Up"
    assert parse(outcome.trace[0].variables["words"])[1] == {1, 2, 3}


def test_an_action_property_that_is_violated_is_named(counter: Path) -> None:
    outcome = _check(counter, "SPECIFICATION Spec\nPROPERTY Rises\n")
    assert (outcome.verdict, outcome.violated) == ("property", "Rises")


def test_a_temporal_property_that_is_violated_ends_in_a_loop(counter: Path) -> None:
    outcome = _check(counter, "SPECIFICATION FairSpec\nPROPERTY Reaches\n")
    assert outcome.verdict == "property"
    assert outcome.loop == 1


def test_a_simulation_runs_some_behaviours_and_always_the_same(counter: Path) -> None:
    found = tlc.Simulation(behaviours=3, depth=20)
    path = counter.with_name("model.cfg")
    path.write_text("SPECIFICATION Spec\n")
    first, second = (tlc.check(counter, path, [], quick=True, simulation=found) for _ in range(2))
    assert (first.verdict, first.distinct, first.states) == ("holds", 0, second.states)
    assert first.states >= 3 * 19
    path.write_text("SPECIFICATION Spec\nINVARIANT Small\n")
    outcome = tlc.check(counter, path, [], quick=True, simulation=found)
    assert (outcome.verdict, outcome.violated) == ("invariant", "Small")
    assert [state.variables["count"] for state in outcome.trace] == ["0", "1", "2", "3"]


def test_a_deadlock_is_one(counter: Path) -> None:
    counter.write_text(COUNTER.replace("Up \\/ Back", "Up"))
    assert _check(counter, "SPECIFICATION Spec\n").verdict == "deadlock"


def test_a_module_that_does_not_parse_is_a_clear_error(counter: Path) -> None:
    counter.write_text(COUNTER.replace("count' = 0", "count' = nothing"))
    with pytest.raises(tlc.TlcError, match=r"(?s)could not check model.cfg.*nothing"):
        _check(counter, "SPECIFICATION Spec\n")


def test_a_module_that_sany_refuses_has_the_errors_of_a_compiler(tmp_path: Path) -> None:
    (tmp_path / "Wrong.tla").write_text(
        "---- MODULE Wrong ----\nVARIABLE x\nInit == x = Nothing\nNext == x' = x\n====\n"
    )
    (tmp_path / "model.cfg").write_text("INIT Init\nNEXT Next\n")
    with pytest.raises(tlc.TlcError) as raised:
        tlc.check(tmp_path / "Wrong.tla", tmp_path / "model.cfg", [])
    first, *rest = str(raised.value).splitlines()
    assert first.startswith("TLC could not check model.cfg (exit code 150)"), first
    assert len(rest) == 1, rest
    assert re.fullmatch(r"\S*Wrong\.tla:3:13: error: Unknown operator: `Nothing'\.", rest[0]), rest


def test_a_property_that_cannot_be_evaluated_at_the_start_is_an_error(counter: Path) -> None:
    """TLC ends with exit code 0 then, as if the model held."""
    counter.write_text(COUNTER.replace("====", "Ends == <>([a |-> count].b = 1)\n====", 1))
    with pytest.raises(tlc.TlcError, match=r'(?s)could not check model.cfg.*nonexistent field "b"'):
        _check(counter, "SPECIFICATION Spec\nPROPERTY Ends\n")


def test_a_run_that_takes_too_long_is_stopped(counter: Path) -> None:
    (counter.parent / "model.cfg").write_text("SPECIFICATION Spec\n")
    counter.write_text(COUNTER.replace("count' = 0", "count' = count + 1").replace("count < 5", "count >= 0"))
    with pytest.raises(tlc.TlcTimeout, match="TLC did not finish model.cfg in 3 s of processor time"):
        tlc.check(counter, counter.parent / "model.cfg", [], processor_seconds_max=3)


def test_values_are_printed_one_a_line(tmp_path: Path) -> None:
    module = """---- MODULE Values ----
EXTENDS Integers, TLC
ASSUME \\A i \\in 1..200 :
    PrintT(<<i, [long |-> "a text that makes the line too long", more |-> [j \\in 1..20 |-> i]]>>)
====
"""
    values = [parse(line) for line in tlc.evaluate(tmp_path, module, [])]
    assert [value[0] for value in values] == list(range(1, 201))
    assert values[6][1]["more"] == (7,) * 20


def test_constants_of_a_printed_module_come_from_its_cfg(tmp_path: Path) -> None:
    (tmp_path / "Given.cfg").write_text("CONSTANT N = 41\n")
    (tmp_path / "Given.tla").write_text(
        "---- MODULE Given ----\nEXTENDS Integers, TLC\nCONSTANT N\nASSUME PrintT(N + 1)\n====\n"
    )
    assert tlc.evaluate(tmp_path, "Given", []) == ["42"]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [("ASSUME 1 = 2", "ssumption"), ("ASSUME PrintT(<<1, 2>>[3])", "Values"), ("ASSUME PrintT(", "Values")],
)
def test_what_cannot_be_evaluated_is_an_error(tmp_path: Path, body: str, complaint: str) -> None:
    module = f"---- MODULE Values ----\nEXTENDS Integers, TLC\n{body}\n====\n"
    with pytest.raises(tlc.TlcError, match=complaint):
        tlc.evaluate(tmp_path, module, [])


def test_a_missing_jar_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLA2TOOLS_JAR", "/nowhere/tla2tools.jar")
    with pytest.raises(tlc.TlcError, match="TLA2TOOLS_JAR names /nowhere/tla2tools.jar, which does not exist"):
        tlc.jar()
