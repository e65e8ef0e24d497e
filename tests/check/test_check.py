"""Tests the models of the repository: which hold, which must fail and why, and how surprises are reported."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.check import __main__ as command
from harness.results.sample import sampled
from harness.tla import models
from harness.tla.model import Model
from harness.tla.run import Report, run
from harness.tla.tlc import ROOT
from harness.tla.trace import as_text

ALL = [model for protocol in models.protocols() for model in models.models_of(protocol)]

SAMPLE = 72
"""About a third of the quick models. `just nightly` checks all models."""


def _model(protocol: str, name: str) -> Model:
    return next(model for model in models.models_of(protocol) if model.name == name)


def _check(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness.check", *arguments], check=False, cwd=ROOT, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def forged() -> Report:
    """A model that fails at once: a packet is executed that another than its client has sent."""
    return run(_model("lock", "fail_anyone"))


def test_a_sample_of_the_quick_models_is_as_recorded() -> None:
    """Verdict, violated property and state count of each, checked by the command that users run."""
    check = _check("all", "quick", "--sample", str(SAMPLE))
    assert check.returncode == 0, check.stdout + check.stderr
    quick = {model.full_name: model for model in ALL if model.is_quick}
    lines = {line.split()[0]: line for line in check.stdout.splitlines() if line.split(" ")[0] in quick}
    assert len(lines) == SAMPLE
    for name, line in lines.items():
        assert f" {quick[name].distinct:,} states" in line
        assert (f"fails as it must: {quick[name].violates}" if quick[name].must_fail else " holds ") in line


def test_another_commit_checks_other_models(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(commit: str) -> set[str]:
        monkeypatch.setenv("STEPWISE_COMMIT", commit)
        return {model.full_name for model in sampled(ALL, SAMPLE, "model")}

    assert chosen("one") == chosen("one") != chosen("two")


def test_a_sample_needs_a_model() -> None:
    check = _check("limiter", "quick", "--sample", "0")
    assert (check.returncode, check.stderr) == (1, "check: a sample needs at least 1 model, not 0\n")


@pytest.mark.parametrize(
    "protocol, states, states_of_the_largest",
    [
        ("lock", 800_000, 80_000),
        ("kv", 450_000, 60_000),
        ("log", 450_000, 75_000),
        ("occ", 280_000, 27_000),
        ("session", 500_000, 150_000),
    ],
)
def test_the_small_models_are_no_toys(protocol: str, states: int, states_of_the_largest: int) -> None:
    holding = [model for model in models.models_of(protocol) if model.size == "small" and not model.must_fail]
    assert sum(model.distinct for model in holding) >= states
    assert max(model.distinct for model in holding) >= states_of_the_largest


@pytest.mark.parametrize("model", ALL, ids=lambda model: f"{model.protocol}-{model.name}")
def test_every_model_says_what_it_is_for(model: Model) -> None:
    assert model.module.is_file()
    assert model.distinct or model.size == "large", "not recorded: run `python -m harness.check --record`"
    assert models.properties_of(model)
    assert model.about
    if model.must_fail:
        assert model.violates in models.properties_of(model)


@pytest.mark.parametrize("protocol", models.protocols())
def test_every_property_has_a_sentence(protocol: str) -> None:
    of_protocol = models.models_of(protocol)
    sentences = models.sentences(of_protocol[0].search_path)
    for name in {name for model in of_protocol for name in (*models.properties_of(model), *model.possible)}:
        assert len(sentences.get(name, "").split()) > 4, name


def test_a_model_that_must_fail_and_passes_is_a_surprise(tmp_path: Path) -> None:
    failing = _model("lock", "fail_anyone")
    harmless = {"Authenticate <- AuthenticateAnyone": [], "MaxAsks <- Asks2": ["MaxAsks <- Asks1"]}
    constants = [each for statement in failing.settings.constants for each in harmless.get(statement, [statement])]
    settings = failing.settings.model_copy(update={"constants": constants})
    report = run(replace(failing, settings=settings, config=tmp_path / "harmless.cfg"))
    assert len(report.surprises) == 1
    assert report.surprises[0].startswith("passes, but must fail")


def test_a_failure_for_another_reason_is_a_surprise(forged: Report) -> None:
    report = run(replace(forged.model, violates="ReplaysChangeNothing"))
    assert report.surprises == ["violates NobodyActsForAnother, but must violate ReplaysChangeNothing"]


def test_another_state_count_is_a_surprise(forged: Report) -> None:
    report = run(replace(forged.model, distinct=forged.outcome.distinct + 1))
    assert len(report.surprises) == 1
    assert "are recorded in models.yaml" in report.surprises[0]


def test_a_state_that_a_model_does_not_come_to_is_a_surprise(tmp_path: Path) -> None:
    """In this model is one client, and nobody dies."""
    model = replace(_model("lock", "small_renew"), possible=("TwoGone", "NobodyInFlight"), config=tmp_path / "one.cfg")
    report = run(model)
    assert report.surprises == ["never comes to a state of TwoGone, which its `possible` names"]
    assert report.outcome.distinct == model.distinct, "the watch changes no states"


def test_a_protocol_without_models_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(models, "all_protocols", lambda: ["counter", "limiter", "lock"])
    assert models.without_models() == ["counter"]
    monkeypatch.setattr(sys, "argv", ["check", "counter"])
    assert command.main() == 1
    assert (
        "counter has no models: spec/counter/model/models.yaml does not exist; docs/reference/models.md says how"
        in capsys.readouterr().err
    )
    monkeypatch.setattr(command, "_check_all", lambda chosen, recording: [])
    monkeypatch.setattr(sys, "argv", ["check", "all", "quick"])  # others measure the reach, which takes minutes
    assert command.main() == 0
    assert "counter has no models" in capsys.readouterr().out


def test_a_model_without_a_word_on_it_is_explained(forged: Report, capsys: pytest.CaptureFixture[str]) -> None:
    command._explain(replace(forged, model=replace(forged.model, about="")), always=True)
    assert capsys.readouterr().out.startswith("\nlock/fail_anyone: violates NobodyActsForAnother\n")
    command._explain(Report(replace(forged.model, about=""), forged.outcome), always=True)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["nothing"], "'nothing' has no models; choose from: "), (["lock", "nothing"], "lock has no model 'nothing'")],
)
def test_what_is_not_there_is_named(arguments: list[str], complaint: str) -> None:
    check = _check(*arguments)
    assert check.returncode == 1
    assert complaint in check.stderr
    assert "Traceback" not in check.stderr


def test_a_counterexample_reads_as_a_sequence_of_messages(forged: Report) -> None:
    text = as_text(forged.steps)
    assert re.search(r"XDP +for client \d: Authenticate on credential\[\d\]: Continue", text)
    assert re.search(r"XDP +for client \d: Begin on session\[\d\]: (Continue|Reply)", text)
    assert re.search(r"^ +session\[\d\].state: Idle -> (Busy|Closing)$", text, re.MULTILINE)


def test_a_counterexample_is_a_diagram(forged: Report) -> None:
    assert forged.diagram is not None
    page = forged.diagram.read_text()
    drawing = ElementTree.fromstring(page[page.index("<svg") : page.index("</body>")])
    texts = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert "XDP" in texts
    assert any(text and "Idle ->" in text for text in texts)
    assert "NobodyActsForAnother" in page
    assert "<script" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")
