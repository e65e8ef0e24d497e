"""Tests requests at a given rate: when they are due, what counts as their latency, and its percentiles."""

from __future__ import annotations

import os
import random
import struct
import time
from pathlib import Path

import pytest

from harness.base.protocols import REPOSITORY, RUNTIME_INCLUDE
from harness.bench import pace
from harness.bench.build import Client, compile_bpf, compile_poll_queues
from harness.bench.link import Link
from harness.bench.poller import TurnsPoller, polling
from harness.bench.processes import schedstat
from harness.bench.queues import queue_sockets, split
from harness.bench.threaded_napi import woken
from harness.bench.workload import Workload
from harness.rig import Rig, bpf

HERE = Path(__file__).parent
CPUS = (0, 1)


def test_gaps_have_the_mean_and_the_shape_of_a_poisson_process():
    gaps = pace.gap_table()
    assert sum(gaps) == len(gaps) << pace.TIME_BITS and min(gaps) > 0
    below_mean = sum(gap < 1 << pace.TIME_BITS for gap in gaps) / len(gaps)
    assert below_mean == pytest.approx(0.632, abs=0.002)
    assert gaps != sorted(gaps)


@pytest.mark.parametrize("rate", [100, 1_000, 333_333, 5_000_000, 40_000_000])
def test_as_many_requests_are_due_as_the_rate_says(rate):
    times = pace.due_times_ns(rate, pace.GAPS + 1, pace.gap_table())
    assert times[0] == 0 and times == sorted(times)
    assert times[pace.GAPS] == pytest.approx(pace.GAPS * 1e9 / rate, rel=1e-4)


@pytest.mark.parametrize("rate", [0, 99, 1e9])
def test_a_rate_that_cannot_be_told_is_refused(rate):
    with pytest.raises(ValueError, match="it must be 100 to 100,000,000"):
        pace.interval(rate)


def test_buckets_are_one_behind_the_other_and_narrow():
    edges = [value for shift in range(28) for value in range(128 << shift, 256 << shift, max(1 << shift, 1))]
    values = [*range(128), *edges]
    assert [pace.bucket_of(value) for value in values] == list(range(len(values)))
    for value in (random.Random(1).randrange(1 << 36) for _ in range(1000)):
        assert pace.bucket_ns(pace.bucket_of(value)) == pytest.approx(value, rel=1 / 128)
    assert pace.bucket_of(1 << 50) == pace.BUCKETS - 1


def test_percentiles_are_those_of_the_list():
    drawn = random.Random(2)
    times = sorted(round(drawn.lognormvariate(9, 2)) for _ in range(20_000))
    counts = [0] * pace.BUCKETS
    for each in times:
        counts[pace.bucket_of(each)] += 1
    found = pace.histogram(counts)
    assert found.get_total_count() == len(times)
    for percentile in (1, 50, 90, 99, 99.9):
        exact = times[min(round(percentile / 100 * len(times)), len(times) - 1)]
        assert found.get_value_at_percentile(percentile) == pytest.approx(exact, rel=0.02, abs=1)


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    home = tmp_path_factory.mktemp("paced")
    include = [HERE / "echo", *RUNTIME_INCLUDE]
    client, reflector = (
        compile_bpf(REPOSITORY / "harness/bench" / name, home, include) for name in ("client.bpf.c", "reflector.bpf.c")
    )
    return Client(client, 20999, 20), reflector, compile_poll_queues(home)


def test_a_late_request_counts_from_when_it_was_due(echo):
    """One client, whose first answer takes until all others are due long ago: each is sent late, and none of that is
    left out.
    """
    client, _, _ = echo
    with Rig("bench") as rig:
        link = Link(rig, client, cpu=0)
        paced = pace.Pace(link)
        states = link.blank_states([[0] * 5])
        link.write_slots(states, Workload([1]))
        began_ns = time.monotonic_ns() - 10**9
        interval = pace.interval(1_000)
        paced._pace.write(pace.PACE.pack(began_ns, began_ns, began_ns + 10**11, interval, *[0] * 9))
        program, packet = link.client.program("bench_paced_client"), link.frame(0, bytes(20))
        sent_ns = []
        for _ in range(100):
            assert program.test_run(packet).action == bpf.XDP_TX
            sent_ns.append(struct.unpack_from("<Q", paced._due.read())[0] - began_ns)
        found = pace.PACE.unpack(paced._pace.read())
        counts = struct.unpack_from(f"<{2 * pace.BUCKETS}Q", paced._latencies)
        link.close()
    assert sent_ns == pace.due_times_ns(1_000, 100, pace.gap_table())
    due, answered, in_time, waiting, exhausted = found[6:11]
    assert (due, answered, in_time, waiting, exhausted) == (100, 99, 99, 1, 100)
    late_by_half_a_second = pace.bucket_of(500_000_000)
    assert sum(counts[late_by_half_a_second : pace.BUCKETS]) == 99, (
        "counted from when they were due, not from when they were sent"
    )
    assert sum(counts[pace.BUCKETS + late_by_half_a_second :]) == 100, "and so is how late they were"


def test_a_slot_that_nothing_is_due_for_waits_on_the_clients_own_end(echo):
    client, _, _ = echo
    with Rig("bench") as rig:
        link = Link(rig, client, cpu=0)
        paced = pace.Pace(link)
        link.write_slots(link.blank_states([[0] * 5]), Workload([1]))
        later_ns = time.monotonic_ns() + 10**11
        paced._pace.write(pace.PACE.pack(later_ns, later_ns, 2 * later_ns, pace.interval(1_000), *[0] * 9))
        assert link.client.program("bench_paced_client").test_run(link.frame(0, bytes(20))).action == bpf.XDP_REDIRECT
        sent = pace.PACE.unpack(paced._pace.read())[5]
        link.close()
    assert sent == 0


def test_an_open_loop_answers_what_was_due(echo):
    """The reflector, woken, on one core, and the generator on the other."""
    client, reflector, turns = echo
    if not set(CPUS) <= os.sched_getaffinity(0):
        pytest.skip("it takes CPUs 0 and 1")
    with Rig("bench") as rig:
        split(rig.client, rig.server, CPUS)
        link = Link(rig, client, cpu=1)
        queues = queue_sockets(rig, reflector, CPUS)  # leaves the reflector there
        poller = TurnsPoller(rig.client, turns, 0, {queues[1]: 32, queues[0]: 8})
        paced = pace.Pace(link)
        states = link.blank_states([[0] * 5 for _ in range(16)])
        with woken(rig.server, 1) as thread:
            link.attach(paced=True)
            flights = []
            for _ in range(2):
                with polling(poller):
                    flights.append(paced.fly(states, Workload([1]), 0.2, 20_000, busy_ns=lambda: schedstat(thread)[0]))
        poller.close()
        link.close()
        for sock in queues.values():
            sock.close()
    for flight in flights:
        assert flight.lost == () and flight.outcomes[1:] == (0,) * 6, "every answer was the right one"
        assert 3_600 < flight.due < 4_400 and flight.answered == flight.due
        assert flight.latencies.get_total_count() == flight.answered and flight.lateness.get_total_count() == flight.due
        assert flight.cpu_share > 0
    assert sum(words[0] for words in states.words) == sum(flight.outcomes[0] for flight in flights), (
        "the second goes on where the first ended"
    )
