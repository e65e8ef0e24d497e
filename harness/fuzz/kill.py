"""Kills the daemon about every second under a load of many clients, and judges the history that they recorded."""

from __future__ import annotations

import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.data.hash_seed import Seed
from harness.live import plugin
from harness.live.build import build
from harness.live.judge import Judgement, judge
from harness.live.load import DRAIN_SECONDS_MAX, finish_load, settle, start_load
from harness.live.plugin import LiveError
from harness.live.server import Server, wait_until
from harness.rig.netns import Rig

APART = (0.5, 1.5)
"""The shortest and the longest time from kill to kill, as shares of the period."""


@dataclass(frozen=True)
class KillReport:
    """The results of a kill test."""

    kills: int
    away_seconds_max: float
    """The longest time from a kill until the next daemon is ready."""
    load: dict[str, Any]
    recorded: Path
    """The history's file. It is removed if the promise holds, because histories are long."""
    counters: Counter[str]
    rare_share: float
    lost_share: float
    """The share of forwarded packets that the daemon did not answer."""
    history: Judgement
    problems: list[str]
    """Empty if everything held."""
    files: str = ""
    """A summary of the drained files; empty if the protocol has no drain."""

    def __str__(self) -> str:
        load = self.load
        lines = [
            f"daemon killed             {self.kills} times in {load['seconds']:.0f} s, away for "
            f"{self.away_seconds_max:.2f} s at most",
            f"operations answered       {load['operations']}, of these {load['refused']} refused",
            f"requests sent again       {load['retries']}, given up {load['given_up']}",
            f"faults                    {load['faults']} packets lost, repeated or late; {load['unserved']} refused by "
            "the kernel",
            f"clients                   {load['started']} started, {load['died']} of them died, "
            f"{load['timed_out']} gave up waiting",
            f"latency                   p50 {load['p50_ns'] / 1000:.0f} µs, p99 {load['p99_ns'] / 1000:.0f} µs",
            f"took the rare path        {100 * self.rare_share:.1f}% of packets, of these {100 * self.lost_share:.1f}% "
            "got lost",
            f"contended sections        {sum(self.counters[name] for name in self.counters if _is_contended(name))}",
            f"read in the end           {load['read_back']} of {load['read_back_due']}",
            f"history                   {self.history}",
            *([f"files                     {self.files}"] if self.files else []),
        ]
        return "\n".join([*lines, *(f"PROBLEM: {problem}" for problem in self.problems)])


def _is_contended(counter: str) -> bool:
    """Whether a counter counts sections that lost all their attempts and gave up."""
    return counter.rsplit(".", maxsplit=1)[-1] in ("contended", "skipped")


def kill_under_load(
    protocol: str,
    seconds: float,
    period_seconds: float | None = 1.0,
    seed: int = 1,
    progress: Callable[[str], None] = lambda _: None,
    receive_buffer: int | None = None,
    standstill_seconds: float = 0,
) -> KillReport:
    """Run a load for some seconds, and kill and restart the daemon about once a period.

    period_seconds: None for no kills.
    seed: decides the clients' requests, the faults of their packets, and the moments of the kills.
    receive_buffer: size of the daemon's socket buffers in bytes; None leaves the choice to the daemon.
    standstill_seconds: the daemon hangs and serves in turn, each for this long, as if others had the processor.
    """
    spec = plugin.workload(protocol).kill
    if not spec:
        raise LiveError(
            f"{protocol} has no load for kills of its daemon: spec/{protocol}/live/workload.yaml has no `kill`"
        )
    if receive_buffer is not None:
        spec = {**spec, **{part: spec.get(part, {}) | differs for part, differs in spec.get("starved", {}).items()}}
    built = build(protocol, spec.get("override"))
    history = built.directory / "kill-history.txt"
    with (
        Rig("kill") as rig,
        Server(rig, built, receive_buffer, Seed.drawn(random.Random(f"tables of {seed}"))) as server,
    ):
        server.start()
        load = start_load(server, seconds, history, spec, seed)
        problems = _kill_until(
            server, load, time.monotonic() + seconds, kill_waits(period_seconds, seed), standstill_seconds, progress
        )
        before = server.evidence()
        summary = finish_load(load)
        counters, after = server.counters(), server.evidence()
        problems += _left_over(server, protocol)
        complaints, files = settle(server, [history])
        problems += complaints
    verdict = judge(protocol, [history], timeout_seconds=300, drawing=built.directory / "kill-history.html")
    if verdict.holds:
        history.unlink()  # hundreds of megabytes
    problems += _problems(summary, counters, verdict)
    if period_seconds is not None and not server.kill_count:
        problems.append("the daemon was never killed")
    if problems:
        problems += [f"when the last daemon had started: {before}", f"at the end: {after}"]
    shares = server.counts.rare_share(counters), server.counts.lost_share(counters)
    return KillReport(
        server.kill_count, server.away_seconds_max, summary, history, counters, *shares, verdict, problems, files
    )


def kill_waits(period_seconds: float | None, seed: int) -> Iterator[float]:
    """Seconds from each start of the daemon to the next kill; empty if it is never killed."""
    draws = random.Random(f"kills of {seed}")
    while period_seconds is not None:
        yield period_seconds * draws.uniform(*APART)


def _kill_until(
    server: Server,
    load: subprocess.Popen[str],
    end: float,
    waits: Iterator[float],
    standstill_seconds: float,
    progress: Callable[[str], None],
) -> list[str]:
    """Kill and restart the daemon until the end. Returns problems: each time that it ended by itself."""
    problems = []
    while (left := end - time.monotonic()) > 0 and load.poll() is None:
        wait = next(waits, None)
        _wait(server, min(wait or 1.0, left), standstill_seconds)
        if not server.is_running:
            problems.append("the daemon ended by itself")
        elif wait is not None:
            server.kill()
        if not server.is_running:
            server.start()
        progress(f"{server.kill_count} kills, {max(end - time.monotonic(), 0):.0f} s to go")
    return problems


def _wait(server: Server, seconds: float, standstill_seconds: float) -> None:
    """Let the load run for some seconds. If `standstill_seconds` is set, suspend and resume the daemon in turn."""
    end = time.monotonic() + seconds
    while standstill_seconds and server.is_running and time.monotonic() + 2 * standstill_seconds < end:
        with server.standing_still():
            time.sleep(standstill_seconds)
        time.sleep(standstill_seconds)
    time.sleep(max(end - time.monotonic(), 0))


def _problems(load: dict[str, Any], counters: Counter[str], verdict: Judgement) -> list[str]:
    """Problems in the results of a load."""
    found = []
    if not verdict.holds:
        found.append(f"the history is not {verdict.promise}" if verdict.decided else "the history was not decided")
    never = {name: value for name, value in counters.items() if name.split(".")[-1] == "lost"}
    if never:
        found.append(f"sections that cannot be contended were contended: {never}")
    if not load["operations"]:
        found.append("no load ran")
    if load["read_back"] < load["read_back_due"]:
        found.append(
            f"at the end, {load['read_back_due'] - load['read_back']} of {load['read_back_due']} could not be read"
        )
    return found


def _left_over(server: Server, protocol: str) -> list[str]:
    """Complaints of a fresh reference about cells whose content should be gone after the load."""
    if not plugin.has_reference(protocol):
        return []
    fresh = plugin.reference(protocol).Reference(server.build.codec, server.build.capacities)
    try:
        wait_until(lambda: not fresh.left_over(server.tables()), DRAIN_SECONDS_MAX, "nothing to be left over")
    except LiveError:
        return [f"left over: {complaint}" for complaint in fresh.left_over(server.tables())[:5]]
    return []
