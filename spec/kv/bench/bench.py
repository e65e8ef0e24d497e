"""Configures the store in `just bench`: sizes, workloads, loads, the rival, and the targets.

bench.h and bench_workload.h choose what a slot asks for. The numbers in a slot's state are in the order of bench.h.
Numbers that are drawn are keys, in the order in which they were inserted.
"""

from __future__ import annotations

from harness.bench.hand_written import HandWritten
from harness.bench.workload import Numbers, Point, Scale, Workload, mixed, powers_of_8, uniform, zipf
from spec.kv.bench.bench_memcached import Memcached
from spec.lib.bench import session_bench

open_in_tables = session_bench.open_in_tables
open_by_messages = session_bench.open_by_messages

KEYS = 2_000_000
BUCKETS = 9_000_000
HOT_KEYS = 128  # their buckets stay in the caches
EXISTING = 0.31  # share of the keys asked for that exist, as in TATP's largest table

# Crowded buckets: GROUPS of them, each with twice as many keys as the bucket has ways, so half of them are in pages.
CROWDED = 1 << 40
GROUPS = 32_768
GROUP_KEYS = 8

OVERRIDE = {"tables": {"bucket": {"capacity": BUCKETS}, "page": {"capacity": 262_144}}}

UPDATES_OF_1024 = 205  # 20 %

ALL = uniform(KEYS)


def _workload(updates_of_1024: int, numbers: Numbers) -> Workload:
    return Workload([updates_of_1024, 0, 0], numbers)


def _load(count: int, first: int = 0) -> Workload:
    return Workload([0, count, first])


WORKLOADS = {
    "80/20": _workload(UPDATES_OF_1024, ALL),
    "gets": _workload(0, ALL),
    "80/20 31% existing": _workload(UPDATES_OF_1024, uniform(round(KEYS / EXISTING))),
    "80/20 zipf": _workload(UPDATES_OF_1024, zipf(KEYS, 0.99)),
    "80/20 hot": _workload(UPDATES_OF_1024, uniform(HOT_KEYS)),
}
LOADS = (_load(KEYS),)

# Workloads by the share of requests that need the rare path. Half of the keys in crowded buckets are spilled, so twice
# as many requests ask for those keys.
RARE_PATH = {
    f"{share} %": _workload(
        UPDATES_OF_1024, mixed((1 - share / 50, ALL), (share / 50, uniform(GROUPS * GROUP_KEYS, CROWDED)))
    )
    for share in (0, 2, 18, 50)
}
RARE_PATH_LOADS = (*LOADS, _load(GROUPS * GROUP_KEYS, CROWDED))

OUTCOMES = ("value", "missing", "updated", "absent", "inserted", "refused", "other")
EXPECTED_OUTCOMES = ("value", "missing", "updated", "absent", "inserted", "refused")

RIVALS = (Memcached,)

# DINT's store (NSDI '24), which has as many buckets of as many ways: see docs/how-to/measure.md.
HAND_WRITTEN = (
    HandWritten(
        name="DINT",
        home="DINT_HOME",
        path="store/ebpf/store_kern.o",
        program="tps_prim_xdp_main",
        requests="bench_dint.h",
        port=20230,
        payload_size=53,
        without=("80/20 31% existing",),  # for most missing keys its filter asks the daemon
    ),
)

# Operations in one message, beside requests for one key.
GATHERED = (1, 4, 8, 16)

# Issue 3. The programs have one core; for the rare path the daemon has a second one.
TARGETS = {
    "80/20": {"of_reflector_min": 0.40, "times_kernel_udp_min": 15, "times_memcached_min": 12},
    "80/20 31% existing": {"of_80_20_min": 1.0},
    "80/20 hot": {"ns_over_reflector_max": 50},
}
RARE_PATH_TARGETS = {"18 %": {"of_0_min": 0.25}}

# Each ablation takes one feature from the store, with the sizes above. A store that is written through keeps all
# entries in pages.
ABLATION_WORKLOADS = {
    **{name: WORKLOADS[name] for name in ("80/20", "gets", "80/20 31% existing", "80/20 hot")},
    # Some keys of a crowded bucket are asked for more often than others.
    "80/20 crowded zipf": _workload(UPDATES_OF_1024, zipf(GROUPS * GROUP_KEYS, 0.99, CROWDED)),
}
ABLATION_LOADS = RARE_PATH_LOADS
ABLATIONS = {
    "write-through": {"constants": {"WriteBack": False}, "tables": {"page": {"capacity": 524_288}}},
    "write-back without filter": {"constants": {"Filtered": False}},
    "evicts in turn": {"constants": {"SparesUsed": False}},
    **{f"{ways} ways": {"constants": {"Ways": ways}} for ways in (1, 2, 8)},
}

# Tables for runs without the daemon: the few inserts that find no room in a bucket are refused, and pages are unused.
SMALL_BUCKETS = 1 << 20
SMALL_PAGES = 4_096


def sized(buckets: int) -> dict[str, dict[str, dict[str, int]]]:
    """The override for tables of this size."""
    return {"tables": {"bucket": {"capacity": buckets}, "page": {"capacity": SMALL_PAGES}}}


def keys_of(buckets: int) -> int:
    """The number of keys that fills these buckets as much as those of the other workloads."""
    return buckets * KEYS // BUCKETS


SCALES = {
    "table size": Scale(
        "buckets",
        "",
        True,
        "A table that outgrows the caches costs a miss for each request, and further on the walk to its page.",
        [
            Point(
                f"2^{size.bit_length() - 1}",
                size,
                _workload(UPDATES_OF_1024, uniform(keys_of(size))),
                sized(size),
                (_load(keys_of(size)),),
            )
            for size in powers_of_8()
        ],
    ),
    "value size": Scale(
        "bytes of a value",
        "B",
        False,
        "A value is copied, and summed up for the checksum, on both ways.",
        [
            Point(
                f"{size} B",
                size,
                _workload(UPDATES_OF_1024, uniform(keys_of(SMALL_BUCKETS))),
                {**sized(SMALL_BUCKETS), "constants": {"SlotSize": size}},
                (_load(keys_of(SMALL_BUCKETS)),),
            )
            for size in (8, 24, 40, 56, 64)  # a longer value does not fit on a BPF program's stack
        ],
    ),
}
