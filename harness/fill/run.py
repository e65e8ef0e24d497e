"""Runs the passes: fill, read, change, read, then load again and read. The daemon is killed halfway through each."""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from harness.base.protocols import BENCH, REPOSITORY, RUNTIME_INCLUDE, SPEC
from harness.bench.build import Client, compile_bpf
from harness.bench.campaign import aside, opened_link
from harness.bench.link import Link, SlotStates
from harness.bench.servers import exchanging
from harness.bench.workload import Workload
from harness.builds.program_variants import merged
from harness.live.build import Build, build
from harness.live.plugin import LiveError
from harness.live.server import Server
from harness.rig import Rig

SLOTS = 64
WRONG_SHOWN = 5
SECONDS_MAX_OF_A_KEY = 1e-4
SECONDS_MAX = 60
RIGHT, BEGINS = "right", "begins"


@dataclass(frozen=True)
class Pass:
    """A pass over all keys. Each key was requested until it was answered.

    outcomes: the number of answers with each outcome. again: requests that were sent again because no answer came.
    rare_share: share of the requests that needed the daemon.
    """

    title: str
    seconds: float
    requests: int
    outcomes: dict[str, int]
    again: int
    rare_share: float

    @property
    def complaints(self) -> dict[str, int]:
        """Counts of answers that were not right, and of keys that were not asked for."""
        found = {name: count for name, count in self.outcomes.items() if count and name not in (RIGHT, BEGINS)}
        unasked = self.requests - sum(self.outcomes.values()) + self.outcomes[BEGINS]
        return found | ({"not asked for": unasked} if unasked else {})

    def __str__(self) -> str:
        said = ", ".join(f"{count:,} {name}" for name, count in self.complaints.items()) or "all right"
        rate = f"{self.seconds:6.1f} s  {self.requests:>11,} ({self.requests / self.seconds:>9,.0f}/s)"
        return (
            f"{self.title:<25} {rate}  {100 * self.rare_share:5.1f}% by the daemon, {self.again:,} sent again: {said}"
        )


@dataclass(frozen=True)
class Report:
    """The results of all passes.

    load_s, reload_s: seconds until the daemon serves empty tables, and full ones. wrong: some keys that were wrong.
    """

    keys: int
    table_bytes: int
    load_s: float
    reload_s: float
    kills: int
    passes: list[Pass]
    wrong: list[int]

    @property
    def holds(self) -> bool:
        return not any(each.complaints for each in self.passes)

    @property
    def summary(self) -> str:
        """The report without the passes."""
        size = f"{self.table_bytes / 1e9:.2f} GB, {self.table_bytes / self.keys:.0f} bytes a key"
        lines = [
            f"{self.keys:,} keys; tables of {size}",
            f"loaded in {self.load_s:.1f} s, again when full in {self.reload_s:.1f} s; daemon killed {self.kills} "
            "times",
        ]
        if self.wrong:
            lines.append("first wrong keys: " + ", ".join(f"{key:#x}" for key in self.wrong[:WRONG_SHOWN]))
        return "\n".join([*lines, "held: nothing missing, nothing wrong, nothing refused" if self.holds else "FAILED"])

    def __str__(self) -> str:
        return "\n".join([*map(str, self.passes), self.summary])


