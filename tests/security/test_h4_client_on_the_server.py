"""H4: a client in the server's own namespace was answered past TC, by a daemon that had committed nothing."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from harness.live.build import Build, build
from harness.live.server import Server, wait_until
from harness.rig.netns import Rig
from tests.security.strangers import OVERRIDES, SESSIONS, strangers


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with Rig("local") as made:
        yield made


@pytest.fixture(params=OVERRIDES)
def server(rig: Rig, request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server(rig, build(request.param, OVERRIDES[request.param])) as loaded:
        loaded.clear()
        loaded.start()
        yield loaded


def requests(built: Build) -> list[bytes]:
    """One of each kind."""
    codec = built.codec
    return [
        codec.Message(kind=kind, client=number % SESSIONS, sequence=1).encode()
        for number, kind in enumerate(codec.Kind)
    ]


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_it_is_told_nothing(server: Server, family: int) -> None:
    tables, before = server.tables(), strangers(server)
    here, loopback = (
        (server.rig.server.ipv4, "127.0.0.1") if family == socket.AF_INET else (server.rig.server.ipv6, "::1")
    )
    with server.rig.server.socket(family, socket.SOCK_DGRAM) as client:
        client.settimeout(0.2)
        for address in (here, loopback):
            for each in requests(server.build):
                client.sendto(each, (address, server.build.protocol.port))
        with pytest.raises(TimeoutError):
            client.recv(2048)
    sent = 2 * len(requests(server.build))
    wait_until(lambda: strangers(server) - before == sent, 5, "the strangers to be counted")
    assert server.tables() == tables
