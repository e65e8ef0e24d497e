"""Low: a client on a veth that leaves checksums to a device was dropped as malformed, without a reason."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from harness.live.build import build
from harness.live.server import Server
from harness.rig.netns import Rig
from tests.security.limiters import ANSWER_SECONDS, SERVED, counted, limiter, request, run
from tests.security.strangers import STORE, frame

COMMAND = re.compile(r"`(ethtool -K [^`]*)`")
versions = pytest.mark.parametrize("version", [4, 6])


@pytest.fixture
def server() -> Iterator[Server]:
    with limiter("checksum") as loaded:
        yield loaded


def is_answered(server: Server, version: int) -> bool:
    """Whether a client with a socket like anybody's is."""
    host = server.rig.server
    with server.rig.client.socket(socket.AF_INET if version == 4 else socket.AF_INET6, socket.SOCK_DGRAM) as asking:
        asking.settimeout(ANSWER_SECONDS)
        asking.connect((host.ipv4 if version == 4 else host.ipv6, server.build.codec.PORT))
        asking.send(server.build.codec.Message(amount=0, key=1).encode())
        try:
            return len(asking.recv(2048)) == server.build.codec.WIRE_SIZE
        except TimeoutError:
            return False


def load(server: Server, interface: str) -> str:
    """Returns the output of a load."""
    done = server.rig.server.run(
        [str(server.build.daemon), "load", interface], capture_output=True, text=True, check=True
    )
    return done.stderr


def status(server: Server, *options: str) -> str:
    done = server.rig.server.run(
        [str(server.build.daemon), "status", *options], capture_output=True, text=True, check=True
    )
    return done.stdout


@versions
def test_the_hint_mends_it(server: Server, version: int) -> None:
    """As a veth is made, and as the load says."""
    client = server.rig.client
    client.run(["ethtool", "-K", client.iface, "tx", "on"], check=True, capture_output=True)
    before = server.counters()
    assert not is_answered(server, version)
    assert (server.counters() - before)["malformed.checksum"] == 1

    server.unload()
    commands = COMMAND.findall(load(server, server.rig.server.iface))
    assert commands == [f"ethtool -K {client.iface} tx off", f"ethtool -K {client.iface} txvlan off"]
    for each in commands:
        client.run(each.split(), check=True, capture_output=True)
    assert is_answered(server, version)


@versions
def test_only_a_wrong_checksum_is_counted_so(server: Server, version: int) -> None:
    made = request(server, version)
    wrong = replace(made, udp_checksum=0x0101)
    assert counted(server, [wrong.to_bytes()])["malformed.checksum"] == 1
    none = counted(server, [replace(made, udp_checksum=0).to_bytes()])
    assert none["malformed.checksum" if version == 6 else SERVED] == 1
    for other in (
        replace(made, payload=made.payload + b"\0"),
        replace(wrong, udp_length=9),
        replace(made, payload=b"\x09" + made.payload[1:]),
    ):
        rose = counted(server, [other.to_bytes()])
        assert rose["malformed"] == 1 and not rose["malformed.checksum"], rose


@versions
def test_also_of_a_protocol_with_tails(version: int) -> None:
    with Rig("checksum-tails") as rig, Server(rig, build("kv", STORE)) as loaded:
        codec = loaded.build.codec
        for fields in ({"length": 3}, {"length": 100, "tail": bytes(100)}):
            payload = codec.Message(kind=codec.Kind.INSERT, **fields).encode()
            wrong = replace(frame(rig, payload, codec.PORT, version), udp_checksum=0x0101)
            assert counted(loaded, [wrong.to_bytes()])["malformed.checksum"] == 1


def test_status_tells_it_apart(server: Server) -> None:
    counted(server, [replace(request(server, 4), udp_checksum=0x0101).to_bytes()])
    assert re.search(r"counted   malformed\.checksum +1\n", status(server))
    assert '"malformed.checksum": 1' in status(server, "--json")
    assert 'stepwise_packets_total{protocol="limiter",counter="malformed.checksum"} 1\n' in status(
        server, "--prometheus"
    )


def test_a_peer_that_is_here_is_asked(server: Server) -> None:
    run(server, "ip link add near0 type veth peer name far0")
    assert COMMAND.findall(load(server, "near0")) == ["ethtool -K far0 tx off", "ethtool -K far0 txvlan off"]
    for offload, other in (("tx", "txvlan"), ("txvlan", "tx")):
        run(server, f"{server.build.daemon} unload near0")
        run(server, f"ethtool -K far0 {offload} off {other} on")
        assert COMMAND.findall(load(server, "near0")) == [f"ethtool -K far0 {other} off"]
    run(server, f"{server.build.daemon} unload near0")
    run(server, "ethtool -K far0 tx off txvlan off")
    assert "hint" not in load(server, "near0")
    run(server, f"{server.build.daemon} unload near0")


def test_other_interfaces_have_no_peer(server: Server) -> None:
    done = server.rig.server.run(
        [str(server.build.daemon), "load", "lo", "--generic"], capture_output=True, text=True, check=True
    )
    assert "hint" not in done.stderr
