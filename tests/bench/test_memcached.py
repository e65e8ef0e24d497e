"""Tests memcached's client in XDP against the real server: it finds what is stored, and only that."""

from __future__ import annotations

import os
import shutil
from types import SimpleNamespace

import pytest

from harness.bench.server_comparison import Contest, Settings
from harness.bench.workload import Workload, uniform
from harness.rig import Rig
from spec.kv.bench import bench
from spec.kv.bench.bench_memcached import Memcached

pytestmark = pytest.mark.skipif(
    not shutil.which("memcached"), reason="memcached is not installed (./bootstrap installs it)"
)
OTHER = bench.OUTCOMES.index("other")


@pytest.fixture
def contest(tmp_path):
    cpu = max(os.sched_getaffinity(0))
    with Rig("bench") as rig:
        server = Memcached(rig, SimpleNamespace(home=tmp_path), cpu)
        try:
            loads = (Workload([0, 1000, 0]),)
            yield Contest(bench, cpu, [server], Settings(1, 0.3, 16, True, False), loads)
        finally:
            server.close()


def outcomes(contest: Contest, name: str, workload: Workload) -> dict[str, float]:
    """Shares of the answers; a slot's first is none."""
    (server,) = contest.servers
    with contest.prepared(server):
        flight = contest.fly(server, name, workload, 16, 0.3)
    assert flight.counts and flight.lost == () and flight.outcomes[OTHER] == 16
    answers = sum(flight.outcomes) - 16
    assert answers > 1000
    return {name: count / answers for name, count in zip(bench.OUTCOMES, flight.outcomes) if count and name != "other"}


def test_gets_and_updates_of_what_is_there(contest):
    found = outcomes(contest, "all", Workload([512, 0, 0], uniform(1000)))
    assert set(found) == {"value", "updated"}
    assert abs(found["updated"] - 0.5) < 0.05


def test_what_was_never_stored_is_missing_and_not_updated(contest):
    found = outcomes(contest, "none", Workload([512, 0, 0], uniform(1000, first=1000)))
    assert set(found) == {"missing", "absent"}
