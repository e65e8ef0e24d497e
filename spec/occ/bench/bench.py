"""Configures transactions in `just bench`: sizes, workloads, loads, and the targets.

bench.h and spec/kv/bench/bench_workload.h choose what a slot asks for. The numbers in a slot's state are in the order
of bench.h. Numbers that are drawn are keys, in the order in which they were inserted. Each client locks keys that
nobody else asks for, so a pair of lock and commit is two requests. The kill test and the demonstration cover
contention.
"""

from __future__ import annotations

from harness.bench.hand_written import HandWritten
from harness.bench.workload import Point, Scale, Workload, powers_of_8, uniform
from spec.kv.bench import bench as kv
from spec.lib.bench import session_bench

open_in_tables = session_bench.open_in_tables
open_by_messages = session_bench.open_by_messages

OVERRIDE = kv.OVERRIDE

KEYS = kv.KEYS
OWN = KEYS // 64  # keys of each client, of which there are at most 64 at a time
HOT_OWN = 4  # their buckets stay in the caches; a message locks so many at once


def _gets(keys: int) -> Workload:
    return Workload([0, 0, 0, 0, 0, 0], uniform(keys))


def _load(keys: int) -> Workload:
    return Workload([0, keys, 0, 0, 0, 0])


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
LOADS = (_load(KEYS),)

OUTCOMES = ("value", "missing", "granted", "settled", "inserted", "refused", "other")
EXPECTED_OUTCOMES = ("value", "missing", "granted", "settled", "inserted", "refused")

# Operations in one message, beside requests for one key. Half of them settle what the message before has locked.
GATHERED = (2, 4, 8)

# DINT's lock server for FaSST's protocol, which has as many locks as there are buckets: see docs/how-to/measure.md.
HAND_WRITTEN = (
    HandWritten(
        name="DINT",
        home="DINT_HOME",
        path="lock_fasst/ebpf/ls_kern.o",
        program="ls_xdp_main",
        requests="bench_dint.h",
        port=20230,
        payload_size=9,
        without=("gets", "gets hot"),
    ),
)

# Share of the reflector's rate, on one core.
TARGETS = {
    "lock, commit": {"of_reflector_min": 0.55},
    "lock, abort": {"of_reflector_min": 0.55},
    "gets": {"of_reflector_min": 0.40},
}


def _contended(keys: int) -> Workload:
    """All clients lock the same few keys, and abort.

    Versions stay as they are, so locks are refused only because of contention.
    """
    return Workload([0, 0, 0, keys, keys, 1])


SCALES = {
    "table size": Scale(
        "buckets",
        "",
        True,
        "A table that outgrows the caches costs a miss for each request, and further on the walk to its page.",
        [
            Point(
                f"2^{size.bit_length() - 1}", size, _gets(kv.keys_of(size)), kv.sized(size), (_load(kv.keys_of(size)),)
            )
            for size in powers_of_8()
        ],
    ),
    "contention": Scale(
        "share of locks that are refused",
        "",
        False,
        "The fewer keys there are for 64 clients, the more of their locks find one held.",
        [
            Point(
                f"{keys:,} keys",
                0,
                _contended(keys),
                kv.sized(kv.SMALL_BUCKETS),
                (_load(kv.keys_of(kv.SMALL_BUCKETS)),),
            )
            for keys in (1 << 16, 1024, 256, 128, 64, 32, 16, 8)
        ],
        measured=(("refused",), ("granted", "refused")),
    ),
}
