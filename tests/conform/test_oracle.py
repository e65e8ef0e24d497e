"""Evaluates Oracle.tla, which models a hook, on a protocol of three lines."""

from __future__ import annotations

import pytest

from harness.conform.build import HERE
from harness.conform.oracle import reached
from harness.tla import notation, tlc

TOY = r"""---- MODULE Toy ----
EXTENDS Integers, Sequences, TLC
Section(table, contended) == [table |-> table, contended |-> contended]
TableIndex(table, msg) == msg.at
Capacities == [a |-> 3, b |-> 2]
O == INSTANCE Oracle WITH Capacity <- Capacities
Cells == [a |-> [i \in 0..2 |-> 10 * i], b |-> [i \in 0..1 |-> 100]]
Hook(last, how) == << Section("a", "drop"), Section("b", how), Section("a", last) >>
\* Adds to the cell, tells the message; the third section gives msg.end.
Step(at, cell, msg, env) ==
  [verdict |-> IF at = 3 THEN msg.end ELSE "Continue", cell |-> cell + at,
   msg |-> [msg EXCEPT !.told = Append(@, <<at, cell, env.index>>)]]
Message(at, end) == [at |-> at, end |-> end, told |-> <<>>]
Env == [index |-> 99]
Calm == O!Undisturbed
Lost(at, always, rivals) == [at |-> at, always |-> always, rivals |-> rivals]
Run(checked, trouble, how, msg) == O!RunHook(Hook("never", how), Step, checked, trouble, Cells, msg, Env)
Show(r) == PrintT(<<r.verdict, r.ended, r.msg.told, r.writes>>)
ASSUME Show(Run({"a", "b"}, Calm, "drop", Message(1, "Reply")))
ASSUME Show(Run({"a"}, Calm, "drop", Message(1, "Continue")))
ASSUME Show(Run({"a", "b"}, Calm, "drop", Message(2, "Reply")))
ASSUME Show(Run({"a"}, Calm, "drop", Message(2, "Reply")))
ASSUME Show(Run({"a"}, Lost(2, FALSE, <<>>), "drop", Message(1, "Reply")))
ASSUME Show(Run({"a"}, Lost(2, FALSE, <<>>), "skip", Message(1, "Reply")))
ASSUME Show(Run({"a"}, Lost(3, FALSE, <<>>), "skip", Message(1, "Reply")))
ASSUME Show(Run({"a"}, Lost(2, FALSE, <<7>>), "drop", Message(1, "Reply")))
Sweep(msg) == O!RunSweep([each |-> "a", sections |-> Hook("drop", "drop")], Step, 1, 2, Cells, msg, Env)
ASSUME Show(Sweep(Message(0, "Continue")))
ASSUME Show(Sweep(Message(0, "Drop")))
====
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> list[tuple]:
    return [notation.parse(line) for line in tlc.evaluate(tmp_path_factory.mktemp("toy"), TOY, [HERE])]


def test_sections_hand_on_the_message_and_see_what_was_written(shown):
    told = ((1, 10, 1), (2, 100, 1), (3, 11, 1))
    assert shown[0] == ("Reply", 3, told, (("a", 1, 11, 1), ("b", 1, 102, 2), ("a", 1, 14, 3)))


def test_continue_at_the_end_counts_as_drop(shown):
    assert shown[1][:2] == ("Drop", 3)


def test_an_index_outside_a_table_is_malformed_where_it_is_checked_first(shown):
    assert shown[2] == ("Malformed", 0, (), ())


def test_an_index_outside_a_table_is_skipped_where_it_is_found_later(shown):
    assert shown[3] == ("Reply", 3, ((1, 20, 2), (3, 21, 2)), (("a", 2, 21, 1), ("a", 2, 24, 3)))


def test_a_contended_section_drops_is_skipped_or_lost(shown):
    assert shown[4] == ("Contended", 2, ((1, 10, 1),), (("a", 1, 11, 1),))
    assert shown[5] == ("Reply", 3, ((1, 10, 1), (3, 11, 1)), (("a", 1, 11, 1), ("a", 1, 14, 3)))
    assert shown[6][:2] == ("Lost", 3)


def test_after_a_lost_race_the_rivals_cell_is_stepped(shown):
    assert shown[7] == (
        "Reply",
        3,
        ((1, 10, 1), (2, 7, 1), (3, 11, 1)),
        (("a", 1, 11, 1), ("b", 1, 9, 2), ("a", 1, 14, 3)),
    )


def test_a_sweep_goes_over_its_cells_with_one_record(shown):
    verdict, visited, told, writes = shown[8]
    assert (verdict, visited) == (2, 2)
    assert [index for _, _, index in told] == [1, 0, 1, 2, 0, 2]
    assert [write[:2] for write in writes] == [("a", 1), ("b", 0), ("a", 1), ("a", 2), ("b", 0), ("a", 2)]
    assert shown[9][:2] == (0, 2)


def test_a_model_of_the_same_steps_is_not_what_is_evaluated(tmp_path):
    """So that TLC is not asked again when only the model was changed."""
    for name, text in (
        ("Hooks", "EXTENDS Steps,\n  Naturals\n"),
        ("Steps", "EXTENDS Words\n"),
        ("Words", ""),
        ("Model", "EXTENDS Steps\n"),
    ):
        (tmp_path / f"{name}.tla").write_text(f"---- MODULE {name} ----\n{text}====\n")
    found = reached(
        "---- MODULE Run ----\nEXTENDS Hooks, TLC\nO == INSTANCE Oracle WITH Capacity <- 1\n====\n", [tmp_path, HERE]
    )
    assert [path.stem for path in found] == ["Hooks", "Oracle", "Steps", "Words"]


ONE = r"""---- MODULE One ----
EXTENDS Integers, Sequences, TLC
Capacities == [a |-> 2]
TableIndex(table, msg) == msg
O == INSTANCE Oracle WITH Capacity <- Capacities
Read(reads) == <<[table |-> "a", reads |-> reads]>>
StepOf(reads, cell, msg) == [verdict |-> "Reply", cell |-> 0, msg |-> IF reads = "table" THEN cell[msg] ELSE cell]
Show(reads, msg) ==
  LET Step(at, cell, message, env) == StepOf(reads, cell, message)
      r == O!RunUser(Read(reads), Step, [a |-> [i \in 0..1 |-> 10 + i]], msg, 0)
  IN  PrintT(<<r.verdict, r.msg>>)
ASSUME Show("cell", 1)
ASSUME Show("cell", 2)
ASSUME Show("table", 0)
====
"""


def test_a_user_step_has_its_cell_or_none_is_asked(tmp_path):
    shown = [notation.parse(line) for line in tlc.evaluate(tmp_path, ONE, [HERE])]
    assert shown == [("Reply", 11), ("Drop", 2), ("Reply", 10)]
