"""Tests foreign and malformed packets, in every way that the frame knows, and the answers to right ones."""

from __future__ import annotations

import struct
from dataclasses import replace
from ipaddress import ip_address

import pytest

from harness.conform.malformed_packets import GarbageRun
from harness.data import frames
from harness.data.packing import decodes, fields_size, message_size
from harness.rig import bpf

BROADCAST, MULTICAST_4, MULTICAST_6 = b"\xff" * 6, bytes.fromhex("01005e0000fb"), bytes.fromhex("3333000000fb")
UDP_IN_HOP_BY_HOP = bytes([frames.PROTOCOL_UDP, 0, 1, 4, 0, 0, 0, 0])
VERSIONS = pytest.mark.parametrize("version", (4, 6))

FOREIGN = {
    "VLAN": lambda frame: replace(frame, ethertype=0x8100),
    "ARP": lambda frame: replace(frame, ethertype=0x0806),
    "the other version's ethertype": lambda frame: replace(frame, ethertype=0x86DD if frame.version == 4 else 0x0800),
    "a length instead of an ethertype": lambda frame: replace(frame, ethertype=0x0040),
    "TCP": lambda frame: replace(frame, protocol=6),
    "ICMP": lambda frame: replace(frame, protocol=1),
    "UDP-Lite": lambda frame: replace(frame, protocol=136),
    "another port": lambda frame: replace(frame, destination_port=frame.destination_port + 1),
    "our port with its bytes exchanged": lambda frame: replace(
        frame, destination_port=frame.destination_port >> 8 | (frame.destination_port & 0xFF) << 8
    ),
    "from our port only": lambda frame: replace(frame, source_port=frame.destination_port, destination_port=9),
    "broadcast": lambda frame: replace(frame, destination_mac=BROADCAST),
    "IPv4 multicast": lambda frame: replace(frame, destination_mac=MULTICAST_4),
    "IPv6 multicast": lambda frame: replace(frame, destination_mac=MULTICAST_6),
    "a multicast source": lambda frame: replace(
        frame, source=ip_address("224.0.0.1" if frame.version == 4 else "ff02::1")
    ),
    "the last of all sources": lambda frame: replace(
        frame, source=ip_address("255.255.255.255" if frame.version == 4 else "ffff::")
    ),
}

FOREIGN_IPV4 = {
    "options": lambda frame: replace(frame, options=b"\x01\x01\x01\x00"),
    "a record route option": lambda frame: replace(frame, options=bytes.fromhex("070704") + bytes(5)),
    "the first fragment": lambda frame: replace(frame, fragment=0x2000),
    "a later fragment": lambda frame: replace(frame, fragment=0x0001),
    "the last fragment far out": lambda frame: replace(frame, fragment=0x1FFF),
    "a wrong header checksum": lambda frame: replace(frame, header_checksum=0x1234),
    "no header checksum": lambda frame: replace(frame, header_checksum=0),
    "no source": lambda frame: replace(frame, source=ip_address("0.0.0.0")),
    "a source of this network": lambda frame: replace(frame, source=ip_address("0.255.255.255")),
}

FOREIGN_IPV6 = {
    "a hop-by-hop header": lambda frame: replace(frame, protocol=0, options=UDP_IN_HOP_BY_HOP),
    "a fragment header": lambda frame: replace(frame, protocol=44, options=bytes([17, 0, 0, 1, 0, 0, 0, 7])),
    "destination options": lambda frame: replace(frame, protocol=60, options=UDP_IN_HOP_BY_HOP),
    "no next header": lambda frame: replace(frame, protocol=59),
}

