"""Measures requests with several operations in one message beside those with one, in one run on one core.

Programs that others wrote by hand are measured beside them, where they are at hand.
"""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from harness.bench.build import Build, gathering_client
from harness.bench.campaign import (
    aside,
    counted,
    loads,
    one_in_flight,
    opened_link,
    opened_pollers,
    progress,
    round_trip_figures,
)
from harness.bench.hand_written import HandWrittenServer
from harness.bench.link import Flight, Link
from harness.bench.report import Row
from harness.bench.server_comparison import Contest, Settings
from harness.bench.servers import Generated, Reflector
from harness.bench.spread import Spread
from harness.rig import Rig

S = TypeVar("S", Generated, Reflector)

ALONE = "one at a time"
AGAIN = "one at a time, again"


@dataclass(frozen=True)
class Way:
    """A way to ask the server.

    operations: of one message; 1 for messages without any, which are requests themselves.
    """

    server: Generated | Reflector | HandWrittenServer
    operations: int

    def serves(self, workload: str) -> bool:
        return not isinstance(self.server, HandWrittenServer) or workload not in self.server.without


def run(build: Build, settings: Settings, numbers: Sequence[int]) -> tuple[list[Row], list[Row]]:
    """One row for each workload and way to ask, and one for each way with one message in flight.

    All runs are interleaved.
    numbers: how many operations a message has, of each way with several.
    """
    cpus = sorted(os.sched_getaffinity(0))
    with aside(cpus, cpus[-1]), Rig("bench") as rig, opened_ways(rig, build, cpus[-1], numbers) as ways:
        servers = [way.server for way in ways]
        contest = Contest(build.plugin, cpus[-1], list(servers), settings, loads(build))
        with opened_pollers(rig, contest, cpus[0]):
            flights = fly(contest, ways)
            rows = [
                _row(contest, workload, way, _bases(workload, ways), flights)
                for workload in build.plugin.WORKLOADS
                for way in ways
                if way.serves(workload)
            ]
            return rows, latency(contest, ways)


def _bases(workload: str, ways: list[Way]) -> list[str]:
    """Returns the names of the ways that the others are compared with."""
    hand_written = [way for way in ways if isinstance(way.server, HandWrittenServer)]
    return [ALONE, *(way.server.name for way in hand_written if way.serves(workload))]


@contextlib.contextmanager
def opened_ways(rig: Rig, build: Build, cpu: int, numbers: Sequence[int]) -> Iterator[list[Way]]:
    """Open one server, whose tables all ways share, and a client for each number of operations."""
    with contextlib.ExitStack() as stack:
        link = stack.enter_context(opened_link(rig, build.client, cpu))
        generated, reflector = Generated(link, build), Reflector(link, build)
        stack.callback(generated.close)
        stack.callback(reflector.close)
        ways = [Way(reflector, 1), Way(_through(generated, link, ALONE), 1), Way(_through(generated, link, AGAIN), 1)]
        for operations in numbers:
            client = gathering_client(build, operations)
            link = stack.enter_context(opened_link(rig, client, cpu))
            ways.append(Way(_through(reflector, link, f"reflector, {operations} in a message"), operations))
            ways.append(Way(_through(generated, link, f"{operations} in a message"), operations))
        for hand_written in getattr(build.plugin, "HAND_WRITTEN", ()):
            if hand_written.missing:
                progress(hand_written.missing)
                continue
            rival = hand_written.opened(rig, build, cpu)
            stack.callback(rival.close)
            ways.append(Way(rival, 1))
        yield ways


def _through(server: S, link: Link, name: str) -> S:
    """Returns a server with the same program and tables, which another client reaches."""
    other = copy.copy(server)
    other.link, other.name = link, name
    return other


Flights = dict[tuple[str, str], list[Flight]]


def fly(contest: Contest, ways: list[Way]) -> Flights:
    flights: Flights = {}
    settings = contest.settings
    for number in range(settings.runs):
        progress(f"several operations in a message, run {number + 1} of {settings.runs}")
        for name, workload in contest.plugin.WORKLOADS.items():
            for way in (each for each in ways if each.serves(name)):
                with contest.prepared(way.server):
                    flight = contest.fly(way.server, name, workload, settings.slots, settings.seconds)
                flights.setdefault((name, way.server.name), []).append(flight)
                contest.loaded.update(each.server.name for each in ways if each.server.object is way.server.object)
    return flights


def latency(contest: Contest, ways: list[Way]) -> list[Row]:
    """Measure with one slot, so that a message waits only for its own round trip."""
    workload = next(iter(contest.plugin.WORKLOADS))
    ways = [way for way in ways if way.serves(workload)]
    found = one_in_flight(contest, workload, [way.server for way in ways])
    rows = []
    for way in ways:
        own = found[way.server.name]
        figures = {
            **round_trip_figures(own),
            "ns an operation": Spread.of([each.cpu_ns / way.operations for each in own]),
        }
        if way.server.name != ALONE:
            pairs = zip(own, found[ALONE], strict=True)
            figures[f"of {ALONE}"] = Spread.of([each.cpu_ns / base.cpu_ns for each, base in pairs])
        rows.append(Row(workload, way.server.name, figures))
    return rows


def _row(contest: Contest, workload: str, way: Way, bases: list[str], flights: Flights) -> Row:
    """The figures of one way: nanoseconds of an operation, and how many more there are than in other ways.

    bases: the names of these others.
    """
    name = way.server.name
    runs = counted(flights[workload, name], *(flights[workload, base] for base in bases))
    each_ns = [own.cpu_ns / way.operations for own, *_ in runs]
    figures = {
        "ns an operation": Spread.of(each_ns),
        "million operations a second": Spread.of([1e3 / ns for ns in each_ns]),
    }
    for number, base in enumerate(bases, 1):
        if name != base:
            figures[f"times {base}"] = Spread.of([run[number].cpu_ns / ns for ns, run in zip(each_ns, runs)])
    return Row(workload, name, figures, tuple(contest.notes.get((name, workload), [])))
