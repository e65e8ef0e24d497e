"""Runs an open loop: sends requests at a given rate even if the server does not keep up, and measures latency.

The client's XDP program paces itself, on the core that polls the client's end. The packets of slots without a request
go round there, and each looks at the clock as it comes by. The first packet after a request is due becomes that request
(harness/bench/pace.bpf.h). A request is late by a turn of that core, 1 to 2 microseconds, and this is counted too.
Other ways to pace were rejected:

- a thread that sends (sendmmsg, AF_PACKET) reaches half a million requests a second, and the server's core must copy
  each packet
- AF_XDP has no zero copy on a veth, so the same holds
- BPF_PROG_TEST_RUN with live frames makes a pool of fresh pages for every call
- bpf_timer tells the time, but has no packet to send

Requests come at random times, like those of many independent clients: the gaps between them are those of a Poisson
process. There are as many clients as slots, so at most that many requests are outstanding. A request that is due when
no slot is free waits for one. Latency is counted from when it was due, and includes this wait (no coordinated
omission).
"""

from __future__ import annotations

import math
import random
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hdrh.histogram import HdrHistogram

from harness.bench.link import Flight, Link, SlotStates
from harness.bench.workload import Workload

PACE = struct.Struct("<13Q")  # struct bench_pace
GAPS = 4096  # this and the next ones as in pace.bpf.h
TIME_BITS = 16
LATENCY_BITS = 36
BUCKET_BITS = 7
BUCKETS = (LATENCY_BITS - BUCKET_BITS + 1) << BUCKET_BITS
SLOTS_MAX = 4096
RATE_MIN, RATE_MAX = 100, 100_000_000
DIGITS = 2  # of a latency that its bucket preserves
START_S = 0.02  # from filling in the times to the first request
WARM_UP_S = 0.1
ASIDE_NS = 2_000_000
SETTLE_S_MAX = 0.3  # for the last requests to be answered


@dataclass(frozen=True, kw_only=True)
class PacedFlight(Flight):
    """An open-loop run. It counts requests that are due within a fixed time.

    rate_offered: requests due a second. due: counted requests that were sent. answered: those that were answered.
    in_time: answers that came within that time. exhausted: how many requests took the last free slot.
    latencies: nanoseconds from when each request was due to its answer. lateness: nanoseconds until it was sent.
    stalled_share: share of the time in which the generator did not look at the clock although it could have sent.
    stolen_share: share of the time in which others had the cores that poll.
    """

    rate_offered: float
    due: int
    answered: int
    in_time: int
    exhausted: int
    latencies: HdrHistogram
    lateness: HdrHistogram
    stalled_share: float = 0.0
    stolen_share: float = 0.0

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.in_time / self.seconds

    def latency_ns(self, percentile: float) -> float:
        found: float = self.latencies.get_value_at_percentile(percentile)
        return found


def gap_table() -> list[int]:
    """The gaps of a Poisson process, in 1/65,536 of their mean.

    The distribution is cut into equal parts, and each part gives one gap, so that the mean is exact. They are shuffled.
    """
    gaps = [-math.log(1 - (number + 0.5) / GAPS) for number in range(GAPS)]
    scale = (1 << TIME_BITS) * GAPS / sum(gaps)
    whole = [round(gap * scale) for gap in gaps]
    whole[-1] += (GAPS << TIME_BITS) - sum(whole)
    random.Random(1).shuffle(whole)
    return whole


def interval(rate: float) -> int:
    """Mean time between requests, in 1/65,536 ns. Raises ValueError for a rate out of range."""
    if not RATE_MIN <= rate <= RATE_MAX:
        raise ValueError(f"the rate is {rate:g} requests a second; it must be {RATE_MIN:,} to {RATE_MAX:,}")
    return round((1 << TIME_BITS) * 1e9 / rate)


def due_times_ns(rate: float, count: int, gaps: Sequence[int]) -> list[int]:
    """Compute when the first `count` requests are due, counted from the first, as pace.bpf.h does."""
    mean, now, times = interval(rate), 0, []
    for number in range(count):
        times.append(now >> TIME_BITS)
        now += mean * gaps[number % len(gaps)] >> TIME_BITS
    return times


def bucket_of(ns: int) -> int:
    """Return the bucket in which pace.bpf.h counts a time."""
    value = min(ns, (1 << LATENCY_BITS) - 1)
    shift = (value >> (BUCKET_BITS + 1)).bit_length()
    return (shift << BUCKET_BITS) + (value >> shift)