MALFORMED = {
    "a payload that is a byte short": lambda frame: replace(frame, payload=frame.payload[:-1]),
    "a payload that is a byte long": lambda frame: replace(frame, payload=frame.payload + b"\0"),
    "no payload": lambda frame: replace(frame, payload=b""),
    "two messages": lambda frame: replace(frame, payload=frame.payload * 2),
    "a UDP length of 0": lambda frame: replace(frame, udp_length=0),
    "a UDP length of the header alone": lambda frame: replace(frame, udp_length=8),
    "a UDP length that is short": lambda frame: replace(frame, udp_length=7 + len(frame.payload)),
    "a UDP length that is long": lambda frame: replace(frame, udp_length=9 + len(frame.payload)),
    "an IP length of 0": lambda frame: replace(frame, ip_length=0),
    "an IP length that is long": lambda frame: replace(frame, ip_length=29 + len(frame.payload) + 20),
    "an IP length that is short": lambda frame: replace(
        frame, ip_length=7 + len(frame.payload) + (20 if frame.version == 4 else 0)
    ),
}

WRONG_CHECKSUM = {
    "a wrong checksum": lambda frame: replace(frame, udp_checksum=right_checksum(frame) ^ 0x0100 or 0x0101),
    "a checksum wrong in one bit": lambda frame: replace(frame, udp_checksum=right_checksum(frame) ^ 0x0001 or 0x0003),
}


def right_checksum(frame: frames.Frame) -> int:
    packet = frame.to_bytes()
    return int.from_bytes(packet[frame.udp_offset() + 6 : frame.udp_offset() + 8], "big")


def check_untouched(bench, packet: bytes, counter: str, verdict: int) -> None:
    found = bench.xdp(packet)
    assert found.verdict == verdict
    assert bench.counter(found) == counter
    assert found.image == bench.input.image, "a cell changed"
    if verdict == bpf.XDP_PASS:
        assert found.packet == packet, "the packet was not passed on as it came"


def test_a_right_request_is_answered_and_changes_cells(bench):
    for version in (4, 6):
        packet = bench.frame(version).to_bytes()
        found = bench.xdp(packet)
        assert found.verdict == bpf.XDP_TX
        assert bench.counter(found) not in ("foreign", "malformed")
        assert found.image != bench.input.image
        assert found.packet != packet and len(found.packet) == len(packet)


@VERSIONS
@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign(bench, version, kind):
    check_untouched(bench, FOREIGN[kind](bench.frame(version)).to_bytes(), "foreign", bpf.XDP_PASS)


@pytest.mark.parametrize("kind", FOREIGN_IPV4)
def test_foreign_ipv4(bench, kind):
    check_untouched(bench, FOREIGN_IPV4[kind](bench.frame(4)).to_bytes(), "foreign", bpf.XDP_PASS)


@pytest.mark.parametrize("words", [6, 7, 15, 4])
def test_options_that_only_the_header_tells_of(bench, words):
    """The bytes at offset 20 of the header look like a request. They are options, or the header is too short."""
    packet = bytearray(bench.frame(4).to_bytes())
    packet[14] = 0x40 | words
    packet[24:26] = b"\0\0"
    packet[24:26] = frames.checksum(packet[14:34]).to_bytes(2, "big")
    check_untouched(bench, bytes(packet), "foreign", bpf.XDP_PASS)


@pytest.mark.parametrize("kind", FOREIGN_IPV6)
def test_foreign_ipv6(bench, kind):
    check_untouched(bench, FOREIGN_IPV6[kind](bench.frame(6)).to_bytes(), "foreign", bpf.XDP_PASS)


@VERSIONS
def test_a_wrong_version_in_the_header_is_foreign(bench, version):
    packet = bytearray(bench.frame(version).to_bytes())
    packet[14] ^= 0x10
    check_untouched(bench, bytes(packet), "foreign", bpf.XDP_PASS)


@VERSIONS
def test_without_a_whole_udp_header_it_is_foreign(bench, version):
    frame = bench.frame(version)
    for size in range(frames.ETHERNET_SIZE, frame.payload_offset()):
        check_untouched(bench, frame.to_bytes()[:size], "foreign", bpf.XDP_PASS)


@VERSIONS
def test_cut_in_its_payload_it_is_malformed(bench, version):
    frame = bench.frame(version)
    for size in range(frame.payload_offset(), len(frame.to_bytes())):
        check_untouched(bench, frame.to_bytes()[:size], "malformed", bpf.XDP_DROP)


