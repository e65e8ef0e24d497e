"""The log's reference finds every wrong cell and entry, and knows what the kernel can answer alone."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest

from generated.log import log_codec
from spec.log.live.client import Place
from spec.log.live.reference import Actor, Record, Reference, Written

CAPACITIES = {"session": 3, "credential": 3, "answer": 3, "head": 2}
SECRET = b"12345678"
SLOTS = 2
VALUE = b"v".ljust(log_codec.VALUE_SIZE, b"\0")
codec: Any = SimpleNamespace(**vars(log_codec) | {"LOGS": 2, "SLOTS": SLOTS, "TAG_MODULUS": 8})


def message(kind: str, sequence: int, client: int = 1, level: str = "MEMORY", **fields: object) -> Any:
    about = {
        "client": client,
        "sequence": sequence,
        "secret": codec.TERMS if kind == "ASK" else SECRET,
        "level": codec.Level[level],
    } | fields
    if kind in ("APPEND", "APPENDED", "STORED"):
        about = {"transaction": sequence, "key": 7, "version": sequence, "length": 1, "value": VALUE} | about
    return codec.Message(kind=codec.Kind[kind], **about)


def place(log: int, number: int, epoch: int = 1) -> dict[str, int]:
    return {"epoch": epoch, "log": log, "number": number}


def execute(reference: Reference, kind: str, sequence: int, outcome: str, level: str = "MEMORY", **fields: int) -> None:
    """A request that has the right answer."""
    request = message(kind, sequence, level=level)
    assert outcome in reference.expect(request)
    assert reference.answered(request, message(outcome, sequence, level=level, **fields)) == []


def filled() -> Reference:
    """A session that has appended three records to log 1 and one to log 0, all on the disk, and one more to log 1 while
    the daemon is away.
    """
    reference = Reference(codec, CAPACITIES)
    reference.observe(tables(blank=True))
    execute(reference, "ASK", 9, "INVITED")
    execute(reference, "OPEN", 10, "OPENED")
    for sequence, (log, number) in enumerate([(1, 1), (1, 2), (0, 1)], 11):
        execute(reference, "APPEND", sequence, "APPENDED", **place(log, number))
        reference.observe(tables(synced=(sequence == 13, min(sequence - 10, 2))))
    execute(reference, "APPEND", 14, "STORED", level="DISK", **place(1, 3))
    assert reference.observe(tables(heads=(1, 3)))
    execute(reference, "APPEND", 15, "APPENDED", **place(1, 4))
    assert not reference.observe(tables())
    return reference


def cell(sequence: int) -> dict[str, object]:
    return {
        "transaction": sequence,
        "key": 7,
        "version": sequence,
        "deletes": False,
        "length": 1,
        "value": int.from_bytes(VALUE, "little"),
    }


def tables(
    blank: bool = False, heads: tuple[int, int] = (1, 4), synced: tuple[int, int] = (1, 3)
) -> dict[str, list[dict[str, Any]]]:
    """The cells of `filled`."""
    vacant = {"state": "Vacant", "sequence": 0, "outcome": "Open", "deadline": 0}
    session = {"state": "Idle", "sequence": 15, "outcome": "Appended", "deadline": 9}
    unused = {"transaction": 0, "key": 0, "version": 0, "deletes": False, "length": 0, "value": 0}
    marks = [{"epoch": 1, "number": 0 if blank else int(number)} for number in synced]
    nothing = {"tag": 0, "log": 0, "number": 0}
    return {
        "credential": [{"secret": 0}, {"secret": int.from_bytes(SECRET, "little")}, {"secret": 0}],
        "session": [dict(vacant), session, dict(vacant)],
        "answer": [dict(nothing), {"tag": 15 % 8, "log": 1, "number": 4}, dict(nothing)],
        "drained": copy.deepcopy(marks),
        "synced": marks,
        "head": [{"appended": 0 if blank else number} for number in heads],
        "record": [unused, cell(13), cell(15), cell(14)],
        "stamp": [{"number": number} for number in (0, 1, 4, 3)],
    }


def entries() -> list[dict[str, Any]]:
    """Returns the records of the files of `filled`."""
    places = [(1, 1, 11), (1, 2, 12), (0, 1, 13), (1, 3, 14)]
    return [place(log, number) | cell(sequence) | {"value": VALUE.hex()} for log, number, sequence in places]


def test_right_cells_and_entries():
    assert filled().complaints(tables()) == []
    assert filled().entry_complaints(entries(), tables()) == []
    # The last one was written, and the daemon died before it said so.
    more = [*entries(), place(1, 4) | cell(15) | {"value": VALUE.hex()}]
    assert filled().entry_complaints(more, tables()) == []


@pytest.mark.parametrize(
    "table, index, change, complaint",
    [
        ("head", 1, {"appended": 5}, "log 1 has 5 records and should have 4"),
        ("head", 0, {"appended": 0}, "log 0 has 0 records and should have 1"),
        ("drained", 1, {"number": 5}, "drained of log 1 is at 5, and there are 4 records"),
        ("synced", 1, {"number": 2}, "synced of log 1 was at 1.3 and is 1.2"),
        ("synced", 0, {"epoch": 2}, "synced of log 0 was at 1.1 and is 2.1"),
        ("stamp", 2, {"number": 2}, "slot 2 has the stamp 2 and should have 4"),
        ("stamp", 0, {"number": 2}, "slot 0 has the stamp 2 and should have 0"),
        ("record", 2, {"version": 1}, "slot 2 has transaction 15: version 1 of key 7"),
        ("record", 3, {"value": 1}, "slot 3 has transaction 14: version 14 of key 7, 1 bytes, 01"),
        ("record", 0, {"key": 1}, "slot 0 has transaction 0: version 0 of key 1"),
        ("answer", 1, {"number": 3}, "session 1 remembers {'tag': 7, 'log': 1, 'number': 3}"),
        ("answer", 1, {"tag": 6}, "and should remember {'tag': 7, 'log': 1, 'number': 4}"),
        ("session", 1, {"outcome": "Stored"}, "session 1 remembers Stored and should remember APPENDED"),
    ],
)
def test_wrong_cells(table, index, change, complaint):
    reference, wrong = filled(), tables()
    wrong[table][index].update(change)
    reference.observe(wrong)
    found = reference.complaints(wrong)
    assert any(complaint in each for each in found), found


@pytest.mark.parametrize(
    "change, complaint",
    [
        (lambda found: found.pop(1), "a file has 1.1.3 where 1.1.2 of 4 is next"),
        (lambda found: found.insert(1, found[0]), "a file has 1.1.1 where 1.1.2 of 4 is next"),
        (lambda found: found.pop(), "drained of log 1 is at 3, and the files end at 2"),
        (lambda found: found[2].update(epoch=2), "a file has 2.0.1 where 1.0.1"),
        (lambda found: found[3].update(key=8), "a file has transaction 14: version 14 of key 8"),
        (lambda found: found.append(found[2] | {"number": 2}), "a file has 1.0.2 where 1.0.2 of 1 is next"),
    ],
)
def test_wrong_entries(change, complaint):
    wrong = entries()
    change(wrong)
    found = filled().entry_complaints(wrong, tables())
    assert any(complaint in each for each in found), found


@pytest.mark.parametrize(
    "answer, fields, complaint",
    [
        (
            "APPENDED",
            place(1, 4),
            "appended as Place(epoch=1, log=1, number=4), and the next is Place(epoch=1, log=1, number=5)",
        ),
        ("APPENDED", place(0, 2, epoch=2), "and the next is Place(epoch=1, log=0, number=2)"),
        ("APPENDED", place(2, 1), "log 2 was answered, and there are 2"),
        ("APPENDED", place(0, 2) | {"version": 1}, "the answer has transaction 16: version 1 of key 7"),
        ("FULL", place(1, 0, epoch=0), "FULL came with the place Place(epoch=0, log=1, number=0)"),
    ],
)
def test_wrong_answers(answer, fields, complaint):
    reference = filled()
    assert reference.expect(message("APPEND", 16)) == {"APPENDED"}
    found = reference.wrong_answer(message("APPEND", 16), message(answer, 16, **fields))
    assert any(complaint in each for each in found), found


def test_what_comes_again_has_its_place():
    reference = filled()
    again = message("APPEND", 15)
    assert reference.expect(again) == {"APPENDED"}
    assert reference.answered(again, message("APPENDED", 15, **place(1, 4))) == []
    assert (
        "but a repeated request got Place(epoch=1, log=0, number=2)"
        in reference.answered(again, message("APPENDED", 15, **place(0, 2)))[0]
    )


def test_full_where_nothing_was_drained():
    reference = filled()
    execute(reference, "APPEND", 16, "APPENDED", **place(1, 5))
    assert reference.expect(message("APPEND", 17)) == {"APPENDED", "FULL"}  # of which log is the processor's to say
    found = reference.wrong_answer(message("APPEND", 17), message("APPENDED", 17, **place(1, 6)))
    assert "and number 4 of that slot has not been drained" in found[0]
    execute(reference, "APPEND", 17, "APPENDED", **place(0, 2))
    execute(reference, "APPEND", 18, "APPENDED", **place(0, 3))
    assert reference.expect(message("APPEND", 19)) == {"FULL"}


def test_what_waits_for_the_daemon_has_a_number():
    reference, request = filled(), message("APPEND", 16, level="DISK")
    assert reference.unanswered(request)
    assert not reference.unanswered(message("RENEW", 17))
    cells = tables(heads=(2, 4))
    reference.observe(cells)
    assert reference.expect(request) == {"STORED"} and reference.expect(message("APPEND", 17)) == set()
    assert reference.logs[0][-1] == Written(Record.of(request), 1, 16)
    wrong = reference.wrong_answer(request, message("STORED", 16, level="DISK", **place(1, 5)))
    assert wrong == [
        "the record at Place(epoch=1, log=0, number=2) was acknowledged as Place(epoch=1, log=1, number=5)"
    ]
    assert reference.answered(request, message("STORED", 16, level="DISK", **place(0, 2))) == []
    assert len(reference.logs[0]) == 2


def test_memory_needs_no_daemon():
    assert not filled().unanswered(message("APPEND", 16))


def test_a_client_that_was_told_anothers_place():
    reference, actor = filled(), Actor(codec, CAPACITIES)
    mine = reference.logs[1][3]
    actor.believed = {Place(1, 1, 4): mine}
    assert reference.broken_beliefs([actor], 0) == []
    actor.believed = {Place(1, 1, 3): mine, Place(1, 1, 9): mine, Place(2, 1, 4): mine}
    assert len(reference.broken_beliefs([actor], 0)) == 3


def test_nothing_is_left_over_when_all_is_on_the_disk():
    fresh, cells = Reference(codec, CAPACITIES), tables()
    assert fresh.left_over(cells) == [
        "session 1 has a secret and should have none",
        "session 1 is Idle and should be Vacant",
        "drained of log 1 is at 3, and 4 records were appended",
        "synced of log 1 is at 3, and 4 records were appended",
    ]
    cells["session"][1]["state"], cells["credential"][1]["secret"] = "Vacant", 0
    cells["drained"][1]["number"] = cells["synced"][1]["number"] = 4
    assert fresh.left_over(cells) == []
    cells["stamp"][3]["number"] = 1
    assert fresh.left_over(cells) == ["number 3 of log 1 was given, and slot 3 has the stamp 1"]
