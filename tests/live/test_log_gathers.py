"""Tests clients that append several records at once, or ask what is on the disk.

They are tested alone, over a faulty link, and in the kernel. The reference must also find wrong answers to them.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from generated.log import log_codec as codec
from harness.live.build import build
from harness.live.server import Server
from harness.rig import Rig
from spec.lib.live.session_client import SessionError
from spec.log.live.client import Content, LogCaller, LogSession, Place
from spec.log.live.reference import Reference
from tests.live import invited
from tests.live.plain_server import PlainServer

CAPACITIES = {"session": 64, "head": 16}
TWO = [Content(7, 1, b"one", 5), Content(8, 1, None)]

answer_to = partial(invited.answer_to, codec)


def opened() -> LogSession:
    return invited.opened(LogSession(codec), 7, 1000, 0, 5)


# --- The client ---------------------------------------------------------------------------------------------


def test_a_request_has_its_records():
    request = codec.Message.decode(opened().gather(TWO, 10))
    assert request.kind.name == "GATHER" and request.count == 2
    assert [(each.transaction, each.key, each.version, each.deletes, each.length) for each in request.operations] == [
        (5, 7, 1, False, 3),
        (0, 8, 1, True, 0),
    ]
    assert request.operations[0].value == b"one".ljust(codec.VALUE_SIZE, b"\0")


@pytest.mark.parametrize(
    "records, error, words",
    [
        ([], SessionError, "0 records cannot be gathered: give 1 to 16"),
        (TWO * 9, SessionError, "18 records cannot be gathered"),
        ([*TWO, Content(9, 1, bytes(33))], ValueError, "a value of 33 bytes cannot be logged"),
    ],
)
def test_records_that_cannot_be_gathered_are_refused(records, error, words):
    session = opened()
    with pytest.raises(error, match=words):
        session.gather(records, 10)
    assert not session.is_waiting and session.sequence == 1000


@pytest.mark.parametrize("kind, place", [("GATHERED", Place(1, 2, 9)), ("FULL", None)])
def test_an_answer_has_the_place_of_the_last(kind, place):
    session = opened()
    answer = session.receive(answer_to(session.gather(TWO, 10), kind, epoch=1, log=2, number=9), 20)
    assert Place.of(answer) == place and not session.is_waiting


def test_answers_to_others_are_ignored():
    session = opened()
    right = codec.Message.decode(answer_to(session.gather(TWO, 10), "GATHERED", epoch=1, number=2))
    one, other = right.operations
    wrong = [
        {"operations": [one], "count": 1},
        {"operations": [other, one]},
        {"operations": [one, replace(other, version=2)]},
        {"operations": [replace(one, value=bytes(codec.VALUE_SIZE)), other]},
        {"kind": codec.Kind.APPENDED, "operations": [], "count": 0},
    ]
    for changes in wrong:
        assert session.receive(replace(right, **changes).encode(), 20) is None, changes
    assert session.receive(right.encode(), 20) == right


def test_an_answer_about_another_place_is_none():
    session = opened()
    number, datagram = session.sync(Place(1, 2, 9), 10)
    for changes in ({"epoch": 2}, {"log": 3}, {"number": 8}):
        assert session.receive(answer_to(datagram, "SYNCED", **changes), 20) is None
    assert list(session.outstanding_reads) == [number]
    assert session.receive(answer_to(datagram, "UNKNOWN"), 20).kind.name == "UNKNOWN"
    assert session.outstanding_reads == {}


# --- Over a faulty link, and the reference ------------------------------------------------------------------


class LogServer(PlainServer):
    """Says places as the reference has them."""

    def complete(self, answer: Any) -> None:
        if answer.kind.name == "GATHERED":
            account = self.reference.accounts[answer.client]
            again = account.sequence == answer.sequence
            answer.log = answer.client % 2
            answer.number = account.said.number if again else len(self.reference.logs[answer.log]) + answer.count


@pytest.mark.parametrize("seed", range(2))
def test_callers_over_a_faulty_link(seed):
    choose = random.Random(seed)
    with LogServer(Reference(codec, CAPACITIES), faults=0.2, seed=seed) as server:
        callers, places = [server.opened(LogCaller, LogSession(codec), choose) for _ in range(3)], {}
        for first in range(0, 600, 20):
            records = [Content(7, 1 + version, b"%d" % version) for version in range(first, first + 20)]
            caller = choose.choice(callers)
            for place, record in zip(caller.gather(records), records):
                places[place] = record.version
        assert len(places) == 600 and sum(caller.retry_count for caller in callers) > 0
        for place, version in places.items():
            assert server.reference.logs[place.log][place.number - 1].record.version == version
        last = max(places, key=lambda place: place.number)
        assert callers[0].sync(last) and not callers[1].sync(replace(last, epoch=5))
        for caller in callers:
            caller.close()


def known() -> tuple[Reference, LogSession]:
    """A reference of logs with two slots, which knows a client's session."""
    reference, session = Reference(codec, CAPACITIES), opened()
    reference.tokens.add(session.secret)
    invitation = codec.Message(kind=codec.Kind.OPEN, client=7, sequence=1000, secret=session.secret)
    reference.answered(invitation, replace(invitation, kind=codec.Kind.OPENED))
    return reference, session


