"""M8: one address can open only its share of the sessions, and none in the name of another address."""

from __future__ import annotations

import contextlib
import random
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address

import pytest

from harness.live.build import Build, build
from harness.live.server import Server
from harness.rig.netns import Rig
from spec.lib.live.session_client import Caller, NoneFree, Session
from tests.live.conftest import connected
from tests.security.strangers import LOCKS, another_address, frame, wire

PART, SESSIONS = 4, 16
OTHERS = [f"10.77.0.{last}" for last in range(60, 70)]
VICTIM = "10.77.0.99"


@pytest.fixture
def rig() -> Iterator[Rig]:
    with Rig("sessions") as rig:
        yield rig


@pytest.fixture(scope="module")
def built() -> Build:
    return build("lock", {**LOCKS, "constants": {**LOCKS["constants"], "Sessions": SESSIONS, "SessionsOfPeer": PART}})


def open_sessions(server: Server) -> set[int]:
    return {number for number, cell in enumerate(server.tables()["session"]) if cell["state"] != "Vacant"}


def asked(server: Server, connection: socket.socket, kind: str, number: int, secret: bytes) -> object:
    """The answer to one message of a client that has no session."""
    codec = server.build.codec
    request = codec.Message(
        kind=codec.Kind[kind], client=number, sequence=random.randrange(codec.SEQUENCE_MODULUS), secret=secret
    )
    for _ in range(50):
        connection.send(request.encode())
        answer = codec.Message.decode(connection.recv(2048))
        if answer.sequence == request.sequence:
            return answer
    raise AssertionError(f"no answer to {request}")


def test_an_address_gets_its_part(server: Server) -> None:
    """It asks for every number, with a token that is good; then others come, and some of them have other parts."""
    codec = server.build.codec
    with connected(server) as one:
        token = asked(server, one, "ASK", 0, codec.TERMS).secret
        kinds = [asked(server, one, "OPEN", number, token).kind.name for number in range(SESSIONS)]
    assert sorted(kinds) == ["OPENED"] * PART + ["UNINVITED"] * (SESSIONS - PART)
    part = {number for number, kind in enumerate(kinds) if kind == "OPENED"}
    assert open_sessions(server) == part == set(range(min(part), min(part) + PART)) and min(part) % PART == 0
    for address in OTHERS:
        with another_address(server.rig, address) as other:
            other.connect((server.rig.server.ipv4, server.build.protocol.port))
            other.settimeout(5)
            if asked(server, other, "ASK", 0, codec.TERMS).client in part:
                continue
            Caller(Session(codec), other).open(random.Random(1), SESSIONS)
            break
    else:
        pytest.fail(f"all of {len(OTHERS)} addresses have the part that is taken: one in a million runs")
    assert len(open_sessions(server)) == PART + 1


def test_where_all_are_taken_it_is_said(server: Server) -> None:
    callers = []
    with contextlib.ExitStack() as stack:
        for seed in range(PART + 1):
            callers.append(Caller(Session(server.build.codec), stack.enter_context(connected(server))))
            if seed < PART:
                callers[-1].open(random.Random(seed), SESSIONS, patience_seconds=30)
        with pytest.raises(NoneFree, match="no session is free for this client's address"):
            callers[-1].open(random.Random(PART), SESSIONS, patience_seconds=1)


def test_nobody_is_opened_unasked(server: Server) -> None:
    """Somebody has a good token of its own, and sends in the name of an address that never asked."""
    codec, port = server.build.codec, server.build.protocol.port
    with connected(server) as one, another_address(server.rig, VICTIM) as victim, wire(server.rig.client) as sending:
        token = asked(server, one, "ASK", 0, codec.TERMS).secret
        for secret in (token, codec.TERMS, bytes(8), random.randbytes(8)):
            for kind in ("ASK", "OPEN"):
                for number in range(SESSIONS):
                    request = codec.Message(
                        kind=codec.Kind[kind], client=number, sequence=number, secret=secret
                    ).encode()
                    made = frame(server.rig, request, port, source_port=victim.getsockname()[1])
                    sending.send(replace(made, source=ip_address(VICTIM)).to_bytes())
                    time.sleep(0.001)  # no more than the daemon takes
        victim.settimeout(1)
        answers = []
        while len(answers) < 8 * SESSIONS:
            answers.append(codec.Message.decode(victim.recv(2048)).kind.name)
        assert set(answers) == {"INVITED", "OTHER_TERMS", "UNINVITED"}
        assert open_sessions(server) == set()


def test_a_token_outlives_the_daemon_and_not_the_tables(server: Server) -> None:
    codec = server.build.codec
    with connected(server) as one:
        invitation = asked(server, one, "ASK", 0, codec.TERMS)
        server.stop()
        server.start()
        assert asked(server, one, "OPEN", invitation.client, invitation.secret).kind.name == "OPENED"
        server.stop()
        server.unload()
        server.purge()
        server.load()
        server.start()
        assert asked(server, one, "OPEN", invitation.client, invitation.secret).kind.name == "UNINVITED"
