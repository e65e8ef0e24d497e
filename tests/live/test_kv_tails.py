"""Tests values longer than a slot, on a veth: where they are kept, how spots are freed, and the daemon's part."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from generated.kv import kv_codec
from harness.live.build import Build, build
from harness.live.counts import tc_only
from harness.live.server import Server, wait_until
from harness.rig.netns import Rig
from spec.kv.live.client import Entry, KvCaller, KvSession, Outcome
from spec.kv.live.reference import Reference
from spec.lib.live.session_client import NotServed
from tests.live.conftest import a_key_without_a_bit, connected, marks

# One bucket of two ways, one page, one shelf of three spots: the third key spills another, the fourth long value has no
# room.
SPOTS = 3
ONE_SHELF = {
    "types": {"client": "u3", "note": "u7"},
    "constants": {
        "Ways": 2,
        "PageSize": 6,
        "Spots": SPOTS,
        "Lease": 1_000_000,
        "Sessions": 8,
        "SessionsOfPeer": 8,
        "Notes": 128,
    },
    "tables": {
        **{name: {"capacity": 1} for name in ("bucket", "page", "shelf", "tail", "row")},
    },
}
SLOT_SIZE, VALUE_MAX = kv_codec.SLOT_SIZE, kv_codec.VALUE_MAX
SETTLE_SECONDS_MAX = 20


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with Rig("kvt") as made:
        yield made


@pytest.fixture(scope="module")
def built() -> Build:
    return build("kv", ONE_SHELF)


def value(size: int, first: int = 0) -> bytes:
    """So many bytes, of which no two neighbours are the same."""
    return bytes((first + at * at + at // 256) % 251 for at in range(size))


def taken(server: Server) -> set[int]:
    """The spots that are somebody's."""
    return {spot + 1 for spot in server.tables()["shelf"][0]["taken"]}


def spilled(server: Server) -> set[int]:
    """The keys that the page alone has."""
    return {each["key"] for each in server.tables()["page"][0]["spilled"] if each["mark"] != "Vacant"} - marks(
        server
    ).keys()


def kept(server: Server) -> tuple[Any, ...]:
    """All that says what the store has."""
    tables = server.tables()
    return (
        tables["bucket"],
        [each for each in tables["page"][0]["spilled"] if each["mark"] != "Vacant"],
        tables["tail"],
        taken(server),
    )


def filled(caller: KvCaller, size: int = VALUE_MAX) -> None:
    """Long values of the keys 1, 2 and 3, of which one is spilled."""
    for key in (1, 2, 3):
        assert caller.insert(key, value(size, key)) == Outcome("INSERTED", 1)


def answers_after(
    server: Server, connection: socket.socket, requests: list[bytes], meanwhile: Any = lambda: None
) -> list[Any]:
    """Returns the answers to requests that all wait for the daemon while something else is done."""
    with server.standing_still():
        for request in requests:
            connection.send(request)
        meanwhile()
        before = server.counters()
    counted = lambda: tc_only(server.counters() - before).total()  # noqa: E731
    wait_until(lambda: counted() == len(requests), SETTLE_SECONDS_MAX, "the daemon's replies to be counted")
    answered = server.counts.ended(tc_only(server.counters() - before), "Reply")
    return [server.build.codec.Message.decode(connection.recv(2048)) for _ in range(answered)]


@pytest.mark.parametrize(
    "size", [0, SLOT_SIZE - 1, SLOT_SIZE, SLOT_SIZE + 1, SLOT_SIZE + 8, 500, VALUE_MAX - 1, VALUE_MAX]
)
def test_values_of_every_length(server, caller, size):
    assert caller.insert(1, value(size)) == Outcome("INSERTED", 1)
    assert caller.get(1) == Entry(1, value(size))
    assert caller.update(1, value(size, 7)) == Outcome("UPDATED", 2)
    assert caller.get(1) == Entry(2, value(size, 7))
    assert len(taken(server)) == (size > SLOT_SIZE)
    assert caller.insert(1, value(size)) == Outcome("EXISTS", 2)
    assert caller.delete(1) == Outcome("DELETED", 2)
    assert caller.get(1) is None and caller.update(1, value(size)) == Outcome("ABSENT", None)
    assert taken(server) == set()


@pytest.mark.parametrize("size", [VALUE_MAX + 1, 2**16 - 1])
def test_too_long(server, caller, size):
    assert caller.insert(1, value(VALUE_MAX)).is_done
    assert caller.insert(2, bytes(size)) == Outcome("TOO_LONG", None)
    assert caller.update(1, bytes(size)) == Outcome("TOO_LONG", None)
    assert caller.get(1) == Entry(1, value(VALUE_MAX)) and caller.get(2) is None
    assert len(taken(server)) == 1


