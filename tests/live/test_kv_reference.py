"""The store's reference finds every wrong cell, and knows what the kernel can answer alone."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest

from generated.kv import kv_codec
from spec.kv.live.reference import Actor, Reference
from tests.live import invited

CAPACITIES = {"session": 3, "credential": 3, "answer": 3, "bucket": 2, "page": 1, "shelf": 1, "tail": 1}
SLOT, SECRET = 1, b"12345678"
SMALL = {"WAYS": 2, "PAGE_SIZE": 3, "SPOTS": 2, "FILTER_BITS": 8, "FILTERED": True, "WRITE_BACK": True}
VALUE = {"length": 1, "value": b"a".ljust(kv_codec.SLOT_SIZE, b"\0")}
LENGTH = kv_codec.SLOT_SIZE + 1
TAIL = {"length": LENGTH, "tail": b"b" * LENGTH}


def codec(**changes: object) -> Any:
    """A store of two buckets of two ways: odd keys are in the second."""
    hashes = {
        "hash_slot": lambda key: key % 2,
        "hash_bit": lambda key: key % 8,
        "hash_home": lambda slot: 0,
        "hash_shelf": lambda key: 0,
    }
    return SimpleNamespace(**vars(kv_codec) | SMALL | hashes | changes)


def message(kind: str, sequence: int, client: int = 1, **fields: object) -> Any:
    return kv_codec.Message(
        kind=kv_codec.Kind[kind],
        client=client,
        sequence=sequence,
        secret=kv_codec.TERMS if kind == "ASK" else SECRET,
        **fields,
    )


def execute(reference: Reference, kind: str, sequence: int, outcome: str, version: int = 0, **fields: object) -> None:
    """A request that has the right answer."""
    request = message(kind, sequence, **fields)
    assert outcome in reference.expect(request)
    assert reference.answered(request, message(outcome, sequence, version=version, **fields)) == []


def filled(**changes: object) -> Reference:
    """A store of one session with the keys 1, 3 and 5, of which 3 was updated and 7 deleted."""
    reference = Reference(codec(**changes), CAPACITIES)
    execute(reference, "ASK", 9, "INVITED")
    execute(reference, "OPEN", 10, "OPENED")
    execute(reference, "INSERT", 11, "INSERTED", 1, key=7, **VALUE)
    execute(reference, "DELETE", 12, "DELETED", 1, key=7)
    for sequence, key in ((13, 1), (14, 3), (15, 5)):
        execute(reference, "INSERT", sequence, "INSERTED", 2, key=key, **VALUE)
    execute(reference, "UPDATE", 16, "UPDATED", 3, key=3, **VALUE)
    return reference


def entry(version: int) -> dict[str, object]:
    return {"version": version, "length": 1, "spot": 0, "value": int.from_bytes(VALUE["value"], "little")}


def long_entry(version: int, spot: int = 2) -> dict[str, object]:
    return {"version": version, "length": LENGTH, "spot": spot, "value": 0}


def tables() -> dict[str, list[dict[str, object]]]:
    """The cells of `filled`: 5 is in the page alone, 3 in both, and newer in the bucket."""
    vacant = {"state": "Vacant", "sequence": 0, "outcome": "Open", "deadline": 0}
    session = {"state": "Idle", "sequence": 16, "outcome": "Updated", "deadline": 9}
    blank = {"version": 0, "length": 0, "spot": 0, "value": 0}
    empty = {"filter": frozenset(), "floor": 0, "marks": ("Empty",) * 2, "keys": (0, 0), "entries": (blank,) * 2}
    bucket = {
        "filter": frozenset({3, 5}),
        "floor": 1,
        "marks": ("Dirty", "Dirty"),
        "keys": (1, 3),
        "entries": (entry(2), entry(3)),
    }
    spilled = [
        {"mark": "Held", "bit": 5, "slot": SLOT, "key": 5, "entry": entry(2)},
        {"mark": "Vacant", "bit": 0, "slot": 0, "key": 0, "entry": blank},
        {"mark": "Held", "bit": 3, "slot": SLOT, "key": 3, "entry": entry(2)},
    ]
    shelf, tail = {"generation": 0, "taken": frozenset()}, {"bytes": (0, 0)}
    return {
        "credential": [{"secret": 0}, {"secret": int.from_bytes(SECRET, "little")}, {"secret": 0}],
        "session": [dict(vacant), session, dict(vacant)],
        "bucket": [empty, bucket],
        "page": [{"spilled": spilled}],
        "shelf": [shelf],
        "tail": [tail],
    }


def with_tail(**changes: object) -> tuple[Reference, dict[str, list[dict[str, object]]]]:
    """Adds a long value of key 2 in the second spot."""
    reference, cells = filled(**changes), tables()
    execute(reference, "INSERT", 17, "INSERTED", 1, key=2, **TAIL)
    cells["session"][1].update({"sequence": 17, "outcome": "Inserted"})
    cells["bucket"][0].update(
        {"marks": ("Dirty", "Empty"), "keys": (2, 0), "entries": (long_entry(1), cells["bucket"][0]["entries"][1])}
    )
    cells["shelf"][0]["taken"] = frozenset({1})
    cells["tail"][0]["bytes"] = (0, int.from_bytes(TAIL["tail"], "little"))
    return reference, cells


def test_right_cells():
    assert filled().complaints(tables()) == []
    reference, cells = with_tail()
    assert reference.complaints(cells) == []


@pytest.mark.parametrize(
    "table, change, complaint",
    [
        ("shelf", {"taken": frozenset()}, "spot 2 of shelf 0 is not taken, and key 2 has its tail there"),
        ("shelf", {"taken": frozenset({0, 1})}, "spot 1 of shelf 0 is taken, but no key owns it"),
        ("tail", {"bytes": (0, 5)}, "key 2 of bucket 0 is version 1 of 41 bytes"),
        ("bucket", {"entries": (long_entry(1, spot=1), entry(0))}, "spot 1 of shelf 0 is not taken"),
        ("bucket", {"entries": (long_entry(1, spot=0), entry(0))}, "spot 0 of shelf 0 is not taken"),
        (
            "bucket",
            {"keys": (2, 4), "marks": ("Dirty", "Dirty"), "entries": (long_entry(1),) * 2},
            "the keys [2, 4] have their tails in one spot, 2",
        ),
        ("bucket", {"marks": ("Gone", "Empty")}, "spot 2 of shelf 0 is taken, but no key owns it"),
    ],
)
def test_wrong_shelves(table, change, complaint):
    reference, cells = with_tail()
    cells[table][0].update(change)
    found = reference.complaints(cells)
    assert any(complaint in each for each in found), found


def test_an_older_value_in_the_page_has_no_spot():
    """It was replaced in the bucket, and its spot may be another's by now."""
    reference, cells = with_tail()
    cells["bucket"][0]["filter"] = frozenset({2})
    cells["page"][0]["spilled"][1].update(
        {"mark": "Held", "bit": 2, "slot": 0, "key": 2, "entry": long_entry(0, spot=1)}
    )
    assert reference.complaints(cells) == []
    cells["bucket"][0]["marks"] = ("Clean", "Empty")
    assert any("key 2 is Clean in bucket 0" in each for each in reference.complaints(cells))