def bucket_ns(bucket: int) -> int:
    """The middle of a bucket's range."""
    shift = max((bucket >> BUCKET_BITS) - 1, 0)
    return ((bucket - (shift << BUCKET_BITS)) << shift) + (1 << shift) // 2


def histogram(counts: Sequence[int] = ()) -> HdrHistogram:
    """Make a histogram from the count in each bucket. A time of 0 ns counts as 1, its smallest value."""
    found = HdrHistogram(1, 1 << LATENCY_BITS, DIGITS)
    for bucket, count in enumerate(counts):
        if count:
            found.record_value(max(bucket_ns(bucket), 1), count)
    return found


class Pace:
    """The pacing part of a link's client."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._pace = link.client.variable("pace")
        self._due = link.client.variable("due_ns")
        self._latencies = link.client.map("latencies").mmap()
        gaps = link.client.map("gaps")
        for index, gap in enumerate(gap_table()):
            gaps.update(index, gap.to_bytes(4, "little"))
        server = link.rig.server
        with server.entered():
            link.client.map("here").update(0, server.ifindex.to_bytes(4, "little"))

    def fly(
        self,
        states: SlotStates,
        workload: Workload,
        seconds: float,
        rate: float,
        *,
        with_checksum: bool = False,
        busy_ns: Callable[[], int],
        stolen_ns: Callable[[], int] = lambda: 0,
    ) -> PacedFlight:
        """Send `rate` requests a second for a while. The next flight goes on from the slots' states.

        The link's paced client must be attached.

        busy_ns: returns the CPU time of the server's core so far. stolen_ns: returns how long others had the cores that
        poll.
        """
        count = len(states.words)
        began_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + round(START_S * 1e9)
        counts_ns = began_ns + round(WARM_UP_S * 1e9)
        ends_ns = counts_ns + round(seconds * 1e9)
        self._pace.write(PACE.pack(began_ns, counts_ns, ends_ns, interval(rate), *[0] * 9))
        self._due.write(bytes(8 * SLOTS_MAX))
        self._latencies[: 16 * BUCKETS] = bytes(16 * BUCKETS)
        self.link.begin(states, workload, with_checksum)
        # Reading the times takes the generator's core for a moment. The kernel counts this as stolen time only when the
        # generator runs again.
        _sleep_until(counts_ns - ASIDE_NS)
        spent_ns, at_ns = busy_ns(), time.monotonic_ns()
        _sleep_until(counts_ns - ASIDE_NS // 4)
        was_stolen_ns = stolen_ns()
        _sleep_until(ends_ns + ASIDE_NS // 4)
        was_stolen_ns = stolen_ns() - was_stolen_ns
        spent_ns, elapsed_ns = busy_ns() - spent_ns, time.monotonic_ns() - at_ns
        self._settle(ends_ns + round(SETTLE_S_MAX * 1e9))
        slots = self.link.end(states, workload, with_checksum)
        *_, due, answered, in_time, _, exhausted, _, stalled_ns = PACE.unpack(self._pace.read())
        counts = struct.unpack_from(f"<{2 * BUCKETS}Q", self._latencies)
        return PacedFlight(
            slots=count,
            seconds=seconds,
            round_trips=in_time,
            outcomes=slots.outcomes,
            cpu_share=spent_ns / elapsed_ns,
            lost=slots.lost,
            rate_offered=rate,
            due=due,
            answered=answered,
            in_time=in_time,
            exhausted=exhausted,
            latencies=histogram(counts[:BUCKETS]),
            lateness=histogram(counts[BUCKETS:]),
            stalled_share=stalled_ns / 1e9 / seconds,
            stolen_share=was_stolen_ns / elapsed_ns,
        )

    def _settle(self, deadline_ns: int) -> None:
        """Wait until all due requests are sent and answered, but not beyond the deadline."""
        while time.monotonic_ns() < deadline_ns:
            begins_ns, _, ends_ns, _, following, *_, waiting, _, _, _ = PACE.unpack(self._pace.read())
            if not waiting and begins_ns + (following >> TIME_BITS) >= ends_ns:
                return
            time.sleep(0.002)


def _sleep_until(at_ns: int) -> None:
    time.sleep(max(at_ns - time.monotonic_ns(), 0) / 1e9)