def test_long_and_short_in_turn(server, caller):
    """In the bucket, and of an entry that only the page has."""
    for key in (1, 2, 3):
        assert caller.insert(key, b"short") == Outcome("INSERTED", 1)
    for key in (1, 2, 3):
        for version, size in enumerate((VALUE_MAX, SLOT_SIZE, SLOT_SIZE + 1, VALUE_MAX, 3), 2):
            assert caller.update(key, value(size, version)) == Outcome("UPDATED", version)
            assert caller.get(key) == Entry(version, value(size, version))
    assert taken(server) == set()
    assert [caller.get(key).value for key in (1, 2, 3)] == [value(3, 6)] * 3


def test_a_spilled_value_keeps_its_spot(server, caller):
    filled(caller)
    spots = {
        key: entry["spot"]
        for key, entry in zip(server.tables()["bucket"][0]["keys"], server.tables()["bucket"][0]["entries"])
    }
    (away,) = spilled(server)
    assert taken(server) == {1, 2, 3}
    assert caller.get(away) == Entry(1, value(VALUE_MAX, away))
    assert marks(server)[away] == "Clean"
    (other,) = spilled(server)
    assert caller.get(other) == Entry(1, value(VALUE_MAX, other))
    bucket = server.tables()["bucket"][0]
    again = {key: entry["spot"] for key, entry in zip(bucket["keys"], bucket["entries"])}
    assert taken(server) == {1, 2, 3}
    assert all(again[key] == spot for key, spot in spots.items() if key in again)


def test_a_deleted_value_leaves_its_spot_wherever_it_was(server, caller):
    filled(caller)
    (away,) = spilled(server)
    assert caller.delete(away) == Outcome("DELETED", 1)
    assert len(taken(server)) == 2
    for key in {1, 2, 3} - {away}:
        assert caller.delete(key) == Outcome("DELETED", 1)
    assert taken(server) == set()


def test_a_full_shelf(server, caller):
    """A value that needs another spot is refused and changes nothing. A short value in place of a long one frees a
    spot.
    """
    filled(caller)
    before = kept(server)
    assert caller.insert(4, value(SLOT_SIZE + 1)) == Outcome("NO_ROOM", None)
    assert caller.update(1, value(VALUE_MAX, 9)) == Outcome("NO_ROOM", None)
    assert kept(server) == before
    assert caller.get(1) == Entry(1, value(VALUE_MAX, 1)) and caller.get(4) is None
    assert caller.insert(4, b"short").is_done
    assert caller.update(2, b"short").is_done
    assert caller.update(4, value(SLOT_SIZE + 1)) == Outcome("UPDATED", 2)
    assert caller.get(4) == Entry(2, value(SLOT_SIZE + 1))
    assert taken(server) == {1, 2, 3}
    assert caller.delete(3).is_done and caller.update(1, value(VALUE_MAX, 9)) == Outcome("UPDATED", 2)
    assert caller.get(1) == Entry(2, value(VALUE_MAX, 9))
    assert len(taken(server)) == 2


def test_long_values_outlive_the_daemon(server, caller):
    """Killed after each write: what was acknowledged is there, in the bucket and in the page."""
    for key in (1, 2, 3):
        assert caller.insert(key, value(VALUE_MAX, key)).is_done
        server.kill()
        server.start()
    assert caller.update(1, b"short") == Outcome("UPDATED", 2)
    server.kill()
    server.start()
    assert caller.update(1, value(SLOT_SIZE + 1, 4)) == Outcome("UPDATED", 3)
    server.kill()
    server.start()
    assert caller.get(1) == Entry(3, value(SLOT_SIZE + 1, 4))
    assert [caller.get(key) for key in (2, 3)] == [Entry(1, value(VALUE_MAX, key)) for key in (2, 3)]
    assert taken(server) == {1, 2, 3}


def test_daemon_down(server, caller):
    """The kernel goes on serving short values. A client that reads a long value, or replaces it by a short one,
    gets an answer that says so. A request with a tail is lost.
    """
    assert caller.insert(1, value(VALUE_MAX)).is_done and caller.insert(2, b"short").is_done
    server.kill()
    for ask in (
        lambda: caller.get(1),
        lambda: caller.update(1, b"short"),
        lambda: caller.delete(1),
    ):
        with pytest.raises(NotServed):
            ask()
    assert caller.get(2) == Entry(1, b"short")
    assert caller.update(2, b"other") == Outcome("UPDATED", 2)
    assert caller.update(2, value(VALUE_MAX + 1)) == Outcome("TOO_LONG", None)
    with connected(server) as connection:
        connection.settimeout(0.5)
        connection.send(caller.session.update(2, value(VALUE_MAX, 5), caller.now_ns()))
        with pytest.raises(TimeoutError):
            connection.recv(2048)
    server.start()
    assert caller.again() == Outcome("UPDATED", 3)
    assert caller.get(2) == Entry(3, value(VALUE_MAX, 5))
    assert caller.get(1) == Entry(1, value(VALUE_MAX))
    assert len(taken(server)) == 2


