"""Low: the server answered sources that no answer can reach.

Loopback, multicast and reserved addresses never belong to a host on a wire.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address

import pytest

from harness.live.build import build
from harness.live.server import Server
from harness.rig.netns import Rig
from tests.security.limiters import SERVED, answers_locally, counted, limiter, request, serves_from
from tests.security.strangers import STORE, frame

MARTIANS = [
    "0.0.0.0",
    "0.255.255.255",
    "127.0.0.0",
    "127.0.0.1",
    "127.255.255.255",
    "224.0.0.0",
    "239.1.2.3",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::2",
    "::ffff:10.77.0.2",
    "::10.77.0.2",
    "ff00::",
    "ff02::1",
    "ffff:ffff::1",
]
HOSTS = [
    "1.0.0.0",
    "10.77.0.2",
    "126.255.255.255",
    "128.0.0.0",
    "223.255.255.255",
    "0:0:0:1::",
    "fd77::2",
    "fe80::2",
    "feff::1",
    "2001:db8::1",
]
STILL_MARTIANS = ["0.0.0.1", "224.0.0.1", "255.255.255.255", "ff02::1"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with limiter("martian") as loaded:
        yield loaded


@pytest.mark.parametrize("address", MARTIANS)
def test_a_martian_is_not_served(server: Server, address: str) -> None:
    assert not serves_from(server, address)


@pytest.mark.parametrize("address", HOSTS)
def test_a_host_is(server: Server, address: str) -> None:
    assert serves_from(server, address)


def test_nor_by_a_promiscuous_protocol() -> None:
    with limiter("martian-promiscuous", {"promiscuous": True}) as loaded:
        for address in MARTIANS:
            assert not serves_from(loaded, address), address
        for address in HOSTS:
            assert serves_from(loaded, address), address


def test_nor_by_a_protocol_with_tails() -> None:
    """Which looks at frames by a function of its own."""
    with Rig("martian-tails") as rig, Server(rig, build("kv", STORE)) as loaded:
        codec = loaded.build.codec
        opening = codec.Message(kind=codec.Kind.OPEN).encode()
        for address in (*MARTIANS, *HOSTS):
            source = ip_address(address)
            made = replace(frame(rig, opening, codec.PORT, source.version), source=source)
            ours = [
                name for name in counted(loaded, [made.to_bytes()]) if name != "foreign" and not name.startswith("tc.")
            ]
            assert bool(ours) == (address in HOSTS), address


def test_over_lo_a_loopback_source_is_the_hosts_own(server: Server) -> None:
    host = server.rig.server
    host.run([str(server.build.daemon), "load", "lo", "--generic"], check=True)
    try:
        assert answers_locally(server, "127.0.0.1")
        for address in STILL_MARTIANS:
            source = ip_address(address)
            destination = ip_address("127.0.0.1" if source.version == 4 else "::1")
            made = replace(request(server, source.version), source=source, destination=destination)
            assert counted(server, [made.to_bytes()], host, "lo")[SERVED] == 0, address
        for version, loopback in ((4, "127.0.0.9"), (6, "::1")):
            source = ip_address(loopback)
            made = replace(request(server, version), source=source, destination=source)
            assert counted(server, [made.to_bytes()], host, "lo")[SERVED] == 1, loopback
    finally:
        host.run([str(server.build.daemon), "unload", "lo"], check=True)
