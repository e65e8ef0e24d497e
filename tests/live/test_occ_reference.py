"""The reference of transactions finds every wrong cell, and follows what the sweep settles."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest

from generated.occ import occ_codec
from spec.occ.live.reference import Reference

CAPACITIES = {
    "session": 3,
    "credential": 3,
    "answer": 3,
    "bucket": 2,
    "page": 1,
    "shelf": 1,
    "tail": 1,
    "transaction": 3,
    "intent": 12,
}
SECRET = b"12345678"
SMALL = {"WAYS": 2, "PAGE_SIZE": 3, "SPOTS": 2, "FILTER_BITS": 8}
HASHES = {
    "hash_slot": lambda key: key % 2,
    "hash_bit": lambda key: key % 8,
    "hash_home": lambda slot: 0,
    "hash_shelf": lambda key: 0,
}
CODEC = SimpleNamespace(**vars(occ_codec) | SMALL | HASHES)
"""A store of two buckets of two ways: odd keys are in the second."""
CLIENT = 1
VALUE = {"length": 1, "value": b"a".ljust(occ_codec.SLOT_SIZE, b"\0")}
STORED = int.from_bytes(VALUE["value"], "little")


def message(kind: str, sequence: int, **fields: object) -> Any:
    return occ_codec.Message(
        kind=occ_codec.Kind[kind],
        client=CLIENT,
        sequence=sequence,
        secret=occ_codec.TERMS if kind == "ASK" else SECRET,
        **fields,
    )


def locked() -> tuple[Reference, dict[str, list[dict[str, Any]]]]:
    """A session with key 1, which it has locked to write it, and with key 3, which is to come; and the cells that say
    so.
    """
    reference = Reference(CODEC, CAPACITIES)
    steps = [
        ("ASK", "INVITED", {}, 0),
        ("OPEN", "OPENED", {}, 0),
        ("INSERT", "INSERTED", {"key": 1, **VALUE}, 1),
        ("LOCK", "GRANTED", {"key": 1, "version": 1, "place": 2, **VALUE}, 1),
        ("LOCK", "GRANTED", {"key": 3, "place": 0, **VALUE}, 0),
    ]
    for sequence, (kind, outcome, fields, version) in enumerate(steps, 9):
        request = message(kind, sequence, **fields)
        assert outcome in reference.expect(request)
        assert reference.answered(request, message(outcome, sequence, **{**fields, "version": version})) == []
    blank = {"version": 0, "length": 0, "spot": 0, "value": 0}
    entry = {"version": 1, "length": 1, "spot": 0, "value": STORED}
    bucket = {
        "filter": frozenset(),
        "floor": 0,
        "marks": ("Dirty", "Gone"),
        "keys": (1, 3),
        "entries": (entry, blank),
        "pinned": frozenset({0, 1}),
    }
    empty = {**bucket, "marks": ("Empty",) * 2, "keys": (0, 0), "entries": (blank,) * 2, "pinned": frozenset()}
    vacant = {"state": "Vacant", "sequence": 0, "outcome": "Open", "deadline": 0}
    intent = {"slot": 0, "bit": 0, "deletes": False, "length": 0, "value": 0}
    intents = [dict(intent) for _ in range(12)]
    intents[6] |= {"slot": 1, "bit": 1, "length": 1, "value": STORED}
    intents[4] |= {"slot": 1, "bit": 3, "length": 1, "value": STORED}
    nothing = {"verdict": "Open", "ways": (0, 0, 0, 0)}
    cells = {
        "credential": [{"secret": 0}, {"secret": int.from_bytes(SECRET, "little")}, {"secret": 0}],
        "session": [dict(vacant), {"state": "Idle", "sequence": 13, "outcome": "Granted", "deadline": 9}, dict(vacant)],
        "bucket": [empty, bucket],
        "page": [{"spilled": [{"mark": "Vacant", "bit": 0, "slot": 0, "key": 0, "entry": blank}] * 3}],
        "shelf": [{"generation": 0, "taken": frozenset()}],
        "tail": [{"bytes": (0, 0)}],
        "transaction": [dict(nothing), {"verdict": "Open", "ways": (2, 0, 1, 0)}, dict(nothing)],
        "intent": intents,
    }
    return reference, cells


def test_right_cells():
    reference, cells = locked()
    assert reference.complaints(cells) == []


@pytest.mark.parametrize(
    "table, index, change, complaint",
    [
        ("bucket", 1, {"pinned": frozenset({1})}, "key 1 is locked at place 2 of session 1, and not pinned"),
        ("bucket", 1, {"pinned": frozenset({1})}, "place 2 of session 1 has a way of bucket 1 that is not pinned"),
        ("bucket", 1, {"keys": (1, 2)}, "key 2 of bucket 1 is pinned, but no session has locked it"),
        ("bucket", 0, {"pinned": frozenset({0})}, "way 1 of bucket 0, which is Empty, is pinned by 0 places"),
        ("bucket", 1, {"marks": ("Dirty", "Empty")}, "way 2 of bucket 1, which is Empty, is pinned by 1 places"),
        ("transaction", 1, {"ways": (1, 0, 1, 0)}, "way 1 of bucket 1, which is Dirty, is pinned by 2 places"),
        ("transaction", 1, {"ways": (0, 0, 1, 0)}, "way 2 of bucket 1, which is Gone, is pinned by 0 places"),
        (
            "transaction",
            1,
            {"ways": (0, 0, 1, 0)},
            "the transaction of session 1 is Open with places [2] and should be Open with places [0, 2]",
        ),
        (
            "transaction",
            1,
            {"verdict": "Aborted"},
            "the transaction of session 1 is Aborted with places [0, 2] and should be Open",
        ),
        ("transaction", 2, {"ways": (0, 1, 0, 0)}, "place 1 of session 2 has a way of bucket 0 that is not pinned"),
        ("intent", 6, {"deletes": True}, "the intent of place 2 of session 1 says {'deletes': True}"),
        ("intent", 4, {"slot": 0}, "place 0 of session 1 has a way of bucket 0 that is not pinned"),
        ("session", 1, {"state": "Vacant"}, "key 1 of bucket 1 is locked by session 1, which is no more"),
    ],
)
def test_wrong_cells(table, index, change, complaint):
    reference, cells = locked()
    cells[table][index].update(change)
    found = reference.complaints(cells)
    assert any(complaint in each for each in found), found


@pytest.mark.parametrize(
    "kind, fields, outcomes",
    [
        ("LOCK", {"key": 1, "version": 1, "place": 1}, {"CONFLICT"}),
        ("LOCK", {"key": 5, "place": 2}, {"REFUSED"}),
        ("LOCK", {"key": 5, "place": 1}, {"CONFLICT"}),  # all ways are pinned
        ("LOCK", {"key": 2, "place": 1}, {"GRANTED"}),
        ("LOCK", {"key": 2, "version": 1, "place": 1}, {"CONFLICT"}),
        ("LOCK", {"key": 2, "place": 1, "length": occ_codec.SLOT_SIZE + 1}, {"TOO_LONG"}),
        ("COMMIT", {"place": 0}, {"COMMITTED"}),
        ("COMMIT", {"place": 1}, {"REFUSED"}),
        ("ABORT", {"place": 1}, {"ABORTED"}),
        ("UPDATE", {"key": 1, **VALUE}, {"LOCKED"}),
        ("INSERT", {"key": 5, **VALUE}, {"LOCKED"}),
        ("DELETE", {"key": 5}, {"ABSENT"}),
        ("GET", {"key": 3}, {"MISSING"}),
    ],
)
def test_outcomes(kind, fields, outcomes):
    reference, cells = locked()
    reference.observe(cells)
    asked = message(kind, 14, **fields)
    assert reference.expect(asked) == outcomes
    assert not reference.needs_daemon(asked)


@pytest.mark.parametrize(
    "kind, fields, said, complaint",
    [
        (
            "COMMIT",
            {"place": 2, "key": 1},
            {"kind": "COMMITTED", "version": 1},
            "COMMITTED has version 1 of key 1, but should have 2",
        ),
        (
            "COMMIT",
            {"place": 0, "key": 3},
            {"kind": "COMMITTED", "version": 1, "key": 1},
            "has locked key 3, and key 1 was committed",
        ),
        ("LOCK", {"key": 1, "place": 1}, {"kind": "CONFLICT", "version": 0}, "CONFLICT has version 0 of key 1"),
        ("GET", {"key": 1}, {"kind": "VALUE", "version": 1, **VALUE}, "key 1 was read as not locked"),
        ("GET", {"key": 5}, {"kind": "MISSING", "locked": True}, "key 5 was read as locked"),
        ("GET", {"key": 5}, {"kind": "MISSING", "version": 4}, "MISSING has version 4 of key 5, but should have 0"),
    ],
)
def test_wrong_answers(kind, fields, said, complaint):
    reference, cells = locked()
    reference.observe(cells)
    answer = message(said["kind"], 14, **{**fields, **{name: value for name, value in said.items() if name != "kind"}})
    found = reference.answered(message(kind, 14, **fields), answer)
    assert any(complaint in each for each in found), found


@pytest.mark.parametrize("commits", [True, False])
def test_the_sweep_goes_on_as_was_decided(commits):
    """Half of it is settled when the daemon dies, the rest when the session is no more."""
    reference, cells = locked()
    if commits:
        request = message("COMMIT", 14, place=2, key=1)
        assert reference.answered(request, message("COMMITTED", 14, place=2, key=1, version=2)) == []
    account = reference.accounts[CLIENT]
    account.is_closing = True
    holding, half = reference.holdings[CLIENT], copy.deepcopy(cells)
    half["session"][1] |= {
        "state": "Closing",
        "sequence": account.sequence,
        "outcome": "Committed" if commits else "Granted",
    }
    half["transaction"][1] |= {
        "verdict": "Committed" if commits else "Aborted",
        "ways": (2, 0, 0, 0) if commits else (0, 0, 1, 0),
    }
    bucket = half["bucket"][1]
    if commits:
        bucket["pinned"], bucket["entries"] = (
            frozenset({1}),
            ({**bucket["entries"][0], "version": 2}, bucket["entries"][1]),
        )
    else:
        bucket["pinned"], bucket["marks"] = frozenset({0}), ("Dirty", "Empty")
    assert not reference.observe(half) and reference.meets_sweep(request if commits else None)
    assert reference.complaints(half) == [] and len(holding.places) == 1
    done = copy.deepcopy(half)
    done["session"][1]["state"], done["credential"][1]["secret"] = "Vacant", 0
    done["transaction"][1] |= {"verdict": "Open", "ways": (0, 0, 0, 0)}
    done["bucket"][1]["pinned"] = frozenset()
    if commits:
        entry = {**bucket["entries"][0], "version": 1}
        done["bucket"][1] |= {"marks": ("Dirty", "Dirty"), "entries": (bucket["entries"][0], entry)}
    assert reference.observe(done)
    assert reference.complaints(done) == []
    assert sorted(reference.entries) == ([1, 3] if commits else [1])
