"""Tests curves: ticks, series that differ without colour, and SVG that fits into any page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from harness.base.protocols import REPOSITORY
from harness.results.models import Axis, Curve, Point
from harness.results.plot import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, save, short, svg, ticks

SVG = "{http://www.w3.org/2000/svg}"
PLACE = re.compile(r"[ML] ?([\d.]+) ([\d.]+)")


def curve(series: dict[str, list[tuple[float, float]]], **other) -> Curve:
    points = {name: [Point(x=x, y=y, low=y * 0.9, high=y * 1.1) for x, y in each] for name, each in series.items()}
    axes = {"x": Axis(title="rate", unit="packets/s"), "y": Axis(title="p99", unit="µs")}
    return Curve(title="a < b", series=points, **(axes | other))


def texts(drawn: str) -> list[str]:
    return [text.text for text in ElementTree.fromstring(drawn).iter(f"{SVG}text")]


def lines(drawn: str) -> list[ElementTree.Element]:
    """The line of each series."""
    return [
        each
        for each in ElementTree.fromstring(drawn).iter(f"{SVG}path")
        if "stroke-width: 1.8" in each.get("style", "")
    ]


def test_a_linear_axis_begins_at_zero_and_has_round_ticks():
    assert [text for _, text in ticks(Axis(title=""), [120.0, 870.0])] == ["0", "200", "400", "600", "800", "1k"]


@pytest.mark.parametrize(
    "values, labels",
    [
        ([1.0, 90.0], ["1", "2", "5", "10", "20", "50", "100"]),
        ([3.0, 2e6], ["1", "10", "100", "1k", "10k", "100k", "1M", "10M"]),
        ([1024.0, 2.0**13, 2.0**17], ["2¹⁰", "2¹¹", "2¹²", "2¹³", "2¹⁴", "2¹⁵", "2¹⁶", "2¹⁷"]),
        ([2.0**10, 2.0**25], ["2¹⁰", "2¹²", "2¹⁴", "2¹⁶", "2¹⁸", "2²⁰", "2²²", "2²⁴", ""]),
    ],
)
def test_a_logarithmic_axis_has_decades_or_powers_of_two(values, labels):
    found = ticks(Axis(title="", log=True), values)
    assert [text for _, text in found] == labels
    places = [place for place, _ in found]
    assert places == sorted(places) and places[0] <= min(values) and places[-1] >= max(values)


@pytest.mark.parametrize("values", [[0.0], [5.0], [0.0, 0.0], [7.0, 7.0], [0.0, 3.0], [0.99, 1.01]])
@pytest.mark.parametrize("log", [False, True])
def test_an_axis_is_longer_than_nothing(values, log):
    found = ticks(Axis(title="", log=log), values)
    assert found[0][0] < found[-1][0] and found[-1][0] >= max(values)
    assert svg(curve({"a": [(value, value) for value in values]}, y=Axis(title="", log=log)))


def test_series_differ_by_marker_and_dashes():
    drawn = svg(curve({name: [(1, at + 1), (2, at + 2)] for at, name in enumerate("abcdef")}))
    dashes = {re.search(r"stroke-dasharray: ([\d. ,]+)|$", line.get("style"))[1] for line in lines(drawn)}
    shapes = {
        " ".join(path.get("d").split())
        for defs in ElementTree.fromstring(drawn).iter(f"{SVG}defs")
        for path in defs.iter(f"{SVG}path")
        if len(re.findall("[LC]", path.get("d"))) > 1  # the others are the ticks of the axes
    }
    assert len(dashes) == 6 and len(shapes) == 6


def test_text_stays_text_and_names_are_whole():
    name = "generated, the daemon on the other core"
    drawn = svg(curve({name: [(1, 5), (2, 6)], "b & c": [(1, 5), (2, 9)]}))
    assert {"rate (packets/s)", "p99 (µs)", "b & c"} <= set(texts(drawn))
    assert name in " ".join(text for text in texts(drawn) if text)


def test_all_that_is_drawn_is_inside():
    drawn = svg(curve({"a": [(1, 10), (50, 3000)]}))
    assert ElementTree.fromstring(drawn).get("aria-label") == "a < b"
    places = [(float(x), float(y)) for line in lines(drawn) for x, y in PLACE.findall(line.get("d"))]
    assert len(places) >= 2
    assert all(
        LEFT <= x <= WIDTH - RIGHT + 0.01 and TOP <= y <= HEIGHT - BOTTOM + 0.01
        for x, y in places
        if x < WIDTH - RIGHT + 1
    )


def test_nothing_of_it_concerns_the_page_around_it():
    """A page has many curves: their names differ, and their styles are theirs alone."""
    first, second = svg(curve({"a": [(1, 2)]})), svg(curve({"b": [(1, 2)]}))
    names = [re.findall(r' id="([^"]+)"', each) for each in (first, second)]
    assert names[0] and not set(names[0]) & set(names[1])
    for drawn, own in zip((first, second), names):
        assert set(re.findall(r'(?:url\(|href=")#([^")]+)', drawn)) <= set(own)
        assert re.findall(r"<style[^>]*>([^{]*)", drawn) == [".plot *"]
        assert "<metadata" not in drawn and "<!DOCTYPE" not in drawn and "date" not in drawn


def test_the_same_curve_is_the_same_bytes_in_any_process(tmp_path):
    path = tmp_path / "a.svg"
    program = f"""
from pathlib import Path
from tests.results.test_plot import curve, save
save(curve({{"a": [(1, 2), (3, 4)]}}), Path({str(path)!r}))
"""
    written = set()
    for seed in ("1", "2"):
        (tmp_path / "matplotlibrc").write_text("font.size: 30\nlines.linewidth: 9\n")
        environment = os.environ | {"PYTHONHASHSEED": seed, "MATPLOTLIBRC": str(tmp_path)}
        subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, env=environment, check=True)
        written.add(path.read_bytes())
    save(curve({"a": [(1, 2), (3, 4)]}), path)
    assert written == {path.read_bytes()}


def test_a_file_of_its_own_has_a_white_ground(tmp_path):
    path = tmp_path / "plots" / "a.svg"
    drawn = curve({"one & more": [(0, 4), (0.5, 1)]})
    save(drawn, path)
    root = ElementTree.parse(path).getroot()
    assert root[0].tag == f"{SVG}rect" and root[0].get("fill") == "#fff"
    assert [each.tag for each in root][1:] == [each.tag for each in ElementTree.fromstring(svg(drawn))]


def test_a_curve_without_points_is_nothing():
    assert svg(curve({})) == svg(curve({"a": []})) == ""


@pytest.mark.parametrize(
    "value, text", [(0, "0"), (0.125, "0.125"), (999, "999"), (20_000, "20k"), (1.5e6, "1.5M"), (2e9, "2G")]
)
def test_numbers_are_short(value, text):
    assert short(value) == text


def test_no_other_command_imports_matplotlib():
    commands = {
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
        for path in (REPOSITORY / "harness").rglob("*.py")
        if path.parent.name != "report" and "__name__ == " in path.read_text(encoding="utf-8")
    }
    assert {"harness.bench.__main__", "harness.veristat"} <= commands
    program = f"import sys\nfor name in {sorted(commands)}: __import__(name)\nassert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, check=True)
