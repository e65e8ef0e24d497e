"""Configures the lock protocol in `just bench`: sizes, workloads, how sessions are opened, and the targets.

bench.h chooses what a slot asks for. The numbers in a slot's state are in the order of bench.h.
"""

from __future__ import annotations

from harness.bench.hand_written import HandWritten
from harness.bench.workload import Point, Scale, Workload, powers_of_8
from spec.lib.bench import session_bench

open_in_tables = session_bench.open_in_tables
open_by_messages = session_bench.open_by_messages

# The table for the speed figures: 36 million cells for 24 million lock ids.
OVERRIDE = {"tables": {"lock": {"capacity": 36_000_000}}}

SHARED_OF_256 = 205  # 80 %

# Number of lock ids; how many of them each slot has to itself (0: all are shared); shared acquires of 256.
WORKLOADS = {
    "uniform": Workload([24_000_000, 0, SHARED_OF_256]),
    # Four locks a slot: their cells and pages stay in the caches, and no cell fills up (there is no daemon here).
    "hot": Workload([24_000_000, 4, SHARED_OF_256]),
}

OUTCOMES = ("granted", "rejected", "released", "left alone", "other")
EXPECTED_OUTCOMES = OUTCOMES[:-1]

# DINT's lock server (NSDI '24), which has as many cells: see docs/how-to/measure.md.
HAND_WRITTEN = (
    HandWritten(
        name="DINT",
        home="DINT_HOME",
        path="lock_2pl/ebpf/ls_kern.o",
        program="ls_xdp_main",
        requests="bench_dint.h",
        port=20230,
        payload_size=6,
    ),
)

# Operations in one message, beside requests for one lock.
GATHERED = (1, 4, 8, 16)

# Issue 2: share of the reflector's rate, nanoseconds over its time, and multiple of kernel UDP's rate. One core.
TARGETS = {
    "uniform": {"of_reflector_min": 0.63, "ns_over_reflector_max": 95, "times_kernel_udp_min": 25},
    "hot": {"ns_over_reflector_max": 30},
}

# Exclusive locks only, since sharers that find no room in a cell need the daemon.
SCALES = {
    "table size": Scale(
        "cells",
        "",
        True,
        "A table that outgrows the caches costs a miss for each request, and then a page walk; in the smallest, "
        "clients meet.",
        [
            Point(
                f"2^{size.bit_length() - 1}",
                size,
                Workload([size * 2 // 3, 0, 0]),
                {"tables": {"lock": {"capacity": size}}},
            )
            for size in powers_of_8()
        ],
    ),
    "contention": Scale(
        "share of acquires that are rejected",
        "",
        False,
        "The fewer locks there are for 64 clients, the more requests find one held; saying so costs no more than "
        "granting it.",
        [Point(f"{locks:,} locks", 0, Workload([locks, 0, 0])) for locks in (1 << 22, 1024, 256, 128, 64, 32, 16, 8)],
        measured=(("rejected",), ("granted", "rejected")),
    ),
}
