"""Tests the store on a veth with its daemon down, and replays what fuzzing has found."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from harness.live.build import Build, build
from harness.live.server import Server
from harness.rig.netns import Rig
from spec.kv.live.client import Entry, KvCaller, Outcome
from spec.lib.live.session_client import NotServed
from tests.live.conftest import a_key_without_a_bit, marks

# One bucket of two ways, and one page: the third key spills another.
ONE_BUCKET = {
    "types": {"client": "u3", "note": "u7"},
    "constants": {"Ways": 2, "PageSize": 6, "Lease": 1_000_000, "Sessions": 8, "SessionsOfPeer": 8, "Notes": 128},
    "tables": {
        "bucket": {"capacity": 1},
        "page": {"capacity": 1},
        "row": {"capacity": 1},
    },
}
REFUSED_SECONDS_MAX = 1.0


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with Rig("kvd") as made:
        yield made


@pytest.fixture(scope="module")
def built() -> Build:
    return build("kv", ONE_BUCKET)


def spilled(server: Server) -> dict[int, int]:
    """The keys of the page, with the version of each."""
    return {
        each["key"]: each["entry"]["version"]
        for each in server.tables()["page"][0]["spilled"]
        if each["mark"] != "Vacant"
    }


def asked_again(server: Server, caller: KvCaller) -> Outcome:
    """Returns the answer to the last write when it is sent again."""
    session, codec = caller.session, server.build.codec
    message = codec.Message(
        kind=codec.Kind.INSERT, client=session.number, sequence=session.sequence, secret=session.secret
    )
    with server.rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.settimeout(5)
        connection.sendto(message.encode(), (server.rig.server.ipv4, server.build.protocol.port))
        return Outcome.of(codec.Message.decode(connection.recv(2048)))


def filled(server: Server, caller: KvCaller) -> tuple[int, int]:
    """Insert three keys: one that is in the bucket alone, and the one that was spilled."""
    for key in (1, 2, 3):
        assert caller.insert(key, b"first of %d" % key) == Outcome("INSERTED", 1)
    away = next(iter(spilled(server).keys() - marks(server).keys()))
    return next(key for key, mark in marks(server).items() if mark == "Dirty"), away


def test_daemon_down(server, caller):
    """The kernel answers what it can; what it cannot is refused at once, and nothing of it is lost."""
    here, away = filled(server, caller)
    unknown = a_key_without_a_bit(server)
    server.kill()
    assert caller.get(here) == Entry(1, b"first of %d" % here)
    assert caller.update(here, b"second") == Outcome("UPDATED", 2)
    assert caller.get(unknown) is None
    assert caller.delete(unknown) == Outcome("ABSENT", None)
    assert caller.insert(here, b"other") == Outcome("EXISTS", 2)
    begun = time.monotonic()
    with pytest.raises(NotServed):
        caller.get(away)
    with pytest.raises(NotServed):
        caller.insert(unknown, b"no room without the daemon")
    with pytest.raises(NotServed):
        caller.update(away, b"neither")
    assert time.monotonic() - begun < REFUSED_SECONDS_MAX
    # The client goes on, in the kernel, and the write that it gave up is never executed.
    assert caller.update(here, b"third") == Outcome("UPDATED", 3)
    server.start()
    assert caller.get(away) == Entry(1, b"first of %d" % away)
    assert caller.get(unknown) is None
    assert caller.get(here) == Entry(3, b"third")


def test_a_write_waits_for_the_daemon(server, caller):
    _, away = filled(server, caller)
    server.kill()
    with pytest.raises(NotServed):
        caller.update(away, b"second")
    server.start()
    assert caller.again() == Outcome("UPDATED", 2)
    assert caller.get(away) == Entry(2, b"second")


def test_no_room(server, caller):
    """The page is full: an insert that needs it is refused and changes nothing, also when it is sent again."""
    for key in range(1, 9):
        assert caller.insert(key, b"%d" % key).kind == "INSERTED"
    before = server.tables()
    assert caller.insert(9, b"one too many") == Outcome("NO_ROOM", None)
    assert asked_again(server, caller) == Outcome("NO_ROOM", None)
    after = server.tables()
    assert (after["bucket"], after["page"]) == (before["bucket"], before["page"])
    assert caller.get(9) is None
    assert caller.delete(3).is_done and caller.insert(9, b"now").kind == "INSERTED"
    there = {key: caller.get(key).value for key in (1, 2, 4, 5, 6, 7, 8, 9)}
    assert there == {**{key: b"%d" % key for key in (1, 2, 4, 5, 6, 7, 8)}, 9: b"now"}


def test_every_entry_outlives_the_daemon(server, caller):
    """Killed after each write: what was acknowledged is there, wherever it is."""
    for key in range(1, 6):
        assert caller.insert(key, b"%d" % key).is_done
        server.kill()
        server.start()
    for key in range(1, 6):
        assert caller.update(key, b"new %d" % key) == Outcome("UPDATED", 2)
        server.kill()
        server.start()
    assert [caller.get(key) for key in range(1, 6)] == [Entry(2, b"new %d" % key) for key in range(1, 6)]


def test_no_answer_tells_what_the_hooks_told_one_another(server, caller):
    """Which other key had to go is nobody's business: neither the daemon's answers nor the kernel's have it."""
    here, away = filled(server, caller)
    codec, session = server.build.codec, caller.session
    secret = {"epoch": 7, "way": 1, "victim": 5, "evicts": True, "found": True, "old": 1, "entry": 1, "filter": 9}
    with server.rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.settimeout(5)
        connection.connect((server.rig.server.ipv4, server.build.protocol.port))
        for key, forged in ((away, {}), (here, {}), (here, secret)):
            request = codec.Message(
                kind=codec.Kind.GET, client=session.number, sequence=9, secret=session.secret, key=key, **forged
            )
            connection.send(request.encode())
            answer = codec.Message.decode(connection.recv(2048))
            assert (answer.kind.name, answer.value.rstrip(b"\0")) == ("VALUE", b"first of %d" % key)
            assert answer == replace(answer, **{name: type(value)() for name, value in secret.items()})


# --- Found by reading and by fuzzing --------------------------------------------------------------


def test_a_read_of_the_number_of_a_waiting_write(server, caller):
    """Its completion took the session of the write to Busy, for ever."""
    _, away = filled(server, caller)
    server.kill()
    with pytest.raises(NotServed):
        caller.update(away, b"second")
    server.start()
    session = caller.session
    session._read_number = session.sequence - 1
    assert caller.get(away) == Entry(1, b"first of %d" % away)
    assert server.tables()["session"][session.number]["state"] == "Forwarded"
    assert caller.again() == Outcome("UPDATED", 2)


def test_renew_in_place_of_a_write_that_was_given_up(server, caller):
    """The session stayed Forwarded, so that each repetition of the renewal was executed anew."""
    _, away = filled(server, caller)
    server.kill()
    with pytest.raises(NotServed):
        caller.update(away, b"second")
    caller.renew()
    cell = server.tables()["session"][caller.session.number]
    assert (cell["state"], cell["outcome"], cell["sequence"]) == ("Idle", "Renewed", caller.session.sequence)
