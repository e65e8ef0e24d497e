"""Runs all servers of a protocol in turns, and makes tables of the results."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from harness.bench.build import BenchError, Build, Client
from harness.bench.link import Flight, Link, pinned
from harness.bench.poller import Poller, marked_sockets, polling
from harness.bench.program import Driver
from harness.bench.report import Report, Row
from harness.bench.server_comparison import UNDISTURBED_SHARE, Contest, Settings, strange_outcome
from harness.bench.servers import Frames, Generated, KernelUdp, Reflector, Server
from harness.bench.spread import Spread
from harness.rig import Endpoint, Rig

RIG_BOUND_SHARE = 0.95
LATENCY_SECONDS_MAX = 0.3


def conditions(settings: Settings) -> dict[str, Any]:
    """The settings and the machine. The figures of a report depend on them."""
    return {**asdict(settings), "kernel": os.uname().release, "cpus": len(os.sched_getaffinity(0))}


@contextlib.contextmanager
def aside(cpus: list[int], cpu: int) -> Iterator[None]:
    """Keep this process off `cpu` for a block, because the measured work runs there."""
    if len(cpus) > 1:
        os.sched_setaffinity(0, set(cpus) - {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, set(cpus))


def run(report: Report, build: Build, settings: Settings) -> None:
    """Measure the programs without a daemon, beside the other servers, and judge the targets."""
    cpus = sorted(os.sched_getaffinity(0))
    cpu = cpus[-1]
    with (
        aside(cpus, cpu),
        Rig("bench") as rig,
        opened_link(rig, build.client, cpu) as link,
        opened_servers(link, build, cpu) as servers,
        opened_pollers(rig, Contest(build.plugin, cpu, servers, settings, loads(build)), cpus[0]) as contest,
    ):
        flights = one_core(contest)
        rows = one_core_rows(contest, flights)
        report.sections["One core for both ends: CPU time of a round trip, median [quartiles]"] = rows
        report.sections["Kinds of answers, share of all answers"] = answer_rows(build, flights)
        report.sections["One request in flight: nanoseconds of a round trip"] = latency(contest)
        report.sections["The program alone, over an empty one (BPF_PROG_TEST_RUN)"] = program_alone(contest, build)
        if settings.two_cores and len(cpus) > 1:
            title = "Two cores, one for each end: round trips a second, wall time"
            report.sections[title] = two_cores_rows(two_cores(contest))
        report.judge(build.plugin.TARGETS, rows)


def loads(build: Build) -> tuple[Any, ...]:
    return tuple(getattr(build.plugin, "LOADS", ()))


@contextlib.contextmanager
def opened_link(rig: Rig, client: Client, cpu: int) -> Iterator[Link]:
    link = Link(rig, client, cpu)
    try:
        yield link
    finally:
        link.close()


@contextlib.contextmanager
def opened_servers(link: Link, build: Build, cpu: int) -> Iterator[list[Server]]:
    """Open the servers that every protocol has, and the protocol's own rivals."""
    servers: list[Server] = []
    try:
        servers += [
            Reflector(link, build),
            Generated(link, build),
            KernelUdp(link, build, cpu),
            Frames(link, build, cpu),
        ]
        for rival in getattr(build.plugin, "RIVALS", ()):
            servers.append(rival(link.rig, build, cpu))
        yield servers
    finally:
        for server in servers:
            server.close()


@contextlib.contextmanager
def opened_pollers(rig: Rig, contest: Contest, other_cpu: int) -> Iterator[Contest]:
    with contextlib.ExitStack() as stack:
        marked = {name: stack.enter_context(sock) for name, sock in marked_sockets(rig).items()}

        def opened(endpoint: Endpoint, cpu: int) -> Poller:
            poller = Poller(endpoint, marked[endpoint.iface], cpu)
            stack.callback(poller.close)
            return poller

        contest.one = (opened(rig.client, contest.cpu),)
        contest.both = (opened(rig.server, contest.cpu), opened(rig.client, other_cpu))
        yield contest


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


