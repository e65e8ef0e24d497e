"""Tests heat maps: which part of a line belongs to which branch, and in what shade."""

from __future__ import annotations

import pytest

from harness.report.heat import LEVELS, added, level, lines
from harness.results.models import Branch, Build

SOURCE = "A(x) ==\n  IF x\n    THEN Reply(x,\n               IF y THEN 1 ELSE 22)\n    ELSE Drop(x)\n"


def branch(
    label: str, line: int, column: int, last_line: int, last_column: int, times: int = 1, excused: bool = False
) -> Branch:
    place = {"file": "A.tla", "line": line, "column": column, "last_line": last_line, "last_column": last_column}
    return Branch(label=label, **place, times=times, excused=excused)


def build(*branches: Branch) -> Build:
    return Build(name="layout", is_form=True, inputs={}, seconds=0, mismatches=[], steps={}, branches=list(branches))


def test_each_character_is_the_innermost_branch_s():
    reply, inner, drop = (
        branch("reply", 3, 10, 4, 34, 100),
        branch("inner", 4, 26, 4, 26, 3),
        branch("drop", 5, 10, 5, 16, 0),
    )
    heats = added([build(inner, reply, drop)])
    shown = lines(SOURCE, "A.tla", heats)
    parts = [[(part.text, part.heat and part.heat.branch.label) for part in line.segments] for line in shown]
    assert parts == [
        [("A(x) ==", None)],
        [("  IF x", None)],
        [("    THEN ", None), ("Reply(x,", "reply")],
        [("               ", None), ("IF y THEN ", "reply"), ("1", "inner"), (" ELSE 22", "reply"), (")", None)],
        [("    ELSE ", None), ("Drop(x)", "drop")],
    ]
    assert [[heat.branch.label for heat in line.begins] for line in shown] == [[], [], ["reply"], ["inner"], ["drop"]]
    assert "".join(part.text for line in shown for part in [*line.segments]) == SOURCE.replace("\n", "")
    assert lines(SOURCE, "B.tla", heats)[3].segments[0].heat is None


def test_builds_are_added_up():
    first = build(branch("a", 1, 1, 1, 2, 40), branch("b", 2, 1, 2, 2, 0), branch("c", 3, 1, 3, 2, 0, excused=True))
    second = build(branch("a", 1, 1, 1, 2, 2), branch("b", 2, 1, 2, 2, 0), branch("c", 3, 1, 3, 2, 0, excused=True))
    assert [(heat.times, heat.level) for heat in added([first, second])] == [(42, LEVELS), (0, 0), (0, None)]
    asked = build(branch("c", 3, 1, 3, 2, 0))
    assert added([first, asked])[2].level == 0
    assert added([]) == []


@pytest.mark.parametrize(
    "times, shade", [(1000, 5), (250, 5), (249, 4), (63, 4), (62, 3), (15, 2), (3, 1), (1, 1), (0, 0)]
)
def test_a_shade_is_a_share_of_the_most(times, shade):
    assert level(times, 1000) == shade
