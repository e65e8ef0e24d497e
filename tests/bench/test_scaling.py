"""Tests scales and serving cores on made-up runs, and checks that the protocols' scales are complete."""

from __future__ import annotations

import pytest

from harness.base.protocols import BENCH, SPEC, protocols
from harness.bench import serving_cores
from harness.bench.build import has_benchmark, load_module
from harness.bench.link import Flight
from harness.bench.queues import cpu_mask
from harness.bench.scaling import curve, table
from harness.bench.workload import Point, Scale, Workload, powers_of_8

OUTCOMES = ("granted", "rejected", "other")
LABELS = ("few", "many")


def flight(cpu_ns: float, outcomes: tuple[int, ...] = (1, 0, 0), **others) -> Flight:
    return Flight(64, 1.0, round(1e9 / cpu_ns), outcomes, 1.0, (), **others)


def scale(measured=None) -> Scale:
    points = [Point(label, at, Workload([1])) for label, at in zip(LABELS, (1024, 1 << 20), strict=True)]
    return Scale("cells", "", True, "A sentence.", points, measured)


PAIRS = {
    "few": [(flight(100), flight(150)), (flight(100), flight(160)), (flight(100), flight(1_000, counts=False))],
    "many": [(flight(100), flight(250, (60, 40, 0)))],
}


def test_a_point_is_where_it_was_put():
    found = curve("title", scale(), OUTCOMES, PAIRS).found().model_dump()
    assert [point["x"] for point in found["series"]["generated"]] == [1024, 1 << 20]
    assert found["series"]["generated"][1]["y"] == pytest.approx(4.0) and found["series"]["reflector"][0][
        "y"
    ] == pytest.approx(10.0)
    assert found["x"] == {"title": "cells", "unit": "", "log": True}


def test_a_share_is_measured():
    measured = scale((("rejected",), ("granted", "rejected")))
    assert [
        point["x"] for point in curve("title", measured, OUTCOMES, PAIRS).found().model_dump()["series"]["generated"]
    ] == [
        0.0,
        0.4,
    ]
    assert table(measured, OUTCOMES, PAIRS, {"few": {}, "many": {}})[1].figures["measured share"].median == 0.4


def test_what_does_not_count_is_left_out():
    few, many = table(scale(), OUTCOMES, PAIRS, {"few": {("generated", "few"): ["strange"]}, "many": {}})
    assert few.figures["ns over reflector"].median == pytest.approx(55) and few.figures["Mpps"].count == 2
    assert few.notes == ("strange",) and many.notes == ()
    nothing = {**PAIRS, "few": PAIRS["few"][2:]}
    assert table(scale(), OUTCOMES, nothing, {"few": {}, "many": {}})[0].notes == ("no run counts",)
    assert curve("title", scale(), OUTCOMES, nothing).found().model_dump()["notes"] == ["few: no run counts"]


def test_serving_cores_are_told_in_terms_of_one():
    runs = {
        ("hot", 1, "generated"): [flight(200), flight(250)],
        ("hot", 2, "generated"): [flight(100), flight(200)],
        ("hot", 1, "reflector"): [flight(100), flight(100)],
    }
    one, two, _ = serving_cores.table(runs, {})
    assert (one.workload, two.workload) == ("hot, 1 core", "hot, 2 cores")
    assert two.figures["times one core"].median == pytest.approx(1.625) and one.figures["times one core"].median == 1
    found = serving_cores.curve("p", runs).found().model_dump()
    assert [point["x"] for point in found["series"]["hot"]] == [1, 2] and len(found["series"]["reflector"]) == 1


@pytest.mark.parametrize("protocol", [name for name in protocols() if has_benchmark(name)])
def test_a_protocols_scales_are_whole(protocol):
    plugin = load_module(f"scales_of_{protocol}", SPEC / protocol / BENCH / "bench.py")
    assert plugin.SCALES
    for each in plugin.SCALES.values():
        labels = [point.label for point in each.points]
        assert len(set(labels)) == len(labels) > 1 and each.sentence.endswith(".")
        for names in each.measured or ():
            assert set(names) <= set(plugin.OUTCOMES)
        assert each.measured or len({point.at for point in each.points}) == len(labels)


def test_cores_are_doubled_until_there_are_no_more():
    assert [serving_cores.counts(cpus) for cpus in (1, 2, 6, 8)] == [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]]


def test_a_mask_names_one_cpu():
    assert [cpu_mask(cpu) for cpu in (0, 1, 31, 32, 65)] == ["1", "2", "80000000", "1,00000000", "2,00000000,00000000"]


def test_tables_are_from_a_thousand_to_thirty_million():
    sizes = powers_of_8()
    assert sizes[0] == 2**10 and sizes[-1] == 2**25
    assert sum(sizes) < 1.15 * sizes[-1]
