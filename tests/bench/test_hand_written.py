"""Tests that programs of others are found, loaded and asked as `just bench` does it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.base.protocols import RUNTIME_INCLUDE, SPEC
from harness.bench.build import BenchError, compile_bpf
from harness.bench.hand_written import HandWritten
from harness.bench.server_comparison import Contest, Settings
from harness.rig import Rig
from spec.lock.bench import bench

SOURCE = Path(__file__).with_name("hand_written.bpf.c")
(DINT,) = bench.HAND_WRITTEN


@pytest.fixture
def by_hand(tmp_path, monkeypatch) -> HandWritten:
    compiled = compile_bpf(SOURCE, tmp_path, [])
    monkeypatch.setenv(DINT.home, str(tmp_path))
    return replace(DINT, path=compiled.name, program="grants_all")


def test_its_clients_acquire_and_release_in_turns(tmp_path, by_hand):
    cpu = max(os.sched_getaffinity(0))
    build = SimpleNamespace(home=tmp_path, include=[SPEC / "lock/bench", *RUNTIME_INCLUDE])
    with Rig("bench") as rig:
        server = by_hand.opened(rig, build, cpu)
        try:
            contest = Contest(bench, cpu, [server], Settings(1, 0.3, 16, True, False))
            with contest.prepared(server):
                flight = contest.fly(server, "hot", bench.WORKLOADS["hot"], 16, 0.3)
        finally:
            server.close()
    answers = dict(zip(bench.OUTCOMES, flight.outcomes))
    assert flight.counts and flight.lost == ()
    assert answers["other"] == 16, "the first answer of each slot is blank"
    assert answers["granted"] > 1000
    assert 0 <= answers["granted"] - answers["released"] <= 16
    assert answers["rejected"] == answers["left alone"] == 0


def test_one_that_is_not_at_hand_is_left_out_with_a_sentence(monkeypatch):
    monkeypatch.delenv(DINT.home, raising=False)
    assert DINT.missing == (
        "DINT is left out: set DINT_HOME to a folder with its compiled programs, such as lock_2pl/ebpf/ls_kern.o"
    )


def test_a_folder_without_its_program_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv(DINT.home, str(tmp_path))
    assert not DINT.missing
    with pytest.raises(BenchError, match="cannot run DINT: DINT_HOME names a folder without lock_2pl/ebpf/ls_kern.o"):
        DINT.opened(None, None, 0)