@pytest.mark.parametrize(
    "change, complaint",
    [
        ({"keys": (1, 9)}, "key 3 of bucket 1 is version 2"),
        ({"marks": ("Empty", "Dirty")}, "key 1 of bucket 1 is not there and should be version 2"),
        ({"marks": ("Dirty", "Gone")}, "key 3 of bucket 1 is not there"),
        ({"marks": ("Dirty", "Empty")}, "key 3 of bucket 1 is version 2"),
        ({"marks": ("Dirty", "Clean")}, "key 3 is Clean in bucket 1"),
        ({"marks": ("Clean", "Dirty")}, "key 1 is Clean in bucket 1"),
        ({"entries": (entry(2), entry(4))}, "key 3 of bucket 1 is version 4"),
        ({"entries": (entry(2), entry(1))}, "the page has a newer one"),
        ({"entries": (entry(2) | {"length": 2}, entry(3))}, "of 2 bytes"),
        ({"keys": (3, 3)}, "the bucket 1 has key 3 twice"),
        ({"keys": (1, 2)}, "key 2 is in bucket 1, where it does not belong"),
        ({"floor": 0}, "bucket 1 has floor 0 and should have 1"),
        ({"filter": frozenset({3})}, "the filter of bucket 1 is {3}"),
        ({"filter": frozenset({3, 4, 5})}, "the filter of bucket 1 is {3, 4, 5}"),
    ],
)
def test_wrong_buckets(change, complaint):
    wrong = tables()
    wrong["bucket"][SLOT].update(change)
    found = filled().complaints(wrong)
    assert any(complaint in each for each in found), found


