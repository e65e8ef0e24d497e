"""What is run, in which order, and what is made of it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace

from harness.bench.build import BenchError, Build
from harness.bench.link import Flight, Link, SlotStates, pinned, softirq_run_ns
from harness.bench.poller import Poller, marked_sockets, polling
from harness.bench.program import Driver
from harness.bench.report import Report, Row, Spread
from harness.bench.servers import Generated, KernelUdp, Reflector, Server
from harness.rig import Endpoint, Rig

UNDISTURBED_SHARE = 0.9  # a real-time process leaves 5 % to others
RIG_BOUND_SHARE = 0.95
LATENCY_SECONDS_MAX = 0.3


@dataclass(frozen=True)
class Settings:
    runs: int
    seconds: float
    slots: int
    with_checksum: bool
    two_cores: bool


@dataclass
class Contest:
    """The same workload for one server after the other, over and over."""

    link: Link
    servers: list[Server]
    settings: Settings
    states: dict[tuple[str, str, int], SlotStates] = field(default_factory=dict)
    notes: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    clients_used: int = 0
    one: tuple[Poller, ...] = ()
    both: tuple[Poller, ...] = ()

    def fly(
        self, server: Server, workload: str, slots: int, seconds: float, pollers: tuple[Poller, ...] | None = None
    ) -> Flight:
        """One run of one server; slots whose packets are lost get new sessions for the next.

        pollers: who processes the packets, `one` of them unless said otherwise; a server in userspace does it itself.
        """
        plugin = self.link.build.plugin
        server.attach()
        key = (server.name, workload, slots)
        if key not in self.states:
            self.states[key] = server.states(self.new_clients(slots))
        states, before = self.states[key], server.counters()
        pollers = () if server.polls_itself else pollers or self.one

        def busy_ns() -> int:
            spent_ns = sum(poller.run_ns() for poller in pollers) + server.run_ns()
            return (spent_ns + softirq_run_ns(self.link.cpu)) // max(len(pollers), 1)

        with polling(*pollers):
            parameters = plugin.WORKLOADS[workload]
            flight = self.link.fly(states, parameters, seconds, with_checksum=self.settings.with_checksum, busy_ns=busy_ns)
        after = server.counters()
        counted = {name: after[name] - before.get(name, 0) for name in after}
        flight = replace(flight, counts=self._is_explained(server, workload, flight, counted))
        for slot in flight.lost:
            fresh = server.states(self.new_clients(1))
            states.words[slot], states.answers[slot] = fresh.words[0], fresh.answers[0]
        server.detach()
        return flight

    def new_clients(self, count: int) -> list[int]:
        self.clients_used += count
        return list(range(self.clients_used - count + 1, self.clients_used + 1))

    def note(self, server: str, workload: str, text: str) -> None:
        notes = self.notes.setdefault((server, workload), [])
        if text not in notes:
            notes.append(text)

    def _is_explained(self, server: Server, workload: str, flight: Flight, counted: dict[str, int]) -> bool:
        """Notes what was unusual. False where figures are not to be believed."""
        if flight.cpu_share < UNDISTURBED_SHARE:
            self.note(server.name, workload, "others used the CPU for part of the time; the figures are CPU time")
        rare = {name: count for name, count in counted.items() if 0 < count <= 2 * len(flight.lost)}
        explained = sum(rare.values()) >= len(flight.lost)
        if flight.lost:
            why = ", ".join(f"{name} {count}" for name, count in rare.items()) if explained else "nobody knows why: DOES NOT COUNT"
            self.note(server.name, workload, f"{len(flight.lost)} of {flight.slots} packets lost ({why})")
        # A slot's first answer is none.
        strange = 0 if isinstance(server, Reflector) else flight.outcomes[self._strange_outcome()] - flight.slots
        if strange > 0:
            self.note(server.name, workload, f"{strange} answers that are none: DOES NOT COUNT")
        return explained and strange <= 0

    def _strange_outcome(self) -> int:
        plugin = self.link.build.plugin
        return next(number for number, name in enumerate(plugin.OUTCOMES) if name not in plugin.EXPECTED_OUTCOMES)


def run(build: Build, settings: Settings) -> Report:
    """The whole benchmark of one protocol."""
    cpus = sorted(os.sched_getaffinity(0))
    report = Report(build.protocol, {**asdict(settings), "kernel": os.uname().release, "cpus": len(cpus)})
    cpu = cpus[-1]
    if len(cpus) > 1:
        os.sched_setaffinity(0, set(cpus[:-1]))  # only to be out of the way
    with (
        Rig("bench") as rig,
        opened_link(rig, build, cpu) as link,
        opened_servers(link, cpu) as servers,
        opened_pollers(Contest(link, servers, settings), cpu, cpus[0]) as contest,
    ):
        flights = one_core(contest)
        rows = one_core_rows(contest, flights)
        report.sections["One core for both ends: CPU time of a round trip, median [quartiles]"] = rows
        report.sections["What was answered, share of the answers"] = answer_rows(build, flights)
        report.sections["One request in flight: nanoseconds of a round trip"] = latency(contest)
        report.sections["The program alone, over an empty one (BPF_PROG_TEST_RUN)"] = program_alone(contest)
        if settings.two_cores and len(cpus) > 1:
            title = "Two cores, one for each end: round trips a second, wall time"
            report.sections[title] = two_cores_rows(contest, two_cores(contest))
        judge(report, build, rows)
    return report


@contextlib.contextmanager
def opened_link(rig: Rig, build: Build, cpu: int) -> Iterator[Link]:
    link = Link(rig, build, cpu)
    try:
        yield link
    finally:
        link.close()


@contextlib.contextmanager
def opened_servers(link: Link, cpu: int) -> Iterator[list[Server]]:
    servers: list[Server] = []
    try:
        servers += [Reflector(link), Generated(link), KernelUdp(link, cpu)]
        yield servers
    finally:
        for server in servers:
            server.close()


@contextlib.contextmanager
def opened_pollers(contest: Contest, server_cpu: int, client_cpu: int) -> Iterator[Contest]:
    rig = contest.link.rig
    with contextlib.ExitStack() as stack:
        marked = {name: stack.enter_context(sock) for name, sock in marked_sockets(rig).items()}

        def opened(endpoint: Endpoint, cpu: int) -> Poller:
            poller = Poller(endpoint, marked[endpoint.iface], cpu)
            stack.callback(poller.close)
            return poller

        contest.one = (opened(rig.client, server_cpu),)
        contest.both = (opened(rig.server, server_cpu), opened(rig.client, client_cpu))
        yield contest


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


Flights = dict[tuple[str, str], list[Flight]]


def one_core(contest: Contest) -> Flights:
    """Interleaved: what disturbs a run disturbs its neighbours."""
    flights: Flights = {}
    settings = contest.settings
    for number in range(settings.runs):
        progress(f"one core, run {number + 1} of {settings.runs}")
        for workload in contest.link.build.plugin.WORKLOADS:
            for server in contest.servers:
                flight = contest.fly(server, workload, settings.slots, settings.seconds)
                flights.setdefault((workload, server.name), []).append(flight)
    return flights


def counted(*servers: list[Flight]) -> list[tuple[Flight, ...]]:
    """The runs that count for all of these servers, side by side."""
    pairs = [flights for flights in zip(*servers, strict=True) if all(flight.counts for flight in flights)]
    if not pairs:
        raise BenchError("of these runs none counts: packets were lost and nobody knows why, or answers made no sense")
    return pairs


def one_core_rows(contest: Contest, flights: Flights) -> list[Row]:
    rows = []
    for (workload, server), own in flights.items():
        runs = counted(own, flights[workload, "reflector"], flights[workload, "kernel UDP"])
        figures = {
            "ns": Spread.of([each.cpu_ns for each, _, _ in runs]),
            "Mpps": Spread.of([1e3 / each.cpu_ns for each, _, _ in runs]),
        }
        if server != "reflector":
            figures["of reflector"] = Spread.of([reflector.cpu_ns / each.cpu_ns for each, reflector, _ in runs])
            figures["ns over reflector"] = Spread.of([each.cpu_ns - reflector.cpu_ns for each, reflector, _ in runs])
        if server != "kernel UDP":
            figures["times kernel UDP"] = Spread.of([udp.cpu_ns / each.cpu_ns for each, _, udp in runs])
        figures["CPU share"] = Spread.of([each.cpu_share for each, _, _ in runs])
        rows.append(Row(workload, server, figures, tuple(contest.notes.get((server, workload), ()))))
    return rows


def answer_rows(build: Build, flights: Flights) -> list[Row]:
    """That the servers did what was asked for: the reflector has no answers of its own."""
    rows = []
    for (workload, server), own in flights.items():
        if server != "reflector":
            shares = {
                f"{name} share": Spread.of([flight.outcomes[number] / sum(flight.outcomes) for flight in own])
                for number, name in enumerate(build.plugin.OUTCOMES)
            }
            rows.append(Row(workload, server, shares))
    return rows


def two_cores(contest: Contest) -> Flights:
    """The programs only: a server in userspace would need a third core."""
    flights: Flights = {}
    settings = contest.settings
    compared = [server for server in contest.servers if isinstance(server, (Reflector, Generated))]
    both = contest.both
    for number in range(settings.runs):
        progress(f"two cores, run {number + 1} of {settings.runs}")
        for workload in contest.link.build.plugin.WORKLOADS:
            for server in compared:
                flight = contest.fly(server, workload, settings.slots, settings.seconds, both)
                flights.setdefault((workload, server.name), []).append(flight)
    return flights


def two_cores_rows(contest: Contest, flights: Flights) -> list[Row]:
    rows = []
    for (workload, server), own in flights.items():
        runs = counted(own, flights[workload, "reflector"])
        figures = {"Mpps": Spread.of([each.rate / 1e6 for each, _ in runs])}
        notes = []
        if server != "reflector":
            figures["of reflector"] = Spread.of([each.rate / reflector.rate for each, reflector in runs])
            if figures["of reflector"].median > RIG_BOUND_SHARE:
                notes.append("as fast as the rig itself: limited by the generator, DOES NOT COUNT")
        figures["CPU share"] = Spread.of([each.cpu_share for each, _ in runs])
        if figures["CPU share"].median < UNDISTURBED_SHARE:
            notes.append("others used the CPUs meanwhile: DOES NOT COUNT")
        rows.append(Row(workload, server, figures, tuple(notes)))
    return rows


def latency(contest: Contest) -> list[Row]:
    """One slot: nothing waits for anything but its own round trip."""
    workload = next(iter(contest.link.build.plugin.WORKLOADS))
    seconds = min(contest.settings.seconds, LATENCY_SECONDS_MAX)
    found: dict[str, list[float]] = {}
    for number in range(contest.settings.runs):
        progress(f"one in flight, run {number + 1} of {contest.settings.runs}")
        for server in contest.servers:
            found.setdefault(server.name, []).append(contest.fly(server, workload, 1, seconds).cpu_ns)
    return [Row(workload, name, {"ns": Spread.of(values)}) for name, values in found.items()]


def program_alone(contest: Contest) -> list[Row]:
    driver = Driver(contest.link)
    compared = [server for server in contest.servers if isinstance(server, (Reflector, Generated))]
    found: dict[tuple[str, str], list[float]] = {}
    states = {server.name: server.states(contest.new_clients(1)) for server in compared}
    try:
        for number in range(contest.settings.runs):
            progress(f"program alone, run {number + 1} of {contest.settings.runs}")
            for workload, parameters in contest.link.build.plugin.WORKLOADS.items():
                for server in compared:
                    with polling(), pinned(contest.link.cpu):
                        spent_ns = driver.paired_ns(server, states[server.name], parameters)
                    found.setdefault((workload, server.name), []).append(spent_ns)
    finally:
        driver.close()
    return [Row(workload, name, {"ns": Spread.of(values)}) for (workload, name), values in found.items()]


def judge(report: Report, build: Build, rows: list[Row]) -> None:
    """The one-core figures of the generated server beside what the protocol's bench.py promises."""
    figure_of = {
        "of_reflector_min": "of reflector",
        "over_reflector_ns_max": "ns over reflector",
        "times_kernel_udp_min": "times kernel UDP",
    }
    for workload, targets in build.plugin.TARGETS.items():
        row = next(row for row in rows if row.workload == workload and row.server == "generated")
        for name, target in targets.items():
            found = row.figures[figure_of[name]].median
            met = found >= target if name.endswith("_min") else found <= target
            bound = "at least" if name.endswith("_min") else "at most"
            report.missed += not met
            verdict = "met" if met else "MISSED"
            report.targets.append(f"{verdict}: {workload}, {figure_of[name]}: {found:.2f}, {bound} {target}")
