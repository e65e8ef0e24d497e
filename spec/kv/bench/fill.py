"""Configures the store in `just fill`: sizes for a number of keys, and requests. fill.h chooses what slots ask."""

from __future__ import annotations

from typing import Any

from harness.bench.workload import Workload
from spec.lib.bench import session_bench

open_by_messages = session_bench.open_by_messages

KEYS = 10_000_000
# A full page refuses keys, and chance decides how full the fullest page gets. With two keys to a bucket, a run with a
# million keys refuses an update now and then.
KEYS_OF_BUCKET = 1.5
KEYS_OF_PAGE = 4
OUTCOMES = ("right", "wrong", "missing", "unchanged", "no room", "begins")
WRONG_WORD = 4  # index into a slot's state: the first key with a wrong answer
CHANGED = 4  # every fourth key is updated
STRIDE = 1_000_003  # a prime, so that keys are not read in the order in which they were inserted
INSERT, UPDATE, GET = range(3)
COUNT = 1  # index into the parameters: the number of requests


def override(keys: int) -> dict[str, Any]:
    """The override for this many keys. Reads do not extend a lease, so it must last for the whole run."""
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
