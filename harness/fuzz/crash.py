"""The whole server crashes at random moments of a load; every record acknowledged as on disk must be recovered.

A crash kills the daemon with SIGKILL, detaches the programs and removes the tables, as if the machine lost its memory.
The unsynced end of the last segment is then kept, cut off, overwritten or left full of holes, as a disk may leave it.
Loads follow one another on one folder, each in an epoch of its own.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegen import ir
from harness import histories
from harness.data.hash_seed import Seed
from harness.data.packing import wire_size
from harness.live import plugin
from harness.live.build import build
from harness.live.load import DRAIN_SECONDS_MAX, finish_load, start_load
from harness.live.plugin import LiveError
from harness.live.server import Server
from harness.rig.netns import Rig

FIRST_SECONDS = 2.0
SECONDS_MIN = 0.2
SECTOR_BYTES = 512
"""The unit that a disk writes completely or not at all."""

WAYS = ("kept", "cut off", "full of holes", "overwritten")
HEADER = 48
"""Size of a segment's header without its lanes and its checksum, in bytes: runtime/segments/segment_file.h."""


@dataclass
class CrashReport:
    """The results of a crash test."""

    crashes: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    ways: Counter[str] = field(default_factory=Counter)
    """How often each of WAYS was applied to the unsynced bytes."""
    keys: int = 0
    problems: list[str] = field(default_factory=list)
    """Empty if everything held."""

    def __str__(self) -> str:
        counts = self.counts
        left = ", ".join(f"{way} {times}" for way, times in sorted(self.ways.items()))
        lines = [
            f"the server went down      {self.crashes} times, {counts['seconds']} s of load together",
            f"appended and answered     {counts['answered']:,} records",
            f"told to be on the disk    {counts['stored']:,}",
            f"recovered                 {counts['records']:,} records, {self.keys:,} keys",
            f"in memory only, and lost  {counts['lost']:,}",
            f"written and not synced    {counts['unsynced_bytes']:,} bytes: {left}",
        ]
        return "\n".join([*lines, *(f"PROBLEM: {problem}" for problem in self.problems)])


