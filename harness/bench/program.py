"""Measures a program alone. BPF_PROG_TEST_RUN runs a driver, which makes the next request and tail-calls the server.

Each run is paired with one in which the driver calls an empty program, which leaves the request as it is. There is one
slot, and so one session. Memory is as hot as the workload's keys leave it.
"""

from __future__ import annotations

import time
from pathlib import Path

from harness.bench.link import Link, SlotStates
from harness.bench.servers import XdpServer
from harness.bench.workload import Workload
from harness.rig import bpf

REPEAT = 1_000_000
DRIVER_WARM_UP = 10_000


class Driver:
    """The driver program. It uses slot 0 of the link's client, so nothing may fly meanwhile."""

    def __init__(self, link: Link, reflector_object: Path) -> None:
        self.link = link
        self._program = link.client.program("bench_driver")
        self._empty_object = bpf.Object.open(reflector_object)
        self._empty = self._empty_object.program("bench_empty")

    def close(self) -> None:
        self._empty_object.close()

    def paired_ns(self, server: XdpServer, states: SlotStates, workload: Workload) -> float:
        """Nanoseconds that one run of the server's program takes more than the empty one."""
        blank = self.link.blank_states([[0] * 5])
        empty_ns = self._run_ns(self._empty, blank, workload)
        return self._run_ns(server.program, states, workload) - empty_ns

    def _run_ns(self, server: bpf.Program, states: SlotStates, workload: Workload) -> float:
        """Nanoseconds of one run, by the wall clock: the kernel reports the mean in whole nanoseconds only."""
        self.link.client.map("server").update(0, server.fd.to_bytes(4, "little"))
        self.link.write_slots(states, workload)
        packet = self.link.frame(0, states.answers[0])
        packet = self._program.test_run(packet, repeat=DRIVER_WARM_UP).data
        began = time.monotonic_ns()
        result = self._program.test_run(packet, repeat=REPEAT)
        elapsed_ns = time.monotonic_ns() - began
        if result.action != bpf.XDP_TX:
            raise RuntimeError(
                f"the driver's last run ended with {result.action} instead of XDP_TX: {server.name} did not answer"
            )
        self.link.read_slot(states, result.data[-self.link.payload_size :])
        return min(elapsed_ns / REPEAT, float(result.duration_ns + 1))
