"""Tests the kernels' command on the running kernel.

It covers budgets, the message about a broken budget, and what older kernels have instead.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from codegen.layout.older_kernels import has_programs, older_of
from harness.base.protocols import REPOSITORY, SPEC, protocols
from harness.builds.program_variants import OLDER, SHIPPED
from harness.kernels import kernel_list
from harness.kernels.builds import programs_for
from harness.kernels.inside import explained
from harness.kernels.kernel_list import HOST, Listed, UnknownKernel
from harness.kernels.run import Asked, absent, measure, names
from harness.kernels.vm.machine import MachineError, check_known
from harness.results import read_all
from harness.veristat import LIMITS, Judged, Measured, budget_on, budgets

HERE = Listed(HOST, None)


def quiet(_: str) -> None:
    pass


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """Returns a folder of our own, because the command has one folder for all its users."""
    return Path(tmp_path_factory.mktemp("kernels"))


@pytest.fixture
def limiter(tmp_path) -> Path:
    """A copy of the token bucket, whose budget may be changed."""
    return Path(shutil.copytree(SPEC / "limiter", tmp_path / "limiter"))


def with_budget(spec: Path, **limits: int) -> None:
    layout = yaml.safe_load((spec / "layout.yaml").read_text())
    layout["budget"]["xdp"].update(limits)
    (spec / "layout.yaml").write_text(yaml.safe_dump(layout))


def test_what_is_within_its_budget_is_measured_and_no_fault(limiter, work):
    found = measure(HERE, Asked(["limiter"], [], 0, limiter, work), quiet)
    (program,) = found.programs
    assert (program["program"], program["verdict"], program["declared"]) == ("limiter_xdp", "success", True)
    assert all(program[limit] > 0 for limit in LIMITS) and program["jited_bytes"] > 500
    assert found.faults == [] and found.boot_seconds is None


@pytest.mark.parametrize("limit", LIMITS)
def test_a_lowered_budget_fails_naming_program_kernel_and_line(limiter, work, limit):
    with_budget(limiter, **{limit: 1})
    found = measure(HERE, Asked(["limiter"], [], 0, limiter, work), quiet)
    (fault,) = found.faults
    assert f"kernel host: limiter_xdp: {limit} " in fault and "is over its budget of 1" in fault
    assert "the line with the most instructions is spec/limiter/LimiterSteps.tla:" in fault
    log = REPOSITORY / found.origins["limiter_xdp"]["log"]
    assert found.origins["limiter_xdp"]["log"] in fault
    # Quoted: a line of the TLA+, with its place.
    assert 'CASE msg.kind # "Take" ->' in log.read_text() and "LimiterSteps.tla:" in log.read_text()


def test_the_line_that_is_named_is_one_of_the_source(limiter, work):
    with_budget(limiter, insns=1)
    line = measure(HERE, Asked(["limiter"], [], 0, limiter, work), quiet).origins["limiter_xdp"]["line"]
    file, _, number = line["place"].partition(":")
    assert (REPOSITORY / file).read_text().splitlines()[int(number) - 1].strip() == line["text"]
    assert 0 < line["insns"] < line["of"]


def test_a_refused_program_names_the_line_where_it_is_refused(tmp_path, work):
    """A store to nowhere is put into the first step."""
    built = programs_for("limiter", "6.18.0", work).object
    assert built is not None
    generated = built.parent / "generated"
    broken = tmp_path / "generated"
    shutil.copytree(generated, broken)
    hooks = broken / "limiter_steps.h"
    text = hooks.read_text()
    at = text.index("\n", text.index("LimiterSteps.tla:25"))
    first = text.index("#line", at)
    end = text.index("\n", first)
    hooks.write_text(text[: end + 1] + "\t*(volatile __u64 *)0 = 1;\n" + text[first:])
    command = [
        "make",
        "-s",
        "-C",
        REPOSITORY / "runtime",
        "PROTOCOL=limiter",
        f"GENERATED={broken}",
        f"BUILD={tmp_path}",
        "bpf",
    ]
    subprocess.run(command, check=True, capture_output=True)
    judged = Judged("limiter", Measured("limiter_xdp", "failure", 1, 1, 1, "refused"), None, ("refused",))
    log, found = explained(tmp_path / "limiter.bpf.o", judged)
    assert found.last is not None and found.last.place.startswith("spec/limiter/LimiterSteps.tla:")
    assert b"invalid mem access" in log


# --- Older kernels --------------------------------------------------------------------------------


def test_a_new_kernel_has_the_programs_as_they_are(work):
    found = programs_for("limiter", "6.18.44", work)
    assert found.form == SHIPPED and found.object is not None and found.object.exists()


def test_a_kernel_without_what_the_layout_asks_for_has_the_older_form(work):
    found = programs_for("kv", "6.12.117+deb12-cloud-amd64", work)
    assert found.form == OLDER and found.object is not None
    text = (found.object.parent / "generated/kv.h").read_text()
    assert "struct bpf_spin_lock" in text and "bpf_res_spin_lock" not in text


def test_a_kernel_that_the_layout_has_no_programs_for_is_given_none(work):
    found = programs_for("occ", "6.1.0-56-cloud-amd64", work)
    assert found.object is None and {"occ_xdp", "occ_sweep_1", "occ_ahead"} <= set(names("occ"))
    row = absent(found, "occ_xdp")
    assert (row["declared"], row["verdict"], row["faults"]) == (False, "none", [])
    occ = older_of(SPEC / "occ")
    assert occ is not None and has_programs("6.12.1", occ) and not has_programs("6.1.0", occ)


def test_every_program_has_a_budget_on_every_kernel_of_the_list():
    missing = []
    for kernel in (each for each in kernel_list.listed() if each.package):
        for protocol in protocols():
            older = older_of(SPEC / protocol)
            if older is not None and not has_programs(kernel.name, older):
                continue
            without = [hook for hook, budget in budgets(protocol).items() if budget_on(budget, kernel.name) is None]
            missing += [f"{protocol}.{hook} on {kernel.name}" for hook in without]
    assert missing == []


# --- The command ------------------------------------------------------------------------------------


def test_an_unknown_kernel_is_named_with_those_there_are():
    with pytest.raises(UnknownKernel, match="choose from: host, 6.1, 6.12"):
        kernel_list.chosen(["5.15"])
    done = subprocess.run(
        [sys.executable, "-m", "harness.kernels", "--kernel", "5.15"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 2 and "no kernel '5.15'" in done.stderr and "Traceback" not in done.stderr


def test_an_unknown_package_is_named_with_those_there_are():
    with pytest.raises(MachineError, match=r"apt knows no package dpk; choose from: .*\bdpkg\b"):
        check_known("dpk")
    with pytest.raises(MachineError, match="apt knows no package stepwise-kernel; `apt-get update`"):
        check_known("stepwise-kernel")


def test_an_unknown_protocol_is_named():
    done = subprocess.run(
        [sys.executable, "-m", "harness.kernels", "absent"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 2 and "no protocol 'absent'" in done.stderr and "Traceback" not in done.stderr


def test_the_command_keeps_results_and_ends_with_zero(tmp_path, monkeypatch):
    monkeypatch.setenv("STEPWISE_RESULTS", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "harness.kernels", "limiter", "--kernel", "host", "--smoke"],
        check=False,
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
    )
    assert done.returncode == 0, done.stderr
    assert "limiter_xdp" in done.stdout and "all within budget, and all conform" in done.stdout
    (kept,) = read_all(tmp_path)
    assert (kept.command, kept.subject) == ("kernels", "host")
    (conformance,) = kept.found["conformance"]
    assert conformance["inputs"] > 100 and conformance["mismatches"] == 0
