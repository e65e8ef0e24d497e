"""M5: one session of the lock took all overflow entries, so the fourth sharer of every other lock was refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from harness.rig.netns import Rig
from tests.security import locks

ENTRIES = 16_383
OTHERS = 5  # sharers of one lock: three fit its cell


@pytest.fixture
def rig() -> Iterator[Rig]:
    with Rig("m5") as made:
        yield made


def test_one_session_leaves_room_for_others(rig: Rig) -> None:
    """Each lock beyond the first of a cell takes an entry, so that one client asks for all there are."""
    with locks.serving(rig, locks.built(Lease=1_000_000)) as server, ExitStack() as stack:
        greedy = locks.opened(stack.enter_context(locks.caller(server)), 0, patience_seconds=20)
        cells = server.build.capacities["lock"]
        wanted = range(1, ENTRIES + cells + 1)
        granted = [lock for lock in wanted if greedy.acquire(lock, "SHARED")]
        refused_at = len(granted)
        owners = Counter(entry["client"] for entry in server.tables()["overflow"] if entry["state"] != "Vacant")
        others = [
            locks.opened(stack.enter_context(locks.caller(server)), seed, patience_seconds=20)
            for seed in range(1, OTHERS + 1)
        ]
        shared = [other.acquire(10**6, "SHARED") for other in others]
        assert all(shared), (
            f"with {owners[greedy.session.number]} entries of {ENTRIES} one session's, sharers of another lock are "
            f"answered {shared}"
        )
        limit = server.build.codec.MAX_OWNED
        assert owners == {greedy.session.number: limit}, "it has what it may have"
        assert refused_at <= limit + cells

        # What it gives back it may have again, and others' bounds are their own.
        # (The first share of a cell is in the cell, and goes first.)
        slot_of = server.build.codec.hash_slot
        together = [lock for lock in granted if slot_of(lock) == slot_of(granted[0])]
        again = next(10**6 + at for at in range(1, 1000) if slot_of(10**6 + at) == slot_of(together[-1]))
        assert not greedy.acquire(again, "SHARED")
        assert greedy.release(together[0]) and greedy.release(together[1])
        assert (
            greedy.acquire(again, "SHARED")
            and greedy.acquire(together[0], "SHARED")
            and not greedy.acquire(together[1], "SHARED")
        )
        assert all(other.acquire(10**6 + 2, "SHARED") for other in others)