@VERSIONS
@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed(bench, version, kind):
    check_untouched(bench, MALFORMED[kind](bench.frame(version)).to_bytes(), "malformed", bpf.XDP_DROP)


@VERSIONS
@pytest.mark.parametrize("kind", WRONG_CHECKSUM)
def test_a_wrong_checksum(bench, version, kind):
    check_untouched(bench, WRONG_CHECKSUM[kind](bench.frame(version)).to_bytes(), "malformed.checksum", bpf.XDP_DROP)


@VERSIONS
def test_padding_after_the_datagram_is_no_matter(bench, version):
    frame = replace(bench.frame(version), trailer=b"\xa5" * 18)
    found = bench.xdp(frame.to_bytes())
    assert found.verdict == bpf.XDP_TX
    assert found.packet.endswith(frame.trailer)


def test_no_checksum_is_right_in_ipv4_and_stays_none(bench):
    frame = replace(bench.frame(4), udp_checksum=0)
    found = bench.xdp(frame.to_bytes())
    assert found.verdict == bpf.XDP_TX
    assert found.packet[frame.udp_offset() + 6 : frame.udp_offset() + 8] == b"\0\0"


def test_no_checksum_is_malformed_in_ipv6(bench):
    check_untouched(bench, replace(bench.frame(6), udp_checksum=0).to_bytes(), "malformed.checksum", bpf.XDP_DROP)


@VERSIONS
def test_values_outside_their_types_are_malformed(bench, version):
    frame, tried = bench.frame(version), 0
    for at in range(len(frame.payload)):
        payload = frame.payload[:at] + b"\xff" + frame.payload[at + 1 :]
        if not decodes(bench.protocol, payload):
            check_untouched(bench, replace(frame, payload=payload).to_bytes(), "malformed", bpf.XDP_DROP)
            tried += 1
    assert tried >= 1, "the protocol has no field that can be outside its type"


@VERSIONS
def test_an_answer_that_comes_back_changes_nothing(bench, version):
    """Somebody sends the program its own answer, whose kind is not a request."""
    answer = bench.xdp(bench.frame(version).to_bytes()).packet
    payload = answer[bench.frame(version).payload_offset() :]
    found = bench.xdp(replace(bench.frame(version), payload=payload).to_bytes())
    assert found.verdict == bpf.XDP_DROP
    assert bench.counter(found) not in ("foreign", "malformed")
    assert found.image == bench.input.image


@VERSIONS
def test_an_answer_looped_back_is_foreign(bench, version):
    answer = bench.xdp(bench.frame(version).to_bytes()).packet
    check_untouched(bench, answer, "foreign", bpf.XDP_PASS)


@VERSIONS
def test_the_checksum_of_every_answer_is_right(bench, version):
    """Every checksum that a request can have: a carry that is folded once is wrong in few of them."""
    requests = [replace(bench.frame(version), source_port=port) for port in range(1, 65_536)]
    outputs = bench.many([request.to_bytes() for request in requests])
    offset = requests[0].payload_offset()
    assert {output.verdict for output in outputs} == {bpf.XDP_TX}
    payload = outputs[0].packet[offset:]
    wrong = [
        request.source_port
        for request, output in zip(requests, outputs)
        if output.packet != request.turned(payload).to_bytes()
    ]
    assert wrong == []


# --- TC ------------------------------------------------------------------------------------------


def completion(bench):
    if not bench.protocol.tc:
        pytest.skip(f"{bench.protocol.name} completes nothing")
    return bench.tc()


def test_tc_leaves_what_is_not_from_our_port(bench):
    case, given = completion(bench)
    frame = bench.trial.comparison.frame(case, 0)
    for spoiled in (
        replace(frame, source_port=frame.source_port ^ 1),
        replace(frame, protocol=6),
        replace(frame, ethertype=0x0806),
        replace(frame, destination_port=frame.source_port, source_port=9),
    ):
        packet = spoiled.to_bytes()
        found = bench.run_tc(replace(given, packet=packet))
        assert found.verdict == bpf.TC_ACT_UNSPEC
        assert bench.counter(found) == "tc.foreign"
        assert (found.packet, found.image) == (packet, given.image)


