"""Tests clients that ask for several locks at once: alone, over a faulty link, and in the kernel.

The reference must also find wrong answers to them.
"""

from __future__ import annotations

import copy
import random
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from generated.lock import lock_codec as codec
from harness.live.build import build
from harness.live.server import Server
from harness.rig import Rig
from spec.lib.live import gathering
from spec.lib.live.session_client import SessionError
from spec.lock.live.client import LockCaller, LockSession, conflicts
from spec.lock.live.reference import Reference
from tests.live import invited
from tests.live.plain_server import PlainServer

CAPACITIES = {"session": 64, "lock": 16, "overflow": 8, "credential": 64}
HELD = [(5, "SHARED"), (6, "EXCLUSIVE")]

answer_to = partial(invited.answer_to, codec)


def opened() -> LockSession:
    return invited.opened(LockSession(codec), 7, 1000, 0, 5)


def outcomes(request: bytes, *kinds: str, **changes: object) -> bytes:
    """An answer with these outcomes."""
    asked = codec.Message.decode(request).operations
    done = [replace(each, kind=codec.Kind[kind]) for each, kind in zip(asked, kinds)]
    return bytes(answer_to(request, "GATHERED", **{"operations": done} | changes))


# --- The client ---------------------------------------------------------------------------------------------


def test_a_request_has_its_operations():
    request = codec.Message.decode(opened().gather([(5, "SHARED"), (6, None)], 10))
    assert request.kind.name == "GATHER" and request.count == 2
    assert [(each.kind.name, each.mode.name, each.lock) for each in request.operations] == [
        ("ACQUIRE", "SHARED", 5),
        ("RELEASE", "FREE", 6),
    ]


def test_each_outcome_counts_for_its_own_lock():
    session = opened()
    session.receive(outcomes(session.gather(HELD, 10), "GRANTED", "GRANTED"), 11)
    assert session.beliefs(11) == dict(HELD)
    request = session.gather([(5, None), (6, None), (7, "SHARED"), (8, "SHARED"), (9, "SHARED")], 20)
    assert session.beliefs(20) == {}, "belief ends with the sending of a release"
    session.receive(outcomes(request, "RELEASED", "RELEASE", "GRANTED", "REJECTED", "ACQUIRE"), 21)
    assert session.beliefs(21) == {7: "SHARED"}
    session.receive(answer_to(session.acquire(6, "SHARED", 30), "GRANTED"), 30)
    session.receive(answer_to(session.release(6, 40), "RELEASED"), 40)
    assert session.beliefs(40) == {6: "SHARED", 7: "SHARED"}, "the release that was left alone comes first"


@pytest.mark.parametrize(
    "wanted, words",
    [
        ([], "0 locks cannot be gathered: give 1 to 16"),
        ([(lock, None) for lock in range(17)], "17 locks cannot be gathered"),
        ([(5, None), (6, None), (5, "SHARED")], "a lock is named twice"),
    ],
)
def test_what_cannot_be_gathered_is_refused(wanted, words):
    session = opened()
    with pytest.raises(SessionError, match=words):
        session.gather(wanted, 10)
    assert not session.is_waiting and session.sequence == 1000


def test_answers_to_others_are_ignored():
    session = opened()
    request = session.gather(HELD, 10)
    right = codec.Message.decode(outcomes(request, "GRANTED", "GRANTED"))
    one, other = right.operations
    wrong = [
        {"operations": [one], "count": 1},
        {"operations": [], "count": 2},
        {"operations": [other, one]},
        {"operations": [one, replace(other, lock=7)]},
        {"operations": [one, replace(other, mode=codec.Mode.SHARED)]},
        {"operations": [one, replace(other, kind=codec.Kind.RELEASED)]},
        {"kind": codec.Kind.GRANTED, "operations": [], "count": 0},
    ]
    for changes in wrong:
        assert session.receive(replace(right, **changes).encode(), 20) is None, changes
    assert session.is_waiting and session.beliefs(20) == {}
    assert session.receive(right.encode(), 20) == right


class Gathering(PlainServer):
    """Executes the operations of a request. It leaves some alone, as the kernel does when a cell has no room."""

    def complete(self, answer: Any) -> None:
        account = self.reference.accounts.get(answer.client)
        if account is not None and account.sequence == answer.sequence and account.said is not None:
            answer.operations = account.said.operations
            return
        trial = Reference(codec, CAPACITIES)
        trial.accounts = self.reference.accounts
        trial.shares, trial.exclusive = copy.deepcopy((self.reference.shares, self.reference.exclusive))
        answer.operations = [self._executed(trial, answer, asked) for asked in answer.operations]

    def _executed(self, trial: Reference, answer: Any, asked: Any) -> Any:
        if trial.shares[trial.slot(asked.lock)] and self._random.random() < 0.3:
            return asked
        alone = replace(answer, **vars(asked), count=0, operations=[])
        outcome = min(trial.outcomes(alone))
        trial.apply(alone, outcome)
        return replace(asked, kind=codec.Kind[outcome])


