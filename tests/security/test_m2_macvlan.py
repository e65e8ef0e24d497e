"""M2: a macvlan of another network namespace sends by the server's interface; TC must not take it for the daemon."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from pyroute2 import netns as named_netns

from harness.live.build import build
from harness.live.server import Server
from harness.rig.netns import Rig, entered
from spec.kv.live.client import KvCaller, KvSession
from tests.live.conftest import connected
from tests.security.strangers import STORE, opened

KEYS = range(1, 7)
NEIGHBOUR = "10.77.0.50"


@pytest.fixture
def server() -> Iterator[Server]:
    with Rig("macvlan") as rig, Server(rig, build("kv", STORE)) as loaded:
        loaded.clear()
        loaded.start()
        yield loaded


@pytest.fixture
def neighbour(server: Server) -> Iterator[str]:
    """A namespace with a macvlan on the server's interface."""
    name = f"{server.rig.name}-neighbour"
    named_netns.create(name)
    for words in (
        f"ip link add link {server.rig.server.iface} name next0 netns {name} type macvlan mode bridge",
        f"ip -n {name} addr add {NEIGHBOUR}/24 dev next0",
        f"ip -n {name} link set next0 up",
        f"ip -n {name} neigh replace {server.rig.client.ipv4} lladdr {server.rig.client.mac} dev next0 nud permanent",
    ):
        server.rig.server.run(words.split(), check=True)
    yield name
    named_netns.remove(name)


def test_it_completes_nothing(server: Server, neighbour: str) -> None:
    codec = server.build.codec
    with connected(server) as one:
        caller = opened(server, KvCaller(KvSession(codec), one), 1)
        for key in KEYS:
            assert caller.insert(key, b"first of %d" % key).is_done
        tables, before = server.tables(), server.counters()
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
        session = caller.session
        sent = [
            codec.Message(kind=kind, client=session.number, sequence=sequence, secret=session.secret, **fields).encode()
            for kind in codec.Kind
            for sequence in (session.sequence, session.sequence + 1)
        ]
        with entered(neighbour):
            sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with sending:
            sending.bind(("", server.build.protocol.port))
            for each in sent:
                sending.sendto(each, (server.rig.client.ipv4, 40_000))
            assert server.counters() - before == {"tc.stranger": len(sent)}
        assert server.tables() == tables
        assert [caller.get(key).value for key in KEYS] == [b"first of %d" % key for key in KEYS]
