"""Tests the medians, quartiles and table of a benchmark."""

from __future__ import annotations

import json

import pytest

from harness.bench.report import Report, Row
from harness.bench.spread import Spread


def test_quartiles():
    spread = Spread.of([5, 1, 4, 2, 3])
    assert (spread.low, spread.median, spread.high, spread.count) == (2, 3, 4, 5)
    assert Spread.of([7.0]).text() == "7.00 [7.00, 7.00]"
    with pytest.raises(ValueError, match="no run counts"):
        Spread.of([])


def test_the_table_has_every_figure_and_groups_notes():
    rows = [
        Row("hot", "one", {"ns": Spread.of([1.0, 2.0, 3.0])}, ("disturbed",)),
        Row("hot", "other", {"ns": Spread.of([200.0]), "of reflector": Spread.of([0.5])}, ("disturbed", "lost")),
    ]
    report = Report("p", {"runs": 3}, {"A section": rows}, ["met: something"])
    lines = report.text().splitlines()
    assert lines[0] == "A section"
    assert lines[1].split() == ["workload", "server", "ns", "of", "reflector"]
    assert "2.00 [1.50, 2.50]" in lines[2] and lines[2].endswith("-")
    assert "200.0 [200.0, 200.0]" in lines[3] and "0.500 [0.500, 0.500]" in lines[3]
    assert lines[4:6] == ["  note: disturbed (hot one, hot other)", "  note: lost (hot other)"]
    saved = json.loads(json.dumps(report.found().model_dump()))
    assert saved["sections"]["A section"][1]["figures"]["ns"]["median"] == 200.0


def test_targets_are_judged_by_figures_and_by_other_workloads():
    rows = [
        Row("all keys", "generated", {"ns": Spread.of([300.0]), "of reflector": Spread.of([0.4])}),
        Row("31% of them", "generated", {"ns": Spread.of([200.0]), "of reflector": Spread.of([0.6])}),
        Row("all keys", "other", {"ns": Spread.of([1.0])}),
    ]
    report = Report("p", {})
    report.judge({"all keys": {"ns_max": 300, "of_reflector_min": 0.5}, "31% of them": {"of_all_keys_min": 1.0}}, rows)
    assert report.targets == [
        "met: all keys, ns: 300.00, at most 300",
        "MISSED: all keys, of reflector: 0.40, at least 0.5",
        "met: 31% of them, of all keys: 1.50, at least 1.0",
    ]
    assert report.missed == 1
    with pytest.raises(ValueError, match="names rate; choose from: "):
        report.judge({"all keys": {"rate_min": 1}}, rows)
