"""Tests the table and the curve of the rare path, on made-up runs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.bench.link import Flight
from harness.bench.rare_path import Run, curve, table


def run(rate: float, forwarded: int = 0, counts: bool = True) -> Run:
    answers = 1000
    return Run(
        Flight(64, 2.0, round(2 * rate), (answers,), 1.0, (), given_up=forwarded // 10, counts=counts), forwarded, 10**9
    )


RUNS = {
    ("0 %", "reflector"): [run(8e6), run(8e6), run(8e6)],
    ("0 %", "generated"): [run(4e6), run(2e6, counts=False), run(4e6)],
    ("9 %", "reflector"): [run(8e6), run(8e6), run(4e6)],
    ("9 %", "generated"): [run(1e6, 90), run(1e6, 90), run(2e6, 100)],
}


def test_rates_are_compared_run_by_run_and_only_those_that_count():
    rows = table(SimpleNamespace(notes={("generated", "9 %"): ["strange"]}, plugin=SimpleNamespace()), RUNS, "0 %")
    by_name = {(row.workload, row.server): row for row in rows}
    figures = by_name["9 %", "generated"].figures
    assert figures["Mpps"].median == pytest.approx(1.5) and figures["Mpps"].count == 2
    assert figures["of reflector"].median == pytest.approx((1 / 8 + 2 / 4) / 2)
    assert figures["of 0 %"].median == pytest.approx((1 / 4 + 2 / 4) / 2)
    assert figures["rare path share"].median == pytest.approx(0.095)
    assert figures["daemon CPU share"].median == pytest.approx(0.5)
    assert figures["given up share"].median == pytest.approx(0.1)
    assert by_name["9 %", "generated"].notes == ("strange",)
    assert set(by_name["9 %", "reflector"].figures) == {"Mpps"}


def test_what_was_refused_is_no_part_of_a_rate():
    half = Run(Flight(64, 2.0, 8_000_000, (500, 500), 1.0, ()), 0, 10**9, refused=500)
    contest = SimpleNamespace(notes={}, plugin=SimpleNamespace(REFUSALS=("full",)))
    _, row = table(contest, {("0 %", "reflector"): [run(8e6)], ("0 %", "generated"): [half]}, "0 %")
    assert row.figures["Mpps"].median == pytest.approx(2) and row.figures["of reflector"].median == pytest.approx(1 / 4)
    assert row.figures["refused share"].median == pytest.approx(1 / 2) and row.figures["of 0 %"].median == 1
    nothing = Run(half.flight, 0, 10**9, refused=1000)
    assert (
        table(contest, {("0 %", "reflector"): [run(8e6)], ("0 %", "generated"): [nothing]}, "0 %")[1]
        .figures["of 0 %"]
        .median
        == 0
    )


def test_the_curve_is_over_the_shares_that_were_counted():
    found = curve("some", RUNS, ["0 %", "9 %"])
    assert list(found.series) == ["generated"]
    assert [at for at, _ in found.series["generated"]] == [0, 0.09]
    assert [spread.median for _, spread in found.series["generated"]] == [pytest.approx(4), pytest.approx(1)]
