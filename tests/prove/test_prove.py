"""Steps against their bytecode: proved as shipped, refuted with a fault, and left only for a reason that is given."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from codegen.errors import SpecErrors
from harness.base.protocols import REPOSITORY
from harness.prove import faults, kept, left
from harness.prove.campaign import Judged
from harness.prove.proof import LeafResult, StepResult, proved
from harness.prove.setting import opened, prepared

QUICK_FAULTS = 3
SECONDS = 60.0


@pytest.fixture(scope="module")
def protocol(tmp_path_factory):
    """Opens a protocol, once."""
    known = {}

    def ready(name: str):
        if name not in known:
            folder = tmp_path_factory.mktemp(name)
            prepared(name, folder)
            known[name] = opened(name, folder)
        return known[name]

    return ready


@pytest.mark.parametrize(
    "name, step, leaves",
    [
        ("limiter", "OnTake", 3),
        ("lock", "Begin", 16),
        ("lock", "OnRequest", 13),
        ("lock", "OnCompletion", 12),
        ("log", "Room", 2),
        ("log", "Reached", 2),
        ("kv", "Claim", 3),
    ],
)
def test_a_step_is_proved(protocol, name: str, step: str, leaves: int) -> None:
    ready = protocol(name)
    result = proved(ready.setting, next(each for each in ready.steps if each.name == step), SECONDS)
    assert [leaf for leaf in result.leaves if not leaf.proved] == []
    assert len(result.leaves) == leaves


@pytest.mark.parametrize(
    "fault", random.Random(21).sample(faults.catalogue(), QUICK_FAULTS), ids=lambda each: each.name
)
def test_a_fault_is_refuted_by_an_input_that_shows_it(fault: faults.Fault) -> None:
    (hunted,) = faults.hunted([fault])
    assert hunted.refuted, hunted.how


def test_there_are_faults_enough_and_none_twice() -> None:
    catalogue = faults.catalogue()
    assert len(catalogue) >= 50
    assert len({each.model_dump_json() for each in catalogue}) == len(catalogue)


def test_a_fault_whose_text_is_gone_is_an_error() -> None:
    fault = faults.Fault(protocol="lock", step="Begin", old="no such text", new="")
    with pytest.raises(SpecErrors, match="no such text"):
        faults.planted("/* Begin, here */", fault)


def judged(told: left.LeftStep | None, *proofs: bool) -> Judged:
    leaves = [
        LeafResult("", "Drop", good, 0.0, (at,), 0, "" if good else "timeout") for at, good in enumerate(proofs, 1)
    ]
    return Judged(StepResult("Step", leaves=leaves), told, False)


def test_what_is_left_needs_a_reason_and_what_is_proved_has_none() -> None:
    some = left.LeftStep(reason="too large", leaves=("2",))
    assert judged(None, True, True).problems == []
    assert judged(some, True, False).problems == []
    assert judged(None, True, False).problems == ["Step, leaf 2  is left: timeout"]
    assert judged(some, True, True).problems == ["Step, leaf 2  is proved, but prove.yaml lists it as left"]
    assert judged(some, True).problems == ["Step has no leaf 2, which prove.yaml lists"]


def test_a_step_that_does_not_exist_cannot_be_left(tmp_path) -> None:
    path = tmp_path / "prove.yaml"
    path.write_text("left:\n  Nowhere: {reason: because}\n")
    with pytest.raises(SpecErrors) as found:
        left.told("lock", ["Begin"], ("Open",), path)
    assert str(found.value.errors[0]).endswith("2:3: error: lock has no step Nowhere; its steps are Begin")


def test_a_kind_that_does_not_exist_cannot_reach_a_step(tmp_path) -> None:
    path = tmp_path / "prove.yaml"
    path.write_text("reached_by:\n  Begin: {kinds: [Opened], reason: because}\n")
    with pytest.raises(SpecErrors) as found:
        left.told("lock", ["Begin"], ("Open",), path)
    assert str(found.value.errors[0]).endswith("2:3: error: there is no kind Opened; the kinds are Open")


def test_a_leaf_that_no_message_of_some_kinds_reaches_does_not_count(protocol) -> None:
    ready = protocol("lock")
    step = next(each for each in ready.steps if each.name == "Issue")
    assert len(proved(ready.setting, step, SECONDS).leaves) == 2
    assert len(proved(ready.setting, step, SECONDS, ("Opened",)).leaves) == 1


def test_a_result_is_kept_as_it_is(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(kept, "PROVE", tmp_path)
    result = judged(None, True, False).result
    kept.keep("lock", result, "key")
    assert kept.known("lock", "Step", "key") == result
    assert kept.known("lock", "Step", "another key") is None


def test_an_unknown_step_is_named() -> None:
    command = [sys.executable, "-m", "harness.prove", "limiter", "Take"]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "limiter has no step 'Take'; choose from: OnTake" in run.stderr