def crash_under_load(
    protocol: str,
    crashes: int,
    records: int | None,
    seed: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> CrashReport:
    """Crash the server under load, `crashes` times.

    The moments are chosen so that the loads append about `records` records in total. If `records` is None, the seed
    alone decides them.
    """
    spec = plugin.workload(protocol).crash
    if not spec:
        raise LiveError(
            f"{protocol} has no load for a crash of its server: spec/{protocol}/live/workload.yaml has no `crash`"
        )
    built = build(protocol, spec.get("override"))
    drain, recovery = built.protocol.drain, plugin.recovery(protocol)
    if drain is None or recovery is None:
        raise LiveError(f"{protocol} has no `drain`, or no recovery.py, so nothing survives its server")
    with Rig("crash") as rig, Server(rig, built, seed=Seed.drawn(random.Random(f"tables of {seed}"))) as server:
        return _Crashes(server, drain, recovery, spec, seed, progress).run(crashes, records)


class _Crashes:
    """Crashes of one server, one after the other."""

    def __init__(
        self,
        server: Server,
        drain: ir.Drain,
        recovery: type[Any],
        spec: dict[str, Any],
        seed: int,
        progress: Callable[[str], None],
    ) -> None:
        assert server.segments is not None, "the daemon of a protocol with a drain has a folder"
        self._server = server
        self._segments = server.segments
        self._drain = drain
        self._recovery = recovery
        self._spec = spec
        self._seed = seed
        self._progress = progress
        self._report = CrashReport()
        self._rows: dict[str, dict[str, str]] = {}
        """The recovered rows of all loads, by key."""

    def run(self, crashes: int, records: int | None) -> CrashReport:
        report, rate = self._report, 0.0
        for number in range(crashes):
            seconds = FIRST_SECONDS
            if rate and records is not None:
                share = max(records - report.counts["answered"], 0) / (crashes - number)
                seconds = max(share / rate, SECONDS_MIN)
            last = number == crashes - 1
            began = report.counts["answered"]
            # A generator for each crash, so that none changes the draws of another.
            draws = random.Random(f"crash {number} of {self._seed}")
            moment = seconds * (1.1 if last and records is not None else draws.uniform(0.5, 1.5))
            self._one(number, moment, draws)
            rate = max((report.counts["answered"] - began) / moment, 1)
            report.counts["seconds"] += round(moment)
            self._progress(f"{report.crashes} crashes, {report.counts['answered']:,} records answered")
            if report.problems:
                break
            self._server.purge()
            self._server.load()
        if not report.problems:
            self._check_all()
        report.keys = len(self._rows)
        return report

    def _one(self, number: int, seconds: float, draws: random.Random) -> None:
        """Run a load, crash the server, and check what is recovered."""
        server, build = self._server, self._server.build
        before = _segments(self._segments)
        server.start()
        history = build.directory / "crash-history.txt"
        spec = self._spec | {"options": self._spec.get("options", {}) | {"load": number}}
        load = start_load(server, seconds + DRAIN_SECONDS_MAX, history, spec, self._seed + number)
        time.sleep(seconds)
        if not server.is_running:
            self._report.problems.append(f"load {number}: the daemon ended by itself: {server.evidence()}")
        server.kill()
        synced = self._synced()
        server.unload()
        _interrupt(load)
        summary = finish_load(load)
        self._report.counts["answered"] += summary["operations"] - summary["refused"]
        self._report.crashes += 1
        self._tear(synced, draws)
        self._recovered(number, history, [path for path in _segments(self._segments) if path not in before])
        history.unlink()

    def _synced(self) -> list[int]:
        """The last record number known to be synced when the daemon died, by lane."""
        drain = self._drain
        return [self._server.cell(drain.synced.table, lane)[drain.number] for lane in range(drain.lanes)]

    def _tear(self, synced: list[int], draws: random.Random) -> None:
        """Leave the unsynced end of the last segment as a disk might."""
        path = _segments(self._segments)[-1]
        durable, size = durable_bytes(self._server.build.protocol, path, synced), path.stat().st_size
        way = draws.choice(WAYS) if size > durable else "all synced"
        self._report.ways[way] += 1
        self._report.counts["unsynced_bytes"] += size - durable
        tear(path, durable, way, draws)

    def _recovered(self, number: int, history: Path, segments: list[Path]) -> None:
        """Check the files of this load and the rows recovered from them. Recovering twice must give the same rows."""
        server = self._server
        with _view(self._segments, segments) as view:
            found = self._recovery(lambda: histories.read(history), server.entries(view))
            rows = _by_key(server.rows(view))
            problems = found.complaints(rows.values(), crashed=True)
            if _by_key(server.rows(view)) != rows:
                problems.append("a second recovery gives another result")
        self._report.counts.update(found.counts)
        self._report.problems += [f"load {number}: {problem}" for problem in problems]
        self._rows |= rows

    def _check_all(self) -> None:
        """Check all loads together, after a new daemon has cut the invalid end that the last one left."""
        self._server.start()
        self._server.stop()
        rows = _by_key(self._server.rows())
        wrong = [key for key in rows.keys() | self._rows.keys() if rows.get(key) != self._rows.get(key)]
        self._report.problems += [
            f"key {key} was recovered as {self._rows.get(key)}, but at the end as {rows.get(key)}" for key in wrong[:5]
        ]


def _interrupt(load: subprocess.Popen[str]) -> None:
    """Stop a load at once: the first signal makes clients start nothing new, the second makes them stop waiting."""
    for _ in range(2):
        load.send_signal(signal.SIGINT)
        time.sleep(0.05)


def _segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.log"))


@contextlib.contextmanager
def _view(folder: Path, segments: list[Path]) -> Iterator[Path]:
    """A temporary folder with links to these segments alone, which are those of one load."""
    path = folder.with_name(f"{folder.name}-view")
    path.mkdir()
    try:
        for segment in segments:
            os.link(segment, path / segment.name)
        yield path
    finally:
        shutil.rmtree(path)


def _by_key(rows: Iterator[dict[str, str]]) -> dict[str, dict[str, str]]:
    return {row["key"]: row for row in rows}


def durable_bytes(protocol: ir.Protocol, path: Path, synced: list[int]) -> int:
    """Bytes of a segment of the current epoch that are certainly synced, up to the end of the last synced entry.

    synced: the last synced record number of each lane.
    """
    drain = protocol.drain
    if drain is None:
        raise LiveError(f"{protocol.name} has no `drain`, so it has no segments")
    sizes = {name: wire_size(protocol.message.field(name)) for name in drain.entry}
    places, at = {}, 0
    for name, size in sizes.items():
        places[name] = slice(at, at + size)
        at += size
    header, stride, content = HEADER + 8 * drain.lanes + 4, at + 4, path.read_bytes()
    lane_at, number_at = places[drain.lane], places[drain.number]
    durable = header
    for start in range(header, len(content) - stride + 1, stride):
        entry = content[start : start + at]
        lane = int.from_bytes(entry[lane_at], "little")
        if lane < drain.lanes and int.from_bytes(entry[number_at], "little") <= synced[lane]:
            durable = start + stride
    return durable


def tear(path: Path, durable: int, way: str, generator: random.Random) -> None:
    """Damage the bytes of a file after the first `durable` ones in one of WAYS.

    Holes and overwritten parts are whole sectors, because a disk writes a sector completely or not at all.
    """
    size = path.stat().st_size
    with path.open("r+b") as file:
        if way == "cut off":
            file.truncate(generator.randint(durable, size))
        elif way in ("full of holes", "overwritten"):
            for start in range(durable - durable % SECTOR_BYTES, size, SECTOR_BYTES):
                begin, end = max(start, durable), min(start + SECTOR_BYTES, size)
                if generator.random() < 0.5:
                    file.seek(begin)
                    file.write(bytes(end - begin) if way == "full of holes" else generator.randbytes(end - begin))
