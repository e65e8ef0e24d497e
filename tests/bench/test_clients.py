"""Tests the measurement of clients that ask for many operations, on the loaded programs. No speed is judged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.bench import clients
from harness.bench.build import BenchError
from harness.bench.clients import AGAIN, ALONE, GATHERED, THREADS, Asked, Task
from harness.bench.server_comparison import Settings
from harness.live.build import build
from harness.live.server import Server
from harness.rig import Rig

COUNT = 40
SETTINGS = Settings(2, 1.0, 64, True, False)


@pytest.fixture(scope="module", params=["kv", "lock"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with Rig("clients") as rig, Server(rig, build(request.param)) as started:
        started.start()
        yield started


def test_each_way_asks_for_all_and_gathered_ones_go_in_few_messages(server):
    asks = clients.asks_of(server.build.name)
    rows = clients.measured(server, asks, SETTINGS, COUNT, 1)
    found = {(row.workload, row.server): row.figures for row in rows}
    ways = [
        f"Python {THREADS} threads",
        *(f"{one} {way}" for one in ("Python", "C") for way in (ALONE, AGAIN, GATHERED)),
    ]
    assert set(found) == {(workload, way) for workload in asks.workloads(COUNT) for way in ways}
    for (_, way), figures in found.items():
        least, most = {ALONE: (1, 1), AGAIN: (1, 1), GATHERED: (5, 16)}.get(way.split(maxsplit=1)[1], (1, 16))
        assert least <= figures["operations in a message"].median <= most
        assert figures["p50 µs"].median <= figures["p99 µs"].median
        assert (f"times {ALONE}" in figures) == (not way.endswith(ALONE))
    assert len(server.rig.client.processes) == 0


def test_a_wrong_outcome_is_an_error(server, monkeypatch):
    asks = clients.asks_of(server.build.name)
    (workload, *_) = asks.workloads(1)
    monkeypatch.setattr(asks, "is_right", lambda *_: False)
    with pytest.raises(BenchError, match=f"{workload}: an operation had an outcome that it must not have"):
        clients.WAYS[f"Python {GATHERED}"](Task(server, asks, workload, 3, 1, 0))
    if server.build.name == "kv":
        server.build.ask_program()
        with pytest.raises(BenchError, match="the client in C ended with 1: ask: an operation of kind 12 was answered"):
            clients.WAYS[f"C {GATHERED}"](Task(server, asks, "gets", 2 * COUNT, 1, 0))


def test_a_protocol_without_many_operations_has_no_such_client():
    assert clients.asks_of("limiter") is None


def test_ratios_are_those_of_cpu_time_within_a_round():
    def asked(cpu_seconds: float) -> Asked:
        return Asked(1000, 1000, 1.0, cpu_seconds, 1e3, 2e3)

    found = {("w", f"C {ALONE}"): [asked(0.9), asked(0.3)], ("w", f"C {GATHERED}"): [asked(0.09), asked(0.1)]}
    row = clients.row_of("w", f"C {GATHERED}", found)
    assert row.figures[f"times {ALONE}"].median == pytest.approx((10 + 3) / 2)
    assert row.figures["CPU µs an operation"].median == pytest.approx(95)
    assert row.notes == ("others used the CPU for part of the time",)