@pytest.mark.parametrize(
    "changes, complaint",
    [
        ({}, None),
        ({"number": 1}, "appended as Place(epoch=0, log=3, number=1), and the next is Place(epoch=0, log=3, number=2)"),
        ({"number": 3}, "and the next is"),
        ({"epoch": 1}, "and the next is"),
        ({"operations": []}, "2 records were answered with 0"),
        ({"swapped": True}, "the answer has"),
    ],
)
def test_the_reference_counts_each_record(changes, complaint):
    reference, session = known()
    request = codec.Message.decode(session.gather(TWO, 10))
    assert reference.expect(request) == {"GATHERED"} and not reference.needs_daemon(request)
    fields = {"kind": codec.Kind.GATHERED, "log": 3, "number": 2} | changes
    if fields.pop("swapped", False):
        fields["operations"] = list(reversed(request.operations))
    answer = replace(request, **fields)
    wrong = reference.answered(request, answer)
    assert (complaint in "\n".join(wrong)) if complaint else wrong == []
    if complaint is None:
        assert [written.record.key for written in reference.logs[3]] == [7, 8]
        assert reference.answered(request, answer) == []
        assert "a repeated request got" in "\n".join(reference.answered(request, replace(answer, number=4)))


def test_the_reference_knows_what_can_be_on_the_disk():
    reference, session = known()
    request = codec.Message.decode(session.gather(TWO, 10))
    reference.answered(request, replace(request, kind=codec.Kind.GATHERED, log=3, number=2))
    asked = {
        number: codec.Message.decode(session.sync(Place(epoch, 3, number), 20)[1])
        for number, epoch in ((2, 0), (3, 0), (1, 4))
    }
    assert reference.expect(asked[2]) == {"SYNCED"} and reference.needs_daemon(asked[2])
    assert reference.expect(asked[3]) == set(), "there is no such record"
    assert reference.expect(asked[1]) == {"UNKNOWN"}
    assert reference.answered(asked[2], replace(asked[2], kind=codec.Kind.SYNCED)) == []
    other = replace(asked[2], kind=codec.Kind.SYNCED, number=1)
    assert "was asked about" in "\n".join(reference.answered(asked[2], other))


# --- In the kernel ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    small = {
        "constants": {"Logs": 2, "Slots": 2_048, "Records": 4_096},
        "message": {"log": "u1"},
        "local": {"slot": "u12"},
    }
    with (
        Rig("gathers") as rig,
        Server(rig, build("log", small | {"tables": {"answer": {"cell": {"log": "u1"}}}})) as it,
    ):
        it.start()
        yield it


def test_a_thousand_records_at_once(server):
    with server.rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.connect((server.rig.server.ipv4, codec.PORT))
        caller = LogCaller(LogSession(server.build.codec), connection)
        caller.open(random.Random(1), 16_384)
        before = server.counters()
        places = caller.gather([Content(key, 1, b"%d" % key) for key in range(1000)])
        requests = sum((server.counters() - before).values())
        assert None not in places and len({(place.log, place.number) for place in places}) == 1000
        assert requests < 1000 / 16 * 2, "most of the requests have 16 records"
        last = max(places, key=lambda place: place.number)
        assert caller.sync(last), "all are on the disk, and the daemon says so"
        assert not caller.sync(replace(last, epoch=last.epoch + 1))
        caller.close()
    server.stop()
    entries = {(entry["log"], entry["number"]): entry for entry in server.entries()}
    for key, place in enumerate(places):
        entry = entries[place.log, place.number]
        assert (entry["key"], bytes.fromhex(entry["value"]).rstrip(b"\0")) == (key, b"%d" % key)
