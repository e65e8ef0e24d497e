"""Measures a client that asks for many operations: one at a time and gathered, in Python and in C, over sockets.

The server is as it is in service, with its daemon, in native XDP. All ways of asking share its tables.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import random
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from harness.base.protocols import LIVE, SPEC
from harness.bench.build import BenchError
from harness.bench.campaign import progress
from harness.bench.report import Row
from harness.bench.server_comparison import UNDISTURBED_SHARE, Settings
from harness.bench.spread import Spread
from harness.live.build import Build
from harness.live.server import Server
from harness.rig import Rig
from spec.lib.live.gathering import Gathering

COUNT = 1000
REPEAT = 10
THREADS = 16
ALONE, AGAIN, GATHERED = "one at a time", "one at a time, again", "gathered"


@dataclass(frozen=True)
class Asked:
    """One run of a client. Latencies are of operations, from the making of their message to its answer.

    cpu_seconds: CPU time of the client's process. The server's programs run in it as well, because of the veth.
    """

    operations: int
    messages: int
    seconds: float
    cpu_seconds: float
    p50_ns: float
    p99_ns: float

    @property
    def cpu_ns(self) -> float:
        """CPU time of an operation."""
        return self.cpu_seconds * 1e9 / self.operations


@dataclass(frozen=True)
class Task:
    """The operations that a client asks for.

    repeat: how often it asks for all of them.
    """

    server: Server
    asks: ModuleType
    workload: str
    count: int
    repeat: int
    cpu: int

    @property
    def turns(self) -> list[list[Any]]:
        found: list[list[Any]] = self.asks.workloads(self.count)[self.workload]
        return found


Way = Callable[[Task], Asked]


def asks_of(protocol: str) -> ModuleType | None:
    """The module live/asks.py of a protocol, or None if it has none."""
    if not (SPEC / protocol / LIVE / "asks.py").exists():
        return None
    return importlib.import_module(f"spec.{protocol}.{LIVE}.asks")


def run(build: Build, settings: Settings) -> list[Row]:
    """Measure a protocol that has live/asks.py, on a server of its own."""
    asks = asks_of(build.name)
    if asks is None:
        raise BenchError(f"{build.name} has no client that asks for many operations: add its live/asks.py and asks.h")
    with Rig("clients") as rig, Server(rig, build) as server:
        server.start()
        return measured(server, asks, settings, COUNT, REPEAT)


def measured(server: Server, asks: ModuleType, settings: Settings, count: int, repeat: int) -> list[Row]:
    """One row for each workload and way to ask. All runs are interleaved."""
    found: dict[tuple[str, str], list[Asked]] = {}
    cpu = max(os.sched_getaffinity(0))
    server.build.ask_program()
    with caller_of(server, asks) as caller:
        caller.gather(asks.loads(count))
    for number in range(settings.runs):
        progress(f"a client asks for {count:,} operations, run {number + 1} of {settings.runs}")
        for workload in asks.workloads(count):
            task = Task(server, asks, workload, count, repeat, cpu)
            for name, way in WAYS.items():
                found.setdefault((workload, name), []).append(way(task))
    return [row_of(workload, name, found) for workload, name in found]


def row_of(workload: str, name: str, found: dict[tuple[str, str], list[Asked]]) -> Row:
    """The figures of one way to ask. Ratios are of CPU time within a round, because others may use the CPU as well."""
    own, base = found[workload, name], f"{name.split(maxsplit=1)[0]} {ALONE}"
    figures = {
        "thousand operations a second": Spread.of([each.operations / each.seconds / 1e3 for each in own]),
        "p50 µs": Spread.of([each.p50_ns / 1e3 for each in own]),
        "p99 µs": Spread.of([each.p99_ns / 1e3 for each in own]),
        "operations in a message": Spread.of([each.operations / each.messages for each in own]),
        "CPU µs an operation": Spread.of([each.cpu_ns / 1e3 for each in own]),
    }
    if name != base:
        pairs = zip(own, found[workload, base], strict=True)
        figures[f"times {ALONE}"] = Spread.of([other.cpu_ns / each.cpu_ns for each, other in pairs])
    figures["CPU share"] = Spread.of([each.cpu_seconds / each.seconds for each in own])
    disturbed = figures["CPU share"].median < UNDISTURBED_SHARE
    return Row(workload, name, figures, ("others used the CPU for part of the time",) if disturbed else ())


@contextlib.contextmanager
def caller_of(server: Server, asks: ModuleType) -> Iterator[Any]:
    """Give a client in Python with an open session."""
    with server.rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.connect((server.rig.server.ipv4, server.build.protocol.port))
        caller = asks.Caller(asks.Session(server.build.codec), connection)
        caller.open(random.Random(time.monotonic_ns()), server.build.capacities["session"])
        yield caller
        caller.close()


@contextlib.contextmanager
def on(cpu: int) -> Iterator[None]:
    """Stay on one CPU for a block, without garbage collection. Threads that it starts stay there as well."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        os.sched_setaffinity(0, before)


