"""Tests messages that may have a tail: those that XDP and TC take, and what the daemon sends in their place."""

from __future__ import annotations

import random
import signal
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.data.frames import Frame
from harness.rig import Rig, bpf
from tests.runtime.conftest import RING_MAPPINGS, Client, Echo, bpf_mappings, wait_for
from tests.runtime.test_udp_server import serve as serve_udp

PORT = 20998
OVER, TAIL_MAX, CAPACITY = 4, 1000, 8
ECHO, ECHOED, KEEP, KEPT, FETCH, FETCHED = range(1, 7)
COMPLETED = 0x80
MESSAGE = struct.Struct(">BBHB")  # kind, index, length, generation
COUNTERS = (
    "foreign",
    "malformed",
    "malformed.checksum",
    "echoed",
    "forwarded",
    "tc.foreign",
    "tc.malformed",
    "tc.stranger",
    "completed",
)
VARIANTS = {"odd": (), "even": ("PARCEL_EVEN",)}  # bytes of the fixed part
SIZES = [
    OVER + 1,
    OVER + 2,
    7,
    8,
    9,
    15,
    16,
    17,
    39,
    40,
    63,
    64,
    65,
    71,
    72,
    73,
    127,
    128,
    129,
    511,
    512,
    513,
    999,
    TAIL_MAX,
]

versions = pytest.mark.parametrize("version", (4, 6))


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


class Programs:
    """XDP and TC of one build, on packets."""

    def __init__(self, opened: bpf.Object, variant: str) -> None:
        self.opened = opened
        self.padding = bytes(variant == "even")

    def payload(self, kind: int, length: int, tail: bytes = b"") -> bytes:
        return MESSAGE.pack(kind, 3, length, 0) + self.padding + tail

    def counted(self) -> dict[str, int]:
        values = self.opened.map("counters").lookup_on_each_cpu(0)
        numbers = [struct.unpack(f"{len(COUNTERS)}Q", each) for each in values]
        return dict(zip(COUNTERS, map(sum, zip(*numbers))))

    def run(self, program: str, packet: bytes) -> tuple[bpf.TestRun, str]:
        """Returns the result, and the one counter that rose."""
        before = self.counted()
        found = self.opened.program(program).test_run(packet)
        [rose] = [name for name, count in self.counted().items() if count != before[name]]
        return found, rose

    def check_xdp(self, frame: Frame, expected: str) -> bpf.TestRun:
        """`echoed`: as it came but for its kind, turned round. Others leave the packet alone."""
        packet = frame.to_bytes()
        found, rose = self.run("parcel_xdp", packet)
        assert rose == expected, f"{len(frame.payload)} bytes"
        if expected == "echoed":
            answer = replace(frame.turned(bytes([ECHOED]) + frame.payload[1:]))
            assert (found.action, found.data) == (bpf.XDP_TX, answer.to_bytes())
        else:
            assert (
                found.action
                == {"malformed": bpf.XDP_DROP, "malformed.checksum": bpf.XDP_DROP, "forwarded": bpf.XDP_PASS}[expected]
            )
            assert found.data == packet
        return found


@pytest.fixture(scope="module", params=VARIANTS)
def programs(request: pytest.FixtureRequest, built: Callable[..., Path]) -> Iterator[Programs]:
    folder = built(*VARIANTS[request.param], "STEPWISE_CONFORM", protocol="parcel")  # nobody sends what is test-run
    with bpf.Object.open(folder / "parcel.bpf.o") as opened:
        yield Programs(opened, request.param)


def request_of(programs: Programs, size: int, version: int, kind: int = ECHO) -> Frame:
    return Frame(programs.payload(kind, size, noise(size) if OVER < size <= TAIL_MAX else b""), PORT, version=version)


# --- XDP ------------------------------------------------------------------------------------------


@versions
def test_a_tail_of_every_size_goes_back_as_it_came(programs: Programs, version: int) -> None:
    for size in range(OVER + 1, TAIL_MAX + 1):
        programs.check_xdp(request_of(programs, size, version), "echoed")


@versions
@pytest.mark.parametrize("length", [0, 1, OVER, TAIL_MAX + 1, 0xFFFF])
def test_other_lengths_have_no_tail(programs: Programs, version: int, length: int) -> None:
    frame = request_of(programs, length, version)
    programs.check_xdp(frame, "echoed")
    for more in (1, OVER + 1, min(length, 1400)):
        if more:
            programs.check_xdp(replace(frame, payload=frame.payload + bytes(more)), "malformed")


