"""Tests the list of arms and faults that the models cannot see: patterns, missing entries, and stale entries."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.tla import models, unseen
from harness.tla.tlc import TlcError
from harness.tla.unseen import compared, unseen_of


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(models, "folder_of", lambda _protocol: tmp_path)
    return tmp_path


def test_without_a_file_nothing_is_excepted(folder: Path) -> None:
    assert unseen_of("ticket").arms == []
    assert unseen_of("ticket").faults == []


def test_a_file_lists_arms_and_faults_with_their_reasons(folder: Path) -> None:
    (folder / unseen.FILE).write_text(
        'arms: [{arm: "Draw, CASE: Never", why: "defensive"}]\n'
        'faults: [{fault: "Draw: *", why: "no ticket is drawn"}]\n'
    )
    found = unseen_of("ticket")
    assert [(each.arm, each.why) for each in found.arms] == [("Draw, CASE: Never", "defensive")]
    assert [(each.fault, each.why) for each in found.faults] == [("Draw: *", "no ticket is drawn")]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('arms: [{arm: "Draw, CASE: Never"}]\n', r"unseen.yaml:1:8: error: .*why"),
        ('arms: [{arm: "Draw, CASE: Never", why: ""}]\n', r"unseen.yaml:1:\d+: error: .*why"),
        ("branches: []\n", r"unseen.yaml:1:1: error: unknown key branches; known here: arms, faults"),
    ],
)
def test_a_mistake_is_named_with_its_place(folder: Path, text: str, complaint: str) -> None:
    (folder / unseen.FILE).write_text(text)
    with pytest.raises(TlcError, match=complaint):
        unseen_of("ticket")


def test_names_are_compared_with_patterns() -> None:
    found = compared(
        ["Draw, CASE: Never", "Draw, ELSE: [a |-> 1]", "Count, THEN: 0", "Count, ELSE: 1"],
        [("Draw, *", "defensive"), ("Count, THEN: 0", "no zero"), ("Count, TWICE", "gone"), ("Cou.t*", "no pattern")],
    )
    assert found.reasons == {
        "Draw, CASE: Never": "defensive",
        "Draw, ELSE: [a |-> 1]": "defensive",
        "Count, THEN: 0": "no zero",
    }
    assert found.unlisted == ["Count, ELSE: 1"]
    assert found.stale == ["Count, TWICE", "Cou.t*"]
