"""Provides the lock between two namespaces, for tests of findings: builds, commands of the daemon, and clients."""

from __future__ import annotations

import random
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness.live.build import Build, build
from harness.live.server import Server
from harness.rig.netns import Rig
from spec.lock.live.client import LockCaller, LockSession

SESSIONS = 64
SMALL = {"constants": {"Sessions": SESSIONS, "SessionsOfPeer": SESSIONS}, "tables": {"lock": {"capacity": 64}}}
"""An override of the layout with a small table, which is made and swept quickly."""


def built(**constants: int) -> Build:
    """A small build of the lock with these constants."""
    return build("lock", {**SMALL, "constants": {**SMALL["constants"], **constants}})


def command(rig: Rig, of: Build, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of that build's daemon, where the server is."""
    return rig.server.run([str(of.daemon), *words], capture_output=True, text=True)


@contextmanager
def serving(rig: Rig, of: Build) -> Iterator[Server]:
    """A build on the rig with its daemon. Nothing stays behind, tables neither."""
    server = Server(rig, of)
    with server:
        server.start()
        yield server
    command(rig, of, "purge")


@contextmanager
def caller(server: Server, codec: Any = None) -> Iterator[LockCaller]:
    """A client whose session is yet to be opened; codec: another than the server's."""
    with server.rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.connect((server.rig.server.ipv4, server.build.protocol.port))
        yield LockCaller(LockSession(codec or server.build.codec), connection)


def opened(made: LockCaller, seed: int, patience_seconds: float = 5) -> LockCaller:
    """Its session, of a number that the seed chooses."""
    made.open(random.Random(seed), SESSIONS, patience_seconds)
    return made
