"""On which CPU a disk says that it is done."""

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
    """Of `cpus`, the one on which most of the interrupts come that end writes to `folder` from the first of them.

    There the kernel's threads go on with what was written. A poller, which is a real-time process, would keep them
    waiting for as long as it polls, and a sync with them.
    """
    with pinned(cpus[0]), tempfile.TemporaryFile(dir=folder) as file:
        before = interrupt_counts(INTERRUPTS.read_text(encoding="ascii"))
        for number in range(SYNCS):
            os.pwrite(file.fileno(), bytes(4096), number * 4096)
            os.fdatasync(file.fileno())
        after = interrupt_counts(INTERRUPTS.read_text(encoding="ascii"))
    return busiest_cpu(before, after, cpus)


def interrupt_counts(text: str) -> Counts:
    """Counts of each device's interrupt, by its number: one for each CPU, in the order of the CPUs that are online."""
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
    """The first one where no device had as many as there were syncs: a disk without interrupts of its own."""
    grown = {
        name: [now - then for now, then in zip(numbers, before.get(name, [0] * len(numbers)), strict=True)]
        for name, numbers in after.items()
    }
    most = max(grown.values(), key=sum, default=[])
    if sum(most) < SYNCS:
        return cpus[0]
    return max(cpus, key=lambda cpu: most[cpu])
