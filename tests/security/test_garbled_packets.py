"""Sends all kinds of garbled packets through XDP, the stack, the daemon and TC.

No cell may change, and each packet must be counted. Their content is chosen to do the most harm: messages of every
kind, of a client that has a session, with any fields that hooks hand over.
STEPWISE_GARBLED_PACKETS: the number of packets for each protocol.
"""

from __future__ import annotations

import os
import random
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from harness.data.frames import Frame
from harness.live.build import Build, build
from harness.live.server import Server, wait_until
from harness.rig.netns import Rig
from spec.lib.live.session_client import Caller, Session
from tests.live.conftest import connected
from tests.security.strangers import OVERRIDES, WAYS, frame, opened, seen_by_xdp, spoiled_sum, strangers, wire

PACKETS = int(os.environ.get("STEPWISE_GARBLED_PACKETS", "4000"))
UDP_HEADER_SIZE = 8
LOCAL_EVERY = 50  # each so many, one of the server's own host


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with Rig("garbled") as made:
        yield made


@pytest.fixture(params=OVERRIDES)
def server(rig: Rig, request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server(rig, build(request.param, OVERRIDES[request.param])) as loaded:
        loaded.clear()
        loaded.start()
        yield loaded


def messages(built: Build, session: Session, choose: random.Random) -> Iterator[bytes]:
    """Yields requests of a client with a session: every kind, the next number or another, and any bytes behind it."""
    codec = built.codec
    while True:
        for kind in codec.Kind:
            sequence = (session.sequence + choose.choice((0, 1, 1, 2))) % codec.SEQUENCE_MODULUS
            head = codec.Message(kind=kind, client=session.number, sequence=sequence, secret=session.secret).encode()
            at = next(i for i in range(len(head), 0, -1) if head[i - 1])  # behind the last byte of the secret
            rest = choose.choice(
                (bytes, choose.randbytes, lambda size: bytes(choose.choice((0, 0, 0, 1, 2)) for _ in range(size)))
            )
            yield head[:at] + rest(len(head) - at)


def spoiled_header(made: Frame, choose: random.Random) -> bytes:
    whole = bytearray(made.to_bytes())
    whole[24 + choose.randrange(2)] ^= choose.randrange(1, 256)
    return bytes(whole)


def cut(made: Frame, choose: random.Random) -> bytes:
    whole = made.to_bytes()
    return whole[: choose.randrange(14, len(whole))]


def noise(made: Frame, choose: random.Random) -> bytes:
    whole = made.to_bytes()
    return whole[:12] + choose.randbytes(choose.randrange(2, 200))


def other_length(made: Frame, choose: random.Random) -> bytes:
    return replace(made, payload=made.payload + choose.randbytes(choose.randrange(1, 40))).to_bytes()


def other_protocol(made: Frame, choose: random.Random) -> bytes:
    return replace(made, protocol=choose.choice([n for n in range(256) if n not in (17, 1, 2, 58)])).to_bytes()


def other_port(made: Frame, choose: random.Random) -> bytes:
    return replace(made, destination_port=made.destination_port ^ 1 << choose.randrange(16)).to_bytes()


def to_many(made: Frame, choose: random.Random) -> bytes:
    return replace(made, destination_mac=choose.choice((b"\xff" * 6, bytes.fromhex("01005e000001")))).to_bytes()


SPOILED: tuple[Callable[[Frame, random.Random], bytes], ...] = (
    spoiled_header,
    spoiled_sum,
    cut,
    noise,
    other_length,
    other_protocol,
    other_port,
    to_many,
)


def is_whole(codec: Any, payload: bytes) -> bool:
    """Bytes behind a message may have just the length of the tail that it declares."""
    try:
        codec.Message.decode(payload)
    except codec.Malformed:
        return False
    return True


def garbled(built: Build, rig: Rig, payload: bytes, choose: random.Random) -> tuple[str, list[bytes]]:
    port = built.protocol.port
    way = choose.choice((*WAYS, *SPOILED))
    if isinstance(way, str):
        version, made = WAYS[way]
        return way, made(frame(rig, payload, port, version))
    version = 4 if way is spoiled_header else choose.choice((4, 6))
    made = frame(rig, payload, port, version)
    spoiled = way(made, choose)
    while way is other_length and is_whole(built.codec, spoiled[made.udp_offset() + UDP_HEADER_SIZE :]):
        spoiled = way(made, choose)
    return way.__name__, [spoiled]


def dropped_by_sockets(rig: Rig) -> int:
    """Datagrams for which the kernel found a UDP socket that did not take them."""
    text = rig.server.run(["cat", "/proc/net/snmp"], capture_output=True, text=True, check=True).stdout
    names, values = (line.split()[1:] for line in text.splitlines() if line.startswith("Udp:"))
    four = int(dict(zip(names, values))["InErrors"])
    six = rig.server.run(["cat", "/proc/net/snmp6"], capture_output=True, text=True, check=True).stdout
    return four + int(dict(line.split() for line in six.splitlines())["Udp6InErrors"])


def test_nothing_changes_and_everything_is_counted(server: Server) -> None:
    rig, port = server.rig, server.build.protocol.port
    choose = random.Random(2026)
    kinds: Counter[str] = Counter()
    with (
        connected(server) as one,
        wire(rig.client) as sending,
        rig.server.socket(socket.AF_INET, socket.SOCK_DGRAM) as local,
    ):
        caller = opened(server, Caller(Session(server.build.codec), one), 1)
        wait_until(lambda: sum(server.counters().values()) > 0, 5, "the session to be counted")
        tables, counted, passed, errors = server.tables(), server.counters(), strangers(server), dropped_by_sockets(rig)
        sent = local_sent = 0
        made = messages(server.build, caller.session, choose)
        while sent < PACKETS:
            payload = next(made)
            kind, frames = garbled(server.build, rig, payload, choose)
            for each in frames:
                sending.send(each[:1514].ljust(14, b"\0"))
            kinds[kind] += len(frames)
            sent += len(frames)
            if sent // LOCAL_EVERY > local_sent:
                local.sendto(payload, (choose.choice((rig.server.ipv4, "127.0.0.1")), port))
                local_sent += 1
        assert (all(kinds.values()) and len(kinds) == len(WAYS) + len(SPOILED)) or PACKETS < 1000
        wait_until(lambda: sum(seen_by_xdp(server, counted).values()) >= sent, 20, "XDP to have seen all")
        assert server.tables() == tables
        rose = seen_by_xdp(server, counted)
        assert set(rose) <= {"foreign", "malformed", "malformed.checksum"} and sum(rose.values()) == sent, (
            "each packet once, and as what it is"
        )
        # What went up the stack to the port is counted there, and by the daemon, which got nothing else.
        wait_until(
            lambda: strangers(server) - passed == dropped_by_sockets(rig) - errors, 10, "the strangers to be counted"
        )
        assert strangers(server) - passed >= local_sent
        assert caller.call(caller.session.renew(caller.now_ns())).kind.name == "RENEWED", "and it goes on"
