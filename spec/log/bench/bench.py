"""Configures the log in `just bench`: sizes, workloads, how sessions are opened, and the targets.

bench.h chooses what a slot asks for. The numbers in a slot's state are in the order of bench.h. Numbers that are drawn
are keys.

A buffer that nobody drains is full after Slots records. So the speed of an append is measured in two ways:

- one core: the program alone. `drained` is set to a number that no run reaches, so there is always room; slots are
  reused as with a daemon that keeps up. The kernel-UDP server takes records, and drops them.
- rare path: the program and, on the other core, its daemon, which drains to the disk at the rate of the clients. The
  rate leaves out refusals (Full).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.bench.workload import Point, Scale, Workload, uniform
from spec.lib.bench import session_bench

OVERRIDE: dict[str, Any] = {}

KEYS = uniform(24_000_000)
EPOCH = 1
EPOCH_BITS = 16
LOGS = 16  # as the layout has it


def _workload(disk_of_1024: int) -> Workload:
    return Workload([disk_of_1024], KEYS)


WORKLOADS = {"memory": _workload(0)}

# Workloads by the share of appends to disk: these need the daemon.
RARE_PATH = {"0 %": _workload(0), "1 %": _workload(10), "10 %": _workload(102), "100 %": _workload(1024)}
RARE_PATH_LOADS = ()

# Records in one message, beside requests for one record.
GATHERED = (1, 4, 8, 16)

OUTCOMES = ("appended", "stored", "full", "other")
EXPECTED_OUTCOMES = ("appended", "stored", "full")
REFUSALS = ("full",)

# Share of the reflector's rate. The rare path is measured while the daemon drains to the disk.
TARGETS = {"memory": {"of_reflector_min": 0.85}}
RARE_PATH_TARGETS = {"0 %": {"of_reflector_min": 0.75}}


def _ring(slots: int) -> dict[str, Any]:
    """The override for this many slots. A slot's index is as wide as the number of records requires."""
    records = LOGS * slots
    return {"constants": {"Slots": slots, "Records": records}, "local": {"slot": f"u{records.bit_length() - 1}"}}


SCALES = {
    "ring size": Scale(
        "slots of a log",
        "",
        True,
        "A ring that fits the processor's caches is written faster, and one that is larger outlasts a slow disk.",
        [
            Point(f"2^{slots.bit_length() - 1}", slots, _workload(0), _ring(slots))
            for slots in (1 << 10, 1 << 12, 1 << 14, 1 << 16)
        ],
    ),
    "value size": Scale(
        "bytes of a value",
        "B",
        False,
        "A value is copied into its record, and summed up for the checksum.",
        [Point(f"{size} B", size, _workload(0), {"constants": {"ValueSize": size}}) for size in (8, 32, 64, 128)],
    ),
}

open_by_messages = session_bench.open_by_messages


def open_in_tables(tables: Callable[[str], Any], clients: Sequence[int], codec: Any) -> list[list[int]]:
    """Open sessions and logs by writing the server's tables; the logs have room for every record of a run."""
    mark = EPOCH | codec.LAST_NUMBER // 2 << EPOCH_BITS
    for name in ("drained", "synced"):
        table = tables(name)
        for log in range(codec.LOGS):
            table.update(log, mark.to_bytes(8, "little").ljust(table.value_size, b"\0"))
    return session_bench.open_in_tables(tables, clients, codec)
