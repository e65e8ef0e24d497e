"""Finds the CPU on which a disk's interrupts arrive."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness.bench.link import pinned

SYNCS = 64
INTERRUPTS = Path("/proc/interrupts")

Counts = dict[str, list[int]]


def interrupted_cpu(folder: Path, cpus: Sequence[int]) -> int:
    """Find the CPU that receives most interrupts of writes to `folder`, made on the first of `cpus`.

    The kernel's threads finish the write on that CPU. A poller there is a real-time process. It would delay them, and
    with them a sync, for as long as it polls.
    """
    with pinned(cpus[0]), tempfile.TemporaryFile(dir=folder) as file:
        before = interrupt_counts(INTERRUPTS.read_text(encoding="ascii"))
        for number in range(SYNCS):
            os.pwrite(file.fileno(), bytes(4096), number * 4096)
            os.fdatasync(file.fileno())
        after = interrupt_counts(INTERRUPTS.read_text(encoding="ascii"))
    return busiest_cpu(before, after, cpus)


def interrupt_counts(text: str) -> Counts:
    """Parse /proc/interrupts: the counts of each device's interrupt by its number, with the CPU as index."""
    lines = text.splitlines()
    cpus = [int(name.removeprefix("CPU")) for name in lines[0].split()]
    counts = {}
    for line in lines[1:]:
        name, _, rest = line.partition(":")
        if name.strip().isdigit():
            numbers = [0] * (max(cpus) + 1)
            for cpu, count in zip(cpus, rest.split(), strict=False):
                numbers[cpu] = int(count)
            counts[name.strip()] = numbers
    return counts


def busiest_cpu(before: Counts, after: Counts, cpus: Sequence[int]) -> int:
    """Return the CPU that received most interrupts of the busiest device.

    If no device had as many interrupts as there were syncs, the disk has none of its own. Then it is the first CPU.
    """
    grown = {
        name: [now - then for now, then in zip(numbers, before.get(name, [0] * len(numbers)), strict=True)]
        for name, numbers in after.items()
    }
    most = max(grown.values(), key=sum, default=[])
    if sum(most) < SYNCS:
        return cpus[0]
    return max(cpus, key=lambda cpu: most[cpu])
