"""Tests which models are run for a fault, and that it gets one verdict, whichever of them notice it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from codegen.ir import Span
from harness.mutants.steps import hunts, plan
from harness.mutants.steps.changes import Change
from harness.mutants.steps.hunt import Verdict
from harness.mutants.steps.plan import Stage, models_in
from harness.tla.model import Model

PLACE = Span("spec/limiter/LimiterSteps.tla", 19, 19, 19, 23)
FAULT = Change("comparison", "Least", PLACE, "a < b", "a >= b", PLACE)


def test_a_fault_that_two_runs_notice_at_the_same_time_has_one_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)

    def noticed(model: Model, changes: Sequence[Change]) -> Iterator[Verdict]:
        for change in changes:
            both.wait(60)
            yield Verdict(change, "killed", f"limiter/{model.name}", "Limited", 1, 0, 0.1)
            both.wait(60)  # each has its verdict, and knows nothing of the other's

    monkeypatch.setattr(hunts, "_hunt_in_one", noticed)
    two = models_in("limiter", Stage("others", own=True))[:2]
    monkeypatch.setattr(hunts, "models_in", lambda name, stage: two)
    [(protocol, verdict)] = hunts.hunt_all([("limiter", FAULT)])
    assert (protocol, verdict.how, verdict.models) == ("limiter", "killed", 1)


def test_a_fault_that_no_run_notices_has_a_verdict_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def unnoticed(model: Model, changes: Sequence[Change]) -> Iterator[Verdict]:
        yield from (Verdict(change, "survives", "", "", 1, 0, 0.1) for change in changes)

    monkeypatch.setattr(hunts, "_hunt_in_one", unnoticed)
    monkeypatch.setattr(hunts, "refusal_of", lambda _change, _protocols: None)
    [(protocol, verdict)] = hunts.hunt_all([("limiter", FAULT)])
    assert (protocol, verdict.survives) == ("limiter", True)
    assert verdict.models > 2


def test_a_fault_with_a_reason_is_hunted_in_quick_models_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []

    def unnoticed(model: Model, changes: Sequence[Change]) -> Iterator[Verdict]:
        asked.extend((model.full_name.split("/")[0], model.is_quick) for _ in changes)
        return iter(())

    monkeypatch.setattr(hunts, "_hunt_in_one", unnoticed)
    monkeypatch.setattr(plan, "users_of", lambda _protocol, _change: ["log"])
    list(hunts.hunt_all([("limiter", FAULT)]))
    assert set(asked) == {(name, is_quick) for name in ("limiter", "log") for is_quick in (True, False)}
    asked.clear()
    list(hunts.hunt_all([("limiter", FAULT)], argued={FAULT}))
    assert set(asked) == {("limiter", True)}


def test_the_generator_is_asked_about_a_fault_that_no_model_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunts, "models_in", lambda _name, _stage: [])
    complaint = "tokens may become anything in 0..10737483765, but u16 holds 0..65535"
    [(_, verdict)] = hunts.hunt_all([("limiter", FAULT)])
    assert (verdict.how, verdict.survives, verdict.violated) == ("refused", False, complaint)
    accepted = Change("off by one", "Least", PLACE, "a < b", "a <= b", PLACE)
    [(_, verdict)] = hunts.hunt_all([("limiter", accepted)])
    assert verdict.survives
