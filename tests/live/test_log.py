"""Tests the log on a veth: correct examples, wrong references, a client, and the files that remain."""

from __future__ import annotations

import random
import socket
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from generated.log import log_codec
from harness.fuzz.machine import Stage
from harness.fuzz.run import play
from harness.live import plugin
from harness.live.build import build
from harness.live.server import Server, wait_until
from harness.rig.netns import Rig
from spec.log.live.client import LogCaller, LogSession, Place
from spec.log.live.reference import Actor, Reference
from tests.live import invited
from tests.live.plain_server import PlainServer

VARIANTS = plugin.workload("log").fuzz["variants"]
SETTLE_SECONDS = 10


# --- Fuzzing ------------------------------------------------------------------------------------------


def test_logs_agree_with_lists():
    counted, wanted = (
        Counter(),
        ("room.recalled", "recall.full_again", "begin.forward_again", "end.1", "tc.end.1", "late", "garbled", "kills"),
    )
    for seed in range(1, 25):  # when a retry meets its answer is a matter of luck
        counted += play("log", VARIANTS[seed % len(VARIANTS)], 4, seed, examples=4)
        if seed >= len(VARIANTS) and all(counted[name] for name in wanted):
            break
    for name in wanted:
        assert counted[name] > 0, f"no packet was counted as {name}: {counted}"


class Endless(Reference):
    """Thinks that there is always room."""

    def outcomes(self, message):
        return super().outcomes(message) - {"FULL"}


class Forgetful(Reference):
    """Thinks that a record is appended again when its request comes again."""

    def wrong_memory(self, said, answer):
        return ["the place should be another"] if answer.kind.name == "APPENDED" else []


class Hasty(Reference):
    """Thinks that what waits for the disk has no number yet."""

    def needs_daemon(self, message):
        return False


class Lossy(Reference):
    """Thinks that the files lack the last record."""

    def entry_complaints(self, entries, tables):
        return super().entry_complaints([*entries][:-1], tables)


@pytest.mark.parametrize(
    "wrong, complaint",
    [
        (Endless, "answered FULL, expected"),
        (Forgetful, "the place should be another"),
        (Hasty, "no answer from the fast path"),
        (Lossy, "and the files end at"),
    ],
)
def test_a_wrong_reference_is_found_out(wrong, complaint, monkeypatch):
    monkeypatch.setattr(plugin, "reference", lambda _: SimpleNamespace(Reference=wrong, Actor=Actor))
    with pytest.raises(AssertionError, match=complaint):
        for seed in range(1, 20):
            play("log", VARIANTS[0], 4, seed, examples=10, shrink=False)


def test_every_example_has_an_empty_folder_and_the_first_epoch():
    built = build("log", VARIANTS[1])
    with Rig("fuzz") as rig, Server(rig, built) as server:
        stage = Stage(server, plugin.reference("log"), 1)
        for _ in range(2):
            stage.reset()
            assert [mark["epoch"] for mark in server.tables()["drained"]] == [1, 1] and list(server.entries()) == []
            with opened(server) as caller:
                assert caller.append("DISK", 1, 1, b"one").number == 1
            assert [entry["version"] for entry in server.entries()] == [1]
        folder = server.segments
        stage.close()
    assert not folder.exists()


# --- A client -----------------------------------------------------------------------------------------


