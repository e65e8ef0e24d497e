"""Measures latency and CPU time against load: each server at the same rates, and at shares of its own capacity.

A kernel thread drives the server's core and sleeps until packets come, as with a network card. So a server uses only
the CPU time that it needs. One more series runs the generated program on a core that polls, as AF_XDP and DPDK servers
do. All figures are from the same runs: rate, latency from when each request was due, and CPU time of the server's
core.
"""

from __future__ import annotations

import contextlib
import os
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.base.command import counted
from harness.bench.build import BenchError, Build
from harness.bench.campaign import aside, loads, opened_link, opened_servers, progress
from harness.bench.curves import Curve
from harness.bench.link import Link, SlotStates, softirq_run_ns
from harness.bench.pace import RATE_MIN, Pace, PacedFlight
from harness.bench.poller import Poller, SteadyPoller, TurnsPoller, marked_sockets, polling
from harness.bench.processes import schedstat
from harness.bench.queues import queue_sockets, split
from harness.bench.report import Row
from harness.bench.server_comparison import Contest, Settings
from harness.bench.servers import Generated, ProcessServer, Server
from harness.bench.spread import Spread
from harness.bench.threaded_napi import put_before_packets, woken
from harness.results.models import Axis
from harness.rig import Rig

LIGHT = (10_000, 30_000, 100_000, 300_000)  # requests a second; a server gets those that it can answer
SHARES = (0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 1.1)  # of a server's capacity
FLOOD = 40_000_000  # requests a second: more than any server can answer
FLOODS = 4
FLOOD_S_MAX = 0.3
KEPT_UP_SHARE = 0.97
CORE_FULL_SHARE = 0.93
STOLEN_SHARE_MAX = 0.002
STALLED_OF_TAIL_MAX = 0.8
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9}
POLLED = "generated, polled"
SERIES = {POLLED: "generated"}  # the server of a series that has another name
REPLY_PACKETS, IDLE_PACKETS = 32, 8  # a turn of the client's core


@dataclass(frozen=True)
class Step:
    """One server at one rate."""

    server: str
    rate: float

    @property
    def label(self) -> str:
        return f"{self.rate:,.0f}/s"


@dataclass(frozen=True)
class Judged:
    """A flight and its verdict. kept_up: the server answered all that was due. note: what was unusual, or ""."""

    flight: PacedFlight
    counts: bool
    kept_up: bool
    note: str


Runs = dict[Step, list[Judged]]


def judged(flight: PacedFlight) -> Judged:
    """Judge a flight: whether a failure is the machine's, the generator's or the server's."""
    kept_up = flight.rate >= KEPT_UP_SHARE * flight.rate_offered and flight.answered == flight.due
    if flight.stolen_share > STOLEN_SHARE_MAX:
        note = f"others used a polling core for more than {STOLEN_SHARE_MAX:.1%} of the time: DOES NOT COUNT"
        return Judged(flight, False, kept_up, note)
    if not kept_up and flight.cpu_share < CORE_FULL_SHARE:
        return Judged(flight, False, False, "the generator could not send faster: DOES NOT COUNT")
    if not kept_up:
        return Judged(
            flight, flight.counts, False, "above the server's capacity: the queue grows without end, so no latency"
        )
    lost = [name for name, percentile in PERCENTILES.items() if not is_the_servers(flight, percentile)]
    note = f"the generator paused at times: {' and '.join(lost)} DOES NOT COUNT" if lost else ""
    return Judged(flight, flight.counts, True, note)


def is_the_servers(flight: PacedFlight, percentile: float) -> bool:
    """Whether the server causes the tail beyond the percentile, and not a generator that stood still."""
    return flight.stalled_share <= STALLED_OF_TAIL_MAX * (1 - percentile / 100)


def latencies(found: list[Judged]) -> dict[str, Spread]:
    """Latencies in microseconds by percentile, from the runs that can show the percentile."""
    spreads = {}
    for name, percentile in PERCENTILES.items():
        good = [
            each.flight for each in found if each.counts and each.kept_up and is_the_servers(each.flight, percentile)
        ]
        if good:
            spreads[name] = Spread.of([each.latency_ns(percentile) / 1e3 for each in good])
    return spreads


