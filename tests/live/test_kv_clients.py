"""Tests the store's client against a plain server that loses, repeats and delays."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import Any

import pytest

from generated.kv import kv_codec as codec
from spec.kv.live.client import VERSIONED, Entry, KvCaller, KvSession, Outcome, entry_of
from spec.kv.live.reference import Reference
from spec.lib.live.session_client import LeaseEnded, NotServed, SessionError
from tests.live import invited
from tests.live.plain_server import CAPACITIES, OfEightBuckets, PlainServer
from tests.live.plain_store import PlainStore

SLOT_SIZE, VALUE_MAX = codec.SLOT_SIZE, codec.VALUE_MAX
answer_to = partial(invited.answer_to, codec)


def opened() -> KvSession:
    return invited.opened(KvSession(codec), 7, 1000, 0, 5)


def filled(value: bytes) -> bytes:
    return value.ljust(SLOT_SIZE, b"\0")


@pytest.mark.parametrize("size", [0, 1, SLOT_SIZE - 1, SLOT_SIZE, SLOT_SIZE + 1, VALUE_MAX, VALUE_MAX + 1, 2**16 - 1])
def test_values_of_every_length(size):
    datagram = opened().insert(5, b"x" * size, 10)
    sent = codec.Message.decode(datagram)
    assert (sent.kind.name, sent.key, sent.length) == ("INSERT", 5, size)
    assert sent.value == filled(b"x" * size if size <= SLOT_SIZE else b"")
    assert sent.tail == (b"x" * size if SLOT_SIZE < size <= VALUE_MAX else b"")
    assert len(datagram) == codec.WIRE_SIZE + len(sent.tail)


def test_answers_to_writes_may_come_without_the_tail():
    session = opened()
    request = session.insert(5, b"x" * VALUE_MAX, 10)
    assert session.receive(answer_to(request, "EXISTS", length=VALUE_MAX - 1, tail=b"", version=1), 20) is None
    assert session.receive(answer_to(request, "INSERTED", tail=b"", version=1), 21).version == 1
    request = session.update(5, b"y" * VALUE_MAX, 30)
    assert session.receive(answer_to(request, "UPDATED", version=2), 31).version == 2


def test_a_value_without_its_tail_is_no_answer():
    session = opened()
    _, request = session.get(5, 10)
    assert session.receive(answer_to(request, "VALUE", length=SLOT_SIZE + 1), 20) is None
    answer = session.receive(
        answer_to(request, "VALUE", length=SLOT_SIZE + 1, version=3, tail=b"x" * (SLOT_SIZE + 1)), 21
    )
    assert entry_of(answer) == Entry(3, b"x" * (SLOT_SIZE + 1))


def test_a_write_sent_again_keeps_its_number_and_the_next_has_the_next():
    session = opened()
    first = session.update(5, b"a", 10)
    assert session.again() == first
    assert session.receive(answer_to(first, "UPDATED", version=3), 20).version == 3
    assert codec.Message.decode(session.delete(5, 30)).sequence == codec.Message.decode(first).sequence + 1


def test_reads_are_numbered_apart_from_writes():
    session = opened()
    write = session.insert(5, b"a", 10)
    (first, get), (second, other) = session.get(5, 11), session.get(6, 12)
    assert first != second and set(session.outstanding_reads) == {first, second}
    assert session.again() == write
    # A get and a write of one number: the kinds tell their answers apart.
    assert codec.Message.decode(get).sequence == codec.Message.decode(write).sequence
    assert session.receive(answer_to(get, "VALUE", version=1), 20).kind.name == "VALUE"
    assert session.is_waiting and set(session.outstanding_reads) == {second}
    assert session.receive(answer_to(write, "INSERTED", version=1), 21).kind.name == "INSERTED"
    assert set(session.outstanding_reads) == {second}
    assert session.receive(answer_to(other, "MISSING"), 22) is not None


@pytest.mark.parametrize(
    "changes",
    [{"client": 8}, {"sequence": 999}, {"secret": bytes(8)}, {"key": 6}],
    ids=lambda changes: next(iter(changes)),
)
def test_answers_to_other_reads_are_ignored(changes):
    session = opened()
    number, datagram = session.get(5, 10)
    assert session.receive(answer_to(datagram, "VALUE", **changes), 20) is None
    assert session.receive(answer_to(datagram, "ABSENT"), 20) is None
    session.forget(number)
    assert session.receive(answer_to(datagram, "VALUE"), 20) is None


def test_a_write_that_was_given_up_goes_before_the_next():
    session = opened()
    first = session.insert(5, b"a", 10)
    session.give_up()
    assert not session.is_waiting and session.given_up == [first]
    second = session.delete(5, 20)
    assert session.receive(answer_to(first, "INSERTED"), 25) is None
    assert session.receive(answer_to(second, "DELETED", version=1), 30) is not None
    assert session.given_up == []


def test_a_read_does_not_extend_the_lease():
    session = opened()
    end = session.lease_end_ns
    _, datagram = session.get(5, end - 10)
    assert session.receive(answer_to(datagram, "MISSING"), end - 5) is not None
    assert session.lease_end_ns == end
    with pytest.raises(LeaseEnded):
        session.get(5, end)


def connected(server: PlainServer, choose: random.Random, **options: Any) -> KvCaller:
    return server.opened(KvCaller, KvSession(codec), choose, **options)


def write(caller: KvCaller, choose: random.Random, key: int, entries: dict[int, bytes]) -> Outcome:
    """A random write, which must have the outcome that the dict says."""
    value = choose.randbytes(choose.choice([0, 1, SLOT_SIZE, SLOT_SIZE + 1, VALUE_MAX, VALUE_MAX + 1]))
    match choose.randrange(3):
        case 0:
            outcome = caller.insert(key, value)
            wanted = "TOO_LONG" if len(value) > VALUE_MAX else "EXISTS" if key in entries else "INSERTED"
        case 1:
            outcome = caller.update(key, value)
            wanted = "TOO_LONG" if len(value) > VALUE_MAX else "UPDATED" if key in entries else "ABSENT"
        case _:
            outcome, value = caller.delete(key), None
            wanted = "DELETED" if key in entries else "ABSENT"
    assert outcome.kind == wanted and (outcome.version is not None) == (wanted in VERSIONED)
    if outcome.is_done:
        entries.pop(key, None)
        if value is not None:
            entries[key] = value
    return outcome


@pytest.mark.parametrize("seed", range(3))
def test_callers_over_a_faulty_link(seed):
    choose, entries, outcomes = random.Random(seed), {}, Counter()
    with PlainStore(Reference(OfEightBuckets(codec), CAPACITIES), faults=0.2, seed=seed) as server:
        callers = [connected(server, choose) for _ in range(3)]
        for _ in range(150):
            caller, key = choose.choice(callers), choose.randrange(6)
            outcomes[write(caller, choose, key, entries).kind] += 1
            found = choose.choice(callers).get(key)
            assert (found and found.value) == entries.get(key)
        assert set(outcomes) == {"INSERTED", "EXISTS", "UPDATED", "ABSENT", "DELETED", "TOO_LONG"}
        assert sum(caller.retry_count for caller in callers) > 0
        for caller in callers:
            caller.renew()
            caller.close()
            with pytest.raises(SessionError, match="is not open"):
                caller.insert(1, b"")


def test_who_is_refused_is_told_and_may_wait_or_go_on():
    choose = random.Random(1)
    with PlainStore(Reference(OfEightBuckets(codec), CAPACITIES)) as server:
        caller = connected(server, choose)
        assert caller.insert(1, b"one") == Outcome("INSERTED", 1)
        address = server.address
    with pytest.raises(NotServed, match="no daemon runs"):
        caller.update(1, b"two")
    with pytest.raises(NotServed):
        caller.get(1)
    with PlainStore(server.reference, address=address):
        assert caller.again() == Outcome("UPDATED", 2)
        assert caller.get(1) == Entry(2, b"two")
    with pytest.raises(NotServed):
        caller.update(1, b"three")
    with PlainStore(server.reference, address=address):
        # The update never arrived, so it goes before the delete; whether it is executed is nobody's to say.
        assert caller.delete(1) == Outcome("DELETED", 3)
        assert caller.get(1) is None


def test_an_answer_that_came_while_another_was_waited_for():
    choose = random.Random(2)
    with PlainStore(Reference(OfEightBuckets(codec), CAPACITIES)) as server:
        caller = connected(server, choose)
        connection = caller._connection
        connection.send(caller.session.insert(1, b"one", caller.now_ns()))
        assert caller.get(2) is None  # the answers come in this order
        assert not caller.session.is_waiting
        assert caller.again() == Outcome("INSERTED", 1)
