"""Transactions in `just bench`: sizes, workloads, what is loaded before, and what is promised.

What a slot asks for is in bench.h and ../kv/bench_workload.h. The numbers in a slot's state are in the order that bench.h
names. Numbers that are drawn are keys in the order in which they were inserted. Locks are of keys that nobody else asks for,
so that a pair is two requests: contention is what the kill test and the demonstration are for.
"""

from __future__ import annotations

from harness.bench.workload import Workload, uniform
from spec.kv import bench as kv
from spec.lib import session_bench

open_in_tables = session_bench.open_in_tables
open_by_messages = session_bench.open_by_messages

OVERRIDE = kv.OVERRIDE

KEYS = kv.KEYS
OWN = KEYS // 64  # of each client, where no more than 64 are there at a time
HOT_OWN = 1  # its bucket stays in the caches


def _gets(keys: int) -> Workload:
    return Workload([0, 0, 0, 0, 0, 0], uniform(keys))


def _locks(own: int, aborts: bool) -> Workload:
    return Workload([0, 0, 0, own, KEYS, int(aborts)])


WORKLOADS = {
    "lock, commit": _locks(OWN, False),
    "lock, abort": _locks(OWN, True),
    "lock, commit hot": _locks(HOT_OWN, False),
    "lock, abort hot": _locks(HOT_OWN, True),
    "gets": _gets(KEYS),
    "gets hot": _gets(kv.HOT_KEYS),
}
LOADS = (Workload([0, KEYS, 0, 0, 0, 0]),)

OUTCOMES = ("value", "missing", "granted", "settled", "inserted", "refused", "other")
EXPECTED_OUTCOMES = ("value", "missing", "granted", "settled", "inserted", "refused")

# Share of the reflector's rate, on one core.
TARGETS = {
    "lock, commit": {"of_reflector_min": 0.55},
    "lock, abort": {"of_reflector_min": 0.55},
    "gets": {"of_reflector_min": 0.40},
}
