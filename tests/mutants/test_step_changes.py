"""Tests which one-line faults are made of steps, that their names stay, and that each of them parses."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen import ir
from codegen.ir import VERDICTS, Enum
from harness.mutants.steps import changes
from harness.mutants.steps.changes import KINDS, Change, changed, changes_in
from harness.mutants.steps.plan import changes_of
from harness.mutants.steps.vocabulary import Vocabulary
from harness.tla import models
from harness.tla.syntax import used_by
from harness.tla.tlc import ROOT
from tests.tla_module import parsed

STEPS = r"""---------------------------- MODULE DoorSteps ----------------------------
EXTENDS Offload
CONSTANTS Limit, Modulus

Next(number) == (number + 1) % Modulus

IsFull(door) == /\ door.count >= Limit
                /\ door.state # "Open"

Entered(door, msg) == [door EXCEPT !.count = @ + 1, !.guests = @ \cup {msg.client}, !.rooms[msg.way] = msg.key]

OnRequest(door, msg) ==
  LET Fits(way) == door.rooms[way] = msg.key
      free == FirstIndex(1, Limit, 0, Fits)
  IN  CASE msg.kind = "Enter" /\ ~ IsFull(door) -> Continue(Entered(door, msg), [msg EXCEPT !.kind = "In"])
        [] msg.kind \in {"Enter", "Leave"} ->
             IF door.rooms[free] = 0
               THEN Reply([door EXCEPT !.state = "Shut"],
                          msg)
               ELSE Full :: Drop(door, msg)
        [] OTHER -> Drop(door, msg)