@pytest.mark.parametrize("seed", range(3))
def test_callers_over_a_faulty_link(seed):
    choose = random.Random(seed)
    with Gathering(Reference(codec, CAPACITIES), faults=0.2, seed=seed) as server:
        callers = [server.opened(LockCaller, LockSession(codec), choose) for _ in range(3)]
        granted = 0
        for _ in range(40):
            caller = choose.choice(callers)
            held = caller.session.beliefs(caller.now_ns())
            free = [(lock, choose.choice(["SHARED", "EXCLUSIVE"])) for lock in range(6) if lock not in held]
            done = caller.gather([(lock, None) for lock in held] + choose.sample(free, 2))
            assert all(done[: len(held)]), "what is held can be released"
            granted += sum(done[len(held) :])
            assert conflicts([each.session.beliefs(each.now_ns()) for each in callers]) == []
        assert server.reference.broken_beliefs(callers, callers[0].now_ns()) == []
        assert granted > 0 and sum(caller.retry_count for caller in callers) > 0
        for caller in callers:
            caller.close()
        assert all(not shares for shares in server.reference.shares.values())


# --- The reference ------------------------------------------------------------------------------------------


class OneCell(Reference):
    """All lock ids are in one cell."""

    def slot(self, lock: int) -> int:
        return 1


@pytest.mark.parametrize(
    "kinds, complaint",
    [
        (("GRANTED", "REJECTED", "RELEASED"), None),
        (("GRANTED", "ACQUIRE", "RELEASED"), None),  # the cell had a share by then
        (("GRANTED", "REJECTED", "RELEASE"), None),
        (("ACQUIRE", "REJECTED", "REJECTED"), "was answered ACQUIRE, expected {'GRANTED'}"),
        (("REJECTED", "REJECTED", "RELEASED"), "was answered REJECTED, expected {'GRANTED'}"),
        (("GRANTED", "REJECTED", "REJECTED"), "was answered REJECTED, expected {'RELEASED'}"),
        (("GRANTED", "REJECTED"), "3 operations were answered with 2"),
    ],
)
def test_the_reference_executes_operations_in_their_order(kinds, complaint):
    reference = OneCell(codec, CAPACITIES)
    session = opened()
    reference.tokens.add(session.secret)
    invitation = codec.Message(kind=codec.Kind.OPEN, client=7, sequence=1000, secret=session.secret)
    reference.answered(invitation, replace(invitation, kind=codec.Kind.OPENED))
    asked = session.gather([(1, "EXCLUSIVE"), (2, None), (3, None)], 10)
    request = codec.Message.decode(asked)
    request.operations[1] = codec.Operation(kind=codec.Kind.ACQUIRE, lock=2)  # in no mode
    answer = codec.Message.decode(outcomes(request.encode(), *kinds, count=len(kinds)))
    assert reference.expect(request) == {"GATHERED"} and not reference.needs_daemon(request)
    wrong = reference.answered(request, answer)
    assert (complaint in "\n".join(wrong)) if complaint else wrong == []
    if complaint is None:
        assert reference.answered(request, answer) == []
        other = replace(answer, operations=list(reversed(answer.operations)))
        assert "when sent again" in "\n".join(reference.answered(request, other))


# --- In the kernel ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Rig("gathers") as rig, Server(rig, build("lock", {"tables": {"lock": {"capacity": 65_536}}})) as started:
        started.start()
        yield started


def test_a_thousand_locks_at_once_and_back(server):
    with server.rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.connect((server.rig.server.ipv4, codec.PORT))
        caller = LockCaller(LockSession(server.build.codec), connection)
        caller.open(random.Random(1), 16_384)
        before = server.counters()
        locks = list(range(1, 1001))
        assert caller.gather([(lock, "SHARED") for lock in locks]) == [True] * 1000
        assert len(caller.session.beliefs(caller.now_ns())) == 1000
        assert sum(len(cell["holders"]) + cell["spilled"] for cell in server.tables()["lock"]) == 1000
        assert caller.gather([(lock, None) for lock in locks]) == [True] * 1000
        assert all(cell["mode"] == "Free" for cell in server.tables()["lock"])
        requests = sum((server.counters() - before).values())
        assert requests < 2 * 1000 / 16 * 2, "most of the requests have 16 operations"
        caller.close()


def test_threads_share_a_session_and_its_messages(server):
    """Each asks for one lock at a time."""
    with server.rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.connect((server.rig.server.ipv4, codec.PORT))
        caller = LockCaller(LockSession(server.build.codec), connection)
        caller.open(random.Random(3), 16_384)
        ask = gathering.Gathering(caller).ask
        with ThreadPoolExecutor(8) as threads:
            assert all(threads.map(ask, [(lock, "EXCLUSIVE") for lock in range(2001, 2401)]))
            assert len(caller.session.beliefs(caller.now_ns())) == 400
            assert all(threads.map(ask, [(lock, None) for lock in range(2001, 2401)]))
        assert caller.session.beliefs(caller.now_ns()) == {}
        caller.close()
