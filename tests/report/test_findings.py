"""The report understands what the commands leave for it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from codegen.emit.branch_numbers import Branch
from codegen.ir import Span
from harness import veristat
from harness.check import __main__ as check
from harness.conform import __main__ as conform
from harness.conform.campaign import Result
from harness.data.cells import FORMS, LAYOUT
from harness.docker import __main__ as docker
from harness.fill import __main__ as fill
from harness.fill.run import Pass as FillPass
from harness.fill.run import Report as FillReport
from harness.mutants import __main__ as mutants
from harness.mutants.catalogue import CaughtBy, Edit, Mutant
from harness.mutants.hunt import Verdict
from harness.report.collect import load, together
from harness.results import folder
from harness.tla.models import models_of
from harness.tla.run import Report
from harness.tla.tlc import Outcome
from harness.tla.trace import Step

STEPS = "spec/limiter/LimiterSteps.tla"
TAKEN = Branch(0, "on_take.2", Span(STEPS, 31, 10, 31, 54))
AFTER_A_LOSS = Branch(1, "on_take.3", Span(STEPS, 33, 10, 33, 114))


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("STEPWISE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr("harness.base.command.need", lambda *_: None)
    return tmp_path / "results"


def files(results: Path) -> list[str]:
    return sorted(str(path.relative_to(results)) for path in results.rglob("*.json"))


# --- check ---------------------------------------------------------------------------------------


def checked(model) -> Report:
    outcome = Outcome(model.verdict, model.violates, 900, model.distinct or 1, 17, 4.25)
    return Report(model, outcome, [], [Step(1, "model", "model", "Tick")] if model.must_fail else [])


def run_check(monkeypatch, *arguments: str) -> int:
    monkeypatch.setattr(check, "run", lambda model, **_: checked(model))
    monkeypatch.setattr(check, "_explain", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["check", *arguments])
    return check.main()


def test_a_check_leaves_its_models_and_properties(monkeypatch, results):
    assert run_check(monkeypatch, "limiter") == 0
    assert files(results) == ["check/limiter.json"]
    (models,) = together(load(results)).check.values()
    must_fail = {name: model.must_fail for name, (model, _) in models.models.items()}
    assert must_fail == {
        "small_clock": False,
        "small_rate": False,
        "twin_uncapped": False,
        "twin_too_wide": False,
        "fail_uncapped": True,
        "fail_unwrapped": True,
        "fail_too_wide": True,
    }
    assert models.properties["Limited"].sentence == "No more is allowed than the bucket gained."
    failing, _ = models.models["fail_unwrapped"]
    assert (failing.violated, failing.depth, failing.seconds, len(failing.steps)) == ("Limited", 17, 4.2, 1)
    assert failing.shows == next(model.about for model in models_of("limiter") if model.name == "fail_unwrapped")


def test_what_was_picked_out_is_kept_beside_the_rest(monkeypatch, results):
    run_check(monkeypatch, "limiter")
    run_check(monkeypatch, "limiter", "small_clock")
    run_check(monkeypatch, "all", "large")
    assert {"check/limiter.json", "check/limiter-small_clock.json", "check/kv-large.json"} <= set(files(results))
    assert len(together(load(results)).check["limiter"].models) == 7


# --- conform -------------------------------------------------------------------------------------


class Campaign:
    """Conformance that is done at once: one branch, and another that only a lost race takes, which spin_lock does not
    have.
    """

    def __init__(self, *_):
        self.text = type("Text", (), {"pairs_min": 100})

    def results(self, forms, _seed) -> list[Result]:
        found = []
        for form in forms:
            loses = form == LAYOUT
            taken = [150, 9 if loses else 0]
            found.append(
                Result(form, {"xdp": 120}, [TAKEN, AFTER_A_LOSS], taken, [150, 0], complete=loses, seconds=2.5)
            )
        return [*found, Result("as shipped, seed 1", {"xdp": 30}, [TAKEN, AFTER_A_LOSS])]


@pytest.fixture
def campaign(monkeypatch):
    monkeypatch.setattr(conform, "Campaign", Campaign)
    monkeypatch.setattr("harness.tla.tlc.version", lambda: "TLC")


def test_conformance_leaves_its_branches_and_their_source(campaign, results):
    assert conform.main(["limiter"]) == 0
    assert files(results) == ["conform/limiter.json"]
    (coverage,) = together(load(results)).conform.values()
    layout, spin_lock, shipped = (coverage.builds[name][0] for name in (LAYOUT, FORMS[1], "as shipped, seed 1"))
    assert [(branch.place, branch.last_column, branch.times, branch.excused) for branch in layout.branches] == [
        (f"{STEPS}:31:10", 54, 150, False),
        (f"{STEPS}:33:10", 114, 9, False),
    ]
    assert [branch.excused for branch in spin_lock.branches] == [False, True]
    assert (layout.pairs, layout.taken, spin_lock.taken, spin_lock.asked) == (159, 2, 1, 1)
    assert shipped.branches == [] and shipped.inputs == {"xdp": 30} and not shipped.is_form
    assert coverage.newest.sources[STEPS].startswith("----") and coverage.newest.problems == []


def test_one_form_is_kept_by_itself_and_what_was_changed_is_not(campaign, results, tmp_path):
    conform.main(["limiter", "--form", "layout"])
    assert files(results) == ["conform/limiter-layout.json"]
    conform.main(["limiter", "--program", str(tmp_path)])
    edits = tmp_path / "edits.json"
    edits.write_text('[["limiter.h", "a", "b"]]')
    conform.main(["limiter", "--edits", str(edits)])
    assert files(results) == ["conform/limiter-layout.json"]


# --- mutants -------------------------------------------------------------------------------------

EDIT = Edit(file="spec/limiter/x", old="a", new="b")
MUTANT = Mutant(name="two at once", edits=(EDIT,), caught_by=CaughtBy(conform="verdict"), protocol="limiter")


@pytest.mark.parametrize(
    "arguments, kept",
    [
        ([], ["mutants/all.json"]),
        (["limiter"], ["mutants/limiter.json"]),
        (["--only", "two"], []),
        (["--without-faults"], []),
    ],
)
def test_a_hunt_leaves_its_mutants_unless_some_were_picked_out(monkeypatch, results, arguments, kept):
    other = MUTANT.model_copy(update={"name": "and another"})
    monkeypatch.setattr(mutants, "catalogue", lambda _: [MUTANT, other])
    caught = Verdict(MUTANT, True, "verdict: expected XDP_DROP", 3.14)
    survives = replace(caught, mutant=other, caught=False, how="SURVIVES")
    monkeypatch.setattr(mutants, "hunt_all", lambda picked, _: [survives, caught])
    monkeypatch.setattr(sys, "argv", ["mutants", *arguments])
    assert mutants.main() == 1
    assert files(results) == kept
    if kept:
        assert folder() == results
        found = together(load(results)).mutants
        assert [(name, each.caught) for (_, name), (each, _) in found.items()] == [
            ("two at once", True),
            ("and another", False),
        ]
        assert {(each.named, each.place) for each, _ in found.values()} == {("conform: verdict", "spec/limiter/x")}


# --- veristat, fill, docker ----------------------------------------------------------------------


def test_veristat_leaves_each_protocol_s_programs(monkeypatch, results):
    budget = {"insns": 100, "states": 10, "stack": 64}

    def checked(protocol: str) -> list[veristat.Judged]:
        measured = veristat.Measured(f"{protocol}_xdp", "success", insns=101, states=10, stack=64, log="")
        return [veristat.Judged(protocol, measured, budget, (f"{protocol}_xdp: insns 101 is over",))]

    monkeypatch.setattr(veristat, "check", checked)
    monkeypatch.setattr(sys, "argv", ["veristat", "kv", "lock"])
    assert veristat.main() == 1
    assert files(results) == ["veristat/kv.json", "veristat/lock.json"]
    found, _ = together(load(results)).veristat["kv"]
    (program,) = found.programs
    assert (program.program, program.insns, program.budget, program.loads) == ("kv_xdp", 101, budget, True)
    assert program.faults == ["kv_xdp: insns 101 is over"]


def test_a_fill_leaves_its_passes(monkeypatch, results):
    passes = [FillPass("filled", 4.04, 1000, {"right": 990, "refused": 10}, 3, 0.25)]
    report = FillReport(1000, 64_000, 0.51, 0.72, 1, passes, [])
    monkeypatch.setattr(fill, "fill", lambda *_, **__: report)
    monkeypatch.setattr(FillPass, "complaints", {"refused": 10})
    monkeypatch.setattr(sys, "argv", ["fill", "kv"])
    assert fill.main() == 1
    assert files(results) == ["fill/kv.json"]
    found, _ = together(load(results)).fill["kv"]
    assert (found.keys, found.kills, found.load_seconds, found.reload_seconds) == (1000, 1, 0.5, 0.7)
    (one,) = found.passes
    assert (one.title, one.seconds, one.requests, one.complaints, one.again) == (
        "filled",
        4.0,
        1000,
        {"refused": 10},
        3,
    )


def test_the_containers_leave_their_steps_in_both_folders(monkeypatch, results, tmp_path):
    class Engine:
        version = "Engine 27.5"

        def image_bytes(self, _):
            return 912

    monkeypatch.setattr(docker.images, "require_base", lambda _: None)
    monkeypatch.setattr(docker.steps, "grant", lambda *_: docker.steps.Granted({"check": (), "bench": ("BPF",)}, []))
    monkeypatch.setattr(docker, "build", lambda _: {"stepwise": 3.0})
    monkeypatch.setattr(docker.steps, "run", lambda _, step, *__: docker.steps.Done(step.name, 0, 2.0))
    assert docker.check_all(Engine(), True, tmp_path / "inside") == 0
    for folder_of_one in (results, tmp_path / "inside"):
        found, _ = together(load(folder_of_one)).containers["all"]
        assert found.smoke and found.image_bytes == {"stepwise": 912}
        assert found.capabilities == {"check": [], "bench": ["BPF"]}
        assert [step.name for step in found.steps][:2] == ["build stepwise", "check"]
