"""Provides the store on a veth, with one bucket, and a client, for modules that have a `rig` and a `built`."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator

import pytest

from harness.live.build import Build
from harness.live.server import Server
from harness.rig.netns import Rig
from spec.kv.live.client import KvCaller, KvSession


def connected(server: Server) -> socket.socket:
    """A socket of the rig's client that sends to the store."""
    connection = server.rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM)
    connection.connect((server.rig.server.ipv4, server.build.protocol.port))
    connection.settimeout(5)
    return connection


def marks(server: Server) -> dict[int, str]:
    """The keys of the bucket, with the mark of each."""
    bucket = server.tables()["bucket"][0]
    return {key: mark for key, mark in zip(bucket["keys"], bucket["marks"]) if mark != "Empty"}


def a_key_without_a_bit(server: Server) -> int:
    """One that the filter knows not to be in the page."""
    bits, codec = server.tables()["bucket"][0]["filter"], server.build.codec
    return next(key for key in range(100, 1000) if codec.hash_bit(key) not in bits)


@pytest.fixture
def server(rig: Rig, built: Build) -> Iterator[Server]:
    with Server(rig, built) as loaded:
        loaded.clear()
        loaded.start()
        yield loaded


@pytest.fixture
def caller(server: Server) -> Iterator[KvCaller]:
    with connected(server) as connection:
        made = KvCaller(KvSession(server.build.codec), connection)
        made.open(random.Random(1), server.build.capacities["session"])
        yield made
