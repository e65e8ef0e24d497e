"""The store in `just fill`: its sizes for a number of keys, and its requests. fill.h has what a slot asks for."""

from __future__ import annotations

from typing import Any

from harness.bench.workload import Workload
from spec.lib import session_bench

open_by_messages = session_bench.open_by_messages

KEYS = 10_000_000
KEYS_OF_BUCKET = 2
KEYS_OF_PAGE = 4
OUTCOMES = ("right", "wrong", "missing", "unchanged", "no room", "begins")
WRONG_WORD = 4  # of a slot's state: the first key that was not as it had to be
CHANGED = 4  # every fourth key is updated
STRIDE = 1_000_003  # a prime: keys are not read in the order in which they were inserted
INSERT, UPDATE, GET = range(3)
COUNT = 1  # of the parameters: how many requests there are


def override(keys: int) -> dict[str, Any]:
    """A session that only reads is not extended by that, and is to last for all of it."""
    capacities = {"bucket": keys / KEYS_OF_BUCKET, "page": keys / KEYS_OF_PAGE}
    return {
        "constants": {"Lease": 1_000_000},
        "tables": {table: {"capacity": max(int(capacity), 1)} for table, capacity in capacities.items()},
    }


def inserts(keys: int) -> Workload:
    return Workload([INSERT, keys, 1, 1, 0])


def changes(keys: int) -> Workload:
    return Workload([UPDATE, -(-keys // CHANGED), CHANGED, 1, CHANGED])


def reads(keys: int, changed: bool) -> Workload:
    return Workload([GET, keys, 1, STRIDE, CHANGED if changed else 0])
