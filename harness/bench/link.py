"""The link under test: who answers on it, what goes round on it, and how fast.

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
from pathlib import Path

from harness.bench.build import Build
from harness.rig import Rig, bpf

PORT_FIRST = 40000
SLOT = struct.Struct("<Q5QQQ8Q")
STATE_WORDS = 5
OUTCOMES = 8
CONTROL = struct.Struct("<8QII")
ANSWER_ALIGNMENT = 8
WARM_UP_S = 0.1
DRAIN_S_MAX = 0.5


@dataclass(frozen=True)
class Flight:
    """What was measured over one run.

    round_trips: within `seconds`. outcomes: over the whole of the run.
    cpu_share: of that time, how much was CPU time for the packets; the rest others had.
    lost: slots whose packets did not come back.
    counts: whether nothing happened that makes the figures worthless.
    """

    slots: int
    seconds: float
    round_trips: int
    outcomes: tuple[int, ...]
    cpu_share: float
    lost: tuple[int, ...]
    counts: bool = True

    @property
    def rate(self) -> float:
        """Round trips a second."""
        return self.round_trips / self.seconds

    @property
    def cpu_ns(self) -> float:
        """CPU time of one round trip, both ends; only where both are on one core."""
        return self.cpu_share * self.seconds * 1e9 / max(self.round_trips, 1)


@dataclass
class SlotStates:
    """What the slots of one server know: their state words, and the answers that they go on from."""

    words: list[list[int]]
    answers: list[bytes]
    seed: int = 1


class Link:
    """A rig with the benchmark's client on it. `cpu` is where packets are processed, unless NAPI is threaded."""

    def __init__(self, rig: Rig, build: Build, cpu: int) -> None:
        self.rig = rig
        self.build = build
        self.cpu = cpu
        self.payload_size = build.codec.WIRE_SIZE
        self.port = build.codec.PORT
        self.client = bpf.Object.open(build.client_object)
        self._slots = self.client.map("slots").mmap()
        self._answers = self.client.map("answers").mmap()
        self._control = self.client.variable("control")
        self._answer_size = -(-self.payload_size // ANSWER_ALIGNMENT) * ANSWER_ALIGNMENT
        with rig.client.entered():
            self.client.program("bench_client").attach_xdp(rig.client.ifindex)
        self._sender = rig.server.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self._sender.bind((rig.server.iface, 0))

    def close(self) -> None:
        self._sender.close()
        self.client.close()

    def blank_states(self, words: list[list[int]]) -> SlotStates:
        """Slots that have asked for nothing yet."""
        return SlotStates(words, [bytes(self.payload_size)] * len(words))

    def frame(self, slot: int, payload: bytes) -> bytes:
        """A frame of the server to a slot."""
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
        parameters: list[int],
        seconds: float,
        *,
        with_checksum: bool = False,
        busy_ns: Callable[[], int] | None = None,
    ) -> Flight:
        """Let the slots go round for a while. Their states go on in the next flight.

        busy_ns: CPU time used for it so far; that of the softirq thread, unless said otherwise.
        """
        busy_now_ns = busy_ns or (lambda: softirq_run_ns(self.cpu))
        count = len(states.words)
        self._write(states, parameters, with_checksum)
        with pinned(self.cpu):  # where a packet is sent is where it stays
            for slot in range(count):
                self._sender.send(self.frame(slot, states.answers[slot]))
        time.sleep(WARM_UP_S)
        began, trips, spent_ns = time.monotonic(), self._round_trips(count), busy_now_ns()
        time.sleep(seconds)
        elapsed, trips, spent_ns = (
            time.monotonic() - began,
            self._round_trips(count) - trips,
            busy_now_ns() - spent_ns,
        )
        self._stop(parameters, with_checksum, count)
        slots = [self._slot(slot) for slot in range(count)]
        self._read(states, slots)
        return Flight(
            slots=count,
            seconds=elapsed,
            round_trips=trips,
            outcomes=tuple(sum(slot[8 + outcome] for slot in slots) for outcome in range(OUTCOMES)),
            cpu_share=spent_ns / 1e9 / elapsed,
            lost=tuple(number for number, slot in enumerate(slots) if not slot[7]),
        )

    def _slot(self, number: int) -> tuple[int, ...]:
        return SLOT.unpack_from(self._slots, number * SLOT.size)

    def _round_trips(self, count: int) -> int:
        return sum(self._slot(number)[6] for number in range(count))

    def write_slots(self, states: SlotStates, parameters: list[int]) -> None:
        """Hand the slots to the client's program, for something else than a flight."""
        self._write(states, parameters, with_checksum=False)

    def read_slot(self, states: SlotStates, answer: bytes) -> None:
        """Slot 0 goes on from this answer the next time."""
        states.words[0] = list(self._slot(0)[1 : 1 + STATE_WORDS])
        states.answers[0] = answer

    def _write(self, states: SlotStates, parameters: list[int], with_checksum: bool) -> None:
        self._control.write(_control(parameters, False, with_checksum))
        for number, words in enumerate(states.words):
            states.seed += 1
            random = (states.seed * 0x9E3779B97F4A7C15) % (1 << 64) or 1
            SLOT.pack_into(self._slots, number * SLOT.size, random, *words, 0, 0, *[0] * OUTCOMES)

    def _stop(self, parameters: list[int], with_checksum: bool, count: int) -> None:
        self._control.write(_control(parameters, True, with_checksum))
        deadline = time.monotonic() + DRAIN_S_MAX
        while time.monotonic() < deadline and not all(self._slot(number)[7] for number in range(count)):
            time.sleep(0.002)

    def _read(self, states: SlotStates, slots: list[tuple[int, ...]]) -> None:
        for number, slot in enumerate(slots):
            states.words[number] = list(slot[1 : 1 + STATE_WORDS])
            at = number * self._answer_size
            states.answers[number] = self._answers[at : at + self.payload_size]


def _control(parameters: list[int], stopped: bool, with_checksum: bool) -> bytes:
    return CONTROL.pack(*parameters, *[0] * (8 - len(parameters)), stopped, with_checksum)


def _internet_checksum(data: bytes) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@contextlib.contextmanager
def pinned(cpu: int) -> Iterator[None]:
    """This thread runs on one CPU for a block."""
    home = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, home)


def softirq_run_ns(cpu: int) -> int:
    """How long the CPU's softirq thread has run."""
    if not _softirq_threads:
        for path in Path("/proc").glob("[0-9]*/comm"):
            with contextlib.suppress(OSError):
                name = path.read_text(encoding="utf-8").strip()
                if name.startswith("ksoftirqd/"):
                    _softirq_threads[int(name.partition("/")[2])] = path.parent / "schedstat"
    return int(_softirq_threads[cpu].read_text(encoding="ascii").split()[0])


_softirq_threads: dict[int, Path] = {}