Flights = dict[tuple[str, str], list[Flight]]


def one_core(contest: Contest) -> Flights:
    """Run every workload on one core. Runs are interleaved, so that a disturbance hits all servers alike."""
    flights: Flights = {}
    settings = contest.settings
    for number in range(settings.runs):
        progress(f"one core, run {number + 1} of {settings.runs}")
        for name, workload in contest.plugin.WORKLOADS.items():
            for server in contest.servers:
                with contest.prepared(server):
                    flight = contest.fly(server, name, workload, settings.slots, settings.seconds)
                flights.setdefault((name, server.name), []).append(flight)
    return flights


def counted(*servers: list[Any]) -> list[tuple[Any, ...]]:
    """Return the runs that count for all of these servers, side by side."""
    pairs = [flights for flights in zip(*servers, strict=True) if all(flight.counts for flight in flights)]
    if not pairs:
        raise BenchError(
            "none of these runs counts: packets were lost without explanation, answers were invalid, or others used "
            "the CPU"
        )
    return pairs


def one_core_rows(contest: Contest, flights: Flights) -> list[Row]:
    rows = []
    bases = [server.name for server in contest.servers if isinstance(server, Reflector) or server.polls_itself]
    for (workload, server), own in flights.items():
        runs = counted(own, *(flights[workload, base] for base in bases))
        figures = {
            "ns": Spread.of([each.cpu_ns for each, *_ in runs]),
            "Mpps": Spread.of([1e3 / each.cpu_ns for each, *_ in runs]),
        }
        if server != "reflector":
            figures["of reflector"] = Spread.of([reflector.cpu_ns / each.cpu_ns for each, reflector, *_ in runs])
            figures["ns over reflector"] = Spread.of([each.cpu_ns - reflector.cpu_ns for each, reflector, *_ in runs])
        for number, base in enumerate(bases[1:], 2):
            if server not in bases[1:]:
                figures[f"times {base}"] = Spread.of([_times(flight[number], flight[0]) for flight in runs])
        figures["CPU share"] = Spread.of([each.cpu_share for each, *_ in runs])
        notes = contest.notes.get((server, workload), [])
        if not all(each.round_trips for each in own):
            notes = [*notes, "it answered nothing in at least one run: make the runs longer"]
        rows.append(Row(workload, server, figures, tuple(notes)))
    return rows


def _times(base: Flight, own: Flight) -> float:
    """Return the rate as a multiple of the base's. It is 0 if the base answered nothing: then no multiple is known."""
    return base.cpu_ns / own.cpu_ns if base.round_trips else 0.0


def answer_rows(build: Build, flights: Flights) -> list[Row]:
    """Show that the servers did what was asked. The reflector is left out: it has no answers of its own.

    The first answer of a slot may be blank, so one such answer a slot is not counted. In a short run, a slow server may
    answer nothing more. Then no share of its answers is known.
    """
    none = strange_outcome(build.plugin)

    def answers(flight: Flight) -> list[int]:
        return [
            max(count - flight.slots, 0) if number == none else count for number, count in enumerate(flight.outcomes)
        ]

    counts = {key: [answers(each) for each in own] for key, own in flights.items() if key[1] != "reflector"}
    rows = []
    for (workload, server), own in counts.items():
        shares = {
            f"{name} share": Spread.of([outcomes[number] / max(sum(outcomes), 1) for outcomes in own])
            for number, name in enumerate(build.plugin.OUTCOMES)
            if any(outcomes[number] for all_of_them in counts.values() for outcomes in all_of_them)
        }
        rows.append(Row(workload, server, shares))
    return rows


def two_cores(contest: Contest) -> Flights:
    """Run only the XDP programs on two cores. A server in userspace would need a third core."""
    flights: Flights = {}
    settings = contest.settings
    compared = [server for server in contest.servers if isinstance(server, (Reflector, Generated))]
    both = contest.both
    for number in range(settings.runs):
        progress(f"two cores, run {number + 1} of {settings.runs}")
        for name, workload in contest.plugin.WORKLOADS.items():
            for server in compared:
                with contest.prepared(server):
                    flight = contest.fly(server, name, workload, settings.slots, settings.seconds, both)
                flights.setdefault((name, server.name), []).append(flight)
    return flights