@dataclass
class Stage:
    """A rig with a client that paces, and the processes that drive its cores.

    client: polls the client's end. server: polls the server's end, for the polled series. thread: the process id of the
    kernel thread that brings packets to all other servers.
    """

    contest: Contest
    client: Poller
    server: Poller
    thread: int
    paces: dict[int, Pace] = field(default_factory=dict)

    def servers(self) -> dict[str, Server]:
        """The servers by the name of their series. The generated program has two series."""
        found = {server.name: server for server in self.contest.servers}
        return {**found, POLLED: next(each for each in self.contest.servers if isinstance(each, Generated))}

    def fly(self, step: Step, seconds: float) -> Judged:
        """Run the first workload once."""
        server, settings = self.servers()[step.server], self.contest.settings
        name, workload = next(iter(self.contest.plugin.WORKLOADS.items()))
        with self.contest.prepared(server):
            pace = self._pace_of(server.link)
            if isinstance(server, ProcessServer):
                put_before_packets(server.pid)

            def go(states: SlotStates) -> PacedFlight:
                with polling(*self._pollers(step)):
                    return pace.fly(
                        states,
                        workload,
                        seconds,
                        step.rate,
                        with_checksum=settings.with_checksum,
                        busy_ns=lambda: self._busy_ns(step, server),
                        stolen_ns=lambda: sum(each.waited_ns() for each in self._pollers(step)),
                    )

            server.link.attach(paced=True)
            return judged(self.contest.flown(server, name, settings.slots, go, step.label))

    def _pollers(self, step: Step) -> tuple[Poller, ...]:
        return (self.server, self.client) if step.server == POLLED else (self.client,)

    def _busy_ns(self, step: Step, server: Server) -> int:
        """CPU time of the server's core."""
        if step.server == POLLED:
            return self.server.run_ns()
        return schedstat(self.thread)[0] + server.run_ns() + softirq_run_ns(self.contest.cpu)

    def _pace_of(self, link: Link) -> Pace:
        if id(link) not in self.paces:
            self.paces[id(link)] = Pace(link)
        return self.paces[id(link)]


def run(build: Build, settings: Settings) -> tuple[list[Row], list[Curve]]:
    """Return the table and the curves. Needs two cores: one asks, the other serves."""
    with opened_stage(build, settings) as stage:
        steps = steps_of({name: capacity(stage, name, settings) for name in stage.servers()})
        runs: Runs = {}
        for number in range(settings.runs):
            progress(f"load and latency, run {number + 1} of {settings.runs}")
            for step in steps:
                runs.setdefault(step, []).append(stage.fly(step, settings.seconds))
        return table(runs, stage.contest.notes), curves(build.protocol, runs)


@contextlib.contextmanager
def opened_stage(build: Build, settings: Settings) -> Iterator[Stage]:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise BenchError("latency against load needs two CPUs, for the generator and the server; this machine has one")
    asking, serving = cpus[0], cpus[-1]
    with contextlib.ExitStack() as stack:
        stack.enter_context(aside(cpus, serving))
        rig = stack.enter_context(Rig("bench"))
        split(rig.client, rig.server, cpus)
        link = stack.enter_context(opened_link(rig, build.client, serving))
        marked = {name: stack.enter_context(sock) for name, sock in marked_sockets(rig).items()}
        queues = queue_sockets(rig, build.reflector_object, (asking, serving))
        for sock in queues.values():
            stack.enter_context(sock)
        client = TurnsPoller(
            rig.client, build.poll_queues, asking, {queues[serving]: REPLY_PACKETS, queues[asking]: IDLE_PACKETS}
        )
        stack.callback(client.close)
        server = SteadyPoller(rig.server, marked[rig.server.iface], serving)
        stack.callback(server.close)
        contest = Contest(
            build.plugin,
            serving,
            stack.enter_context(opened_servers(link, build, serving)),
            settings,
            loads(build),
            one=(client,),
        )
        yield Stage(contest, client, server, stack.enter_context(woken(rig.server, serving)))


