"""Provides the token bucket on a rig, and sends it frames with any addresses.

Each frame is counted, as served or as foreign.
"""

from __future__ import annotations

import contextlib
import socket
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

from harness.data.frames import Frame
from harness.live.build import build
from harness.live.server import Server, wait_until
from harness.rig.netns import Endpoint, Rig
from tests.security.strangers import frame

SERVED = "on_take"  # the step whose leaves are counted
CLIENT_PORT = 40_000
SO_NO_CHECK = 11  # of Linux; Python has no name for it
COUNTED_SECONDS = 5
ANSWER_SECONDS = 2


@contextlib.contextmanager
def limiter(tag: str, override: Mapping[str, Any] | None = None) -> Iterator[Server]:
    """Loaded on a rig's server, without a daemon."""
    with Rig(tag) as rig, Server(rig, build("limiter", override or {})) as loaded:
        yield loaded


def request(server: Server, version: int, key: int = 1) -> Frame:
    """From the rig's client to its server; always allowed."""
    payload = server.build.codec.Message(amount=0, key=key).encode()
    return frame(server.rig, payload, server.build.codec.PORT, version, CLIENT_PORT)


def counted(server: Server, frames: list[bytes], sender: Endpoint | None = None, interface: str = "") -> Counter[str]:
    """Which counters rise when the client's end (or another sender) sends these frames, all leaves of the step
    as one.
    """
    before = server.counters()
    sender = sender or server.rig.client
    with sender.socket(socket.AF_PACKET, socket.SOCK_RAW) as sending:
        sending.bind((interface or sender.iface, 0))
        for each in frames:
            sending.send(each)
        # Neighbour discovery and the like may be counted too, as foreign.
        wait_until(
            lambda: (server.counters() - before).total() >= len(frames), COUNTED_SECONDS, "the frames to be counted"
        )
    rose: Counter[str] = Counter()
    for name, count in (server.counters() - before).items():
        rose[SERVED if name.startswith(SERVED) else name] += count
    return rose


def is_served(server: Server, made: Frame) -> bool:
    """Served, or else foreign."""
    rose = counted(server, [made.to_bytes()])
    assert rose[SERVED] + rose["foreign"] == rose.total(), rose
    assert rose[SERVED] in (0, 1)
    return rose[SERVED] == 1


def serves(server: Server, address: str) -> bool:
    """Whether a request from the rig's client to this address is served."""
    destination = ip_address(address)
    return is_served(server, replace(request(server, destination.version), destination=destination))


def serves_from(server: Server, address: str) -> bool:
    """Whether a request to the rig's server from this address is served."""
    source = ip_address(address)
    return is_served(server, replace(request(server, source.version), source=source))


def answers_locally(server: Server, address: str) -> bool:
    """Whether a socket of the server's own host that asks this address is answered. It sends without a checksum where
    it may.
    """
    family = socket.AF_INET if ip_address(address).version == 4 else socket.AF_INET6
    with server.rig.server.socket(family, socket.SOCK_DGRAM) as asking:
        asking.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
        asking.settimeout(ANSWER_SECONDS)
        asking.connect((address, server.build.codec.PORT))
        asking.send(server.build.codec.Message(amount=0, key=1).encode())
        try:
            return server.build.codec.Message.decode(asking.recv(2048)).kind == server.build.codec.Kind.ALLOWED
        except (TimeoutError, ConnectionRefusedError):
            return False


def run(server: Server, words: str) -> None:
    """A command on the server's host."""
    server.rig.server.run(words.split(), check=True)
