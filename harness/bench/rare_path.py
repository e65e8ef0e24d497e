"""Measures the rare path: the same requests, with more and more of them left to the daemon on a CPU of its own.

The protocol's bench.py lists the workloads in the order of how often they need the daemon (RARE_PATH), and the loads
that run before them (RARE_PATH_LOADS). The daemon counts how often they did need it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from harness.bench.build import Build, build
from harness.bench.campaign import aside, counted, opened_link, opened_pollers, progress
from harness.bench.curves import Curve
from harness.bench.disk import interrupted_cpu
from harness.bench.link import Flight, Link
from harness.bench.report import Row
from harness.bench.server_comparison import Contest, Settings
from harness.bench.servers import KernelUdp, Reflector, Server, WithDaemon
from harness.bench.spread import Spread
from harness.bench.workload import Workload
from harness.results.models import Axis
from harness.rig import Rig

PORT_STEP = 1000


@dataclass(frozen=True)
class Run:
    """A flight, the number of its requests that reached the daemon, and the daemon's CPU time for them."""

    flight: Flight
    forwarded: int
    daemon_ns: int
    refused: int = 0

    @property
    def share(self) -> float:
        return self.forwarded / max(sum(self.flight.outcomes), 1)

    @property
    def refused_share(self) -> float:
        return self.refused / max(sum(self.flight.outcomes), 1)

    @property
    def rate(self) -> float:
        """Answers a second that were not refusals."""
        return self.flight.rate * (1 - self.refused_share)

    @property
    def counts(self) -> bool:
        return self.flight.counts


Runs = dict[tuple[str, str], list[Run]]


def run(built: Build, settings: Settings) -> tuple[list[Row], Curve]:
    """Return the table and its curve."""
    workloads = built.plugin.RARE_PATH
    with opened_contest(built, settings, tuple(built.plugin.RARE_PATH_LOADS)) as contest:
        runs = measure(contest, workloads)
    return table(contest, runs, next(iter(workloads))), curve(built.protocol, runs, list(workloads))


def ablations(name: str, settings: Settings) -> list[Row]:
    """Measure builds without some part of the protocol, each beside the reflector in a run of its own."""
    plugin = build(name).plugin
    rows = []
    for ablation, override in {"as it is": {}, **plugin.ABLATIONS}.items():
        progress(f"{name}, {ablation}: generating and compiling")
        variant = build(name, re.sub(r"\W+", "-", ablation), override)
        with opened_contest(variant, settings, tuple(plugin.ABLATION_LOADS), with_udp=False) as contest:
            runs = measure(contest, plugin.ABLATION_WORKLOADS)
        rows += [replace(row, server=ablation) for row in table(contest, runs) if row.server == WithDaemon.name]
    return sorted(rows, key=lambda row: list(plugin.ABLATION_WORKLOADS).index(row.workload))


@contextlib.contextmanager
def opened_contest(
    built: Build, settings: Settings, loads: tuple[Workload, ...], with_udp: bool = True
) -> Iterator[Contest]:
    """Run the daemon on the CPU of its disk's interrupts, and all else on the last of the other CPUs."""
    cpus = sorted(os.sched_getaffinity(0))
    daemon_cpu = interrupted_cpu(built.home, cpus)
    cpu = next((each for each in reversed(cpus) if each != daemon_cpu), daemon_cpu)
    with (
        aside(cpus, cpu),
        Rig("bench") as rig,
        opened_link(rig, built.client, cpu) as link,
        opened_servers(link, built, cpu, daemon_cpu, with_udp) as servers,
        opened_pollers(rig, Contest(built.plugin, cpu, servers, settings, loads, goes_on=True), daemon_cpu) as contest,
    ):
        yield contest