def capacity(stage: Stage, name: str, settings: Settings) -> float:
    """Measure how many requests a second a server answers when it gets more than it can answer.

    The first run does not count: the server may still be answering requests that were repeated while its tables were
    filled.
    """
    progress(f"load and latency: the capacity of {name}")
    seconds = min(settings.seconds, FLOOD_S_MAX)
    found = statistics.median([stage.fly(Step(name, FLOOD), seconds).flight.rate for _ in range(FLOODS)][1:])
    if not found:
        raise BenchError(f"{name} answered nothing in {seconds} s: make the runs longer")
    return found


def steps_of(capacities: dict[str, float]) -> list[Step]:
    """List the rates for each server, lowest first: the common ones, and shares of its capacity to two digits."""
    steps = []
    for server, most in capacities.items():
        rates = {float(rate) for rate in LIGHT if rate < KEPT_UP_SHARE * most} | {
            float(f"{share * most:.1e}") for share in SHARES
        }
        steps += [Step(server, rate) for rate in rates if rate >= RATE_MIN]
    return sorted(steps, key=lambda step: (step.rate, step.server))


def table(runs: Runs, notes: dict[tuple[str, str], list[str]]) -> list[Row]:
    """Make the table: medians of the runs that count, and latencies only where the server kept up."""
    rows = []
    for step, found in runs.items():
        good = [each.flight for each in found if each.counts]
        in_time = [each.flight for each in found if each.counts and each.kept_up]
        figures = {}
        if good:
            figures["Mpps"] = Spread.of([each.rate / 1e6 for each in good])
        if in_time:
            figures |= {f"{name} us": spread for name, spread in latencies(found).items()}
            figures["late p99 us"] = Spread.of([each.lateness.get_value_at_percentile(99) / 1e3 for each in in_time])
        if good:
            figures["CPU share"] = Spread.of([each.cpu_share for each in good])
            figures["CPU ns"] = Spread.of([each.cpu_share * 1e9 / max(each.rate, 1) for each in good])
        unusual = Counter(each.note for each in found if each.note)
        of_runs = [f"{number} of {counted(len(found), 'run')}: {note}" for note, number in unusual.items()]
        own = notes.get((SERIES.get(step.server, step.server), step.label), ())
        rows.append(Row(step.label, step.server, figures, (*of_runs, *own)))
    return rows


def curves(protocol: str, runs: Runs) -> list[Curve]:
    """Make the curves: latency against the rate of answers for each percentile, and CPU time."""
    rate = Axis(title="answers", unit="1/s", log=True)
    latency = {
        name: Curve(
            f"{protocol}: {name} latency against load",
            "Half of the requests are answered within p50, 99 of 100 within p99, 999 of 1,000 within p99.9. This is "
            f"{name}, "
            "from when a request was due.",
            rate,
            Axis(title=f"latency, {name}", unit="us", log=True),
        )
        for name in PERCENTILES
    }
    use = Curve(
        f"{protocol}: CPU use against load",
        "Share of its core that a server uses at a rate: a woken server uses what it needs, and one that polls uses "
        "all of it.",
        rate,
        Axis(title="CPU time of the server's core, share of the time", unit=""),
    )
    cost = Curve(
        f"{protocol}: CPU time of a request against load",
        "CPU time of the server's core for one answer; at low rates, most of it goes into waking up.",
        rate,
        Axis(title="CPU time of a request", unit="ns", log=True),
    )
    drawn = [*latency.values(), use, cost]
    for step, found in runs.items():
        good = [each.flight for each in found if each.counts]
        in_time = [each.flight for each in found if each.counts and each.kept_up]
        seen = latencies(found)
        for name, plotted in latency.items():
            if name in seen:
                plotted.add(step.server, _median_rate(in_time), seen[name])
            elif in_time:
                plotted.leave_out(step.server, step.label, "the generator paused too long")
            elif good:
                plotted.leave_out(step.server, step.label, "more than the server could answer")
        if good:
            use.add(step.server, _median_rate(good), Spread.of([each.cpu_share for each in good]))
            cost.add(
                step.server, _median_rate(good), Spread.of([each.cpu_share * 1e9 / max(each.rate, 1) for each in good])
            )
        else:
            for curve in drawn:
                curve.leave_out(step.server, step.label, "no run counts")
    return drawn


def _median_rate(flights: list[PacedFlight]) -> float:
    return statistics.median(each.rate for each in flights)