@pytest.mark.parametrize(
    "place, change, complaint",
    [
        (0, {"mark": "Vacant"}, "key 5 of bucket 1 is not there"),
        (0, {"mark": "Joining"}, "key 5 was left Joining in page 0"),
        (0, {"mark": "Leaving"}, "key 5 was left Leaving in page 0"),
        (0, {"key": 3, "bit": 3}, "the page of bucket 1 has key 3 twice"),
        (0, {"bit": 4}, "key 5 has bit 4 in page 0 and should have 5"),
        (0, {"slot": 0}, "key 5 is in page 0 for bucket 0, where it does not belong"),
        (0, {"entry": entry(1)}, "key 5 of bucket 1 is version 1"),
        (2, {"entry": entry(4)}, "the page has a newer one"),
    ],
)
def test_wrong_pages(place, change, complaint):
    wrong = copy.deepcopy(tables())
    wrong["page"][0]["spilled"][place].update(change)
    found = filled().complaints(wrong)
    assert any(complaint in each for each in found), found


def test_nothing_is_left_over_of_an_empty_store():
    """After a load nobody knows what was stored; sessions and contradictions are looked at all the same."""
    fresh, cells = Reference(codec(), CAPACITIES), tables()
    assert fresh.left_over(cells) == [
        "session 1 has a secret and should have none",
        "session 1 is Idle and should be Vacant",
    ]
    cells["session"][1]["state"], cells["credential"][1]["secret"] = "Vacant", 0
    assert fresh.left_over(cells) == []
    cells["page"][0]["spilled"][0]["mark"] = "Joining"
    assert fresh.left_over(cells) == ["key 5 was left Joining in page 0"]


@pytest.mark.parametrize(
    "kind, changes, expected",
    [
        ("GET", {"key": 5}, {"VALUE"}),
        ("GET", {"key": 5, "sequence": 3}, {"VALUE"}),  # nothing compares a read's number
        ("GET", {"key": 7}, {"MISSING"}),
        ("INSERT", {"key": 5}, {"EXISTS"}),
        ("INSERT", {"key": 9}, {"INSERTED"}),
        ("UPDATE", {"key": 5}, {"UPDATED"}),
        ("UPDATE", {"key": 9}, {"ABSENT"}),
        ("DELETE", {"key": 5}, {"DELETED"}),
        ("DELETE", {"key": 9}, {"ABSENT"}),
        ("UPDATE", {"key": 5, **TAIL}, {"UPDATED"}),
        ("UPDATE", {"key": 9, **TAIL}, {"ABSENT"}),
        ("UPDATE", {"key": 5, "length": kv_codec.VALUE_MAX + 1}, {"TOO_LONG"}),
        ("INSERT", {"key": 5, "sequence": 16}, {"UPDATED"}),  # sent again: the answer that it had
        ("INSERT", {"key": 9, "sequence": 18}, set()),
        ("INSERT", {"key": 9, "secret": bytes(8)}, set()),
        ("GET", {"key": 5, "client": 2}, set()),
        ("VALUE", {"key": 5}, set()),
    ],
)
def test_expected_answers(kind, changes, expected):
    reference = filled()
    reference.observe(tables())
    request = message(kind, 17)
    for name, value in changes.items():
        setattr(request, name, value)
    assert reference.expect(request) == expected


