"""Tests clients that ask the store for several keys at once: alone, over a faulty link, and in the kernel."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from generated.kv import kv_codec as codec
from harness.live.build import build
from harness.live.server import Server
from harness.rig import Rig
from spec.kv.live.client import Entry, KvCaller, KvSession, Outcome
from spec.kv.live.reference import Reference
from spec.lib.live.session_client import SessionError
from tests.live import invited
from tests.live.plain_gathers import Gathering
from tests.live.plain_server import CAPACITIES, OfEightBuckets
from tests.live.plain_store import PlainStore

WRITES = [("INSERT", 5, b"five"), ("UPDATE", 6, b"six"), ("DELETE", 7, b""), ("GET", 8, b"")]

answer_to = partial(invited.answer_to, codec)


def opened() -> KvSession:
    return invited.opened(KvSession(codec), 7, 1000, 0, 5)


def outcomes(request: bytes, kind: str, *kinds: str, **changes: object) -> bytes:
    """An answer with these outcomes."""
    asked = codec.Message.decode(request).operations
    done = [replace(each, kind=codec.Kind[outcome], version=3) for each, outcome in zip(asked, kinds)]
    return bytes(answer_to(request, kind, **{"operations": done} | changes))


# --- The client ---------------------------------------------------------------------------------------------


def test_a_request_has_its_operations():
    request = codec.Message.decode(opened().gather([*WRITES, ("INSERT", 9, bytes(codec.SLOT_SIZE + 1))], 10))
    assert request.kind.name == "GATHER" and request.count == 5 and request.tail == b""
    assert [(each.kind.name, each.key, each.value[: each.length]) for each in request.operations[:4]] == WRITES
    assert request.operations[4].length == codec.SLOT_SIZE + 1 and not any(request.operations[4].value)


def test_reads_of_several_keys_are_numbered_as_reads():
    session = opened()
    number, datagram = session.fetch([5, 6], 10)
    assert not session.is_waiting and session.outstanding_reads == {number: datagram}
    answer = session.receive(outcomes(datagram, "FETCHED", "VALUE", "MISSING"), 11)
    assert [each.kind.name for each in answer.operations] == ["VALUE", "MISSING"] and not session.outstanding_reads


@pytest.mark.parametrize("count", [0, 17])
def test_what_cannot_be_gathered_is_refused(count):
    session = opened()
    with pytest.raises(SessionError, match=f"{count} operations cannot be gathered: give 1 to 16"):
        session.gather([("GET", key, b"") for key in range(count)], 10)
    with pytest.raises(SessionError, match="cannot be gathered"):
        session.fetch(range(count), 10)
    assert not session.is_waiting and not session.outstanding_reads


@pytest.mark.parametrize(
    "changes",
    [
        {"operations": []},
        {"operations": [], "count": 0},
        {"kind": codec.Kind.GATHERED},
        {"client": 8},
        lambda one, other: {"operations": [other, one]},
        lambda one, other: {"operations": [one, replace(other, kind=codec.Kind.UPDATED)]},
    ],
    ids=["fewer", "none", "kind", "client", "keys", "outcome"],
)
def test_answers_to_others_are_ignored(changes):
    session = opened()
    number, request = session.fetch([5, 6], 10)
    right = codec.Message.decode(outcomes(request, "FETCHED", "VALUE", "MISSING"))
    wrong = replace(right, **(changes(*right.operations) if callable(changes) else changes))
    assert session.receive(wrong.encode(), 20) is None
    assert session.receive(right.encode(), 20) == right and number not in session.outstanding_reads


class GatheringStore(Gathering, PlainStore):
    """A store in one process."""


class Lenient(Reference):
    """Its server may leave any operation alone."""

    def needs_daemon(self, message: Any) -> bool:
        return True


@pytest.mark.parametrize("seed", range(3))
def test_callers_over_a_faulty_link(seed):
    choose, store = random.Random(seed), {}
    with GatheringStore(Lenient(OfEightBuckets(codec), CAPACITIES), faults=0.2, seed=seed) as server:
        caller = server.opened(KvCaller, KvSession(codec), choose)
        for turn in range(40):
            keys = choose.sample(range(12), 6)
            wanted = [
                ("DELETE" if choose.random() < 0.3 else "UPDATE" if key in store else "INSERT", key) for key in keys
            ]
            values = [b"" if kind == "DELETE" else b"%d of %d" % (turn, key) for kind, key in wanted]
            done = caller.gather([(kind, key, value) for (kind, key), value in zip(wanted, values)])
            for (kind, key), value, outcome in zip(wanted, values, done):
                assert isinstance(outcome, Outcome)
                assert outcome.is_done == (kind != "DELETE" or key in store), (kind, key, outcome)
                if kind == "DELETE":
                    store.pop(key, None)
                else:
                    store[key] = value
            found = caller.fetch(range(12))
            assert [each.value if each else None for each in found] == [store.get(key) for key in range(12)]
        assert caller.retry_count > 0
        caller.close()


# --- In the kernel ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Rig("kvgathers") as rig, Server(rig, build("kv", {"tables": {"bucket": {"capacity": 65_536}}})) as started:
        started.start()
        yield started


def test_a_thousand_keys_at_once(server):
    with server.rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.connect((server.rig.server.ipv4, codec.PORT))
        caller = KvCaller(KvSession(server.build.codec), connection)
        caller.open(random.Random(1), 16_384)
        before, keys = server.counters(), range(1, 1001)
        values = {key: b"value %d" % key for key in keys}
        done = caller.gather([("INSERT", key, values[key]) for key in keys])
        assert [each.kind for each in done] == ["INSERTED"] * 1000
        found = caller.fetch(keys)
        assert [each.value for each in found] == list(values.values())
        assert [each.version for each in found] == [each.version for each in done]
        mixed = caller.gather(
            [("GET", 1, b""), ("UPDATE", 1, b"other"), ("GET", 1, b""), ("DELETE", 2, b""), ("GET", 2, b"")]
        )
        version = done[0].version
        assert mixed == [
            Entry(version, values[1]),
            Outcome("UPDATED", version + 1),
            Entry(version + 1, b"other"),
            Outcome("DELETED", done[1].version),
            None,
        ]
        assert caller.gather([("INSERT", 3, b""), ("UPDATE", 2, b""), ("INSERT", 4, bytes(2000))]) == [
            Outcome("EXISTS", done[2].version),
            Outcome("ABSENT", None),
            Outcome("TOO_LONG", None),
        ]
        requests = sum((server.counters() - before).values())
        assert requests < 4 * (2 * 1000 / 16), "most of the requests have 16 operations"
        assert caller.gather([("UPDATE", 5, bytes(500))]) == [Outcome("UPDATED", done[4].version + 1)]
        assert caller.fetch([5]) == [Entry(done[4].version + 1, bytes(500))]
        caller.close()


def test_a_request_that_is_sent_again_is_answered_as_before(server):
    with server.rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.connect((server.rig.server.ipv4, codec.PORT))
        caller = KvCaller(KvSession(server.build.codec), connection)
        caller.open(random.Random(2), 16_384)
        caller.insert(2001, b"there")
        wanted = [("UPDATE", 2001, b"new"), ("INSERT", 2001, b""), ("DELETE", 2002, b""), ("INSERT", 2003, bytes(2000))]
        request = caller.session.gather([*wanted, ("GET", 2001, b"")], caller.now_ns())
        first = caller.call(request)
        connection.send(request)
        again = server.build.codec.Message.decode(connection.recv(2048))
        assert again.kind.name == "GATHERED" and again.operations[:4] == first.operations[:4]
        assert [each.kind.name for each in first.operations] == ["UPDATED", "EXISTS", "ABSENT", "TOO_LONG", "VALUE"]
        assert again.operations[4].kind.name == "GET"
        assert caller.get(2001).version == first.operations[0].version, "it was executed once"
        caller.update(2001, b"newer")
        connection.send(request)
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(2048)
        caller.close()