def two_cores_rows(flights: Flights) -> list[Row]:
    rows = []
    for (workload, server), own in flights.items():
        runs = counted(own, flights[workload, "reflector"])
        figures = {"Mpps": Spread.of([each.rate / 1e6 for each, _ in runs])}
        notes = []
        if server != "reflector":
            figures["of reflector"] = Spread.of([each.rate / reflector.rate for each, reflector in runs])
            if figures["of reflector"].median > RIG_BOUND_SHARE:
                notes.append("as fast as the rig itself, so the generator limits it: DOES NOT COUNT")
        figures["CPU share"] = Spread.of([each.cpu_share for each, _ in runs])
        if figures["CPU share"].median < UNDISTURBED_SHARE:
            notes.append("others used the CPUs during the run: DOES NOT COUNT")
        rows.append(Row(workload, server, figures, tuple(notes)))
    return rows


def latency(contest: Contest) -> list[Row]:
    """Measure with one slot, so that a request waits only for its own round trip."""
    name = next(iter(contest.plugin.WORKLOADS))
    found = one_in_flight(contest, name, contest.servers)
    return [Row(name, server, _latency_figures(server, found, contest)) for server in found]


def one_in_flight(contest: Contest, name: str, servers: Sequence[Server]) -> dict[str, list[Flight]]:
    """Fly a workload with one slot to each server in turn. Returns the flights to each."""
    found: dict[str, list[Flight]] = {server.name: [] for server in servers}
    seconds = min(contest.settings.seconds, LATENCY_SECONDS_MAX)
    for number in range(contest.settings.runs):
        progress(f"one in flight, run {number + 1} of {contest.settings.runs}")
        for server in servers:
            with contest.prepared(server):
                found[server.name].append(contest.fly(server, name, contest.plugin.WORKLOADS[name], 1, seconds))
    return found


def round_trip_figures(flights: list[Flight]) -> dict[str, Spread]:
    """The time of a round trip with one request in flight: of the CPU, and by the clock."""
    return {
        "ns": Spread.of([each.cpu_ns for each in flights]),
        "wall ns": Spread.of([1e9 / max(each.rate, 1) for each in flights]),
    }


def _latency_figures(name: str, found: dict[str, list[Flight]], contest: Contest) -> dict[str, Spread]:
    """Compares the round trip to a server with those to the reflector and to kernel UDP in the same runs."""
    own, figures = found[name], round_trip_figures(found[name])
    for server in contest.servers:
        if server.name == name:
            continue
        pairs = list(zip(own, found[server.name], strict=True))
        if isinstance(server, Reflector):
            figures["ns over reflector"] = Spread.of([each.cpu_ns - base.cpu_ns for each, base in pairs])
        elif isinstance(server, KernelUdp):
            figures[f"times {server.name}"] = Spread.of([_times(base, each) for each, base in pairs])
    return figures


def program_alone(contest: Contest, build: Build) -> list[Row]:
    compared = [server for server in contest.servers if isinstance(server, (Reflector, Generated))]
    link = compared[0].link
    driver = Driver(link, build.reflector_object)
    found: dict[tuple[str, str], list[float]] = {}
    states = {server.name: server.states(contest.new_clients(1)) for server in compared}
    try:
        for number in range(contest.settings.runs):
            progress(f"program alone, run {number + 1} of {contest.settings.runs}")
            for name, workload in contest.plugin.WORKLOADS.items():
                for server in compared:
                    with polling(), pinned(contest.cpu):
                        spent_ns = driver.paired_ns(server, states[server.name], workload)
                    found.setdefault((name, server.name), []).append(spent_ns)
    finally:
        driver.close()
    return [Row(workload, name, {"ns": Spread.of(values)}) for (workload, name), values in found.items()]