def test_a_write_that_is_sent_again_takes_one_spot(server, caller):
    with connected(server) as connection:
        request = caller.session.insert(1, value(VALUE_MAX), caller.now_ns())
        for _ in range(3):
            connection.send(request)
            answer = server.build.codec.Message.decode(connection.recv(2048))
            assert (answer.kind.name, answer.version) == ("INSERTED", 1)
    assert len(taken(server)) == 1


def test_writes_that_wait_together(server, caller):
    """The daemon may put both tails into one spot: then the earlier one finds its bytes gone, and is asked for
    again.
    """
    with connected(server) as connection:
        other = KvCaller(KvSession(server.build.codec), connection)
        other.open(random.Random(2), server.build.capacities["session"])
        assert caller.insert(1, b"one").is_done and caller.insert(2, b"two").is_done
        requests = [
            each.session.update(key, value(VALUE_MAX, key), each.now_ns())
            for key, each in enumerate((caller, other), 1)
        ]
        answers = answers_after(server, caller._connection, requests)
        assert {answer.kind.name for answer in answers} == {"UPDATED"}
        assert caller.again() == other.again() == Outcome("UPDATED", 2)
    assert [caller.get(key) for key in (1, 2)] == [Entry(2, value(VALUE_MAX, key)) for key in (1, 2)]
    assert len(taken(server)) == 2


def test_no_answer_tells_the_spot(server, caller):
    filled(caller)
    codec, session = server.build.codec, caller.session
    with connected(server) as connection:
        for key in (1, 2, 3):
            request = codec.Message(
                kind=codec.Kind.GET, client=session.number, sequence=key, secret=session.secret, key=key
            )
            connection.send(replace(request, spot=2, generation=9, former=1, way=1).encode())
            answer = codec.Message.decode(connection.recv(2048))
            assert answer.tail == value(VALUE_MAX, key)
            handed_over = {
                "epoch": 0,
                "way": 0,
                "victim": 0,
                "evicts": False,
                "found": False,
                "old": 0,
                "entry": 0,
                "filter": 0,
            }
            assert answer == replace(answer, **handed_over, spot=0, generation=0, former=0)


@pytest.mark.parametrize("seed", range(3))
def test_a_mix_of_lengths_and_kills(server, caller, seed):
    """Every get as a dict says; in the end as many spots are taken as there are long values."""
    choose, entries, told = random.Random(seed), {}, set()
    caller._patient = True
    for step in range(250):
        if step % 20 == 7:
            server.kill()
            server.start()
        key, size = choose.randrange(6), choose.choice([0, 5, SLOT_SIZE, SLOT_SIZE + 1, 300, VALUE_MAX])
        text = value(size, step)
        kind = choose.choice(["insert", "update", "delete"])
        outcome = caller.delete(key) if kind == "delete" else getattr(caller, kind)(key, text)
        told.add((outcome.kind, size > SLOT_SIZE))
        if outcome.kind == "NO_ROOM":
            assert size > SLOT_SIZE and len(taken(server)) == SPOTS
        else:
            assert outcome.is_done == ((key in entries) != (kind == "insert"))
        if outcome.is_done:
            entries = (
                {**entries, key: text}
                if kind != "delete"
                else {other: entries[other] for other in entries if other != key}
            )
        found = caller.get(choose.randrange(6))
        assert found is None or found.value in entries.values()
        assert {key: caller.get(key).value for key in entries} == entries
    assert {("INSERTED", True), ("UPDATED", True), ("UPDATED", False), ("NO_ROOM", True)} <= told
    assert len(taken(server)) == sum(len(each) > SLOT_SIZE for each in entries.values())
    complaints = Reference(server.build.codec, server.build.capacities).left_over(server.tables())
    assert [each for each in complaints if not each.startswith("session ")] == []


# --- Found by reading and under load --------------------------------------------------------------


def test_a_get_whose_entry_gave_way(server, caller):
    """Clean, seen in the bucket with its spot, then replaced: it was said to be missing, and the page had it all the
    time.
    """
    filled(caller)
    (key,) = spilled(server)
    assert caller.get(key) and marks(server)[key] == "Clean"
    with connected(server) as connection:
        _, request = caller.session.get(key, caller.now_ns())
        other = a_key_without_a_bit(server)
        answers = answers_after(server, connection, [request], lambda: caller.insert(other, b"in its place"))
    assert key not in marks(server)
    assert [answer.kind.name for answer in answers] in ([], ["VALUE"])
    assert caller.get(key) == Entry(1, value(VALUE_MAX, key))


def test_a_get_of_a_value_that_was_long(server, caller):
    """Found long in the page, and short by the time of its answer: that had the length of one and the tail of the
    other.
    """
    filled(caller)
    (key,) = spilled(server)
    with connected(server) as connection:
        requests = [caller.session.update(key, b"short", caller.now_ns()), caller.session.get(key, caller.now_ns())[1]]
        answers = answers_after(server, connection, requests)
    assert [answer.kind.name for answer in answers] in (["UPDATED"], ["UPDATED", "VALUE"])
    assert caller.again() == Outcome("UPDATED", 2)
    assert caller.get(key) == Entry(2, b"short")
