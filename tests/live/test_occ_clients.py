"""Tests the client of transactions against a plain server that loses, repeats and delays."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

from generated.occ import occ_codec as codec
from spec.lib.live.session_client import LeaseEnded
from spec.occ.live.client import Conflict, OccCaller, OccSession, Transaction, TransactionError
from spec.occ.live.reference import Reference
from tests.live.plain_gathers import Gathering
from tests.live.plain_server import CAPACITIES, OfEightBuckets, PlainServer

ACCOUNTS, BALANCE = range(1, 6), 100


class PlainTransactions(PlainServer):
    """Answers as a store with transactions would whose cells are a dict."""

    reference: Reference

    def complete(self, answer: Any) -> None:
        kind, key, said = answer.kind.name, answer.key, self.reference.accounts.get(answer.client)
        if (
            said is not None
            and said.said is not None
            and kind in self.reference.recalled
            and said.sequence == answer.sequence
        ):
            answer.version = said.said.version
        elif kind == "COMMITTED":
            answer.version = (
                self.reference.version_written(self.reference.holdings[answer.client].places[answer.place]) or 0
            )
        elif kind == "CONFLICT":
            answer.version = self.reference.version_at(key)
        elif kind in ("VALUE", "MISSING", "INSERTED", "UPDATED", "DELETED", "EXISTS"):
            answer.version = self.reference.version_of(kind, key)
        if kind in ("VALUE", "MISSING"):
            answer.locked = self.reference.holder(key) is not None
        if kind == "VALUE":
            stored = self.reference.entries[key]
            answer.length, answer.value, answer.tail = (
                stored.length,
                stored.value[: codec.SLOT_SIZE],
                stored.value[codec.SLOT_SIZE :],
            )


class PlainOcc(Gathering, PlainTransactions):
    """The same for requests with several operations."""

    state = (*Gathering.state, "holdings")


class Lenient(Reference):
    """Its server may leave any operation alone."""

    def needs_daemon(self, message: Any) -> bool:
        return True


def connected(server: PlainServer, choose: random.Random) -> OccCaller:
    return server.opened(OccCaller, OccSession(codec), choose, patient=True)


@pytest.fixture
def server():
    with PlainOcc(Lenient(OfEightBuckets(codec), CAPACITIES)) as serving:
        yield serving


@pytest.fixture
def callers(server):
    made = [connected(server, random.Random(seed)) for seed in (1, 2)]
    yield made
    for caller in made:
        caller._connection.close()


def fill(transaction: Transaction) -> None:
    transaction.put(1, b"one")
    transaction.put(2, b"two")


def test_what_is_written_is_read(callers):
    caller, other = callers
    caller.transaction(fill)

    def change(transaction: Transaction) -> tuple[Any, ...]:
        before = transaction.get(1), transaction.get(2), transaction.get(3)
        transaction.put(1, before[0] + b"!")
        transaction.delete(2)
        transaction.delete(3)  # it is not there
        return *before, transaction.get(1), transaction.get(2)

    assert other.transaction(change) == (b"one", b"two", None, b"one!", None)
    assert caller.transaction(lambda transaction: [transaction.get(key) for key in (1, 2, 3)]) == [b"one!", None, None]
    assert caller.transaction(lambda transaction: transaction.get_all([3, 1, 2, 1])) == [None, b"one!", None, b"one!"]
    assert caller.get(1).version == 2 and caller.insert(2, b"again").version == 2


def test_a_write_in_between_is_a_conflict_and_the_body_is_run_anew(callers):
    caller, other = callers
    caller.transaction(fill)
    runs = []

    def add(transaction: Transaction) -> None:
        runs.append(transaction.get(1))
        if len(runs) == 1:
            other.update(1, b"uno")
        transaction.put(1, runs[-1] + b"+")

    caller.transaction(add)
    assert runs == [b"one", b"uno"] and other.get(1).value == b"uno+"


@pytest.mark.parametrize("interferes", ["update", "come and go"])
def test_what_was_only_read_must_be_as_it_was(callers, interferes):
    caller, other = callers
    caller.transaction(fill)
    key, runs = 1 if interferes == "update" else 3, []

    def copy(transaction: Transaction) -> None:
        runs.append(transaction.get(key))
        if len(runs) == 1 and interferes == "update":
            other.update(key, b"uno")
        elif len(runs) == 1:
            other.insert(key, b"here")
            other.delete(key)
        transaction.put(2, b"as key %d" % key)

    caller.transaction(copy)
    assert runs == ([b"one", b"uno"] if interferes == "update" else [None, None])


def test_who_is_kept_from_it_gives_up_and_leaves_nothing_locked(server, callers):
    caller, other = callers
    caller.transaction(fill)
    assert other.lock(0, 2, 1, b"mine").kind.name == "GRANTED"
    with pytest.raises(Conflict, match="key 2 is locked, or was written since it was read; given up after 3 attempts"):
        caller.transaction(fill, attempts_max=3)
    with pytest.raises(Conflict, match="key 2 was written, or is about to be"):
        caller.transaction(lambda transaction: transaction.get(2), attempts_max=2)
    assert caller.update(2, b"plainly").kind == "LOCKED" and caller.update(1, b"free").kind == "UPDATED"
    assert caller.get(2).value == b"two"
    assert other.ask("COMMIT", 0, 2).kind.name == "COMMITTED"
    assert caller.transaction(lambda transaction: transaction.get(2)) == b"mine"


def test_what_cannot_be_written_is_said_and_nothing_is(server, callers):
    caller, _ = callers
    caller.transaction(fill)

    def write_long(transaction: Transaction) -> None:
        transaction.put(1, b"short")
        transaction.put(3, b"x" * (codec.SLOT_SIZE + 1))

    with pytest.raises(TransactionError, match="key 3 has, or is to have, a value of more than 40 bytes"):
        caller.transaction(write_long)
    with pytest.raises(TransactionError, match="writes at most 4 keys, so it cannot write key 5 too"):
        caller.transaction(lambda transaction: [transaction.put(key, b"") for key in range(1, 6)])
    assert caller.get(1).value == b"one" and not any(holding.places for holding in server.reference.holdings.values())


def test_a_lease_that_has_ended_is_said(callers):
    caller, _ = callers
    caller.session.lease_end_ns = 0
    with pytest.raises(LeaseEnded):
        caller.transaction(fill)


def move(choose: random.Random) -> Any:
    """A transfer of some of one account to another."""
    one, other = choose.sample(ACCOUNTS, 2)

    def body(transaction: Transaction) -> None:
        first, second = int(transaction.get(one)), int(transaction.get(other))
        amount = choose.randint(0, first)
        transaction.put(one, b"%d" % (first - amount))
        transaction.put(other, b"%d" % (second + amount))

    return body


def test_transfers_over_a_faulty_link_keep_the_sum():
    with PlainOcc(Lenient(OfEightBuckets(codec), CAPACITIES), faults=0.1, seed=3) as server:
        callers = [connected(server, random.Random(seed)) for seed in range(3)]
        for key in ACCOUNTS:
            callers[0].insert(key, b"%d" % BALANCE)
        failed = []

        def work(caller: OccCaller, choose: random.Random) -> None:
            try:
                for _ in range(15):
                    caller.transaction(move(choose))
            except Exception as error:
                failed.append(error)

        threads = [
            threading.Thread(target=work, args=(caller, random.Random(seed))) for seed, caller in enumerate(callers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        balances = callers[0].transaction(lambda transaction: [int(transaction.get(key)) for key in ACCOUNTS])
        assert failed == [] and sum(balances) == BALANCE * len(ACCOUNTS)
        assert len(set(balances)) > 1 and sum(caller.retry_count for caller in callers) > 0
        for caller in callers:
            caller._connection.close()