@dataclass
class Filling:
    """One protocol's server, the client's program that sends requests to it, and its open sessions.

    progress: receives the current activity, and an empty text when it is over. said: receives each finished pass.
    """

    server: Server
    link: Link
    plugin: ModuleType
    states: SlotStates
    progress: Callable[[str], None]
    load_s: float
    said: Callable[[Pass], None] = lambda _: None

    def ask(self, title: str, workload: Workload) -> Pass:
        """Ask for every key of a workload. The daemon is killed when half of them are answered, and started again."""
        requests = workload.parameters[self.plugin.COUNT]
        before, kills = self.server.counters(), self.server.kill_count

        def meanwhile(answered: int) -> None:
            self.progress(f"{title}: {answered:,}")
            if self.server.kill_count == kills and requests / 2 < answered < requests:
                self.server.kill()
                self.server.start()

        limit = SECONDS_MAX + requests * SECONDS_MAX_OF_A_KEY
        began = time.monotonic()
        flight = self.link.run_out(self.states, workload, seconds_max=limit, meanwhile=meanwhile)
        seconds = time.monotonic() - began
        self.progress("")
        counted = Counter(self.server.counters())
        counted.subtract(before)
        outcomes = dict(zip(self.plugin.OUTCOMES, flight.outcomes))
        done = Pass(title, seconds, requests, outcomes, flight.given_up, self.server.counts.rare_share(counted))
        self.said(done)
        return done

    def load_again(self) -> float:
        """Stop the daemon, unload the programs, and start both again. Returns the seconds until the daemon serves."""
        began = time.monotonic()
        self.server.stop()
        self.server.unload()
        self.server.load()
        self.server.start()
        return time.monotonic() - began

    def wrong(self) -> list[int]:
        """The first wrong key of each slot that has one."""
        return [words[self.plugin.WRONG_WORD] for words in self.states.words if words[self.plugin.WRONG_WORD]]


@contextlib.contextmanager
def opened(
    protocol: str, keys: int, override: dict[str, Any] | None = None, progress: Callable[[str], None] = lambda _: None
) -> Iterator[Filling]:
    """Open a server that serves empty tables of the sizes for `keys`.

    override: changes to the layout, on top of these sizes.
    """
    plugin = plugin_of(protocol)
    progress(f"{protocol}: generating and compiling")
    built = build(protocol, merged(plugin.override(keys), override or {}), defines="")
    cpus = sorted(os.sched_getaffinity(0))
    with aside(cpus, cpus[-1]), Rig("fill") as rig, opened_link(rig, client_of(built), cpus[-1]) as link:
        server = Server(rig, built)
        began = time.monotonic()
        with server:
            server.start()
            load_s = time.monotonic() - began
            with exchanging(link) as exchange:
                states = link.blank_states(plugin.open_by_messages(exchange, range(1, SLOTS + 1), built.codec))
            yield Filling(server, link, plugin, states, progress, load_s)


def fill(
    protocol: str,
    keys: int | None = None,
    override: dict[str, Any] | None = None,
    progress: Callable[[str], None] = lambda _: None,
    said: Callable[[Pass], None] = lambda _: None,
) -> Report:
    """Run all passes. keys: the number in the protocol's fill.py by default. progress, said: see Filling."""
    keys = keys or plugin_of(protocol).KEYS
    with opened(protocol, keys, override, progress) as filling:
        filling.said = said
        plugin, server = filling.plugin, filling.server
        filled = [
            filling.ask("filled", plugin.inserts(keys)),
            filling.ask("read", plugin.reads(keys, changed=False)),
            filling.ask("changed", plugin.changes(keys)),
            filling.ask("read", plugin.reads(keys, changed=True)),
        ]
        reload_s = filling.load_again()
        filled.append(filling.ask("read after loading again", plugin.reads(keys, changed=True)))
        return Report(keys, server.table_bytes(), filling.load_s, reload_s, server.kill_count, filled, filling.wrong())


def has_fill(protocol: str) -> bool:
    return all((SPEC / protocol / BENCH / name).exists() for name in ("fill.py", "fill.h"))


def plugin_of(protocol: str) -> ModuleType:
    if not has_fill(protocol):
        raise LiveError(
            f"{protocol} cannot be filled: add spec/{protocol}/bench/fill.py and fill.h (docs/reference/live.md)"
        )
    return importlib.import_module(f"spec.{protocol}.bench.fill")


def client_of(built: Build) -> Client:
    include = [SPEC / built.name / BENCH, built.generated, *RUNTIME_INCLUDE]
    program = compile_bpf(REPOSITORY / "harness/bench/client.bpf.c", built.directory, include, requests="fill.h")
    return Client(program, built.codec.PORT, built.codec.WIRE_SIZE)
