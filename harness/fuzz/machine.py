"""Defines the state machine that Hypothesis drives: clients, a faulty network, and a daemon that dies.

Packets go through the real program on a veth, one at a time, so that the reference knows the result of each. Requests
and answers on their way are kept here in two bags. A rule decides when each arrives, how often, and whether it does at
all. After every rule nothing is under way in the kernel, and everything is compared with the reference.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import inspect
import json
import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from harness.fuzz import frames
from harness.live.counts import CHECKSUM, FOREIGN, MALFORMED, tc_only, xdp_only
from harness.live.plugin import LiveError
from harness.live.server import Server, wait_until

SETTLE_SECONDS = 15.0  # a grace period takes seconds if the processors are busy
BAG_SIZE_MAX = 12


Move = tuple[str, dict[str, Any]]
"""The name of a rule, and the arguments of one call of it, as JSON values."""


@dataclass
class Failure:
    """An example that failed, with its moves up to the one that failed."""

    error: BaseException
    moves: list[Move]


@dataclass
class Stage:
    """The place where examples are played: one server, and a socket in the client's namespace for each actor."""

    server: Server
    reference_module: ModuleType
    actor_count: int
    connections: list[socket.socket] = field(default_factory=list)
    packet_count: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    """In the order of the examples."""
    played: Any = field(default_factory=hashlib.sha256)
    """A digest of the moves of all examples."""

    def __post_init__(self) -> None:
        rig, port = self.server.rig, self.server.build.protocol.port
        for index in range(self.actor_count):
            family, address = (
                (socket.AF_INET, rig.server.ipv4) if index % 2 == 0 else (socket.AF_INET6, rig.server.ipv6)
            )
            connection = rig.client.socket(family, socket.SOCK_DGRAM)
            connection.connect((address, port))
            self.connections.append(connection)
        self.raw = rig.client.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.raw.bind((rig.client.iface, 0))
        self._processors = sorted(os.sched_getaffinity(0))
        self._sent_count = 0

    def reset(self) -> None:
        """Make the server as if it had just been loaded, with nothing on its way."""
        self._sent_count = 0
        self.server.clear()
        if not self.server.is_running:
            self.server.start()
        for connection in self.connections:
            while self.receive(connection, 0) is not None:
                pass

    @staticmethod
    def receive(connection: socket.socket, seconds: float) -> bytes | None:
        """The next datagram, or None if none comes in time."""
        end = time.monotonic() + seconds
        while True:
            connection.settimeout(max(end - time.monotonic(), 0))
            try:
                return connection.recv(2048)
            except (TimeoutError, BlockingIOError):
                return None
            except ConnectionRefusedError:  # an ICMP message came back, because nobody serves the port
                continue

    def send(self, index: int, datagram: bytes) -> None:
        """Send as an actor, and ignore errors that earlier datagrams left on the socket."""
        with self._on_some_processor():
            for _ in range(3):
                try:
                    self.connections[index].send(datagram)
                    return
                except ConnectionRefusedError:
                    continue
        raise AssertionError("a socket kept refusing to send")

    @contextlib.contextmanager
    def _on_some_processor(self) -> Iterator[None]:
        """Send from various processors, the same in every replay, if steps read the processor number.

        A veth runs the program on the processor that sent the packet.
        """
        if "cpu" not in dict(self.server.build.protocol.env.fields):
            yield
            return
        self._sent_count += 1
        os.sched_setaffinity(0, {self._processors[(self._sent_count * 0x9E3779B1 >> 16) % len(self._processors)]})
        try:
            yield
        finally:
            os.sched_setaffinity(0, self._processors)

    def close(self) -> None:
        for connection in [*self.connections, self.raw]:
            connection.close()


@dataclass(frozen=True)
class Packet:
    """A request on its way. `label` describes it for people."""

    actor: int
    datagram: bytes
    label: str


MOVES: set[str] = set()
"""The names of the rules whose calls are recorded."""


