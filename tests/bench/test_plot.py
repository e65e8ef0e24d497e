"""The curve as SVG."""

from __future__ import annotations

from xml.etree import ElementTree

from harness.bench.plot import HEIGHT, TOP, Curve
from harness.bench.spread import Spread

SVG = "{http://www.w3.org/2000/svg}"


def spreads(*medians: float) -> list[Spread]:
    return [Spread(median, 0.9 * median, 1.1 * median, 3) for median in medians]


def test_points_lie_where_their_values_are(tmp_path):
    curve = Curve("a share", "a <rate>", [0.0, 0.18, 0.5], {"one": spreads(4, 2, 1), "other & more": spreads(0.2, 0.2, 0.1)})
    curve.save(tmp_path / "plots" / "curve.svg", "title & all")
    root = ElementTree.parse(tmp_path / "plots" / "curve.svg").getroot()
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert {"title & all", "a share", "a <rate>", "one", "other & more", "0%", "18%", "50%", "4.00", "0.10"} <= set(texts)
    lines = [line.get("points").split() for line in root.iter(f"{SVG}polyline")]
    assert [len(points) for points in lines] == [3, 3]
    one, other = ([tuple(map(float, point.split(","))) for point in points] for points in lines)
    assert [x for x, _ in one] == [x for x, _ in other] == sorted(x for x, _ in one)
    assert one[0][1] < one[1][1] < one[2][1] < other[0][1] == other[1][1] < other[2][1], "more is higher"
    assert all(TOP <= y <= HEIGHT for _, y in one + other)
    # On a logarithmic scale a half is as far below as the next half.
    assert abs((one[1][1] - one[0][1]) - (one[2][1] - one[1][1])) < 0.2
