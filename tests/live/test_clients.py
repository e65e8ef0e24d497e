"""Tests clients of the session module and of the lock against a plain server that loses, repeats and delays."""

from __future__ import annotations

import random
from functools import partial
from types import SimpleNamespace

import pytest

from generated.lock import lock_codec as codec
from spec.lib.live.session_client import LeaseEnded, OtherTerms, SessionError, lease_ns
from spec.lock.live.client import LockCaller, LockSession, conflicts
from spec.lock.live.reference import Reference
from tests.live import invited
from tests.live.plain_server import PlainServer

CAPACITIES = {"session": 64, "lock": 16, "overflow": 8, "credential": 64}

answer_to = partial(invited.answer_to, codec)


def opened(now_ns: int = 0) -> LockSession:
    return invited.opened(LockSession(codec), 7, 1000, now_ns, now_ns + 5)


def test_requests_count_up_and_carry_the_secret():
    session = opened()
    request = codec.Message.decode(session.acquire(5, "SHARED", 10))
    assert (request.client, request.sequence, request.secret, request.lock) == (7, 1001, b"12345678", 5)


def test_one_request_at_a_time():
    session = opened()
    session.acquire(5, "SHARED", 10)
    with pytest.raises(SessionError, match="still waits for the answer to ACQUIRE"):
        session.release(5, 11)


def test_again_is_the_same_request():
    session = opened()
    assert session.acquire(5, "SHARED", 10) == session.again() == session.again()


@pytest.mark.parametrize(
    "changes",
    [{"client": 8}, {"sequence": 1000}, {"sequence": 1002}, {"secret": bytes(8)}, {"lock": 6}],
    ids=lambda changes: next(iter(changes)),
)
def test_answers_to_others_are_ignored(changes):
    session = opened()
    request = session.acquire(5, "SHARED", 10)
    assert session.receive(answer_to(request, "GRANTED", **changes), 20) is None
    assert session.is_waiting and session.beliefs(20) == {}


def test_answers_of_the_wrong_kind_and_garbage_are_ignored():
    session = opened()
    request = session.acquire(5, "SHARED", 10)
    for datagram in (answer_to(request, "RELEASED"), request, b"", request[:-1], b"\xff" * len(request)):
        assert session.receive(datagram, 20) is None
    assert session.receive(answer_to(request, "GRANTED"), 20) is not None
    assert session.receive(answer_to(request, "GRANTED"), 21) is None
    assert session.share_count(5) == 1


def test_belief_begins_with_granted_and_ends_with_the_sending_of_release():
    session = opened()
    request = session.acquire(5, "EXCLUSIVE", 10)
    assert session.beliefs(15) == {}
    session.receive(answer_to(request, "GRANTED"), 20)
    assert session.beliefs(20) == {5: "EXCLUSIVE"}
    session.release(5, 30)
    assert session.beliefs(30) == {}


def test_rejected_release_is_asked_for_again_and_takes_no_other_share():
    session = opened()
    for _ in range(2):
        session.receive(answer_to(session.acquire(5, "SHARED", 10), "GRANTED"), 10)
    session.receive(answer_to(session.release(5, 20), "REJECTED"), 20)
    assert session.share_count(5) == 1
    session.receive(answer_to(session.release(5, 30), "RELEASED"), 30)
    assert session.share_count(5) == 1


def test_lease_counts_from_the_first_sending():
    session = opened()
    request = session.acquire(5, "SHARED", 100)
    session.again()
    session.receive(answer_to(request, "GRANTED"), 5000)
    lease = codec.LEASE * codec.TICK_NS
    assert lease * 0.9 < session.lease_end_ns - 100 < lease
    end = session.lease_end_ns
    assert session.beliefs(end - 1) == {5: "SHARED"}
    assert session.beliefs(end) == {}
    with pytest.raises(LeaseEnded):
        session.renew(end)


def test_a_request_of_a_protocol_that_takes_them_in_order_cannot_be_given_up():
    session = opened()
    session.acquire(5, "SHARED", 10)
    with pytest.raises(SessionError, match="cannot give up ACQUIRE"):
        session.give_up()
    assert session.is_waiting


def test_answer_after_the_lease_grants_nothing():
    session = opened()
    end = session.lease_end_ns
    request = session.acquire(5, "SHARED", end - 10)
    session.receive(answer_to(request, "GRANTED"), end + 1)
    assert not session.is_alive(end + 1) and session.beliefs(end + 1) == {}


