"""M6: an attacker who asks in a victim's name cannot make the server send much to it.

A long value goes only to the address that opened its session.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address

import pytest

from harness.live.build import Build, build
from harness.live.server import Server
from harness.rig.netns import Rig
from spec.kv.live.client import KvCaller, KvSession
from spec.lib.live.session_client import OtherAddress
from spec.occ.live.client import OccCaller, OccSession
from tests.live.conftest import connected
from tests.security.strangers import OVERRIDES, another_address, frame, opened, wire

CALLERS = {
    "kv": lambda codec, one: KvCaller(KvSession(codec), one),
    "occ": lambda codec, one: OccCaller(OccSession(codec), one),
}
VICTIM = "10.77.0.66"
SHORT, LONG = 1, 2
ASKED = 50
UDP_HEADER_BYTES = 8


@pytest.fixture
def rig() -> Iterator[Rig]:
    with Rig("amplification") as rig:
        yield rig


@pytest.fixture(scope="module", params=["kv", "occ"])
def built(request: pytest.FixtureRequest) -> Build:
    return build(request.param, OVERRIDES[request.param])


def received(victim: socket.socket) -> list[bytes]:
    victim.settimeout(0.5)
    found = []
    try:
        while True:
            found.append(victim.recv(4096))
    except TimeoutError:
        return found


def test_a_victim_gets_no_more_than_was_sent(server: Server) -> None:
    codec, port = server.build.codec, server.build.protocol.port
    value = b"v" * codec.VALUE_MAX
    with connected(server) as one, another_address(server.rig, VICTIM) as victim, wire(server.rig.client) as sending:
        caller = opened(server, CALLERS[server.build.name](codec, one), 1)
        assert caller.insert(SHORT, b"s").is_done and caller.insert(LONG, value).is_done
        assert caller.get(LONG).value == value
        sent = []
        for _number, key in enumerate((SHORT, LONG) * (ASKED // 2)):
            _, request = caller.session.read("GET", time.monotonic_ns(), key=key)
            made = replace(
                frame(server.rig, request, port, source_port=victim.getsockname()[1]), source=ip_address(VICTIM)
            )
            sending.send(made.to_bytes())
            sent.append(request)
        answers = received(victim)
        assert sum(map(len, answers)) <= sum(map(len, sent))
        kinds = [(message.key, message.kind.name) for message in map(codec.Message.decode, answers)]
        assert sorted(kinds) == [(SHORT, "VALUE")] * (ASKED // 2) + [(LONG, "UNINVITED")] * (ASKED // 2)
        assert caller.get(LONG).value == value


def test_who_has_moved_is_told(server: Server) -> None:
    """The same client, from another address: short values are read as ever, for long ones it needs another session."""
    codec, value = server.build.codec, b"v" * server.build.codec.VALUE_MAX
    with connected(server) as one, another_address(server.rig, VICTIM) as other:
        caller = opened(server, CALLERS[server.build.name](codec, one), 1)
        assert caller.insert(SHORT, b"s").is_done and caller.insert(LONG, value).is_done
        other.connect((server.rig.server.ipv4, server.build.protocol.port))
        moved = CALLERS[server.build.name](codec, other)
        moved.session = caller.session
        assert moved.get(SHORT).value == b"s"
        with pytest.raises(OtherAddress, match="opened from another address"):
            moved.get(LONG)
        assert not moved.session.is_open
        opened(server, moved, 2)
        assert moved.get(LONG).value == value
