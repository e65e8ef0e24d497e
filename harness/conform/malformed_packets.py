"""Garbled, truncated and foreign packets: none may change a cell, and every one must be counted."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from codegen import ir
from harness.conform.build import ROOT
from harness.conform.campaign import Campaign, Stage, Trial
from harness.conform.kernel import Input, Output, Runner
from harness.data import frames
from harness.data.cells import LAYOUT
from harness.data.packing import (
    decodes,
    fields_size,
    message_size,
    packet_fields,
    payload_number,
    payload_rest,
    wire_size,
)
from harness.rig import bpf

BATCH = 20_000
OTHER_ETHERTYPES = (0x0806, 0x8100, 0x88A8, 0x86DE, 0x0801, 0x8847, 0x0000, 0xFFFF)


@dataclass
class Tally:
    """The counts and problems of a run."""

    packets: int = 0
    foreign: int = 0
    malformed: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class Generator:
    """Makes packets that are not valid requests, from requests that would have an effect."""

    def __init__(self, protocol: ir.Protocol, seed: int) -> None:
        self._protocol = protocol
        self._random = random.Random(f"{protocol.name} {seed}")
        self._size = message_size(protocol)
        self._kinds: list[Callable[[frames.Frame], bytes]] = [
            self.garbled,
            self.garbled,
            self.truncated,
            self.noise,
            self.other_ethertype,
            self.other_protocol,
            self.fragment,
            self.options,
            self.other_port,
            self.multicast,
            self.wrong_length,
            self.wrong_payload_size,
            self.no_checksum,
            self.outside_its_type,
            *([self.other_count] if protocol.operations else []),
        ]

    def packet(self, payload: bytes) -> tuple[str, bytes]:
        """Returns a packet that is not a valid request, and before it the way it was spoiled."""
        while True:
            version = self._random.choice((4, 6))
            frame = frames.Frame(
                payload, self._protocol.port, source_port=self._random.randrange(1, 65_536), version=version
            )
            spoil = self._random.choice(self._kinds)
            packet = spoil(frame)
            if len(packet) >= frames.ETHERNET_SIZE and self.expected(packet) != "ours":
                return spoil.__name__, packet

    def expected(self, packet: bytes) -> str:
        """Classifies a packet as `foreign`, `malformed` or `ours`, which means that it is valid after all."""
        kind = frames.classify(packet, self._protocol.port, self._size, partial(payload_rest, self._protocol))
        if kind != "ours":
            return kind
        offset = 42 if packet[12:14] == b"\x08\x00" else 62
        return "ours" if decodes(self._protocol, packet[offset:]) else "malformed"

    # --- Ways to spoil a packet ------------------------------------------------------------

    def garbled(self, frame: frames.Frame) -> bytes:
        """Flips some bits after the checksum was computed."""
        packet = bytearray(frame.to_bytes())
        for _ in range(self._random.choice((1, 1, 2, 3, 8))):
            packet[self._random.randrange(len(packet))] ^= 1 << self._random.randrange(8)
        return bytes(packet)

    def truncated(self, frame: frames.Frame) -> bytes:
        """Cuts off the end."""
        packet = frame.to_bytes()
        return packet[: self._random.randrange(frames.ETHERNET_SIZE, len(packet))]

    def noise(self, frame: frames.Frame) -> bytes:
        """Makes random bytes, sometimes behind a right Ethernet header."""
        head = frame.to_bytes()[: self._random.choice((0, 12, 14, 15))]
        return head + self._random.randbytes(self._random.randrange(14, 200))

    def other_ethertype(self, frame: frames.Frame) -> bytes:
        """Sets another ethertype, such as ARP or VLAN."""
        return replace(frame, ethertype=self._random.choice(OTHER_ETHERTYPES)).to_bytes()

    def other_protocol(self, frame: frames.Frame) -> bytes:
        """Sets any protocol but UDP: TCP, ICMP, IPv6 extension headers and so on."""
        return replace(
            frame, protocol=self._random.choice([n for n in range(256) if n != frames.PROTOCOL_UDP])
        ).to_bytes()

    def fragment(self, frame: frames.Frame) -> bytes:
        """Makes a first or a later fragment."""
        fragment = self._random.choice(
            (0x2000, self._random.randrange(1, 0x2000), self._random.randrange(0x2001, 0x4000))
        )
        return replace(frame, version=4, fragment=fragment).to_bytes()

    def options(self, frame: frames.Frame) -> bytes:
        """Adds IPv4 options, or an IPv6 extension header."""
        words = self._random.randrange(1, 11)
        if frame.version == 4:
            return replace(frame, options=b"\1" * 4 * words).to_bytes()
        return replace(frame, protocol=self._random.choice((0, 43, 44, 60)), options=b"\x11" + bytes(7)).to_bytes()

    def other_port(self, frame: frames.Frame) -> bytes:
        """Sets another destination port, near ours or anywhere."""
        port = self._random.choice(
            (frame.destination_port ^ 1, frame.destination_port ^ 0x100, self._random.randrange(65_536))
        )
        return replace(frame, destination_port=port).to_bytes()

    def multicast(self, frame: frames.Frame) -> bytes:
        """Sets a multicast or broadcast destination."""
        mac = self._random.choice((b"\xff" * 6, bytes.fromhex("01005e000001"), bytes.fromhex("333300000001")))
        return replace(frame, destination_mac=mac).to_bytes()

    def wrong_length(self, frame: frames.Frame) -> bytes:
        """Sets a length in the IP or UDP header that does not fit the packet; the checksum is right for it."""
        length = self._random.choice((0, 1, 7, 8, self._random.randrange(65_536), 65_535))
        if self._random.choice(("ip", "udp")) == "ip":
            return replace(frame, ip_length=length).to_bytes()
        return replace(frame, udp_length=length).to_bytes()

    def wrong_payload_size(self, frame: frames.Frame) -> bytes:
        """Makes a consistent datagram with a payload too short or too long."""
        right = len(frame.payload)
        size = self._random.choice((0, 1, self._size, right - 1, right + 1, right + 2, right * 2, 700))
        return replace(frame, payload=frame.payload.ljust(size, b"\0")[:size]).to_bytes()

    def no_checksum(self, frame: frames.Frame) -> bytes:
        """Sets a wrong checksum, or none in IPv6, which requires one."""
        if frame.version == 6 and self._random.random() < 0.5:
            return replace(frame, udp_checksum=0).to_bytes()
        return replace(frame, udp_checksum=self._random.randrange(1, 65_536)).to_bytes()

    def outside_its_type(self, frame: frames.Frame) -> bytes:
        """Sets a field of the message, or of an operation, to a value outside its type; the checksum is right."""
        at = self._random.randrange(len(frame.payload))
        payload = bytearray(frame.payload)
        payload[at] = self._random.choice((0x40, 0x80, 0xC0, 0xFF, self._random.randrange(256)))
        return replace(frame, payload=bytes(payload)).to_bytes()

    def other_count(self, frame: frames.Frame) -> bytes:
        """Sets the number of operations to another one, sometimes with a datagram of that length."""
        operations = ir.expect(self._protocol.operations, ir.OperationsLayout)
        count = payload_number(self._protocol, frame.payload, operations.count)
        other = self._random.choice((0, count + 1, max(count - 1, 0), operations.max, operations.max + 1))
        order = packet_fields(self._protocol)
        at = fields_size(self._protocol, order[: order.index(operations.count)])
        size = wire_size(self._protocol.message.field(operations.count))
        payload = frame.payload[:at] + other.to_bytes(size, "big") + frame.payload[at + size :]
        if self._random.random() < 0.5:
            right = self._size + other * fields_size(self._protocol, operations.fields)
            payload = payload.ljust(right, self._random.choice((b"\0", b"\xff")))[:right]
        return replace(frame, payload=payload).to_bytes()


class GarbageRun:
    """Runs garbage through one build. Each packet is a spoiled request, and runs on the cells that it would change."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._trial = Trial(stage, LAYOUT)
        requests = [
            case
            for case in stage.cases
            if case.family.hook == "xdp" and case.writes and not case.family.trouble.section
        ]
        self._columns = self._trial.comparison.columns(requests)
        self._requests = self._trial.comparison.inputs(requests, self._columns)
        self._generator = Generator(stage.build.protocol, seed)
        self._build = stage.build

    def run(self, count: int, report: Callable[[int], None] = lambda _: None) -> Tally:
        """Runs `count` packets in batches."""
        tally = Tally()
        with bpf.Object.open(self._build.object) as programs:
            runner = self._trial.runner(programs, "xdp", 0, self._columns)
            while tally.packets < count and not tally.problems:
                self._batch(runner, min(BATCH, count - tally.packets), tally)
                report(tally.packets)
        return tally

    def _batch(self, runner: Runner, count: int, tally: Tally) -> None:
        requests = [self._requests[(tally.packets + at) % len(self._requests)] for at in range(count)]
        made = [self._generator.packet(request.packet[request.payload_at :]) for request in requests]
        inputs = [replace(request, packet=packet) for request, (_, packet) in zip(requests, made)]
        for (kind, packet), given, found in zip(made, inputs, runner.run(inputs), strict=True):
            tally.packets += 1
            tally.by_kind[kind] = tally.by_kind.get(kind, 0) + 1
            problems = self._problems(packet, given, found, tally)
            if problems:
                tally.problems.append(f"{kind}: {packet.hex()}: {'; '.join(problems)}")

    def _problems(self, packet: bytes, given: Input, found: Output, tally: Tally) -> list[str]:
        expected = self._generator.expected(packet)
        counter = f"{found.rises} counters"
        if found.counter is not None and found.rises == 1:
            counter = self._trial.comparison.counters[found.counter]
        if expected == "foreign":
            tally.foreign += 1
        else:
            tally.malformed += 1
        problems = []
        verdict = bpf.XDP_PASS if expected == "foreign" else bpf.XDP_DROP
        if found.verdict != verdict:
            problems.append(f"{expected}, so expected verdict {verdict}, found {found.verdict}")
        if expected == "foreign" and found.packet != packet:
            problems.append("the packet was changed")
        if found.image != given.image:
            problems.append("a cell was changed")
        if counter != expected:
            problems.append(f"counter: expected {expected}, found {counter}")
        return problems


def main(protocol: str, packets: int, seed: int) -> bool:
    """Runs garbage through one protocol's XDP program; returns whether it had no effect."""
    started = time.monotonic()

    def report(done: int) -> None:
        if done % 100_000 == 0:
            print(f"... {done:,} of {packets:,} packets", file=sys.stderr, flush=True)

    campaign = Campaign(ROOT / "spec" / protocol, ROOT / "build" / "conform" / protocol)
    tally = GarbageRun(campaign.stage(LAYOUT), seed).run(packets, report)
    kinds = ", ".join(f"{name} {count:,}" for name, count in sorted(tally.by_kind.items()))
    print(f"{protocol}, seed {seed}: {tally.packets:,} packets ({kinds})")
    print(
        f"{protocol}: {tally.foreign:,} counted as foreign and passed on, {tally.malformed:,} as malformed and "
        "dropped, "
        f"{tally.packets - tally.foreign - tally.malformed:,} otherwise ({time.monotonic() - started:.1f} s)"
    )
    for problem in tally.problems[:5]:
        print(f"FAILED {problem}")
    if not tally.problems:
        print(f"{protocol}: no cell was changed, every packet was counted once")
    return not tally.problems
