"""Tests transactions that ask for several keys at once: their client, and the kernel."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from generated.occ import occ_codec as codec
from harness.live.build import build
from harness.live.server import Server
from harness.rig import Rig
from spec.occ.live.client import OccCaller, OccSession, Transaction, Wish
from tests.live import invited

answer_to = partial(invited.answer_to, codec)

WISHES = [Wish(0, 5, 3, b"five"), Wish(1, 6, 0, None)]


def opened() -> OccSession:
    return invited.opened(OccSession(codec), 7, 1000, 0, 5)


def locking(session: OccSession) -> bytes:
    return session.ask_all([session.lock_operation(*wish) for wish in WISHES], 10)


# --- The client ---------------------------------------------------------------------------------------------


def test_a_request_has_its_locks():
    request = codec.Message.decode(locking(opened()))
    assert request.kind.name == "GATHER" and request.count == 2
    first, second = request.operations
    assert (first.kind.name, first.place, first.key, first.version, first.deletes) == ("LOCK", 0, 5, 3, False)
    assert first.value[: first.length] == b"five"
    assert (second.place, second.key, second.version, second.deletes, second.length) == (1, 6, 0, True, 0)


@pytest.mark.parametrize(
    "changes",
    [{"place": 2}, {"key": 7}, {"kind": codec.Kind.COMMITTED}],
    ids=["another place", "another key", "another outcome"],
)
def test_answers_to_others_are_ignored(changes):
    session = opened()
    request = locking(session)
    first, second = codec.Message.decode(request).operations
    granted, left = replace(first, kind=codec.Kind.GRANTED), second
    assert session.receive(answer_to(request, "GATHERED", operations=[replace(granted, **changes), left]), 20) is None
    right = session.receive(answer_to(request, "GATHERED", operations=[granted, left]), 20)
    assert [each.kind.name for each in right.operations] == ["GRANTED", "LOCK"] and not session.is_waiting


# --- In the kernel ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Rig("occgathers") as rig, Server(rig, build("occ", {"tables": {"bucket": {"capacity": 65_536}}})) as started:
        started.start()
        yield started


@pytest.fixture
def caller(server: Server) -> Iterator[OccCaller]:
    with server.rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.connect((server.rig.server.ipv4, codec.PORT))
        made = OccCaller(OccSession(server.build.codec), connection)
        made.open(random.Random(connection.fileno()), 16_384)
        yield made
        made.close()


def test_a_transaction_takes_four_round_trips(server, caller):
    keys = range(1, 5)
    before = server.counters()
    caller.transaction(lambda transaction: [transaction.put(key, b"new %d" % key) for key in keys])
    assert sum((server.counters() - before).values()) == 2, "locks, and commits"

    def exchange(transaction: Transaction) -> list[bytes | None]:
        found = transaction.get_all([*keys, 5])
        transaction.put(1, found[1])
        transaction.put(2, found[0])
        transaction.delete(3)
        return found

    before = server.counters()
    assert caller.transaction(exchange) == [b"new 1", b"new 2", b"new 3", b"new 4", None]
    assert sum((server.counters() - before).values()) == 4, "reads, locks, reads again, and commits"
    assert [reading.value for reading in caller.read_keys(keys)] == [b"new 2", b"new 1", None, b"new 4"]


def test_a_request_that_is_sent_again_is_answered_as_before(server, caller):
    session, occ = caller.session, server.build.codec
    caller.insert(101, b"there")
    version = caller.read_key(101).version
    operations = [
        session.lock_operation(0, 101, version, b"new"),
        session.lock_operation(1, 101, version, b"newer"),
        session.lock_operation(0, 102, 0, b"other"),
        session.operation("UPDATE", 101, b"plainly"),
        session.lock_operation(2, 103, 0, bytes(41)),
        session.place_operation("COMMIT", 3, 104),
        session.operation("GET", 101, b""),
        session.place_operation("COMMIT", 0, 101),
        session.operation("INSERT", 101, b""),
    ]
    request = session.ask_all(operations, caller.now_ns())
    first = caller.call(request)
    assert [each.kind.name for each in first.operations] == [
        "GRANTED",
        "CONFLICT",
        "REFUSED",
        "LOCKED",
        "TOO_LONG",
        "REFUSED",
        "VALUE",
        "COMMITTED",
        "EXISTS",
    ]
    assert first.operations[6].locked and first.operations[6].value.startswith(b"there")
    caller._connection.send(request)
    again = occ.Message.decode(caller._connection.recv(2048))
    told = [(each.kind, each.version) for each in first.operations]
    told[6] = (occ.Kind.GET, 0)  # what was got is told once
    assert [(each.kind, each.version) for each in again.operations] == told
    assert caller.get(101).version == version + 1, "it was executed once"
    caller.update(101, b"newer")
    caller._connection.send(request)
    caller._connection.settimeout(0.3)
    with pytest.raises(TimeoutError):
        caller._connection.recv(2048)


def test_what_is_left_alone_is_asked_for_by_itself(server, caller):
    caller.insert(201, bytes(500))  # only the daemon has the bytes of a long value
    caller.insert(202, b"short")
    long, short, missing = caller.read_keys([201, 202, 203])
    assert (long.value, short.value, missing.value) == (bytes(500), b"short", None)
