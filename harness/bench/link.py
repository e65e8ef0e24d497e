"""Sends a client's packets round the link under test, and counts them.

Each slot is one packet that never stops: the client's XDP program turns every answer into the next request.
Userspace puts the packets on the link, waits, and reads the counts.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.bench.build import BenchError, Client
from harness.bench.processes import named, schedstat
from harness.bench.workload import Numbers, Workload, table, uniform
from harness.rig import Rig, bpf

SOL_PACKET = 263
PACKET_QDISC_BYPASS = 20
PORT_FIRST = 40000
SLOT = struct.Struct("<Q5QQQQ7Q")
STATE_WORDS = 5
ROUND_TRIPS_AT = 6  # index in what SLOT unpacks
DRAINED_AT = 7
OUTCOMES_AT = 9
OUTCOMES = 7
CONTROL = struct.Struct("<8QIIIIII")
PARAMETERS = 8
ANSWER_ALIGNMENT = 8
WARM_UP_S = 0.1
DRAIN_S_MAX = 0.5
PATIENCE_S = 0.02  # until a slot goes on without its answer, where slots may do so
LOAD_S_MAX = 300
STARVED_S_MAX = 30


@dataclass(frozen=True)
class Flight:
    """The measurements of one run.

    round_trips: within `seconds`. outcomes: over the whole run.
    cpu_share: CPU time for the packets, as a share of `seconds`. Others had the rest.
    lost: slots whose packets did not come back.
    given_up: how often a slot went on with another request because no answer came.
    counts: False if something makes the figures worthless.
    """

    slots: int
    seconds: float
    round_trips: int
    outcomes: tuple[int, ...]
    cpu_share: float
    lost: tuple[int, ...]
    given_up: int = 0
    counts: bool = True

    @property
    def rate(self) -> float:
        """Round trips a second."""
        return self.round_trips / self.seconds

    @property
    def cpu_ns(self) -> float:
        """CPU time of one round trip, for both ends. Valid only if both are on one core."""
        return self.cpu_share * self.seconds * 1e9 / max(self.round_trips, 1)


@dataclass
class SlotStates:
    """The state words of one server's slots, and the answers that the slots go on from."""

    words: list[list[int]]
    answers: list[bytes]
    seed: int = 1


@dataclass(frozen=True)
class Ended:
    """The outcomes of a whole run, and the slots whose packets did not come back."""

    outcomes: tuple[int, ...]
    lost: tuple[int, ...]