@versions
def test_a_tail_that_is_short_or_long_is_malformed(programs: Programs, version: int) -> None:
    for size in SIZES:
        frame = request_of(programs, size, version)
        fixed = len(frame.payload) - size
        for wrong in (0, 1, size - 1, size + 1, size + 8):
            payload = frame.payload[:fixed] + noise(size + 8)[:wrong]
            if wrong != size:
                programs.check_xdp(replace(frame, payload=payload), "malformed")


@versions
def test_a_packet_cut_in_its_tail_is_malformed(programs: Programs, version: int) -> None:
    """All its lengths tell of more than there is."""
    for size in SIZES:
        packet = request_of(programs, size, version).to_bytes()
        for cut in {1, 2, 8, size - 1, size}:
            found, rose = programs.run("parcel_xdp", packet[:-cut])
            assert (found.action, rose) == (bpf.XDP_DROP, "malformed"), (size, cut)


@versions
def test_lengths_that_disagree_are_malformed(programs: Programs, version: int) -> None:
    for size in SIZES:
        frame = request_of(programs, size, version)
        udp, header = 8 + len(frame.payload), 20 if version == 4 else 0
        for wrong in (udp - 1, udp + 1, udp - size, 0, 0xFFFF):
            programs.check_xdp(replace(frame, udp_length=wrong), "malformed")
            programs.check_xdp(replace(frame, ip_length=min(wrong + header, 0xFFFF)), "malformed")
            programs.check_xdp(replace(frame, udp_length=wrong, ip_length=min(wrong + header, 0xFFFF)), "malformed")