class opened:
    """A LogCaller of a server, its session open for a block."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def __enter__(self) -> LogCaller:
        rig, built = self.server.rig, self.server.build
        self.connection = rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.connection.connect((rig.server.ipv4, built.protocol.port))
        self.caller = LogCaller(LogSession(built.codec), self.connection)
        self.caller.open(random.Random(1), built.capacities["session"])
        return self.caller

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def appended(caller: LogCaller, *record: Any) -> Place:
    """Where a record went, once there was room: each one waits for a slot of its own to be drained."""
    place: Place | None = None

    def is_appended() -> bool:
        nonlocal place
        place = caller.append(*record)
        return place is not None

    wait_until(is_appended, SETTLE_SECONDS, "room")
    return place


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Rig("log") as rig, Server(rig, build("log", VARIANTS[0])) as loaded:
        yield loaded


def test_memory_needs_no_daemon_until_the_buffer_is_full(server: Server):
    server.clear()
    server.start()
    with opened(server) as caller:
        assert caller.append("DISK", 7, 1, b"on disk") == Place(1, 0, 1)
        server.kill()
        slots = server.build.codec.SLOTS
        places = [caller.append("MEMORY", 7, 2 + at, b"in memory %d" % at) for at in range(slots)]
        assert places == [Place(1, 0, 2 + at) for at in range(slots)]
        assert caller.append("MEMORY", 7, 99, b"no room") is None and caller.append("DISK", 7, 99, b"no room") is None
        assert [entry["version"] for entry in server.entries()] == [1]
        server.start()
        assert appended(caller, "MEMORY", 7, 5, None) == Place(1, 0, slots + 2)
        assert appended(caller, "DISK", 8, 1, b"") == Place(1, 0, slots + 3)
        caller.close()
    server.stop()
    assert [(entry["number"], entry["key"], entry["version"]) for entry in server.entries()] == [
        (1, 7, 1),
        *((2 + at, 7, 2 + at) for at in range(slots)),
        (slots + 2, 7, 5),
        (slots + 3, 8, 1),
    ]
    rows = {int(row["key"]): (int(row["version"]), row["deletes"], row["length"]) for row in server.rows()}
    assert rows == {7: (5, "true", "0"), 8: (1, "false", "0")}


def test_what_waits_for_the_disk_is_answered_by_the_next_daemon(server: Server):
    server.clear()
    server.start()
    with opened(server) as caller:
        server.kill()
        session = caller.session
        caller._connection.send(session.append("DISK", 7, 1, b"later", caller.now_ns()))
        wait_until(lambda: server.cell("head", 0)["appended"] == 1, SETTLE_SECONDS, "its number")
        server.start()
        wait_until(lambda: server.cell("synced", 0)["number"] == 1, SETTLE_SECONDS, "it to be on the disk")
        assert Place.of(caller.call(session.again())) == Place(1, 0, 1)
        assert server.cell("head", 0)["appended"] == 1
    assert [entry["value"] for entry in server.entries()] == [
        b"later".ljust(server.build.codec.VALUE_SIZE, b"\0").hex()
    ]


def opened_session() -> LogSession:
    return invited.opened(LogSession(log_codec), 7, 1000, 0, 5)


def test_who_asks_for_the_disk_does_not_take_less():
    session = opened_session()
    request = session.append("DISK", 7, 1, b"value", 10)
    assert session.receive(invited.answer_to(log_codec, request, "APPENDED"), 20) is None and session.is_waiting
    assert session.receive(invited.answer_to(log_codec, request, "STORED", level=log_codec.Level.MEMORY), 20) is None
    assert Place.of(
        session.receive(invited.answer_to(log_codec, request, "STORED", epoch=1, log=2, number=3), 20)
    ) == Place(1, 2, 3)


@pytest.mark.parametrize(
    "changes", [{"key": 8}, {"version": 2}, {"transaction": 1}, {"deletes": True}, {"length": 4}, {"value": bytes(32)}]
)
def test_an_answer_about_another_record_is_none(changes):
    session = opened_session()
    request = session.append("MEMORY", 7, 1, b"value", 10)
    assert (
        session.receive(invited.answer_to(log_codec, request, "APPENDED", **changes), 20) is None and session.is_waiting
    )


def test_a_value_that_is_too_long():
    with pytest.raises(ValueError, match="a value of 33 bytes cannot be logged: the longest has 32"):
        opened_session().append("MEMORY", 7, 1, bytes(33), 10)


class LogServer(PlainServer):
    """Says places as the reference has them."""

    def complete(self, answer: Any) -> None:
        if answer.kind.name in ("APPENDED", "STORED"):
            account = self.reference.accounts[answer.client]
            again = account.sequence == answer.sequence
            answer.epoch, answer.log = 0, answer.client % 2 if not again else account.said.log
            answer.number = account.said.number if again else len(self.reference.logs[answer.log]) + 1


@pytest.mark.parametrize("seed", range(3))
def test_callers_over_a_faulty_link(seed):
    choose = random.Random(seed)
    with LogServer(Reference(log_codec, {"session": 64, "head": 16}), faults=0.2, seed=seed) as server:
        callers, places = [server.opened(LogCaller, LogSession(log_codec), choose) for _ in range(3)], []
        for version in range(1, 61):
            places.append(choose.choice(callers).append(choose.choice(["MEMORY", "DISK"]), 7, version, b"%d" % version))
        assert len(set(places)) == 60 and sum(caller.retry_count for caller in callers) > 0
        for version, place in enumerate(places, 1):
            assert server.reference.logs[place.log][place.number - 1].record.version == version
        for caller in callers:
            caller.close()