def test_tc_drops_a_malformed_answer(bench):
    case, given = completion(bench)
    frame = bench.trial.comparison.frame(case, 0)
    for spoiled in (
        replace(frame, payload=frame.payload[:-1]),
        replace(frame, udp_length=9),
        replace(frame, payload=b"\xff" * len(frame.payload)),
    ):
        found = bench.run_tc(replace(given, packet=spoiled.to_bytes()))
        assert found.verdict == bpf.TC_ACT_SHOT
        assert bench.counter(found) == "tc.malformed"
        assert found.image == given.image


def handed_over_at(bench) -> range:
    """Where in a payload the fields are that hooks hand over."""
    if not bench.protocol.handover:
        pytest.skip(f"{bench.protocol.name} hands nothing over")
    return range(fields_size(bench.protocol, bench.protocol.wire), message_size(bench.protocol))


def test_tc_drops_what_is_handed_over_outside_its_type(bench):
    case, given = completion(bench)
    frame, tried = bench.trial.comparison.frame(case, 0), 0
    for at in handed_over_at(bench):
        payload = frame.payload[:at] + b"\xff" + frame.payload[at + 1 :]
        if not decodes(bench.protocol, payload, handed_over=True):
            found = bench.run_tc(replace(given, packet=replace(frame, payload=payload).to_bytes()))
            assert (found.verdict, bench.counter(found)) == (bpf.TC_ACT_SHOT, "tc.malformed"), at
            assert found.image == given.image
            tried += 1
    assert tried >= 1, "nothing that is handed over can be outside its type"


@VERSIONS
@pytest.mark.parametrize("byte", [b"\x00", b"\x01", b"\xff"])
def test_what_a_client_hands_over_is_no_matter(bench, version, byte):
    """It is not looked at, and goes back as zero; the checksum is right for it."""
    places = handed_over_at(bench)
    plain = bench.frame(version)
    frame = replace(plain, payload=plain.payload[: places.start] + byte * len(places))
    found = bench.xdp(frame.to_bytes())
    assert found.verdict == bpf.XDP_TX
    answer = bench.xdp(plain.to_bytes()).packet[plain.payload_offset() :]
    assert found.packet == frame.turned(answer[: places.start] + bytes(len(places))).to_bytes()


def test_tc_leaves_what_this_host_forwards(bench):
    """A client of another server behind this host: struct __sk_buff.ingress_ifindex is not 0."""
    _case, given = completion(bench)
    context = bytearray(192)
    done = bench.run_tc(given)
    assert done.verdict == bpf.TC_ACT_OK and (done.packet, done.image) != (given.packet, given.image)
    context[36:40] = struct.pack("<I", 1)  # offsetof(struct __sk_buff, ingress_ifindex)
    found = bench.tc_program().test_run(given.packet, context=bytes(context))
    assert found.action == bpf.TC_ACT_UNSPEC
    assert found.data == given.packet


# --- Garbage -------------------------------------------------------------------------------------


def test_garbage_changes_nothing_and_is_counted(bench):
    tally = GarbageRun(bench.stage, seed=7).run(6_000)
    assert tally.problems == []
    assert tally.packets == tally.foreign + tally.malformed == 6_000
    assert tally.foreign > 1_000 and tally.malformed > 1_000
    assert len(tally.by_kind) == (14 if bench.protocol.operations else 13), tally.by_kind


def test_the_check_of_garbage_can_fail(bench, monkeypatch):
    """A right request among the garbage is reported."""
    run = GarbageRun(bench.stage, seed=7)
    monkeypatch.setattr(run._generator, "packet", lambda payload: ("right", bench.frame(4).to_bytes()))
    monkeypatch.setattr(run._generator, "expected", lambda packet: "malformed")
    monkeypatch.setattr(run, "_requests", [bench.input])
    tally = run.run(1)
    assert "a cell was changed" in tally.problems[0] and "expected verdict 1, found 3" in tally.problems[0]