class _Timed(Gathering[Any]):
    """Notes the latency of each operation."""

    def __init__(self, caller: Any) -> None:
        super().__init__(caller)
        self.latencies_ns: list[int] = []

    def execute(self, part: Sequence[Any]) -> Sequence[Any]:
        began = time.perf_counter_ns()
        outcomes = super().execute(part)
        self.latencies_ns += [time.perf_counter_ns() - began] * len(part)
        return outcomes


def _in_python(task: Task, ask: Callable[[_Timed, list[Any]], list[Any]]) -> Asked:
    with caller_of(task.server, task.asks) as caller, on(task.cpu):
        gathering, outcomes = _Timed(caller), []
        messages = caller.message_count
        began, began_cpu = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(task.repeat):
            outcomes += [ask(gathering, turn) for turn in task.turns]
        cpu_seconds = (time.process_time_ns() - began_cpu) / 1e9
        seconds, messages = (time.perf_counter_ns() - began) / 1e9, caller.message_count - messages
    for turn, found in zip(task.turns * task.repeat, outcomes, strict=True):
        wrong = [pair for pair in zip(turn, found, strict=True) if not task.asks.is_right(*pair)]
        if wrong:
            raise BenchError(f"{task.workload}: an operation had an outcome that it must not have: {wrong[0]}")
    ordered = sorted(gathering.latencies_ns)
    p50, p99 = statistics.median(ordered), ordered[len(ordered) * 99 // 100]
    return Asked(len(ordered), messages, seconds, cpu_seconds, p50, p99)


def _one_at_a_time(gathering: _Timed, wanted: list[Any]) -> list[Any]:
    return [gathering.ask(each) for each in wanted]


def _by_threads(gathering: _Timed, wanted: list[Any]) -> list[Any]:
    """Threads ask for one operation at a time each, and those that are asked for at once are gathered."""
    outcomes: list[Any] = [None] * len(wanted)

    def work(first: int) -> None:
        for at in range(first, len(wanted), THREADS):
            outcomes[at] = gathering.ask(wanted[at])

    threads = [threading.Thread(target=work, args=(first,)) for first in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return outcomes


def _in_c(task: Task, *options: str) -> Asked:
    command = ["taskset", "--cpu-list", str(task.cpu), str(task.server.build.directory / "ask")]
    command += ["--server", task.server.rig.server.ipv4, "--count", str(task.count), "--repeat", str(task.repeat)]
    command += ["--seed", str(time.monotonic_ns()), *options, task.workload]
    done = task.server.rig.client.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"the client in C ended with {done.returncode}: {done.stderr.strip()}")
    said = json.loads(done.stdout)
    return Asked(*(said[name] for name in ("operations", "messages", "seconds", "cpu_seconds", "p50_ns", "p99_ns")))


WAYS: dict[str, Way] = {
    f"Python {ALONE}": lambda task: _in_python(task, _one_at_a_time),
    f"Python {AGAIN}": lambda task: _in_python(task, _one_at_a_time),
    f"Python {THREADS} threads": lambda task: _in_python(task, _by_threads),
    f"Python {GATHERED}": lambda task: _in_python(task, Gathering.ask_all),
    f"C {ALONE}": _in_c,
    f"C {AGAIN}": _in_c,
    f"C {GATHERED}": lambda task: _in_c(task, "--at-once"),
}
"""The ways of asking. Each is compared with asking for one at a time in its language."""
