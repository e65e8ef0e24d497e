"""Tests what each check's container may do, and how the checks are summed up."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.docker import engine, steps
from harness.docker.engine import Engine, EngineError
from harness.docker.steps import STEPS, Done, Granted

ALLOWED = Granted({step.name: step.capabilities for step in STEPS}, ["--cpu-rt-runtime", "800000"])


def arguments(name: str, smoke: bool = False) -> list[str]:
    step = next(step for step in STEPS if step.name == name)
    return list(map(str, steps.arguments_of(step, ALLOWED, smoke, Path("results"), "abc+", "one")))


def added(words: list[str]) -> set[str]:
    return {words[at + 1] for at, word in enumerate(words) if word == "--cap-add"}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_no_container_has_more_than_it_names(step):
    words = arguments(step.name)
    assert "--privileged" not in words and words[words.index("--cap-drop") + 1] == "ALL"
    assert added(words) == set(step.capabilities)
    assert words[words.index("--network") + 1] == "none"
    assert "no-new-privileges" in words


def test_the_model_checker_needs_no_capability_and_the_verifier_no_other_namespaces():
    assert added(arguments("check")) == set()
    assert added(arguments("conform")) == added(arguments("veristat")) == {"BPF", "PERFMON", "NET_ADMIN"}


def test_only_the_benchmark_sees_the_host_s_processes_and_runs_in_real_time():
    assert [step.name for step in STEPS if "--pid" in arguments(step.name)] == ["bench"]
    assert [step.name for step in STEPS if "--cpu-rt-runtime" in arguments(step.name)] == ["bench"]


def test_a_container_knows_its_commit_and_writes_to_the_mounted_folder():
    words = arguments("check")
    assert f"{Path('results').resolve()}:/results" in words
    assert "STEPWISE_RESULTS=/results" in words and "STEPWISE_COMMIT=abc+" in words


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_smoke_is_the_same_recipe(step):
    recipe = step.command.partition("just ")[2].split()[0]
    assert step.smoke.partition("just ")[2].split()[0] == recipe
    assert arguments(step.name)[-1] == step.command and arguments(step.name, smoke=True)[-1] == step.smoke


def test_every_capability_is_known_by_its_number():
    assert {name for step in STEPS for name in step.capabilities} <= engine.CAPABILITIES.keys()


def test_the_table_has_each_step_and_the_sizes():
    done = [Done("build it", 0, 61.4), Done("check", 0, 2.0), Done("conform", 3, 1.0)]
    assert steps.table(done, {"one": 1_996_000_000, "gone": None}).splitlines() == [
        "build it             passed            61 s",
        "check                passed             2 s",
        "conform              FAILED (3)         1 s",
        "one                  image          1,996 MB",
    ]


def test_the_first_failure_is_the_status():
    assert steps.first_failure([Done("a", 0, 1), Done("b", 3, 1), Done("c", 1, 1)]) == 3
    assert steps.first_failure([Done("a", 0, 1)]) == 0


def test_a_step_runs_and_its_container_is_removed(client, tmp_path):
    script = client(f'run*) echo ran; exit 4 ;;\n"rm --force stepwise-check"*) echo "$*" >>{tmp_path}/removed ;;')
    done = steps.run(Engine(str(script), "28"), STEPS[0], ALLOWED, True, tmp_path, "abc")
    assert (done.step, done.status) == ("check", 4)
    assert (tmp_path / "check.log").read_text() == "ran\n"
    assert (tmp_path / "removed").read_text().startswith("rm --force stepwise-check-")


@pytest.mark.parametrize(
    "cases, found",
    [
        ("run*) exit 0 ;;", []),
        ("*--cpu-rt-runtime*) exit 0 ;;\nrun*) exit 126 ;;", ["--cpu-rt-runtime", "800000"]),
    ],
)
def test_real_time_is_asked_for_where_it_is_shared_out(client, cases, found):
    assert engine.real_time_arguments(Engine(str(client(cases)), "28"), "image") == found


def test_an_engine_without_real_time_is_told_how_to_get_some(client):
    script = client("run*) exit 1 ;;")
    with pytest.raises(EngineError, match="dockerd --cpu-rt-runtime=900000"):
        engine.real_time_arguments(Engine(str(script), "28"), "image")
