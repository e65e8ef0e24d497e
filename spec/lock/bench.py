"""The lock protocol in `just bench`: sizes, workloads, how sessions are opened, and what is promised.

What a slot asks for is in bench.h. The numbers in a slot's state are in the order that bench.h names.
"""

from __future__ import annotations

from harness.bench.workload import Workload
from spec.lib import session_bench

open_in_tables = session_bench.open_in_tables
open_by_messages = session_bench.open_by_messages

# The table of the speed figures: 36 million cells for 24 million lock ids.
OVERRIDE = {"tables": {"lock": {"capacity": 36_000_000}}}

SHARED_OF_256 = 205  # 80 %

# Lock ids; of those, each slot's own (0: all are everybody's); shared acquires of 256.
WORKLOADS = {
    "uniform": Workload([24_000_000, 0, SHARED_OF_256]),
    # Four locks a slot: their cells and pages stay in the caches, and no cell fills up (there is no daemon here).
    "hot": Workload([24_000_000, 4, SHARED_OF_256]),
}

OUTCOMES = ("granted", "rejected", "released", "other")
EXPECTED_OUTCOMES = ("granted", "rejected", "released")

# Issue 2: share of the reflector's rate, nanoseconds over it, times kernel UDP. One core.
TARGETS = {
    "uniform": {"of_reflector_min": 0.63, "ns_over_reflector_max": 95, "times_kernel_udp_min": 25},
    "hot": {"ns_over_reflector_max": 30},
}
