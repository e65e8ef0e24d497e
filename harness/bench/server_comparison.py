"""Gives one server after the other the same workload. Keeps the slots' states, and notes what was unusual."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TypeVar

from harness.bench.link import Flight, SlotStates, softirq_run_ns
from harness.bench.poller import Poller, polling
from harness.bench.servers import Reflector, Server
from harness.bench.workload import Workload

F = TypeVar("F", bound=Flight)

UNDISTURBED_SHARE = 0.9  # the kernel keeps 5 % of the time from real-time processes
WORTHLESS_SHARE = 0.5
TRIES_MAX = 5


@dataclass(frozen=True)
class Settings:
    runs: int
    seconds: float
    slots: int
    with_checksum: bool
    two_cores: bool


@dataclass
class Contest:
    """The servers of one protocol, and the pollers that process their packets.

    loads: workloads that run before all others on a server that keeps data.
    goes_on: a slot whose answer does not come goes on with another request, as a client of a rare path does.
    """

    plugin: ModuleType
    cpu: int
    servers: list[Server]
    settings: Settings
    loads: tuple[Workload, ...] = ()
    goes_on: bool = False
    states: dict[tuple[str, str, int], SlotStates] = field(default_factory=dict)
    notes: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    loaded: set[str] = field(default_factory=set)
    clients_used: int = 0
    one: tuple[Poller, ...] = ()
    both: tuple[Poller, ...] = ()

    @contextlib.contextmanager
    def prepared(self, server: Server) -> Iterator[None]:
        """Attach the server for a block. The first time, fill its tables."""
        server.link.attach()
        server.attach()
        try:
            self._load(server)
            yield
        finally:
            server.detach()

    def fly(
        self,
        server: Server,
        name: str,
        workload: Workload,
        slots: int,
        seconds: float,
        pollers: tuple[Poller, ...] | None = None,
        begins: Callable[[], None] = lambda: None,
    ) -> Flight:
        """Run a prepared server once. Slots whose packets are lost get new sessions for the next run.

        A disturbed run is repeated. While a poller does not run, packets are processed in whatever process the CPU
        runs, and no figure includes that time.

        pollers: the pollers that process the packets; `one` by default. A server in userspace processes them itself.
        begins: called before each attempt.
        """
        pollers = () if server.polls_itself else pollers or self.one

        def busy_ns() -> int:
            spent_ns = sum(poller.run_ns() for poller in pollers) + server.run_ns()
            return (spent_ns + softirq_run_ns(self.cpu)) // max(len(pollers), 1)

        def go(states: SlotStates) -> Flight:
            with polling(*pollers):
                return server.link.fly(
                    states,
                    workload,
                    seconds,
                    with_checksum=self.settings.with_checksum,
                    goes_on=self.goes_on and server.keeps,
                    busy_ns=busy_ns,
                )

        for _ in range(TRIES_MAX if pollers else 1):
            begins()
            flight = self.flown(server, name, slots, go)
            if flight.cpu_share >= UNDISTURBED_SHARE:
                return flight
        if pollers and flight.cpu_share < WORTHLESS_SHARE:
            self.note(server.name, name, "others used the CPU for most of the time: DOES NOT COUNT")
            return replace(flight, counts=False)
        self.note(server.name, name, "others used the CPU for part of the time; the figures are CPU time")
        return flight

    def flown(
        self, server: Server, name: str, slots: int, go: Callable[[SlotStates], F], label: str | None = None
    ) -> F:
        """Make a run of any kind with the server's slots for this workload.

        label: the name under which unusual events are noted; the workload's by default.
        """
        states, before = self._states_of(server, name, slots), server.counters()
        flight = go(states)
        after = server.counters()
        counted = {counter: after[counter] - before.get(counter, 0) for counter in after}
        flight = replace(flight, counts=flight.counts and self._is_explained(server, label or name, flight, counted))
        if not self.goes_on:
            for slot in flight.lost:
                fresh = server.states(self.new_clients(1))
                states.words[slot], states.answers[slot] = fresh.words[0], fresh.answers[0]
        return flight

    def new_clients(self, count: int) -> list[int]:
        self.clients_used += count
        return list(range(self.clients_used - count + 1, self.clients_used + 1))

    def note(self, server: str, workload: str, text: str) -> None:
        notes = self.notes.setdefault((server, workload), [])
        if text not in notes:
            notes.append(text)

    def _load(self, server: Server) -> None:
        if server.name in self.loaded or not server.keeps:
            return
        pollers = () if server.polls_itself else self.one
        self.loaded.add(server.name)
        for workload in self.loads:
            states = server.states(self.new_clients(self.settings.slots))
            with polling(*pollers):
                server.link.run_out(states, workload)

    def _states_of(self, server: Server, name: str, slots: int) -> SlotStates:
        key = (server.name, name, slots)
        if key not in self.states or server.forgets_sessions:
            self.states[key] = server.states(self.new_clients(slots))
        return self.states[key]

    def _is_explained(self, server: Server, workload: str, flight: Flight, counted: dict[str, int]) -> bool:
        """Note what was unusual. False if the figures cannot be trusted."""
        explained = self.goes_on or self._are_losses_explained(server, workload, flight, counted)
        # A slot's first answer is blank, and so is the one that it gets when it gives up a request.
        none = (
            0
            if isinstance(server, Reflector)
            else flight.outcomes[strange_outcome(self.plugin)] - flight.slots - flight.given_up
        )
        if none > 0:
            self.note(server.name, workload, f"{none} invalid answers: DOES NOT COUNT")
        return explained and none <= 0

    def _are_losses_explained(self, server: Server, workload: str, flight: Flight, counted: dict[str, int]) -> bool:
        rare = {name: count for name, count in counted.items() if 0 < count <= 2 * len(flight.lost)}
        explained = sum(rare.values()) >= len(flight.lost)
        if flight.lost:
            why = ", ".join(f"{name} {count}" for name, count in rare.items()) if explained else "without explanation"
            explained = explained and len(flight.lost) < flight.slots  # else nothing was measured
            why += "" if explained else ": DOES NOT COUNT"
            self.note(server.name, workload, f"{len(flight.lost)} of {flight.slots} packets lost ({why})")
        return explained


def strange_outcome(plugin: ModuleType) -> int:
    """The number of the outcome that no answer of a server may have."""
    return next(number for number, name in enumerate(plugin.OUTCOMES) if name not in plugin.EXPECTED_OUTCOMES)
