"""Measures speed on one core and on all. Each core runs both ends of its own closed loop, and all share the tables."""

from __future__ import annotations

import contextlib
import os

from harness.bench.build import Build
from harness.bench.campaign import loads, opened_link, progress
from harness.bench.curves import Curve
from harness.bench.link import Flight
from harness.bench.poller import Poller
from harness.bench.queues import queue_sockets, split
from harness.bench.report import Row
from harness.bench.server_comparison import Contest, Settings
from harness.bench.servers import Generated, Reflector, Server
from harness.bench.spread import Spread
from harness.results.models import Axis
from harness.rig import Rig

Runs = dict[tuple[str, int, str], list[Flight]]  # by workload, cores and server


def run(built: Build, settings: Settings) -> tuple[list[Row], Curve]:
    """Measure all workloads, interleaved."""
    cpus = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        rig = stack.enter_context(Rig("bench"))
        split(rig.client, rig.server, cpus)
        split(rig.server, rig.client, cpus)
        link = stack.enter_context(opened_link(rig, built.client, cpus[-1]))
        sockets = queue_sockets(rig, built.reflector_object, cpus)
        for sock in sockets.values():
            stack.enter_context(sock)
        pollers = {}
        for cpu in cpus:
            pollers[cpu] = Poller(rig.client, sockets[cpu], cpu)
            stack.callback(pollers[cpu].close)
        servers: list[Server] = []
        for kind in (Reflector, Generated):
            servers.append(kind(link, built))
            stack.callback(servers[-1].close)
        contest = Contest(built.plugin, cpus[-1], servers, settings, loads(built), one=(pollers[cpus[-1]],))
        runs: Runs = {}
        for number in range(settings.runs):
            progress(f"serving cores, run {number + 1} of {settings.runs}")
            for name, workload in built.plugin.WORKLOADS.items():
                for count in counts(len(cpus)):
                    serving = cpus[-count:]
                    for server in servers:
                        link.cpus = (cpus[-1],)
                        with contest.prepared(server):
                            link.cpus = tuple(serving)
                            flight = contest.fly(
                                server,
                                name,
                                workload,
                                settings.slots,
                                settings.seconds,
                                tuple(pollers[cpu] for cpu in serving),
                            )
                        runs.setdefault((name, count, server.name), []).append(flight)
        return table(runs, contest.notes), curve(built.protocol, runs)


def counts(cpus: int) -> list[int]:
    """The numbers of cores to measure: powers of two, and all cores."""
    return sorted({1 << exponent for exponent in range(cpus.bit_length())} | {cpus})


def mpps(flight: Flight) -> float:
    """Round trips a microsecond of CPU time of each core: the rate if nobody else had used the cores."""
    return 1e3 / flight.cpu_ns


def table(runs: Runs, notes: dict[tuple[str, str], list[str]]) -> list[Row]:
    """Make the table: rates, also as multiples of the rate on one core."""
    rows = []
    for (name, count, server), own in runs.items():
        pairs = zip(own, runs[name, 1, server], strict=True)
        good = [pair for pair in pairs if all(each.counts and each.round_trips for each in pair)]
        figures = {}
        if good:
            figures["Mpps"] = Spread.of([mpps(each) for each, _ in good])
            figures["times one core"] = Spread.of([mpps(each) / mpps(one) for each, one in good])
        rows.append(
            Row(
                f"{name}, {count} core{'s' if count > 1 else ''}", server, figures, tuple(notes.get((server, name), ()))
            )
        )
    return rows


def curve(protocol: str, runs: Runs) -> Curve:
    """Make the curve: a series for each workload of the generated program, and one of the reflector."""
    found = Curve(
        f"{protocol}: speed and serving cores",
        "Each core serves its own clients over the same tables: twice the cores serve twice as much, unless they wait "
        "for each other.",
        Axis(title="serving cores", unit=""),
        Axis(title="round trips, both ends on the serving cores", unit="million/s"),
    )
    first = next(iter(runs))[0]
    for (name, count, server), flights in runs.items():
        good = [mpps(each) for each in flights if each.counts and each.round_trips]
        if good and (server != "reflector" or name == first):
            found.add("reflector" if server == "reflector" else name, count, Spread.of(good))
    return found
