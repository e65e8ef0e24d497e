"""Runs the live half of the demonstration: a protocol on a rig, under the loads of its workload.yaml."""

from __future__ import annotations

import importlib
import socket
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.base.protocols import LIVE, SPEC
from harness.demo.screen import Screen
from harness.live.counts import xdp_only
from harness.live.judge import judge
from harness.live.load import DRAIN_SECONDS_MAX, finish_load, settle, start_load
from harness.live.server import Server, wait_until
from harness.rig.netns import Rig

MICROSECOND_NS = 1000


@dataclass(frozen=True)
class Phase:
    """The results of one load."""

    summary: dict[str, Any]
    counters: Counter[str]
    rare_share: float
    history: Path
    kills: int
    served_while_down: int


def run_phase(server: Server, spec: dict[str, Any], number: int) -> Phase:
    """Run one load of the demonstration, and kill the daemon under it if the phase says so."""
    seconds = float(spec["seconds"])
    history = server.build.directory / f"demo-history-{number}.txt"
    before = server.counters()
    load = start_load(server, seconds, history, spec, seed=number)
    kills = served = 0
    if "kill" in spec:
        kills, served = _kill_under(server, load, seconds, spec["kill"])
    summary = finish_load(load)
    counters = server.counters() - before
    return Phase(summary, counters, server.counts.rare_share(counters), history, kills, served)


def _kill_under(server: Server, load: subprocess.Popen[str], seconds: float, spec: dict[str, float]) -> tuple[int, int]:
    """Kill and restart the daemon. Returns how often, and how many packets the programs served without it."""
    kills = served = 0
    end = time.monotonic() + seconds - spec["period_seconds"]
    while time.monotonic() < end and load.poll() is None:
        time.sleep(spec["period_seconds"] - spec["down_seconds"])
        server.kill()
        before = server.counters()
        time.sleep(spec["down_seconds"])
        served += server.counts.ended(xdp_only(server.counters() - before), "Reply")
        server.start()
        kills += 1
    return kills, served


class Live:
    """A protocol loaded in native XDP between two namespaces, with its daemon."""

    def __init__(self, screen: Screen, rig: Rig, server: Server) -> None:
        self._screen = screen
        self._rig = rig
        self._server = server
        self._histories: list[Path] = []

    def _connect(self) -> socket.socket:
        connection = self._rig.client.socket(socket.AF_INET6)
        connection.connect((self._rig.server.ipv6, self._server.build.protocol.port))
        return connection

    def play(self, phases: list[dict[str, Any]]) -> bool:
        """Play all phases. Returns whether all went as they should."""
        scene, good = self._scene(), True
        if scene:
            scene.begin()
        for number, spec in enumerate(phases, 1):
            good &= self._phase(spec, number)
        if scene:
            with self._screen.working("", f"{scene.title}: {scene.waiting}"):
                text = scene.end()
            self._screen.say("", f"{scene.title}\n{text}", True)
        return good

    def _scene(self) -> Any:
        name = self._server.build.name
        if not (SPEC / name / LIVE / "scene.py").exists():
            return None
        module = importlib.import_module(f"spec.{name}.live.scene")
        return module.Scene(self._server.build.codec, self._server.build.capacities, self._connect)

    def _phase(self, spec: dict[str, Any], number: int) -> bool:
        with self._screen.working("", spec["title"]):
            phase = run_phase(self._server, spec, number)
        self._histories.append(phase.history)
        with self._screen.working("", f"{spec['title']}: judging the history"):
            complaints, files = self._settle()
            verdict = judge(self._server.build.name, [phase.history])
        summary = phase.summary
        rate = summary["operations"] / summary["seconds"]
        lines = [
            spec["title"],
            f"{rate:,.0f} operations/s, p50 {summary['p50_ns'] / MICROSECOND_NS:.0f} µs, p99 "
            f"{summary['p99_ns'] / MICROSECOND_NS:.0f} µs; "
            f"{100 * phase.rare_share:.2f}% of packets took the rare path",
        ]
        if phase.kills:
            lines.append(
                f"killed {phase.kills} times; meanwhile the programs answered {phase.served_while_down:,} requests"
            )
        lines.append(f"history of {summary['operations']:,} operations: {verdict.brief}")
        lines += [f"files: {files}"] if files else []
        lines += [f"NOT AS ACKNOWLEDGED: {complaint}" for complaint in complaints]
        good = verdict.holds and summary["operations"] > 0 and not complaints
        self._screen.say("", "\n".join(lines), good)
        return good

    def _settle(self) -> tuple[list[str], str]:
        """Compare the drained files with the answers to the clients of all loads: see harness/live/load.py.

        Returns the differences, and a summary of the files.
        """
        if self._server.segments is None:
            return [], ""
        counts = [-1]

        def is_drained() -> bool:
            counts.append(self._server.status()["daemon"]["drain_records"])
            return counts[-1] == counts[-2]

        wait_until(is_drained, DRAIN_SECONDS_MAX, "all to be drained")
        return settle(self._server, self._histories)
