"""Tests latency against load on made-up runs: whose fault a miss is, the table and the curves."""

from __future__ import annotations

import pytest

from harness.bench import pace
from harness.bench.load_latency import LIGHT, PERCENTILES, POLLED, Step, curves, judged, latencies, steps_of, table
from harness.bench.pace import PacedFlight


def flight(rate=100_000.0, answered=1.0, latency_ns=10_000, cpu_share=0.5, **others) -> PacedFlight:
    """answered: of what was due."""
    due = round(rate)
    counts = [0] * pace.BUCKETS
    counts[pace.bucket_of(latency_ns)] = round(due * answered)
    found = pace.histogram(counts)
    return PacedFlight(
        slots=64,
        seconds=1.0,
        round_trips=due,
        outcomes=(due,),
        cpu_share=cpu_share,
        lost=(),
        rate_offered=rate,
        due=due,
        answered=round(due * answered),
        in_time=round(due * answered),
        exhausted=0,
        latencies=found,
        lateness=found,
        **others,
    )


def test_a_server_that_keeps_up_counts():
    found = judged(flight())
    assert found.counts and found.kept_up and not found.note
    assert not judged(flight(counts=False)).counts


def test_one_that_cannot_has_a_rate_and_no_latency():
    found = judged(flight(answered=0.8, cpu_share=0.99))
    assert found.counts and not found.kept_up and "above the server's capacity" in found.note


@pytest.mark.parametrize(
    "made, reason",
    [
        (flight(answered=0.8, cpu_share=0.6), "the generator could not send faster"),
        (flight(stolen_share=0.01), "others used a polling core"),
        (flight(answered=0.8, cpu_share=0.99, stolen_share=0.01), "others used a polling core"),
    ],
)
def test_what_is_not_the_servers_fault_does_not_count(made, reason):
    found = judged(made)
    assert not found.counts and reason in found.note and found.note.endswith("DOES NOT COUNT")


@pytest.mark.parametrize(
    "stalled_share, counting", [(0.0, ["p50", "p99", "p99.9"]), (0.002, ["p50", "p99"]), (0.02, ["p50"]), (0.5, [])]
)
def test_a_percentile_counts_where_its_tail_is_not_the_generators(stalled_share, counting):
    found = judged(flight(stalled_share=stalled_share))
    assert found.counts and list(latencies([found])) == counting
    assert all(name in found.note for name in PERCENTILES if name not in counting)
    assert found.note.endswith("DOES NOT COUNT") == (len(counting) < 3)


def test_every_server_is_asked_at_the_same_light_rates_and_near_its_own_limit():
    steps = steps_of({"fast": 4_000_000, "slow": 50_000})
    rates = {name: [step.rate for step in steps if step.server == name] for name in ("fast", "slow")}
    assert set(LIGHT) < set(rates["fast"]) and max(rates["fast"]) == 4_400_000
    assert [rate for rate in rates["slow"] if rate in LIGHT] == [10_000, 30_000] and max(rates["slow"]) == 55_000
    assert [step.rate for step in steps] == sorted(step.rate for step in steps)


RUNS = {
    Step("generated", 100_000.0): [judged(flight(latency_ns=each)) for each in (10_000, 20_000, 30_000)],
    Step("generated", 200_000.0): [judged(flight(200_000.0, 0.8, cpu_share=0.99))] * 2,
    Step(POLLED, 100_000.0): [judged(flight(cpu_share=1.0)), judged(flight(stolen_share=0.5))],
    Step("slow", 100_000.0): [judged(flight(stolen_share=0.5))],
    Step("slow", 110_000.0): [judged(flight(stolen_share=0.5))],
    Step("slow", 50_000.0): [judged(flight(50_000.0, stalled_share=0.004))],
}


def test_the_table_has_what_counts():
    rows = {(row.server, row.workload): row for row in table(RUNS, {("generated", "100,000/s"): ["strange"]})}
    kept_up = rows["generated", "100,000/s"]
    assert kept_up.figures["p99 us"].median == pytest.approx(20, rel=0.01) and kept_up.figures["p99 us"].count == 3
    assert kept_up.figures["CPU ns"].median == pytest.approx(5_000) and kept_up.notes == ("strange",)
    saturated = rows["generated", "200,000/s"]
    assert set(saturated.figures) == {"Mpps", "CPU share", "CPU ns"} and saturated.figures[
        "Mpps"
    ].median == pytest.approx(0.16)
    assert rows[POLLED, "100,000/s"].figures["p50 us"].count == 1
    unusual, _ = rows[POLLED, "100,000/s"].notes
    assert unusual.startswith("1 of 2 runs: others used") and unusual.endswith("DOES NOT COUNT")
    assert rows["slow", "100,000/s"].figures == {} and "others used" in rows["slow", "100,000/s"].notes[0]
    assert {"p50 us", "p99 us"} < set(rows["slow", "50,000/s"].figures) and "p99.9 us" not in rows[
        "slow", "50,000/s"
    ].figures


def test_the_curves_leave_out_what_says_nothing():
    p50, p99, p999, use, cost = (curve.found().model_dump() for curve in curves("p", RUNS))
    (point,) = p99["series"]["generated"]
    assert point["x"] == 100_000 and point["low"] < point["y"] < point["high"]
    assert (
        "generated at 200,000/s: more than the server could answer" in p99["notes"]
        and "slow at 100,000/s, 110,000/s: no run counts" in use["notes"]
    )
    assert [each["x"] for each in use["series"]["generated"]] == [100_000, 160_000]
    assert use["series"][POLLED][0]["y"] == 1.0 and cost["y"]["unit"] == "ns"
    assert [len(each["series"].get("slow", [])) for each in (p50, p99, p999)] == [1, 1, 0]
    assert "slow at 50,000/s: the generator paused too long" in p999["notes"] and p999["y"]["log"]