def move(function: Callable[..., None]) -> Callable[..., None]:
    """Wraps a rule's function, so that each call is recorded before it runs, and thus even if it does not return."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def written_down(machine: Machine, *positional: Any, **named: Any) -> None:
        _, *arguments = signature.bind(machine, *positional, **named).arguments.items()
        machine.moves.append((function.__name__, dict(arguments)))
        function(machine, *positional, **named)

    MOVES.add(function.__name__)
    return written_down


class Machine(RuleBasedStateMachine):
    """One example. `machine_on` sets `stage`, and `tell`, which receives each event in words."""

    stage: ClassVar[Stage]
    tell: ClassVar[staticmethod[[str], None]]

    def __init__(self) -> None:
        super().__init__()
        self.moves: list[Move] = []
        self.server = self.stage.server
        self.stage.reset()
        build, module = self.server.build, self.stage.reference_module
        self.codec = build.codec
        self.reference = module.Reference(self.codec, build.capacities)
        self.actors = [module.Actor(self.codec, build.capacities) for _ in range(self.stage.actor_count)]
        self.requests: list[Packet] = []
        self.answers: list[tuple[int, bytes]] = []
        self.now_ns = 0
        self._down_rules = 0

    @initialize(moves=st.lists(st.integers(0, 999), min_size=1, max_size=8))
    @move
    def begin(self, moves: list[int]) -> None:
        """Every actor makes some requests and receives the answers, without a fault."""
        for actor in range(len(self.actors)):
            for choice in moves:
                self._exchange(actor, choice)

    # --- Clients and the network --------------------------------------------------------------

    @rule(actor=st.integers(0, 15), choice=st.integers(0, 999), moves=st.integers(1, 6))
    @move
    def exchange(self, actor: int, choice: int, moves: int) -> None:
        """One actor makes some requests and receives the answers, without a fault."""
        for number in range(moves):
            self._exchange(actor, choice + 37 * number)

    @rule(actor=st.integers(0, 15), choice=st.integers(0, 999))
    @move
    def send(self, actor: int, choice: int) -> None:
        """An actor sends a request, which is then on its way."""
        self._put(self.requests, self._act(actor, choice))

    @rule(which=st.integers(0, 15), stays=st.booleans())
    @move
    def deliver(self, which: int, stays: bool) -> None:
        """A request arrives, and its answer is then on its way. A request that stays can arrive again."""
        packet = self._take(self.requests, which, stays)
        answer = packet and self._deliver(packet)
        if answer:
            self._put(self.answers, (packet.actor, answer))

    @rule(which=st.integers(0, 15), stays=st.booleans())
    @move
    def hand_over(self, which: int, stays: bool) -> None:
        """An answer arrives. An answer that stays can arrive again."""
        found = self._take(self.answers, which, stays)
        if found:
            actor, datagram = found
            self.actors[actor].receive(datagram, self.now_ns)

    @rule(which=st.integers(0, 15), choice=st.integers(0, 2**16))
    @move
    def forge(self, which: int, choice: int) -> None:
        """Somebody alters a request and gives it a correct checksum. The forged request must change nothing."""
        packet = self._take(self.requests, which, stays=True)
        if packet:
            message = self.reference.forge(self.codec.Message.decode(packet.datagram), choice)
            try:
                datagram = message.encode()
            except ValueError:  # the wire format cannot hold the altered value
                return
            self._deliver(Packet(packet.actor, datagram, f"forged from {packet.label}"))

    @rule(which=st.integers(0, 15), place=st.integers(0, 2**16), flip=st.integers(1, 255))
    @move
    def garble(self, which: int, place: int, flip: int) -> None:
        """A request arrives with one byte garbled. It must count as foreign or malformed, and change no cell."""
        packet = self._take(self.requests, which, stays=True)
        if packet:
            frame = frames.garbled(self.stage.server.rig, self.server.build.protocol.port, packet.datagram, place, flip)
            before, tables = self.server.counters(), self.server.tables()
            self.stage.raw.send(frame)
            wait_until(lambda: self.server.counters() != before, SETTLE_SECONDS, "a garbled packet to be counted")
            counted = self.server.counters() - before
            assert set(counted) <= {FOREIGN, MALFORMED, CHECKSUM} and counted.total() == 1, (
                f"a garbled packet counted as {counted}"
            )
            changed = [name for name, cells in self.server.tables().items() if cells != tables[name]]
            assert not changed, f"a garbled packet changed cells of {', '.join(changed)}"
            self.stage.packet_count["garbled"] += 1

    @rule(choice=st.integers(0, 15))
    @move
    def elapse(self, choice: int) -> None:
        """Time passes, for the client first."""
        self._elapse(choice)
        self._await_sweep()

    # --- The daemon, which restarts after some rules ----------------------------------------------

    @rule(down_rules=st.integers(1, 6))
    @move
    def kill(self, down_rules: int) -> None:
        """The daemon is killed while no request is under way."""
        self._kill(down_rules, "no request was under way")

    @rule(
        actor=st.integers(0, 15), choice=st.integers(0, 999), delay_us=st.integers(0, 300), down_rules=st.integers(0, 4)
    )
    @move
    def kill_serving(self, actor: int, choice: int, delay_us: int, down_rules: int) -> None:
        """The daemon is killed while it may be serving a request."""
        packet = self._act(actor, choice)
        answer = self._deliver(packet, kill_after_us=delay_us)
        self._down_rules = max(self._down_rules, down_rules)
        if answer is not None:
            self._put(self.answers, (packet.actor, answer))

    @rule(choice=st.integers(0, 15), delay_ms=st.integers(0, 40), down_rules=st.integers(0, 4))
    @move
    def kill_sweeping(self, choice: int, delay_ms: int, down_rules: int) -> None:
        """The daemon is killed while its sweep may be at work on expired cells."""
        self._elapse(choice)
        if self.server.is_running:
            time.sleep(delay_ms / 1000)
            self._kill(down_rules, "it swept")

    @rule(moves=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 999)), min_size=1, max_size=6))
    @move
    def stand_still(self, moves: list[tuple[int, int]]) -> None:
        """The daemon hangs for a while, and answers the request that waits for it late, after others were served.

        It is killed instead if a second request waits, or if its sweep may change the answer to the first. In both
        cases the test cannot know which of the two the daemon would handle first.
        """
        if not self.server.is_running:
            return
        waiting: list[Packet] = []
        with self.server.standing_still():
            self.tell("the daemon is paused")
            for actor, choice in moves:
                if len(waiting) < 2 and not any(packet.actor == actor % len(self.actors) for packet in waiting):
                    waiting += self._serve_without(self._act(actor, choice))
            if len(waiting) > 1 or any(
                self.reference.meets_sweep(self.codec.Message.decode(each.datagram)) for each in waiting
            ):
                self._kill(0, "requests waited for it")
                waiting.clear()
            before = self.server.counters()
        if len(waiting) == 1:
            self._answer_late(waiting[0], before)
        self._await_sweep()  # of cells that expired meanwhile

    def _serve_without(self, packet: Packet) -> list[Packet]:
        """Deliver a packet while the daemon hangs. Returns the packet, in a list, if it now waits for the daemon."""
        before = self.server.counters()
        answer = self._deliver(packet)
        if answer is not None:
            self.actors[packet.actor].receive(answer, self.now_ns)
        return [packet] if self.server.counts.ended(xdp_only(self.server.counters() - before), "Forward") else []

    def _answer_late(self, packet: Packet, before: Counter[str]) -> None:
        """The daemon resumes with a request that has waited. The answer is one that it could get now, or none."""
        message = self.codec.Message.decode(packet.datagram)
        expected = self.reference.expect(message)
        wait_until(
            lambda: tc_only(self.server.counters() - before), SETTLE_SECONDS, "the daemon's late reply to be counted"
        )
        completed = tc_only(self.server.counters() - before)
        self.stage.packet_count.update(completed)
        self.stage.packet_count["late"] += 1
        answer = self._receive_if(bool(self.server.counts.ended(completed, "Reply")), packet, completed)
        self.tell(f"the daemon went on, late for {packet.label} ({', '.join(completed)})")
        if answer is not None:
            self._compare(message, expected, answer, may_be_silent=False)
            self._put(self.answers, (packet.actor, answer))
        self._await_sweep()
        self._compare_cells()

    def _kill(self, down_rules: int, what: str) -> None:
        if self.server.is_running:
            self.server.kill()
            self.tell(f"the daemon was killed while {what}")
        self._down_rules = max(self._down_rules, down_rules)

    # --- What must hold -----------------------------------------------------------------------

    @invariant()
    def everything_agrees(self) -> None:
        """The cells must be as the reference says, and no client may have a wrong belief."""
        self._compare_cells()
        found = self.reference.broken_beliefs(self.actors, self.now_ns)
        assert not found, "\n".join(found)
        if not self.server.is_running:
            self._compare_files()
        self._restart()

    def _compare_cells(self) -> None:
        tables = self.server.tables()
        self.reference.observe(tables)
        found = self.reference.complaints(tables)
        assert not found, "\n".join(found)

    def _compare_files(self) -> None:
        """Compare the drained files with the reference, if there is a drain. Nothing may be under way."""
        if self.server.segments is not None:
            found = self.reference.entry_complaints(list(self.server.entries()), self.server.tables())
            assert not found, "\n".join(found)

    def _restart(self) -> None:
        """Start the daemon if it has been down for enough rules. It continues where the last one stopped."""
        if not self.server.is_running:
            self._down_rules -= 1
            if self._down_rules < 0:
                self.server.start()
                self.tell("the daemon was started")
                self._await_sweep()
                self._down_rules = 0

    def teardown(self) -> None:
        """Record how the example ended.

        Hypothesis calls this after a failure too. A failure that does not repeat in a replay is known only from here.
        """
        self.stage.packet_count["examples"] += 1
        error = sys.exc_info()[1]
        self.stage.played.update(json.dumps(self.moves).encode())
        if isinstance(error, (AssertionError, LiveError, OSError)):
            self.stage.failures.append(Failure(error, self.moves))
        if error is None:
            self._compare_files()

    # --- Helpers ------------------------------------------------------------------------------

    def _exchange(self, actor: int, choice: int) -> None:
        packet = self._act(actor, choice)
        answer = self._deliver(packet)
        if answer is not None:
            self.actors[packet.actor].receive(answer, self.now_ns)

    def _act(self, actor: int, choice: int) -> Packet:
        index = actor % len(self.actors)
        self.now_ns += 1
        label, datagram = self.actors[index].act(choice, self.now_ns)
        self.tell(f"client {index}: {label}")
        return Packet(index, datagram, f"{label} of client {index}")

    @staticmethod
    def _put(bag: list[Any], item: Any) -> None:
        """Put an item into a bag. If the bag then has too many, the oldest is lost."""
        bag.append(item)
        del bag[:-BAG_SIZE_MAX]

    @staticmethod
    def _take(bag: list[Any], which: int, stays: bool) -> Any:
        if not bag:
            return None
        index = which % len(bag)
        return bag[index] if stays else bag.pop(index)

    def _deliver(self, packet: Packet, kill_after_us: int | None = None) -> bytes | None:
        """Let a request arrive, compare the result with the reference, and return the answer."""
        message = self.codec.Message.decode(packet.datagram)
        expected = self.reference.expect(message)
        before = self.server.counters()
        was_serving = self.server.is_serving
        self.stage.send(packet.actor, packet.datagram)
        wait_until(lambda: xdp_only(self.server.counters() - before), SETTLE_SECONDS, "a packet to be counted")
        if kill_after_us is not None and was_serving:
            time.sleep(kill_after_us / 1e6)
            self._kill(0, "it served")
        answer = self._await_answer(packet, before)
        counted = self.server.counters() - before
        self.stage.packet_count.update(counted)
        text = "nothing" if answer is None else self.codec.Message.decode(answer).kind.name
        self.tell(f"  {packet.label} arrived: {text} ({', '.join(counted)})")
        self._compare(message, expected, answer, may_be_silent=not was_serving or not self.server.is_running)
        self._await_sweep()
        self._compare_cells()
        return answer

    def _compare(self, message: Any, expected: set[str], answer: bytes | None, may_be_silent: bool) -> None:
        if answer is not None:
            decoded = self.codec.Message.decode(answer)
            assert decoded.kind.name in expected, (
                f"answered {decoded.kind.name}, expected {expected or 'nothing'}: {message}"
            )
            wrong = self.reference.answered(copy.copy(message), decoded)
            assert not wrong, "\n".join(wrong)
        elif expected:
            assert may_be_silent, f"no answer though the daemon runs, expected {expected}: {message}"
            assert self.reference.unanswered(message), f"no answer from the fast path, expected {expected}: {message}"

    def _await_answer(self, packet: Packet, before: Counter[str]) -> bytes | None:
        """Wait until the request and all its effects are complete, and return the answer."""
        counts = self.server.counts
        seen = xdp_only(self.server.counters() - before)
        if self.server.is_serving and counts.ended(seen, "Forward"):
            wait_until(
                lambda: tc_only(self.server.counters() - before), SETTLE_SECONDS, "the daemon's reply to be counted"
            )
        counted = self.server.counters() - before
        seen, completed = xdp_only(counted), tc_only(counted)
        assert seen.total() == 1 and completed.total() <= counts.ended(seen, "Forward"), (
            f"one packet was counted as {dict(counted)}"
        )
        answered = counts.ended(seen + completed, "Reply")
        return self._receive_if(bool(answered), packet, counted)

    def _receive_if(self, answered: bool, packet: Packet, counted: Counter[str]) -> bytes | None:
        """Receive the one answer that the counters report, or check that there is none if they report none."""
        connection = self.stage.connections[packet.actor]
        answer = self.stage.receive(connection, SETTLE_SECONDS if answered else 0)
        assert (answer is not None) == answered, f"counted {dict(counted)}, but the client got {answer!r}"
        assert self.stage.receive(connection, 0) is None, "one request, two answers"
        return answer

    def _elapse(self, choice: int) -> None:
        what, cells = self.reference.elapse(choice, self.actors, self.server.tables())
        for table, index, cell in cells:
            self.server.write(table, index, cell)
        if what:
            self.tell(what)

    def _await_sweep(self) -> None:
        """Wait until the sweep has taken back all expired cells, if the daemon runs."""
        if self.server.is_serving and not self.reference.observe(self.server.tables()):
            wait_until(lambda: self.reference.observe(self.server.tables()), SETTLE_SECONDS, "the daemon's sweep")


def machine_on(stage: Stage, tell: Callable[[str], None] = note) -> type[Machine]:
    """A class of machines that play on this stage.

    tell: receives each event in words. Hypothesis' `note` works only inside its own examples.
    """
    return type("Machine", (Machine,), {"stage": stage, "tell": staticmethod(tell)})
