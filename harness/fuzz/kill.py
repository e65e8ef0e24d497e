"""The daemon is killed every second under the load of concurrent clients; what they saw must be linearizable."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import histories
from harness.fuzz import plugin
from harness.fuzz.build import Build, build
from harness.fuzz.plugin import LiveError
from harness.fuzz.server import Server, wait_until
from harness.rig.netns import Rig

DRAIN_SECONDS_MAX = 30


@dataclass(frozen=True)
class KillReport:
    """What was seen. `problems` is empty when everything held."""

    kills: int
    load: dict[str, Any]
    counters: Counter[str]
    rare_share: float
    history: histories.Verdict
    problems: list[str]

    def __str__(self) -> str:
        load = self.load
        lines = [
            f"daemon killed             {self.kills} times in {load['seconds']:.0f} s",
            f"operations answered       {load['operations']}, of these {load['refused']} refused",
            f"requests sent again       {load['retries']}",
            f"clients                   {load['started']} got to work, {load['died']} of them died, "
            f"{load['timed_out']} gave up waiting",
            f"latency                   p50 {load['p50_ns'] / 1000:.0f} µs, p99 {load['p99_ns'] / 1000:.0f} µs",
            f"took the rare path        {100 * self.rare_share:.1f}% of packets",
            f"contended sections        {sum(self.counters[name] for name in self.counters if _is_contended(name))}",
            f"history                   {self.history}",
        ]
        return "\n".join([*lines, *(f"PROBLEM: {problem}" for problem in self.problems)])


def _is_contended(counter: str) -> bool:
    """Whether it counts sections that lost all their attempts, and gave way."""
    return counter.split(".")[-1] in ("contended", "skipped")


def load_command(built: Build, rig: Rig, seconds: float, history: Path, spec: dict[str, Any], seed: int = 1) -> list[str]:
    """The command of a load: `spec` has its `load` and `options` of a workload.yaml."""
    command = [str(built.load_program()), "--server", rig.server.ipv4, "--seconds", str(seconds)]
    command += ["--history", str(history), "--seed", str(seed)]
    for name, value in spec.get("load", {}).items():
        command += [f"--{name}", str(value)]
    return [*command, *(f"{name}={value}" for name, value in spec.get("options", {}).items())]


def finish_load(load: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for a load and return its summary."""
    output, errors = load.communicate(timeout=DRAIN_SECONDS_MAX)
    if load.returncode != 0:
        raise LiveError(f"the load ended with {load.returncode}: {errors.strip()}")
    return json.loads(output)


def kill_under_load(
    protocol: str, seconds: float, period_seconds: float = 1.0, seed: int = 1, progress: Callable[[str], None] = lambda _: None
) -> KillReport:
    """Run a load for some seconds while the daemon is killed and started again every period."""
    spec = plugin.workload(protocol).kill
    if not spec:
        raise LiveError(f"{protocol} has no load to kill its daemon under: spec/{protocol}/workload.yaml has no `kill`")
    built = build(protocol, spec.get("override"))
    history = built.directory / "kill-history.txt"
    problems: list[str] = []
    with Rig("kill") as rig, Server(rig, built) as server:
        server.start()
        command = load_command(built, rig, seconds, history, spec, seed)
        load = rig.client.popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and load.poll() is None:
            time.sleep(min(period_seconds, left))
            if not server.is_running:
                problems.append("the daemon ended by itself")
            else:
                server.kill()
            server.start()
            progress(f"{server.kill_count} kills, {max(end - time.monotonic(), 0):.0f} s to go")
        summary = finish_load(load)
        counters = server.counters()
        problems += _left_over(server, protocol)
    verdict = histories.check(protocol, [history], timeout_seconds=300, drawing=built.directory / "kill-history.html")
    if verdict.linearizable:
        history.unlink()  # hundreds of megabytes
    else:
        problems.append("the history is not linearizable" if verdict.decided else "the history was not decided")
    never = {name: value for name, value in counters.items() if name.split(".")[-1] == "lost"}
    if never:
        problems.append(f"sections that cannot be contended were: {never}")
    if not summary["operations"] or not server.kill_count:
        problems.append("there was no load, or no kill")
    return KillReport(server.kill_count, summary, counters, server.counts.rare_share(counters), verdict, problems)


def _left_over(server: Server, protocol: str) -> list[str]:
    """Nothing may be left in the end: what a fresh reference says of the cells."""
    if not plugin.has_reference(protocol):
        return []
    fresh = plugin.reference(protocol).Reference(server.build.codec, server.build.capacities)
    try:
        wait_until(lambda: not fresh.left_over(server.tables()), DRAIN_SECONDS_MAX, "nothing to be left over")
    except LiveError:
        return [f"left over: {complaint}" for complaint in fresh.left_over(server.tables())[:5]]
    return []
