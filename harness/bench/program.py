"""The cost of a program alone: BPF_PROG_TEST_RUN of a driver that makes the next request and tail-calls the server.

Paired with the same driver calling an empty program, which leaves the request as it is. One slot, so one session;
memory is as hot as the workload's keys leave it.
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
    """The driver's slot is slot 0 of the link's client, so nothing may fly meanwhile."""

    def __init__(self, link: Link, reflector_object: Path) -> None:
        self.link = link
        self._program = link.client.program("bench_driver")
        self._empty_object = bpf.Object.open(reflector_object)
        self._empty = self._empty_object.program("bench_empty")

    def close(self) -> None:
        self._empty_object.close()

    def paired_ns(self, server: XdpServer, states: SlotStates, workload: Workload) -> float:
        """Nanoseconds of one run of the server's program over the empty one's."""
        blank = self.link.blank_states([[0] * 5])
        empty_ns = self._run_ns(self._empty, blank, workload)
        return self._run_ns(server.program, states, workload) - empty_ns

    def _run_ns(self, server: bpf.Program, states: SlotStates, workload: Workload) -> float:
        """The driver's clock counts whole nanoseconds of the mean; the wall clock over all of them is finer."""
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