@versions
def test_every_bit_of_a_tail_is_in_the_checksum(programs: Programs, version: int) -> None:
    for size in SIZES:
        frame = request_of(programs, size, version)
        packet = frame.to_bytes()
        for at in {0, 1, 7, 8, 63, 64, 65, size // 2, size - 9, size - 2, size - 1}:
            if 0 <= at < size:
                spoiled = bytearray(packet)
                spoiled[len(packet) - size + at] ^= 1 << at % 8
                found, rose = programs.run("parcel_xdp", bytes(spoiled))
                assert (found.action, rose) == (bpf.XDP_DROP, "malformed.checksum"), (size, at)


@versions
@pytest.mark.parametrize("byte", [b"\x00", b"\xff"])
def test_tails_whose_sums_carry(programs: Programs, version: int, byte: bytes) -> None:
    for size in SIZES:
        frame = Frame(programs.payload(ECHO, size, byte * size), PORT, version=version)
        programs.check_xdp(frame, "echoed")
        wrong = bytearray(frame.to_bytes())
        wrong[-1] ^= 0x10
        assert programs.run("parcel_xdp", bytes(wrong))[1] == "malformed.checksum"


def test_no_checksum_is_right_in_ipv4_only(programs: Programs) -> None:
    for size in SIZES:
        programs.check_xdp(replace(request_of(programs, size, 4), udp_checksum=0), "echoed")
        programs.check_xdp(replace(request_of(programs, size, 6), udp_checksum=0), "malformed.checksum")


@versions
def test_padding_behind_a_tail_is_no_matter(programs: Programs, version: int) -> None:
    for size in SIZES:
        for trailer in (b"\xa5", b"\x5a" * 18):
            programs.check_xdp(replace(request_of(programs, size, version), trailer=trailer), "echoed")


@versions
def test_passed_on_with_what_xdp_writes(programs: Programs, version: int) -> None:
    for size in SIZES:
        programs.check_xdp(request_of(programs, size, version, KEEP), "forwarded")
        programs.opened.map("shelf").update(3, (7 << 16 | size).to_bytes(8, "little"))
        found, rose = programs.run("parcel_xdp", Frame(programs.payload(FETCH, 0), PORT, version=version).to_bytes())
        assert (found.action, rose) == (bpf.XDP_PASS, "forwarded")
        assert found.data == Frame(programs.payload(FETCH, size), PORT, version=version).to_bytes(), (
            "the length, and no tail"
        )


# --- TC -------------------------------------------------------------------------------------------


def reply_of(programs: Programs, size: int, version: int, tail: bytes) -> Frame:
    programs.opened.map("shelf").update(3, bytes(8))
    return Frame(programs.payload(FETCHED, size, tail), destination_port=40_000, source_port=PORT, version=version)


@versions
def test_tc_takes_replies_with_their_tail_and_without(programs: Programs, version: int) -> None:
    for size in SIZES:
        for tail in (b"", noise(size)):
            frame = reply_of(programs, size, version, tail)
            found, rose = programs.run("parcel_tc", frame.to_bytes())
            assert (found.action, rose) == (bpf.TC_ACT_OK, "completed")
            marked = replace(frame, payload=bytes([FETCHED | COMPLETED]) + frame.payload[1:])
            assert found.data == marked.to_bytes(), "the checksum is right, and the tail is as it was"


@versions
def test_tc_drops_replies_with_another_tail(programs: Programs, version: int) -> None:
    for size in SIZES:
        right = reply_of(programs, size, version, noise(size))
        for wrong in (1, size - 1, size + 1):
            found, rose = programs.run("parcel_tc", reply_of(programs, size, version, bytes(wrong)).to_bytes())
            assert (found.action, rose) == (bpf.TC_ACT_SHOT, "tc.malformed"), (size, wrong)
        found, rose = programs.run("parcel_tc", right.to_bytes()[:-1])
        assert (found.action, rose) == (bpf.TC_ACT_SHOT, "tc.malformed"), "cut short"
    for length in (0, OVER, TAIL_MAX + 1):
        for size in (1, TAIL_MAX):
            found, rose = programs.run("parcel_tc", reply_of(programs, length, version, bytes(size)).to_bytes())
            assert (found.action, rose) == (bpf.TC_ACT_SHOT, "tc.malformed"), "that length has no tail"


# --- The daemon -------------------------------------------------------------------------------------


class Shelf:
    """A client of the parcels; every datagram that its socket takes has a right checksum."""

    def __init__(self, client: Client, address: str, padding: bytes) -> None:
        self.client = client
        self.address = address
        self.padding = padding

    def ask(self, kind: int, index: int, length: int, tail: bytes = b"") -> tuple[int, int, int, int, bytes]:
        """Kind, index, length, generation and tail of the answer."""
        self.client.send(MESSAGE.pack(kind, index, length, 0) + self.padding + tail, self.address)
        answer = self.client.receive()
        assert answer, f"no answer to {kind}"
        fixed = MESSAGE.size + len(self.padding)
        return *MESSAGE.unpack(answer[0][: MESSAGE.size]), answer[0][fixed:]

    def check(self, index: int, size: int, generation: int, marked: int) -> None:
        """Kept, and fetched again."""
        tail = noise(size)
        assert self.ask(KEEP, index, size, tail) == (KEPT | marked, index, size, generation, b"")
        assert self.ask(FETCH, index, 0) == (FETCHED | marked, index, size, generation, tail)


@pytest.fixture
def parcel(rig: Rig, built: Callable[..., Path]) -> Callable[..., Echo]:
    return lambda *defines: Echo(built(*defines, protocol="parcel"), rig, "parcel", PORT)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("by_ring", [False, True])
def test_replies_grow_and_shrink(parcel: Callable[..., Echo], variant: str, by_ring: bool) -> None:
    """Over both endpoints."""
    service = parcel(*VARIANTS[variant])
    service.load_and_serve(by_ring)
    asked = 0
    for family, address in ((socket.AF_INET, service.rig.server.ipv4), (socket.AF_INET6, service.rig.server.ipv6)):
        with (client := Client(service.rig.client, family, PORT)).socket:
            shelf = Shelf(client, address, bytes(variant == "even"))
            for generation, size in enumerate(SIZES, asked // 2 + 1):
                shelf.check(1, size, generation, COMPLETED)
                asked += 2
            assert shelf.ask(ECHO, 0, 9, b"as it was") == (ECHOED, 0, 9, 0, b"as it was")
    wait_for(lambda: service.status()["daemon"]["replied"] == asked, "all replies are counted")
    daemon = service.status()["daemon"]
    assert (daemon["received"], daemon["send_failed"]) == (asked, 0)
    assert daemon["received_by_ring"] == (asked if by_ring else 0)


def test_without_a_checksum_a_reply_has_none(parcel: Callable[..., Echo]) -> None:
    service = parcel()
    service.load()
    service.serve()
    with (client := Client(service.rig.client, port=PORT)).socket:
        client.socket.setsockopt(socket.SOL_SOCKET, 11, 1)  # SO_NO_CHECK
        shelf = Shelf(client, service.rig.server.ipv4, b"")
        for generation, size in enumerate(SIZES, 1):
            shelf.check(2, size, generation, COMPLETED)


def test_what_is_kept_outlives_the_daemon(parcel: Callable[..., Echo]) -> None:
    service = parcel()
    service.load()
    with (client := Client(service.rig.client, port=PORT)).socket:
        shelf = Shelf(client, service.rig.server.ipv4, b"")
        daemon = service.serve()
        for index in range(CAPACITY):
            assert shelf.ask(KEEP, index, 500 + index, noise(500 + index))[0] == KEPT | COMPLETED
        service.end(daemon, signal.SIGKILL)
        service.serve()
        for index in range(CAPACITY):
            assert shelf.ask(FETCH, index, 0)[3:] == (1, noise(500 + index))


def test_maps_for_writing_only_what_it_steps(parcel: Callable[..., Echo]) -> None:
    service = parcel()
    service.load()
    daemon = service.serve()
    addresses = "rw-s"  # of this host
    assert bpf_mappings(daemon.pid) == [*RING_MAPPINGS, addresses, "rw-s", "rw-s"]


def test_a_batch_about_one_cell_is_decided_one_by_one(parcel: Callable[..., Echo]) -> None:
    """A stepped cell is handled like one that is read: waiting answers are sent first."""
    service = parcel()
    service.load()
    daemon = service.serve()
    with (client := Client(service.rig.client, port=PORT)).socket:
        daemon.send_signal(signal.SIGSTOP)
        for number in range(40):
            client.send(MESSAGE.pack(KEEP, number % 3, 100, 0) + noise(100), service.rig.server.ipv4)
        daemon.send_signal(signal.SIGCONT)
        answers = [MESSAGE.unpack(received[0]) for _ in range(40) if (received := client.receive(1))]
    assert len({(index, generation) for _, index, _, generation in answers}) == 40
    assert {kind for kind, *_ in answers} == {KEPT | COMPLETED}


def test_a_reply_that_does_not_fit_the_interface_is_not_sent(parcel: Callable[..., Echo]) -> None:
    """As fragments it would leave past TC, which takes them for somebody else's."""
    service = parcel()
    service.load("lo", "--generic")
    daemon = service.serve()
    service.load()
    with (client := Client(service.rig.client, port=PORT)).socket:
        shelf = Shelf(client, service.rig.server.ipv4, b"")
        shelf.check(0, TAIL_MAX, 1, COMPLETED)
        service.rig.server.run(["ip", "link", "set", service.iface, "mtu", "600"], check=True)
        client.send(MESSAGE.pack(FETCH, 0, 0, 0), service.rig.server.ipv4)
        wait_for(lambda: service.status()["daemon"]["send_failed"] == 1, "it is refused")
        assert client.receive(0.05) is None
        shelf.check(1, 100, 1, COMPLETED)
    assert daemon.poll() is None


@pytest.mark.parametrize("by_ring", [False, True])
def test_garbage_of_any_size_does_not_end_it(parcel: Callable[..., Echo], by_ring: bool) -> None:
    service = parcel()
    daemon = service.load_and_serve(by_ring)
    garble = random.Random(17)
    with (client := Client(service.rig.client, port=PORT)).socket:
        for _ in range(300):
            length = garble.choice([0, 4, 5, 9, 500, TAIL_MAX, TAIL_MAX + 1, 1400])
            kind = garble.choice([KEEP, FETCH, 99])
            client.send(
                MESSAGE.pack(kind, garble.randrange(256), length, 0) + bytes(garble.choice([0, length, 7])),
                service.rig.server.ipv4,
            )
        while client.receive(0.2):
            pass
        client.send(MESSAGE.pack(KEEP, 0, 9, 0) + noise(9), service.rig.server.ipv4)
        answer = client.receive()
        assert answer and answer[0][0] == KEPT | COMPLETED
    assert daemon.poll() is None


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_kernel_udp_server_too(parcel: Callable[..., Echo], variant: str) -> None:
    service = parcel(*VARIANTS[variant])
    serve_udp(service, "--threads", "2")
    with (client := Client(service.rig.client, port=PORT)).socket:
        shelf = Shelf(client, service.rig.server.ipv4, bytes(variant == "even"))
        for generation, size in enumerate(SIZES, 1):
            shelf.check(3, size, generation, COMPLETED)
        assert shelf.ask(ECHO, 0, 9, b"as it was") == (ECHOED, 0, 9, 0, b"as it was")
        for payload in (
            b"",
            b"x",
            MESSAGE.pack(KEEP, 0, 500, 0) + bytes(499),
            MESSAGE.pack(FETCH, 9, 0, 0),
            bytes(1400),
        ):
            client.send(payload, service.rig.server.ipv4)
        assert client.receive(0.1) is None
