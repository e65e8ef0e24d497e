"""The reference finds every wrong cell."""

from __future__ import annotations

import copy

import pytest

from generated.lock import lock_codec as codec
from spec.lock.live.reference import Actor, Reference
from tests.live import invited

CAPACITIES = {"session": 3, "credential": 3, "lock": 2, "overflow": 3}
SLOT = 1
SECRET = b"12345678"


class Small(Reference):
    """All lock ids are in one cell."""

    def slot(self, lock: int) -> int:
        return SLOT


def message(kind: str, sequence: int, **fields: object) -> codec.Message:
    return codec.Message(
        kind=codec.Kind[kind], client=1, sequence=sequence, secret=codec.TERMS if kind == "ASK" else SECRET, **fields
    )


def execute(reference: Reference, kind: str, sequence: int, outcome: str, **fields: object) -> None:
    request = message(kind, sequence, **fields)
    assert outcome in reference.expect(request)
    assert reference.answered(request, message(outcome, sequence, **fields)) == []


def holding() -> Reference:
    """A server with one session, which has two shares of a lock, one of them spilled."""
    reference = Small(codec, CAPACITIES)
    execute(reference, "ASK", 4, "INVITED")
    execute(reference, "OPEN", 5, "OPENED")
    execute(reference, "ACQUIRE", 6, "GRANTED", lock=1, mode=codec.Mode.SHARED)
    execute(reference, "ACQUIRE", 7, "GRANTED", lock=1, mode=codec.Mode.SHARED)
    return reference


def tables() -> dict[str, list[dict[str, object]]]:
    """The cells of `holding`."""
    vacant = {"state": "Vacant", "sequence": 0, "outcome": "Open", "deadline": 0}
    free = {"mode": "Free", "holders": frozenset(), "spilled": 0}
    entry = {"state": "Vacant", "client": 0, "slot": 0}
    locks = [dict(free)] * SLOT + [{"mode": "Shared", "holders": frozenset({1}), "spilled": 1}]
    session = {"state": "Idle", "sequence": 7, "outcome": "Granted", "deadline": 9}
    return {
        "credential": [{"secret": 0}, {"secret": int.from_bytes(SECRET, "little")}, {"secret": 0}],
        "session": [dict(vacant), session, dict(vacant)],
        "lock": locks,
        "overflow": [dict(entry), {"state": "Held", "client": 1, "slot": SLOT}, dict(entry)],
    }


def test_right_cells():
    assert holding().complaints(tables()) == []


@pytest.mark.parametrize(
    "table, index, change, complaint",
    [
        ("credential", 1, {"secret": 1}, "session 1 has another secret than its client"),
        ("credential", 2, {"secret": 1}, "session 2 has a secret and should have none"),
        ("lock", SLOT, {"mode": "Exclusive"}, "is Exclusive and should be SHARED"),
        ("lock", SLOT, {"mode": "Free"}, "is Free and should be SHARED"),
        ("lock", SLOT, {"holders": frozenset()}, "keeps the shares"),
        ("lock", SLOT, {"holders": frozenset({1, 2})}, "keeps the shares"),
        ("lock", SLOT, {"spilled": 2}, "counts 2 spilled shares, there are 1"),
        ("overflow", 1, {"state": "Vacant"}, "keeps the shares"),
        ("overflow", 1, {"client": 2}, "keeps the shares"),
        ("overflow", 2, {"state": "Joining"}, "was left Joining"),
        ("overflow", 2, {"state": "Leaving"}, "was left Leaving"),
        ("session", 1, {"state": "Busy"}, "is Busy and should be Idle"),
        ("session", 1, {"state": "Forwarded"}, "is Forwarded and should be Idle"),
        ("session", 1, {"sequence": 6}, "is at request 6 and should be at 7"),
        ("session", 1, {"outcome": "Rejected"}, "remembers Rejected"),
        ("session", 2, {"state": "Idle"}, "is Idle and should be Vacant"),
    ],
)
def test_wrong_cells(table, index, change, complaint):
    wrong = copy.deepcopy(tables())
    wrong[table][index].update(change)
    assert any(complaint in each for each in holding().complaints(wrong)), holding().complaints(wrong)


@pytest.mark.parametrize(
    "kind, changes, expected",
    [
        ("RELEASE", {"sequence": 8, "lock": 1}, {"RELEASED"}),
        ("RELEASE", {"sequence": 7, "lock": 1}, {"GRANTED"}),  # sent again: the answer that it had
        ("RELEASE", {"sequence": 9, "lock": 1}, set()),
        ("RELEASE", {"sequence": 6, "lock": 1}, set()),
        ("RELEASE", {"sequence": 8, "lock": 1, "secret": bytes(8)}, set()),
        ("GRANTED", {"sequence": 8, "lock": 1}, set()),
        ("OPEN", {"sequence": 1}, {"TAKEN"}),
        ("OPEN", {"sequence": 1, "client": 2}, {"OPENED"}),
        ("OPEN", {"sequence": 1, "client": 2, "secret": bytes(8)}, {"UNINVITED"}),
        ("OPEN", {"sequence": 1, "secret": bytes(8)}, {"TAKEN"}),
        ("ASK", {"sequence": 1}, {"INVITED"}),
        ("ASK", {"sequence": 1, "client": 2}, {"INVITED"}),
        ("ASK", {"sequence": 1, "secret": bytes(8)}, {"OTHER_TERMS"}),
        ("CLOSE", {"sequence": 8}, {"CLOSED"}),
        ("ACQUIRE", {"sequence": 8, "lock": 1, "mode": codec.Mode.FREE}, {"REJECTED"}),
        ("ACQUIRE", {"sequence": 8, "lock": 1, "mode": codec.Mode.EXCLUSIVE}, {"GRANTED"}),
    ],
)
def test_expected_answers(kind, changes, expected):
    request = message(kind, 0)
    for name, value in changes.items():
        setattr(request, name, value)
    assert holding().expect(request) == expected


def test_exclusive_until_the_last_share():
    reference = holding()
    execute(reference, "ACQUIRE", 8, "GRANTED", lock=1, mode=codec.Mode.EXCLUSIVE)
    for sequence in (9, 10):
        execute(reference, "RELEASE", sequence, "RELEASED", lock=1)
        assert SLOT in reference.exclusive
    execute(reference, "RELEASE", 11, "RELEASED", lock=1)
    assert SLOT not in reference.exclusive
    assert reference.expect(message("RELEASE", 12, lock=1)) == {"REJECTED"}


def test_belief_without_a_share():
    actor = Actor(codec, CAPACITIES)
    session = actor.session
    invited.opened(session, 1, 5, 0, 1)
    session.acquire(1, "SHARED", 2)
    session.receive(message("GRANTED", 6, lock=1, mode=codec.Mode.SHARED).encode(), 3)
    assert holding().broken_beliefs([actor], 4) == []
    assert "the server has fewer" in Small(codec, CAPACITIES).broken_beliefs([actor], 4)[0]


def test_sweep_is_followed():
    reference, cells = holding(), tables()
    _, writes = reference.elapse(1, [], cells)
    assert [(table, index) for table, index, _ in writes] == [("session", 1)]
    assert not reference.observe(cells)
    cells["session"][1]["state"] = "Vacant"
    assert reference.observe(cells) and not reference.shares[SLOT]
