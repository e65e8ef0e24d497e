"""Drives a server's end as a network card does: a pinned kernel thread sleeps until packets come (threaded NAPI)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from harness.bench.build import BenchError
from harness.bench.poller import write_settings
from harness.bench.processes import named
from harness.rig import Endpoint

PRIORITY = 3  # real time, above a poller of the same queue, which would otherwise wait for it forever
PRIORITY_OF_SERVER = 4  # in userspace: otherwise a stream of packets would keep it from answering


@contextlib.contextmanager
def woken(endpoint: Endpoint, cpu: int) -> Iterator[int]:
    """Process this end's packets on `cpu` for a block, in a kernel thread. Yields its process id."""
    before = _threads(endpoint)
    write_settings(endpoint, {"threaded": 1})
    try:
        threads = _threads(endpoint) - before
        if len(threads) != 1:
            found = f"{endpoint.iface} has {len(threads)} threads instead of one"
            raise BenchError(f"{found}: this kernel has no threaded NAPI; Linux has it from 5.12 on")
        (thread,) = threads
        os.sched_setaffinity(thread, {cpu})
        os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(PRIORITY))
        yield thread
    finally:
        write_settings(endpoint, {"threaded": 0})


def put_before_packets(pid: int) -> None:
    """Give a server's threads priority over the thread that brings it packets."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(PRIORITY_OF_SERVER))


def _threads(endpoint: Endpoint) -> set[int]:
    return set(named(f"napi/{endpoint.iface}-"))
