"""Tests curves: scales, labels that do not touch, and series that differ without colour."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree

import pytest

from harness.report.plot import BOTTOM, HEIGHT, LABEL_HEIGHT, LEFT, RIGHT, TOP, WIDTH, save, scale, short, svg
from harness.results.models import Axis, Curve, Point

SVG = "{http://www.w3.org/2000/svg}"


def curve(series: dict[str, list[tuple[float, float]]], **other) -> Curve:
    points = {name: [Point(x=x, y=y, low=y * 0.9, high=y * 1.1) for x, y in each] for name, each in series.items()}
    return Curve(
        title="a < b", x=Axis(title="rate", unit="packets/s"), y=Axis(title="p99", unit="µs"), series=points, **other
    )


def test_a_linear_scale_begins_at_zero_and_has_round_ticks():
    found = scale(Axis(title=""), [120.0, 870.0], 0, 100)
    assert [text for _, text in found.ticks] == ["0", "200", "400", "600", "800", "1k"]
    assert (found.place(0), found.place(1000), found.place(500)) == (0, 100, 50)


@pytest.mark.parametrize(
    "values, texts",
    [
        ([1.0, 90.0], ["1", "2", "5", "10", "20", "50", "100"]),
        ([3.0, 2e6], ["1", "10", "100", "1k", "10k", "100k", "1M", "10M"]),
        ([1024.0, 2.0**13, 2.0**17], ["10", "11", "12", "13", "14", "15", "16", "17"]),
    ],
)
def test_a_logarithmic_scale_has_decades_or_powers_of_two(values, texts):
    found = scale(Axis(title="", log=True), values, 0, 400)
    assert [re.sub(r"2<tspan[^>]*>(\d+)</tspan>", r"\1", text) for _, text in found.ticks] == texts
    places = [found.place(value) for value, _ in found.ticks]
    assert places == sorted(places) and places[0] >= 0 and places[-1] <= 400.000001
    assert all(0 <= found.place(value) <= 400.000001 for value in values)


@pytest.mark.parametrize("values", [[0.0], [5.0], [0.0, 0.0], [7.0, 7.0]])
@pytest.mark.parametrize("log", [False, True])
def test_one_value_has_a_place(values, log):
    assert 0 <= scale(Axis(title="", log=log), values, 0, 100).place(values[0]) <= 100


def test_series_differ_by_marker_and_dashes():
    drawing = ElementTree.fromstring(svg(curve({name: [(1, at + 1), (2, at + 2)] for at, name in enumerate("abcdef")})))
    groups = drawing.findall(f"{SVG}g")
    dashes = {group.find(f"{SVG}polyline").get("stroke-dasharray") for group in groups}
    markers = {
        (group[2].tag, group[2].get("fill"), re.sub(r"M[\d. ]+", "", group[2].get("d") or "")) for group in groups
    }
    assert len(groups) == len(dashes) == len(markers) == 6


def test_names_at_the_ends_do_not_touch_and_stay_in_the_picture():
    drawing = ElementTree.fromstring(svg(curve({f"server {at}": [(1, 5), (2, 5 + at / 100)] for at in range(8)})))
    names = [text for text in drawing.findall(f"{SVG}text") if (text.text or "").startswith("server")]
    heights = sorted(float(text.get("y")) for text in names)
    assert len(heights) == 8 and heights[-1] <= HEIGHT - BOTTOM + LABEL_HEIGHT
    assert all(below - above >= LABEL_HEIGHT - 0.11 for above, below in itertools.pairwise(heights))


def test_all_that_is_drawn_is_inside():
    drawing = ElementTree.fromstring(svg(curve({"a": [(1, 10), (50, 3000)]})))
    points = [tuple(map(float, pair.split(","))) for pair in drawing.find(f".//{SVG}polyline").get("points").split()]
    assert all(LEFT <= x <= WIDTH - RIGHT and TOP <= y <= HEIGHT - BOTTOM for x, y in points)
    assert drawing.get("aria-label") == "a < b"


def test_a_file_of_its_own_has_the_drawing_and_its_style(tmp_path):
    path = tmp_path / "plots" / "a.svg"
    drawn = curve({"one & more": [(0, 4), (0.5, 1)]})
    save(drawn, path)
    root = ElementTree.parse(path).getroot()
    assert ".plot .grid" in root.find(f"{SVG}style").text and root.find(f"{SVG}rect").get("fill") == "#fff"
    behind = (f"{SVG}style", f"{SVG}rect")
    assert [each.tag for each in root if each.tag not in behind] == [
        each.tag for each in ElementTree.fromstring(svg(drawn)) if each.tag not in behind
    ]


def test_a_curve_without_points_is_nothing():
    assert svg(curve({})) == svg(curve({"a": []})) == ""


@pytest.mark.parametrize(
    "value, text", [(0, "0"), (0.125, "0.125"), (999, "999"), (20_000, "20k"), (1.5e6, "1.5M"), (2e9, "2G")]
)
def test_numbers_are_short(value, text):
    assert short(value) == text