def test_no_room_only_where_the_page_is_full_and_needed():
    reference, cells = filled(), tables()
    cells["page"][0]["spilled"][1].update(cells["page"][0]["spilled"][0], slot=0)
    reference.observe(cells)
    assert reference.expect(message("INSERT", 17, key=11)) == {"INSERTED", "NO_ROOM"}
    assert reference.expect(message("UPDATE", 17, key=5)) == {"UPDATED", "NO_ROOM"}
    assert reference.expect(message("UPDATE", 17, key=3)) == {"UPDATED"}
    assert reference.expect(message("INSERT", 17, key=2)) == {"INSERTED"}


def test_no_room_where_the_shelf_is_full():
    reference, cells = with_tail()
    cells["shelf"][0]["taken"] = frozenset({0, 1})
    reference.observe(cells)
    for kind, key, done in (("INSERT", 4, "INSERTED"), ("UPDATE", 2, "UPDATED"), ("UPDATE", 3, "UPDATED")):
        assert reference.expect(message(kind, 18, key=key, **TAIL)) == {"NO_ROOM"}
        assert reference.expect(message(kind, 18, key=key, **VALUE)) == {done}
    assert reference.expect(message("INSERT", 18, key=2, **TAIL)) == {"EXISTS"}


@pytest.mark.parametrize(
    "kind, key, fields, needed",
    [
        ("GET", 2, {}, True),
        ("GET", 3, {}, False),
        ("UPDATE", 2, VALUE, True),
        ("UPDATE", 2, TAIL, True),
        ("UPDATE", 3, TAIL, True),
        ("UPDATE", 2, {"length": kv_codec.VALUE_MAX + 1}, False),
        ("DELETE", 2, {}, True),
        ("INSERT", 2, VALUE, True),
        ("INSERT", 3, VALUE, False),
        ("INSERT", 4, VALUE, False),
        ("INSERT", 4, TAIL, True),
        ("UPDATE", 4, TAIL, False),  # it is not there
    ],
)
def test_what_tails_need_the_daemon_for(kind, key, fields, needed):
    reference, cells = with_tail()
    reference.observe(cells)
    assert reference.needs_daemon(message(kind, 18, key=key, **fields)) == needed


def test_a_wrong_tail_is_found_out():
    reference, _ = with_tail()
    request = message("GET", 18, key=2)
    assert reference.answered(request, message("VALUE", 18, key=2, version=1, **TAIL)) == []
    for wrong in (
        {"tail": b"b" * (LENGTH - 1) + b"c"},
        {"length": LENGTH + 1, "tail": b"b" * (LENGTH + 1)},
        {"tail": b""},
    ):
        found = reference.answered(request, message("VALUE", 18, key=2, version=1, **TAIL | wrong))
        assert any("key 2 was read as" in each for each in found), found


@pytest.mark.parametrize(
    "kind, key, changes, needed",
    [
        ("GET", 3, {}, False),
        ("GET", 5, {}, True),
        ("GET", 7, {}, False),
        ("GET", 13, {}, True),  # it has the bit of another
        ("GET", 7, {"FILTERED": False}, True),
        ("UPDATE", 3, {}, False),
        ("UPDATE", 3, {"WRITE_BACK": False}, True),
        ("UPDATE", 7, {}, False),
        ("INSERT", 7, {}, True),  # no way is free
        ("INSERT", 2, {}, False),
        ("INSERT", 2, {"WRITE_BACK": False}, True),
    ],
)
def test_what_needs_the_daemon(kind, key, changes, needed):
    reference = filled(**changes)
    reference.observe(tables())
    assert reference.needs_daemon(message(kind, 17, key=key)) == needed


