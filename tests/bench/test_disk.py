"""Finds where a disk's interrupts arrive: from made-up counts, and from this machine's disk."""

from __future__ import annotations

import os

from harness.bench.disk import SYNCS, busiest_cpu, interrupt_counts, interrupted_cpu

BEFORE = """           CPU0       CPU2
  0:         17          0 IO-APIC   2-edge      timer
 36:       1000     148438 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
LOC:    9000000    9000000 Local timer interrupts
"""
AFTER = """           CPU0       CPU2
  0:         17          0 IO-APIC   2-edge      timer
 36:       1003     148538 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 37:          5          0 PCI-MSIX-0000:00:03.0   1-edge      virtio2-req.0
LOC:    9900000    9900000 Local timer interrupts
"""


def test_a_device_is_known_by_as_many_interrupts_as_there_were_syncs():
    before, after = interrupt_counts(BEFORE), interrupt_counts(AFTER)
    assert before == {"0": [17, 0, 0], "36": [1000, 0, 148438]}
    assert busiest_cpu(before, after, [0, 2]) == 2
    assert busiest_cpu(before, after, [0]) == 0


def test_without_such_a_device_it_is_the_first_cpu():
    counts = interrupt_counts(BEFORE)
    assert busiest_cpu(counts, counts, [2, 0]) == 2
    assert busiest_cpu({}, {}, [1]) == 1
    assert SYNCS > 5


def test_this_machines_disk(tmp_path):
    cpus = sorted(os.sched_getaffinity(0))
    assert interrupted_cpu(tmp_path, cpus) in cpus
    assert sorted(os.sched_getaffinity(0)) == cpus and not list(tmp_path.iterdir())