@contextlib.contextmanager
def opened_servers(link: Link, built: Build, cpu: int, daemon_cpu: int, with_udp: bool) -> Iterator[list[Server]]:
    """Open the servers. The daemon keeps its port, so the server in userspace gets another port and client."""
    servers: list[Server] = []
    other_port = replace(built.client, port=built.client.port + PORT_STEP)
    with opened_link(link.rig, other_port, cpu) as other_link:
        try:
            servers += [Reflector(link, built), WithDaemon(link, built, daemon_cpu)]
            if with_udp:
                servers.append(KernelUdp(other_link, built, cpu))
            yield servers
        finally:
            for server in servers:
                server.close()


def measure(contest: Contest, workloads: dict[str, Workload]) -> Runs:
    """Run all workloads on all servers, interleaved."""
    runs: Runs = {}
    settings = contest.settings
    for number in range(settings.runs):
        progress(f"rare path, run {number + 1} of {settings.runs}")
        for server in contest.servers:
            for name, workload in workloads.items():
                runs.setdefault((name, server.name), []).append(one(contest, server, name, workload))
    return runs


def one(contest: Contest, server: Server, name: str, workload: Workload) -> Run:
    """Run one server once, and measure its daemon meanwhile."""
    with contest.prepared(server):
        begun: list[tuple[int, int]] = []
        settings = contest.settings
        flight = contest.fly(
            server, name, workload, settings.slots, settings.seconds, begins=lambda: begun.append(_daemon(server))
        )
        (before, before_ns), (after, after_ns) = begun[-1], _daemon(server)
    refusals = refusals_of(contest)
    refused = sum(
        flight.outcomes[number] for number, outcome in enumerate(contest.plugin.OUTCOMES) if outcome in refusals
    )
    return Run(flight, after - before, after_ns - before_ns, refused)


def refusals_of(contest: Contest) -> tuple[str, ...]:
    """The outcomes that are refusals. A protocol may have none."""
    found: tuple[str, ...] = getattr(contest.plugin, "REFUSALS", ())
    return found


def _daemon(server: Server) -> tuple[int, int]:
    return (server.forwarded(), server.daemon_ns()) if isinstance(server, WithDaemon) else (0, 0)


def table(contest: Contest, runs: Runs, first: str | None = None) -> list[Row]:
    """Make the table. Rates are by wall time, because the daemon's CPU works at the same time.

    first: a workload. The other rates are also shown as shares of its rate.
    """
    rows = []
    for (name, server), own in runs.items():
        base, reflector = runs[first or name, server], runs[name, "reflector"]
        pairs = counted(own, base, reflector)
        figures = {"Mpps": Spread.of([each.rate / 1e6 for each, *_ in pairs])}
        if server != "reflector":
            figures["of reflector"] = Spread.of([each.rate / bound.rate for each, _, bound in pairs])
        if server != "reflector" and first:
            figures[f"of {first}"] = Spread.of([each.rate / max(none.rate, 1) for each, none, _ in pairs])
        if server != "reflector" and refusals_of(contest):
            figures["refused share"] = Spread.of([each.refused_share for each, *_ in pairs])
        if server == WithDaemon.name:
            figures["rare path share"] = Spread.of([each.share for each, *_ in pairs])
            figures["daemon CPU share"] = Spread.of([each.daemon_ns / 1e9 / each.flight.seconds for each, *_ in pairs])
            figures["given up share"] = Spread.of([each.flight.given_up / max(each.forwarded, 1) for each, *_ in pairs])
        rows.append(Row(name, server, figures, tuple(contest.notes.get((server, name), ()))))
    return rows


def curve(protocol: str, runs: Runs, workloads: list[str]) -> Curve:
    """Make the curve: rate over the share of requests that need the rare path, without the reflector."""
    found = Curve(
        f"{protocol}: speed and the rare path",
        "The daemon runs on the other core. The more requests need it, the fewer are answered.",
        Axis(title="share of requests that need the rare path", unit=""),
        Axis(title="requests", unit="million/s", log=True),
    )
    for name in workloads:
        share = Spread.of([run.share for run in runs[name, WithDaemon.name]]).median
        for server in (server for of, server in runs if of == name and server != "reflector"):
            found.add(server, share, Spread.of([run.rate / 1e6 for run in runs[name, server] if run.counts]))
    return found