===========================================================================
"""
UINT, STATE, KIND = ir.UInt(8), Enum("door.state", ("Open", "Shut")), Enum("kind", ("Enter", "Leave", "In"))
DOOR = ir.Record("door", (("state", STATE), ("count", UINT), ("guests", ir.Set(UINT, 3)), ("rooms", ir.Array(UINT, 3))))
MESSAGE = ir.Record("message", (("kind", KIND), ("client", UINT), ("key", UINT), ("count", UINT), ("way", UINT)))
VOCABULARY = Vocabulary(KIND, {"msg": MESSAGE, "door": DOOR})


@pytest.fixture
def found(tmp_path: Path) -> list[Change]:
    return _changes(tmp_path, STEPS)


def _changes(folder: Path, text: str) -> list[Change]:
    path = folder / "DoorSteps.tla"
    path.write_text(text)
    module = parsed(path, [ROOT / "spec/lib"])
    own = [
        each for each in used_by(module, [module.top["OnRequest"], module.top["Next"]]) if each.module == "DoorSteps"
    ]
    return changes_in(module, own, VOCABULARY)


def _of(found: list[Change], kind: str, operator: str) -> set[tuple[str, str]]:
    return {(each.old, " ".join(each.new.split())) for each in found if (each.kind, each.operator) == (kind, operator)}


def test_comparisons_and_conditions_are_turned_round(found: list[Change]) -> None:
    assert _of(found, "comparison", "IsFull") == {
        ("door.count >= Limit", "door.count < Limit"),
        ('door.state # "Open"', 'door.state = "Open"'),
    }
    assert _of(found, "comparison", "OnRequest") >= {
        ("~ IsFull(door)", "(IsFull(door))"),
        ('msg.kind \\in {"Enter", "Leave"}', 'msg.kind \\notin {"Enter", "Leave"}'),
    }


def test_numbers_and_bounds_are_off_by_one(found: list[Change]) -> None:
    assert _of(found, "off by one", "IsFull") == {
        ("door.count >= Limit", "door.count > Limit"),
        ("Limit", "(Limit + 1)"),
        ("Limit", "(Limit - 1)"),
    }
    assert _of(found, "off by one", "Next") == {("1", "2"), ("1", "0")}


def test_parts_of_conditions_and_of_sets_are_dropped(found: list[Change]) -> None:
    assert _of(found, "part dropped", "IsFull") == {("door.count >= Limit", "TRUE"), ('door.state # "Open"', "TRUE")}
    assert _of(found, "part dropped", "Entered") == {
        ("@ \\cup {msg.client}", "@"),
        ("@ \\cup {msg.client}", "{msg.client}"),
    }
    assert ('{"Enter", "Leave"}', '{"Leave"}') in _of(found, "part dropped", "OnRequest")


def test_a_field_becomes_that_of_another_row_or_the_nearest_of_the_same_type(found: list[Change]) -> None:
    assert _of(found, "other field", "IsFull") == set()
    assert _of(found, "other field", "Entered") == {
        ("msg.client", "msg.key"),
        ("msg.way", "msg.count"),
        ("msg.key", "msg.client"),
    }


def test_clauses_and_whole_changes_are_dropped(found: list[Change]) -> None:
    assert _of(found, "clause dropped", "Entered") == {
        ("!.count = @ + 1, ", ""),
        (", !.guests = @ \\cup {msg.client}", ""),
        (", !.rooms[msg.way] = msg.key", ""),
    }
    assert _of(found, "clause dropped", "OnRequest") >= {
        ("Entered(door, msg)", "door"),
        ('[msg EXCEPT !.kind = "In"]', "msg"),
    }


def test_an_index_is_taken_from_elsewhere(found: list[Change]) -> None:
    assert _of(found, "other index", "OnRequest") == {("way", "msg.way"), ("free", "msg.way")}


def test_members_are_exchanged_within_their_enum(found: list[Change]) -> None:
    assert _of(found, "other member", "IsFull") == {('"Open"', '"Shut"')}
    assert _of(found, "other member", "OnRequest") >= {
        ('"Shut"', '"Open"'),
        ('"Enter"', '"Leave"'),
        ('"In"', '"Enter"'),
        ("Reply", "Forward"),
        ("Drop", "Continue"),
    }


def test_a_verdict_becomes_the_next_that_the_generator_accepts() -> None:
    found = {str(change) for change in changes_of("lock") if change.kind == "other member"}
    verdicts = {text.split(":", 3)[3].strip() for text in found if text.split(": ")[-1].split(" ")[0] in VERDICTS}
    # The daemon's step may not forward, and one that the sweep runs may not reply.
    assert "OnForwarded: other member: Drop -> Reply" in verdicts
    assert "Reclaim: other member: Continue -> Drop" in verdicts
    assert "Claim: other member: Continue -> Reply" in verdicts
    assert not any("OnForwarded" in text and "Forward" in text.split(": ")[-1] for text in verdicts)


def test_an_arm_gets_the_result_of_its_neighbour(found: list[Change]) -> None:
    (moved,) = [each for each in found if each.kind == "neighbour's result" and each.old.startswith("Full ::")]
    assert moved.new.split("\n")[0] == 'Reply([door EXCEPT !.state = "Shut"],'
    assert ("Drop(door, msg)", 'Continue(Entered(door, msg), [msg EXCEPT !.kind = "In"])') in _of(
        found, "neighbour's result", "OnRequest"
    )


def test_a_modulus_is_dropped(found: list[Change]) -> None:
    assert _of(found, "modulus dropped", "Next") == {("(number + 1) % Modulus", "(number + 1)")}


def test_a_name_stays_when_other_text_moves(found: list[Change], tmp_path: Path) -> None:
    moved = _changes(tmp_path, STEPS.replace("CONSTANTS Limit", "\\* More.\n\nCONSTANTS Limit"))
    assert [each.full_name for each in moved] == [each.full_name for each in found]
    assert len({each.full_name for each in found}) == len(found)


def test_each_fault_parses(found: list[Change], tmp_path: Path) -> None:
    """In one run of SANY, by a module that instantiates them all."""
    for number, change in enumerate(found):
        text = changed(STEPS, change).replace("MODULE DoorSteps", f"MODULE Fault{number}")
        (tmp_path / f"Fault{number}.tla").write_text(text)
    instances = [f"F{number} == INSTANCE Fault{number}" for number in range(len(found))]
    path = tmp_path / "Every.tla"
    path.write_text("\n".join(["---- MODULE Every ----", "CONSTANTS Limit, Modulus", *instances, "===="]))
    assert parsed(path, [ROOT / "spec/lib"]).files
    assert {change.kind for change in found} == set(KINDS)


def test_the_protocols_have_enough_faults_of_every_kind() -> None:
    every = [change for protocol in models.protocols() for change in changes_of(protocol)]
    assert len(every) >= 1000
    assert {change.kind for change in every} == set(KINDS)
    names = [(change.module, change.full_name) for change in every]
    assert len(set(names)) == len(names)


def test_a_text_that_is_another_is_refused(found: list[Change]) -> None:
    with pytest.raises(AssertionError, match="the one in which the fault was found"):
        changes.changed(STEPS.replace("EXTENDS Offload\n", ""), found[0])
