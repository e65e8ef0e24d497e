"""Tests the figures of one request in flight, on made-up runs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.bench import campaign, gathered
from harness.bench.campaign import latency
from harness.bench.gathered import AGAIN, ALONE, Way
from harness.bench.link import Flight
from harness.bench.server_comparison import Contest, Settings
from harness.bench.servers import Generated, KernelUdp, Reflector
from harness.bench.workload import Workload

SETTINGS = Settings(2, 1.0, 64, True, False)


def made(kind: type, name: str) -> object:
    """A server that is never asked."""
    server = object.__new__(kind)
    server.name = name
    return server


class Made(Contest):
    """A contest whose round trips take these times. `busy` is the share of the time that is CPU time."""

    def __init__(self, servers: list, times_ns: dict[str, list[float]], busy: float = 1.0) -> None:
        super().__init__(
            SimpleNamespace(WORKLOADS={"some": Workload([1]), "other": Workload([2])}), 0, servers, SETTINGS
        )
        self.times_ns, self.busy = {name: list(times) for name, times in times_ns.items()}, busy

    def prepared(self, _server):
        return campaign.contextlib.nullcontext()

    def fly(self, server, _name, _workload, slots, seconds, *_):
        assert slots == 1
        return Flight(1, seconds, round(seconds * 1e9 / self.times_ns[server.name].pop(0)), (), self.busy, ())


def test_a_round_trip_is_compared_with_the_reflector_and_kernel_udp_in_its_round():
    servers = [made(Reflector, "reflector"), made(Generated, "generated"), made(KernelUdp, "kernel UDP")]
    times = {"reflector": [400, 800], "generated": [1000, 2000], "kernel UDP": [4000, 16000]}
    rows = {row.server: row.figures for row in latency(Made(servers, times, busy=0.5))}
    generated = {name: spread.median for name, spread in rows["generated"].items()}
    assert generated == pytest.approx(
        {"ns": 750, "wall ns": 1500, "ns over reflector": 450, "times kernel UDP": 6}, rel=1e-3
    )
    assert "times kernel UDP" not in rows["kernel UDP"] and "ns over reflector" not in rows["reflector"]


def test_a_message_in_flight_is_compared_with_one_operation():
    ways = [Way(made(Generated, name), operations) for name, operations in ((ALONE, 1), (AGAIN, 1), ("16", 16))]
    times = {ALONE: [500, 1000], AGAIN: [500, 1000], "16": [1000, 4000]}
    rows = gathered.latency(Made([], times), ways)
    assert [row.workload for row in rows] == ["some"] * 3
    _, again, several = (row.figures for row in rows)
    assert again[f"of {ALONE}"].median == pytest.approx(1)
    assert several[f"of {ALONE}"].median == pytest.approx(3)
    assert several["ns an operation"].median == pytest.approx(2500 / 16)
