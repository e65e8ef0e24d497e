"""The messages that reach a step: prove.yaml may leave out only those that the layout keeps away."""

from __future__ import annotations

import pytest

from harness.prove.campaign import _told
from harness.prove.left import LeftFile, Reach
from harness.prove.reach import unfounded
from harness.prove.setting import opened, prepared


@pytest.fixture(scope="module")
def occ(tmp_path_factory):
    folder = tmp_path_factory.mktemp("occ")
    prepared("occ", folder)
    return opened("occ", folder)


def found(occ, **kinds: tuple[str, ...]) -> list[str]:
    """The problems of a file that assumes these kinds, by step."""
    file = LeftFile(reached_by={step: Reach(kinds=each, reason="because") for step, each in kinds.items()})
    return unfounded(occ.setting, occ.steps, file)


def test_the_shipped_assumptions_hold(occ) -> None:
    file = _told("occ", occ)
    assert set(file.reached_by) == {"Enter", "Note", "Settled"}
    assert unfounded(occ.setting, occ.steps, file) == []


def test_a_kind_that_when_lets_in_may_not_be_left_out(occ) -> None:
    assert found(occ, Authenticate=("Lock",))[0].startswith("Authenticate in xdp may get Abort, ")
    assert found(occ, Unsettled=("Commit",))[0].startswith("Unsettled in the pass sweep_2 may get Abort, ")


def test_a_kind_that_an_earlier_section_makes_may_not_be_left_out(occ) -> None:
    """Unsettled makes every message one of two."""
    assert found(occ, Settled=("Commit", "Abort")) == []
    assert found(occ, Settled=("Commit",)) == ["Settled in the pass sweep_2 may get Abort, which prove.yaml leaves out"]