@pytest.mark.parametrize(
    "kind, answer, changes, complaint",
    [
        ("GET", "VALUE", {"version": 2}, "VALUE has version 2 of key 3, but should have 3"),
        ("GET", "VALUE", {"version": 3, "length": 2}, "key 3 was read as version 3 of 2 bytes"),
        ("GET", "VALUE", {"version": 3, "key": 1}, "the answer's key is 1"),
        ("UPDATE", "UPDATED", {"version": 5}, "UPDATED has version 5 of key 3, but should have 4"),
        ("DELETE", "DELETED", {"version": 4}, "DELETED has version 4 of key 3, but should have 3"),
        ("INSERT", "EXISTS", {"version": 2}, "EXISTS has version 2 of key 3, but should have 3"),
    ],
)
def test_wrong_answers(kind, answer, changes, complaint):
    fields = {"key": 3, **VALUE} | changes
    found = filled().answered(message(kind, 17, key=3, **VALUE), message(answer, 17, **fields))
    assert any(complaint in each for each in found), found


def test_an_answer_is_remembered_with_its_version():
    again = message("UPDATE", 16, key=3, **VALUE)
    assert filled().answered(again, message("UPDATED", 16, version=3, key=3, **VALUE)) == []
    assert (
        "came with version 3, but a repeated request got 4"
        in filled().answered(again, message("UPDATED", 16, version=4, key=3, **VALUE))[0]
    )


def test_a_write_that_waits_is_given_up_with_the_next():
    reference = filled()
    reference.observe(tables())
    assert reference.unanswered(message("UPDATE", 17, key=5, **VALUE))
    assert reference.expect(message("UPDATE", 17, key=5)) == {"UPDATED"}
    execute(reference, "DELETE", 18, "DELETED", 2, key=1)
    assert reference.expect(message("UPDATE", 17, key=5)) == set()


def test_silence_is_right_only_where_the_daemon_is_needed():
    reference = filled()
    reference.observe(tables())
    assert reference.unanswered(message("GET", 1, key=5))
    assert not reference.unanswered(message("GET", 1, key=3))
    assert not reference.unanswered(message("UPDATE", 17, key=3, **VALUE))


def test_what_only_the_server_says_may_be_forged():
    reference, kinds = filled(), set()
    for choice in range(60):
        forged = reference.forge(message("UPDATE", 17, key=5, **VALUE), choice)
        kinds.add("handed over" if forged.way or forged.epoch or forged.old else forged.kind.name)
        assert forged.encode()
    assert "handed over" in kinds and "VALUE" in kinds


def opened_actor() -> Actor:
    actor = Actor(codec(), CAPACITIES)
    invited.opened(actor.session, 1, 5, 0, 1)
    return actor


def test_an_actor_asks_for_everything():
    idle = {opened_actor().act(choice, 2)[0].split()[0] for choice in range(1000)}
    assert idle == {"Get", "Fetch", "Insert", "Update", "Delete", "Gather", "Renew", "Close"}
    tails = {len(kv_codec.Message.decode(opened_actor().act(choice, 2)[1]).tail) for choice in range(1000)}
    assert tails == {0, kv_codec.SLOT_SIZE + 1, kv_codec.VALUE_MAX - 1, kv_codec.VALUE_MAX}
    waiting = set()
    for choice in range(1000):
        actor = opened_actor()
        actor.act(7 * 20 + 15, 2)
        assert actor.session.is_waiting
        label, datagram = actor.act(choice, 3)
        waiting.add("giving up" if "giving up" in label else label.split()[-1])
        sent = kv_codec.Message.decode(datagram)
        assert (sent.client, sent.sequence) in ((1, 6), (1, 7))
        assert bool(actor.session.given_up) == ("giving up" in label)
    assert {"giving up", "again"} <= waiting
