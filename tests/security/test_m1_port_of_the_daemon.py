"""M1: another process takes the daemon's port while the daemon is away.

It learns nothing, and what it sends neither leaves nor changes a cell.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from harness.live.build import Build, build
from harness.live.server import Server
from harness.rig.netns import Rig
from spec.kv.live.client import KvCaller, KvSession
from spec.lib.live.session_client import NotServed
from tests.live.conftest import connected
from tests.security.strangers import NO_OPERATIONS, STORE, opened

KEYS = range(1, 7)
DESTINATION_OPTIONS = bytes([0, 0, 1, 4, 0, 0, 0, 0])


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with Rig("port") as made:
        yield made


@pytest.fixture(scope="module")
def built() -> Build:
    return build("kv", STORE)


def impostor(server: Server, family: int = socket.AF_INET) -> socket.socket:
    """On the daemon's port."""
    made = server.rig.server.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    made.bind(("", server.build.protocol.port))
    made.settimeout(2)
    return made


def test_nobody_gets_the_port_beside_the_daemon(server: Server) -> None:
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        with server.rig.server.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.setsockopt(socket.SOL_SOCKET, option, 1)
            with pytest.raises(OSError, match="Address already in use"):
                other.bind(("", server.build.protocol.port))


def test_requests_are_blank(server: Server) -> None:
    codec = server.build.codec
    with connected(server) as one:
        caller = opened(server, KvCaller(KvSession(codec), one), 1)
        for key in KEYS:
            assert caller.insert(key, b"first of %d" % key).is_done
        away = next(key for key in KEYS if key not in server.tables()["bucket"][0]["keys"])
        server.kill()
        with impostor(server) as listening:
            session = caller.session
            get = codec.Message(
                kind=codec.Kind.GET, client=session.number, sequence=5, secret=session.secret, key=away
            ).encode()
            for _ in range(2):  # a first one may be put off, and so find nobody
                one.send(get)
            assert listening.recv(2048) == bytes(codec.WIRE_SIZE)
            # One with a tail is dropped: it is longer than what is blanked.
            listening.settimeout(0.2)
            tail = {"length": 600, "tail": bytes(range(200)) * 3}
            one.send(
                codec.Message(
                    kind=codec.Kind.UPDATE,
                    client=session.number,
                    sequence=session.sequence + 1,
                    secret=session.secret,
                    key=away,
                    **tail,
                ).encode()
            )
            with pytest.raises(TimeoutError):
                listening.recv(2048)
        with pytest.raises(NotServed):
            caller.get(away)
        server.start()
        assert caller.get(away).value == b"first of %d" % away


def answers(server: Server) -> list[bytes]:
    """Messages that the daemon might send: an opened session, and completions of all kinds."""
    codec = server.build.codec
    fields = {
        "key": 1,
        "way": 1,
        "found": True,
        "evicts": True,
        "victim": 2,
        "entry": 1,
        "old": 1,
        "version": 9,
        "length": 3,
    }
    return [
        codec.Message(kind=kind, client=client, sequence=sequence, secret=bytes([7] * 8), **fields).encode()
        for kind in codec.Kind
        for client in (0, 1)
        for sequence in (1, 2)
    ]


def test_another_process_completes_nothing(server: Server) -> None:
    """Nor does it open a session with a secret of its own."""
    with connected(server) as one:
        caller = opened(server, KvCaller(KvSession(server.build.codec), one), 1)
        for key in KEYS:
            assert caller.insert(key, b"first of %d" % key).is_done
    server.kill()
    tables, before = server.tables(), server.counters()
    sent = answers(server)
    with impostor(server) as sending:
        for each in sent:
            sending.sendto(each, (server.rig.client.ipv4, 40_000))
    assert server.tables() == tables
    assert server.counters() - before == {"tc.stranger": len(sent)}
    server.start()
    with connected(server) as one:
        again = opened(server, KvCaller(KvSession(server.build.codec), one), 5)
        assert [again.get(key).value for key in KEYS] == [b"first of %d" % key for key in KEYS]


@pytest.mark.parametrize(
    "family, options",
    [(socket.AF_INET, False), (socket.AF_INET, True), (socket.AF_INET6, False), (socket.AF_INET6, True)],
)
def test_no_answer_of_another_process_leaves(server: Server, family: int, options: bool) -> None:
    """Whole, with options or extension headers that hide the port from who reads the packet, and in fragments."""
    server.kill()
    address = server.rig.client.ipv4 if family == socket.AF_INET else server.rig.client.ipv6
    before = server.counters()["tc.stranger"]
    with server.rig.client.socket(family, socket.SOCK_DGRAM) as client, impostor(server, family) as sending:
        client.bind(("", 0))
        client.settimeout(0.3)
        if options and family == socket.AF_INET:
            sending.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, NO_OPERATIONS)
        elif options:
            sending.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_DSTOPTS, DESTINATION_OPTIONS)
        for payload in (answers(server)[0], bytes(4000)):
            sending.sendto(payload, (address, client.getsockname()[1]))
        with pytest.raises(TimeoutError):
            client.recv(8192)
        # The way is open, but for that port.
        with server.rig.server.socket(family, socket.SOCK_DGRAM) as other:
            other.sendto(b"from another port", (address, client.getsockname()[1]))
            assert client.recv(100) == b"from another port"
    assert server.counters()["tc.stranger"] - before >= 2


def test_sessions_are_opened_by_the_daemon_alone(server: Server) -> None:
    """An impostor answers every Open at once; the client believes none of it, as none arrives."""
    server.kill()
    codec = server.build.codec
    stop = threading.Event()
    with impostor(server) as sending, connected(server) as one:
        port = one.getsockname()[1]

        def answer_on() -> None:
            while not stop.is_set():
                for number in range(server.build.capacities["session"]):
                    opened_by_nobody = codec.Message(
                        kind=codec.Kind.OPENED, client=number, sequence=number, secret=bytes([9] * 8)
                    )
                    sending.sendto(opened_by_nobody.encode(), (server.rig.client.ipv4, port))

        answering = threading.Thread(target=answer_on)
        answering.start()
        try:
            one.settimeout(0.3)
            with pytest.raises(TimeoutError):
                one.recv(2048)
        finally:
            stop.set()
            answering.join()
    assert all(cell["state"] == "Vacant" for cell in server.tables()["session"])