class Link:
    """A rig with one of the benchmark's clients. `cpu` processes the packets, unless NAPI is threaded.

    cpus: the CPUs on which slots start, in turns. With a queue for each CPU, a slot stays on its CPU.
    """

    def __init__(self, rig: Rig, client: Client, cpu: int) -> None:
        self.rig = rig
        self.cpu = cpu
        self.cpus: tuple[int, ...] = (cpu,)
        self.payload_size = client.payload_size
        self.port = client.port
        self.client = bpf.Object.open(client.path)
        self._slots = self.client.map("slots").mmap()
        self._answers = self.client.map("answers").mmap()
        self._control = self.client.variable("control")
        self._drawn: Numbers = ()
        self._answer_size = -(-self.payload_size // ANSWER_ALIGNMENT) * ANSWER_ALIGNMENT
        self.attach()
        self._sender = rig.server.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self._sender.bind((rig.server.iface, 0))
        # The packets injected here are not replies of a daemon, so no TC program may see them.
        self._sender.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)

    def attach(self, paced: bool = False) -> None:
        """Attach this client to the rig. paced: the program that sends at a rate, for pace.py."""
        with self.rig.client.entered():
            self.client.program("bench_paced_client" if paced else "bench_client").attach_xdp(self.rig.client.ifindex)

    def close(self) -> None:
        self._sender.close()
        self.client.close()

    def blank_states(self, words: list[list[int]]) -> SlotStates:
        """States of slots that have sent no request yet."""
        return SlotStates(words, [self.blank] * len(words))

    @property
    def blank(self) -> bytes:
        """A message of zeros in place of an answer. A slot that gets it goes on with another request."""
        return bytes(self.payload_size)

    def frame(self, slot: int, payload: bytes) -> bytes:
        """Make a frame from the server to a slot."""
        source, target = self.rig.server, self.rig.client
        udp = struct.pack(">HHHH", self.port, PORT_FIRST + slot, 8 + len(payload), 0) + payload
        addresses = socket.inet_aton(source.ipv4) + socket.inet_aton(target.ipv4)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, socket.IPPROTO_UDP, 0) + addresses
        ip = ip[:10] + struct.pack(">H", _internet_checksum(ip)) + ip[12:]
        macs = bytes.fromhex(target.mac.replace(":", "")) + bytes.fromhex(source.mac.replace(":", ""))
        return macs + b"\x08\x00" + ip + udp

    def fly(
        self,
        states: SlotStates,
        workload: Workload,
        seconds: float,
        *,
        with_checksum: bool = False,
        goes_on: bool = False,
        busy_ns: Callable[[], int] | None = None,
    ) -> Flight:
        """Let the slots go round for a while. The next flight goes on from their states.

        goes_on: a slot whose answer does not come for a while sends another request.
        busy_ns: returns the CPU time used so far; that of the softirq thread by default.
        """
        busy_now_ns = busy_ns or (lambda: softirq_run_ns(self.cpu))
        count = len(states.words)
        waiting = _Waiting(self, count) if goes_on else None
        self.begin(states, workload, with_checksum)
        time.sleep(WARM_UP_S)
        began, trips, spent_ns = time.monotonic(), self._round_trips(count), busy_now_ns()
        while waiting and time.monotonic() < began + seconds - PATIENCE_S:
            time.sleep(PATIENCE_S)
            waiting.look()
        time.sleep(max(began + seconds - time.monotonic(), 0))
        # Others may have had the CPU all the time. A flight without CPU time shows nothing, so wait for some.
        while busy_now_ns() <= spent_ns and time.monotonic() < began + seconds + STARVED_S_MAX:
            time.sleep(PATIENCE_S)
        elapsed, trips, spent_ns = (
            time.monotonic() - began,
            self._round_trips(count) - trips,
            busy_now_ns() - spent_ns,
        )
        ended = self.end(states, workload, with_checksum)
        return Flight(
            slots=count,
            seconds=elapsed,
            round_trips=trips,
            outcomes=ended.outcomes,
            cpu_share=spent_ns / 1e9 / elapsed,
            lost=ended.lost,
            given_up=waiting.given_up if waiting else 0,
        )

    def run_out(
        self,
        states: SlotStates,
        workload: Workload,
        *,
        seconds_max: float = LOAD_S_MAX,
        meanwhile: Callable[[int], None] = lambda _: None,
    ) -> Flight:
        """Let the slots run until none has a request left. A slot whose answer does not come goes on.

        meanwhile: called now and then with the number of round trips so far.
        """
        count = len(states.words)
        waiting = _Waiting(self, count)
        self.begin(states, workload, with_checksum=False)
        began = time.monotonic()
        while not all(self._slot(number)[DRAINED_AT] for number in range(count)):
            time.sleep(PATIENCE_S)
            waiting.look()
            meanwhile(self._round_trips(count))
            if time.monotonic() > began + seconds_max:
                raise BenchError(f"after {seconds_max:.0f} s the server has not answered all requests")
        slots = [self._slot(slot) for slot in range(count)]
        for number, slot in enumerate(slots):
            states.words[number] = list(slot[1 : 1 + STATE_WORDS])
            states.answers[number] = self.blank
        elapsed, trips = time.monotonic() - began, self._round_trips(count)
        return Flight(count, elapsed, trips, _outcomes(slots), 0.0, (), waiting.given_up)

    def send(self, slot: int, answer: bytes) -> None:
        """Hand a slot an answer, as from the server."""
        with pinned(self.cpus[slot % len(self.cpus)]):  # a packet stays on the CPU that sends it
            self._sender.send(self.frame(slot, answer))

    def progress(self, number: int) -> tuple[int, bool]:
        """A slot's round trips in this run, and whether it stopped."""
        slot = self._slot(number)
        return slot[ROUND_TRIPS_AT], bool(slot[DRAINED_AT])

    def _slot(self, number: int) -> tuple[int, ...]:
        return SLOT.unpack_from(self._slots, number * SLOT.size)

    def _round_trips(self, count: int) -> int:
        return sum(self._slot(number)[ROUND_TRIPS_AT] for number in range(count))

    def begin(self, states: SlotStates, workload: Workload, with_checksum: bool) -> None:
        """Put the slots' packets on the link."""
        self.write_slots(states, workload, with_checksum)
        for slot, answer in enumerate(states.answers):
            self.send(slot, answer)

    def write_slots(self, states: SlotStates, workload: Workload, with_checksum: bool = False) -> None:
        """Write the slots and the workload to the client's maps."""
        numbers = workload.numbers or uniform(1)
        if numbers != self._drawn:
            for index, entry in enumerate(table(numbers)):
                self.client.map("intervals").update(index, entry)
            self._drawn = numbers
        self._control.write(self._control_of(workload, False, with_checksum, len(states.words)))
        for number, words in enumerate(states.words):
            states.seed += 1
            random = (states.seed * 0x9E3779B97F4A7C15) % (1 << 64) or 1
            SLOT.pack_into(self._slots, number * SLOT.size, random, *words, 0, 0, number, *[0] * OUTCOMES)

    def _control_of(self, workload: Workload, stopped: bool, with_checksum: bool, slots: int) -> bytes:
        parameters = [*workload.parameters, *[0] * (PARAMETERS - len(workload.parameters))]
        return CONTROL.pack(*parameters, stopped, with_checksum, slots, len(workload.numbers) or 1, self.port, 0)

    def read_slot(self, states: SlotStates, answer: bytes) -> None:
        """Let slot 0 go on from this answer the next time."""
        states.words[0] = list(self._slot(0)[1 : 1 + STATE_WORDS])
        states.answers[0] = answer

    def end(self, states: SlotStates, workload: Workload, with_checksum: bool) -> Ended:
        """Take the slots' packets off the link, and keep the states that they go on from."""
        count = len(states.words)
        self._control.write(self._control_of(workload, True, with_checksum, count))
        deadline = time.monotonic() + DRAIN_S_MAX
        while time.monotonic() < deadline and not all(self._slot(number)[DRAINED_AT] for number in range(count)):
            time.sleep(0.002)
        slots = [self._slot(slot) for slot in range(count)]
        for number, slot in enumerate(slots):
            states.words[number] = list(slot[1 : 1 + STATE_WORDS])
            at = number * self._answer_size
            states.answers[number] = self._answers[at : at + self.payload_size] if slot[DRAINED_AT] else self.blank
        return Ended(_outcomes(slots), tuple(number for number, slot in enumerate(slots) if not slot[DRAINED_AT]))


class _Waiting:
    """Finds slots without progress since the last look. Their packets are taken for lost."""

    def __init__(self, link: Link, count: int) -> None:
        self._link = link
        self._seen = [-1] * count
        self.given_up = 0

    def look(self) -> None:
        for number, before in enumerate(self._seen):
            self._seen[number], is_over = self._link.progress(number)
            if self._seen[number] == before and not is_over:
                self._link.send(number, self._link.blank)
                self.given_up += 1


def _outcomes(slots: list[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sum(slot[OUTCOMES_AT + outcome] for slot in slots) for outcome in range(OUTCOMES))


def _internet_checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@contextlib.contextmanager
def pinned(cpu: int) -> Iterator[None]:
    """Pin this thread to one CPU for a block."""
    home = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, home)


def softirq_run_ns(cpu: int) -> int:
    """How long the CPU's softirq thread has run."""
    if not _softirq_threads:
        _softirq_threads.update({int(name.partition("/")[2]): pid for pid, name in named("ksoftirqd/").items()})
    return schedstat(_softirq_threads[cpu])[0]


_softirq_threads: dict[int, int] = {}
"""Process ids of the softirq threads, by CPU."""