def test_close_ends_belief_at_once():
    session = opened()
    session.receive(answer_to(session.acquire(5, "SHARED", 10), "GRANTED"), 10)
    request = session.close(20)
    assert session.beliefs(20) == {} and not session.is_open
    assert session.receive(answer_to(request, "CLOSED"), 30) is not None


def test_taken_number_leads_to_another():
    session = invited.invited(LockSession(codec), 3)
    request = session.open(1, 0)
    session.receive(answer_to(request, "TAKEN"), 1)
    assert not session.is_open and not session.is_waiting and not session.is_invited
    assert codec.Message.decode(session.ask(4, 2, 2)).client == 4


def test_who_asks_says_by_which_terms():
    assert codec.Message.decode(LockSession(codec).ask(3, 1, 0)).secret == codec.TERMS != bytes(8)


def test_the_server_chooses_the_number():
    session = LockSession(codec)
    request = session.ask(3, 1, 0)
    assert session.receive(answer_to(request, "INVITED", client=1027, sequence=2), 1) is None  # another's
    session.receive(answer_to(request, "INVITED", client=1027, secret=invited.TOKEN), 1)
    opening = codec.Message.decode(session.open(5, 2))
    assert (opening.client, opening.secret, opening.sequence) == (1027, invited.TOKEN, 5)


def test_nobody_opens_uninvited():
    with pytest.raises(SessionError, match="has not invited this client to a session: ask first"):
        LockSession(codec).open(1, 0)
    session = invited.invited(LockSession(codec), 3)
    session.receive(answer_to(session.open(1, 0), "UNINVITED"), 1)
    with pytest.raises(SessionError, match="has not invited this client to a session: ask first"):
        session.open(2, 2)


def test_other_terms_are_an_error():
    session = LockSession(codec)
    request = session.ask(3, 1, 0)
    assert session.receive(answer_to(request, "OTHER_TERMS", secret=bytes(8)), 1) is None  # another's
    with pytest.raises(
        OtherTerms, match=f"session 3 cannot be opened: the server was built from another layout.*{codec.TERMS.hex()}"
    ):
        session.receive(answer_to(request, "OTHER_TERMS"), 1)
    assert not session.is_open and not session.is_waiting


def test_too_early_is_asked_again_later():
    """With another sequence number: the lease counts from the sending of the request that is answered."""
    session = invited.invited(LockSession(codec), 3)
    request = session.open(1, 0)
    assert session.receive(answer_to(request, "TOO_EARLY"), 1).kind.name == "TOO_EARLY"
    assert not session.is_open and not session.is_waiting
    later = session.open(2, 50)
    assert session.receive(answer_to(request, "OPENED", secret=b"12345678"), 51) is None
    session.receive(answer_to(later, "OPENED", secret=b"12345678"), 51)
    assert session.is_alive(51) and session.lease_end_ns == 50 + lease_ns(codec)


def test_conflicts():
    assert conflicts([{1: "SHARED"}, {1: "SHARED"}, {2: "EXCLUSIVE"}]) == []
    assert len(conflicts([{1: "SHARED"}, {1: "EXCLUSIVE"}])) == 1


@pytest.mark.parametrize("seed", range(3))
def test_callers_over_a_faulty_link(seed):
    choose = random.Random(seed)
    with PlainServer(Reference(codec, CAPACITIES), faults=0.2, seed=seed) as server:
        callers = [server.opened(LockCaller, LockSession(codec), choose) for _ in range(3)]
        granted = 0
        for _ in range(60):
            caller = choose.choice(callers)
            held = sorted(caller.session.beliefs(caller.now_ns()))
            if held and choose.random() < 0.5:
                assert caller.release(choose.choice(held))
            else:
                granted += caller.acquire(choose.randrange(4), choose.choice(["SHARED", "EXCLUSIVE"]))
            assert conflicts([each.session.beliefs(each.now_ns()) for each in callers]) == []
        actors = [SimpleNamespace(session=caller.session) for caller in callers]
        assert server.reference.broken_beliefs(actors, callers[0].now_ns()) == []
        assert granted > 0 and sum(caller.retry_count for caller in callers) > 0
        for caller in callers:
            caller.close()
        assert all(not shares for shares in server.reference.shares.values())
