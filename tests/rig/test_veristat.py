"""Tests budgets: programs that are within, over, missing or refused."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

from codegen import cli
from harness import veristat
from harness.base.protocols import UnknownProtocol, chosen, protocols

MEASURED = veristat.Measured("p_sweep_2", "success", insns=100, states=10, stack=64, log="")
ENOUGH = {"insns": 100, "states": 10, "stack": 64}
NEW, OLD = "6.12.117+deb12-cloud-amd64", "6.1.0-56-cloud-amd64"


def test_a_program_is_measured(bpf_object):
    (measured,) = veristat.measure(bpf_object("counting"))
    assert (measured.program, measured.verdict, measured.log) == ("count", "success", "")
    assert 20 < measured.insns < 400 and measured.states > 0 and 0 < measured.stack <= 64


def test_a_refused_program_fails_with_the_verifiers_words(bpf_object):
    (measured,) = veristat.measure(bpf_object("refused"))
    judged = veristat.judge("p", measured, {"careless": ENOUGH}, NEW)
    assert measured.verdict == "failure"
    assert "invalid access to packet" in judged.faults[0]


@pytest.mark.parametrize("key", ["sweep", "sweep_2"])
def test_within_budget(key):
    assert veristat.judge("p", MEASURED, {key: ENOUGH}, NEW).faults == ()


def test_a_pass_own_budget_goes_before_the_sweeps():
    faults = veristat.judge("p", MEASURED, {"sweep": ENOUGH, "sweep_2": ENOUGH | {"stack": 63}}, NEW).faults
    assert faults == ("p_sweep_2: stack 64 is over its budget of 63",)


@pytest.mark.parametrize("limit", veristat.LIMITS)
def test_one_over_is_over(limit):
    (fault,) = veristat.judge("p", MEASURED, {"sweep": ENOUGH | {limit: ENOUGH[limit] - 1}}, NEW).faults
    assert f"{limit} {ENOUGH[limit]} is over its budget of {ENOUGH[limit] - 1}" in fault


@pytest.mark.parametrize(
    ("release", "count"),
    [("6.1.0-56-cloud-amd64", False), ("6.6.9", False), ("6.12.117+deb12-amd64", True), ("7.0", True)],
)
def test_budgets_count_on_newer_kernels(release, count):
    assert veristat.budgets_count(release) is count


def test_what_is_over_a_budget_that_does_not_count_is_no_fault():
    small = {"sweep": dict.fromkeys(veristat.LIMITS, 0)}
    assert veristat.judge("p", MEASURED, small, OLD).faults == ()
    assert len(veristat.judge("p", MEASURED, small, NEW).faults) == len(veristat.LIMITS)


def test_a_kernel_may_have_a_budget_of_its_own():
    small = {"sweep": ENOUGH | {"insns": 99, "kernels": {"6.1": ENOUGH, "6.18": ENOUGH | {"insns": 98}}}}
    assert veristat.judge("p", MEASURED, small, OLD, strict=True).faults == ()
    assert veristat.judge("p", MEASURED, small, NEW).faults == ("p_sweep_2: insns 100 is over its budget of 99",)
    assert veristat.judge("p", MEASURED, small, "6.18.44").faults == ("p_sweep_2: insns 100 is over its budget of 98",)


def test_that_an_old_kernel_has_no_budget_is_a_fault_where_all_kernels_are_to_have_one():
    (fault,) = veristat.judge("p", MEASURED, {"sweep": ENOUGH}, OLD, strict=True).faults
    assert "gives no budget for kernel 6.1" in fault and 'budget.sweep.kernels."6.1"' in fault


def test_no_budget_is_a_fault():
    (fault,) = veristat.judge("p", MEASURED, {"xdp": ENOUGH}, NEW).faults
    assert "gives no budget for sweep_2" in fault
    (fault,) = veristat.judge("p", MEASURED, {"sweep": {"insns": 100, "states": 10}}, NEW).faults
    assert "no budget of stack" in fault


def test_errors_say_what_to_do(tmp_path):
    with pytest.raises(veristat.VeristatError, match="just build"):
        veristat.measure(tmp_path / "absent.bpf.o")
    with pytest.raises(UnknownProtocol, match="choose from: .*lock"):
        chosen(["absent"])
    done = subprocess.run(
        [sys.executable, "-m", "harness.veristat", "absent"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 2 and "no protocol 'absent'" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("change", ["tick_ns: 0", "tick_ns: 2_097_152"], ids=["refused", "compiles"])
def test_programs_older_than_their_sources_are_not_measured(change, tmp_path, monkeypatch, capsys):
    """As after `just generate` was refused, or was not run."""
    shutil.copytree(cli.SPEC / "lib", tmp_path / "spec/lib")
    shutil.copytree(cli.SPEC / "limiter", tmp_path / "spec/limiter")
    layout = tmp_path / "spec/limiter/layout.yaml"
    text, found = re.subn(r"tick_ns: [\d_]+", change, layout.read_text())
    assert found == 1
    layout.write_text(text)
    monkeypatch.setattr(cli, "SPEC", tmp_path / "spec")
    monkeypatch.setattr(veristat, "measure", lambda path: [MEASURED])
    monkeypatch.setattr(sys, "argv", ["veristat", "limiter"])
    assert veristat.main() == 2
    out, err = capsys.readouterr()
    assert "within budget" not in out
    assert err.startswith(
        "veristat: error: the programs of limiter are older than their sources, so nothing was measured: "
        "`just generate limiter` must succeed first\n"
    )


def test_every_protocol_declares_budgets_for_all_hooks():
    for protocol in protocols():
        assert "xdp" in veristat.budgets(protocol), protocol
