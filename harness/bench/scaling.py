"""Measures how speed changes with one thing at a time, as the scales of the protocol's bench.py say (SCALES).

Each point of a scale is a build with other constants, or another workload. All points are open at the same time, and
take turns.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import dataclass
from typing import Any

from harness.bench.build import Build, build
from harness.bench.campaign import aside, opened_link, progress
from harness.bench.curves import Curve
from harness.bench.link import Flight
from harness.bench.poller import Poller, marked_sockets
from harness.bench.report import Row
from harness.bench.server_comparison import Contest, Settings
from harness.bench.servers import Generated, Reflector, Server
from harness.bench.spread import Spread
from harness.bench.workload import Point, Scale
from harness.results.models import Axis
from harness.rig import Rig

Pairs = list[tuple[Flight, Flight]]  # the reflector's and the program's, one right after the other


@dataclass
class Stand:
    """A point, ready to be measured."""

    point: Point
    contest: Contest


def run(built: Build, settings: Settings, title: str, scale: Scale) -> tuple[list[Row], Curve]:
    """Measure one scale, with one core for both ends as in the first table."""
    with contextlib.ExitStack() as stack:
        stands = opened_stands(stack, built, settings, title, scale)
        pairs: dict[str, Pairs] = {}
        for number in range(settings.runs):
            progress(f"{title}, run {number + 1} of {settings.runs}")
            for stand in stands:
                pairs.setdefault(stand.point.label, []).append(measured(stand, settings))
    notes = {stand.point.label: stand.contest.notes for stand in stands}
    outcomes = tuple(built.plugin.OUTCOMES)
    return table(scale, outcomes, pairs, notes), curve(f"{built.protocol}: speed and {title}", scale, outcomes, pairs)


def opened_stands(
    stack: contextlib.ExitStack, built: Build, settings: Settings, title: str, scale: Scale
) -> list[Stand]:
    """Open all points of a scale. Points with the same override of the layout share a build."""
    cpus = sorted(os.sched_getaffinity(0))
    cpu = cpus[-1]
    made: dict[str, Build] = {}
    builds = []
    for point in scale.points:
        key = json.dumps(point.override, sort_keys=True)
        made[key] = made.get(key) or _built(built, title, point)
        builds.append(made[key])
    stack.enter_context(aside(cpus, cpu))
    rig = stack.enter_context(Rig("bench"))
    links = {each.home: stack.enter_context(opened_link(rig, each.client, cpu)) for each in made.values()}
    marked = {name: stack.enter_context(sock) for name, sock in marked_sockets(rig).items()}
    poller = Poller(rig.client, marked[rig.client.iface], cpu)
    stack.callback(poller.close)
    stands = []
    for point, each in zip(scale.points, builds, strict=True):
        servers: list[Server] = []
        for kind in (Reflector, Generated):
            server = kind(links[each.home], each)
            stack.callback(server.close)
            servers.append(server)
        stands.append(Stand(point, Contest(each.plugin, cpu, servers, settings, tuple(point.loads), one=(poller,))))
    return stands


def _built(built: Build, title: str, point: Point) -> Build:
    if not point.override:
        return built
    progress(f"{built.protocol}, {title} {point.label}: generating and compiling")
    return build(built.protocol, re.sub(r"\W+", "-", f"{title} {point.label}"), point.override, programs_only=True)


def measured(stand: Stand, settings: Settings) -> tuple[Flight, Flight]:
    flights = []
    for server in stand.contest.servers:
        with stand.contest.prepared(server):
            flights.append(
                stand.contest.fly(server, stand.point.label, stand.point.workload, settings.slots, settings.seconds)
            )
    reflector, program = flights
    return reflector, program


def place(scale: Scale, outcomes: tuple[str, ...], point: Point, pairs: Pairs) -> float:
    """Return where a point is on the axis: its given place, or the measured share of the scale's outcomes."""
    if scale.measured is None:
        return point.at
    kinds, among = ([outcomes.index(name) for name in names] for names in scale.measured)

    def share(flight: Flight) -> float:
        return sum(flight.outcomes[kind] for kind in kinds) / max(sum(flight.outcomes[kind] for kind in among), 1)

    return Spread.of([share(own) for _, own in pairs]).median


def table(scale: Scale, outcomes: tuple[str, ...], pairs: dict[str, Pairs], notes: dict[str, Any]) -> list[Row]:
    rows = []
    for point in scale.points:
        good = _good(pairs[point.label])
        figures = {}
        if good:
            figures["Mpps"] = Spread.of([1e3 / own.cpu_ns for _, own in good])
            figures["of reflector"] = Spread.of([bound.cpu_ns / own.cpu_ns for bound, own in good])
            figures["ns over reflector"] = Spread.of([own.cpu_ns - bound.cpu_ns for bound, own in good])
        if good and scale.measured:
            at = place(scale, outcomes, point, good)
            figures["measured share"] = Spread(at, at, at, len(good))
        own_notes = notes[point.label].get(("generated", point.label), ())
        rows.append(Row(point.label, "generated", figures, (*own_notes, *(() if good else ("no run counts",)))))
    return rows


def curve(title: str, scale: Scale, outcomes: tuple[str, ...], pairs: dict[str, Pairs]) -> Curve:
    axis = Axis(title=scale.axis, unit=scale.unit, log=scale.log)
    found = Curve(title, scale.sentence, axis, Axis(title="round trips on one core for both ends", unit="million/s"))
    for point in scale.points:
        good = _good(pairs[point.label])
        if not good:
            found.notes.append(f"{point.label}: no run counts")
            continue
        at = place(scale, outcomes, point, good)
        found.add("reflector", at, Spread.of([1e3 / bound.cpu_ns for bound, _ in good]))
        found.add("generated", at, Spread.of([1e3 / own.cpu_ns for _, own in good]))
    return found


def _good(pairs: Pairs) -> Pairs:
    return [(bound, own) for bound, own in pairs if bound.counts and own.counts and own.round_trips]
