"""Draws curves as SVG with matplotlib, for a page or as files: medians with their quartiles.

Markers and dashes, as well as colours, tell series apart. The same curve gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
import textwrap
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator

from harness.results.models import Axis, Curve, Point

WIDTH, HEIGHT = 560, 340
LEFT, RIGHT, TOP, BOTTOM = 66, 152, 16, 48
POINTS_AN_INCH = 72  # so a pixel of the drawing is a point of matplotlib
NAME_CHARACTERS_MAX = 16
TICKS_MAX = 9
COLOURS = ("#0b5394", "#b45309", "#2e7d32", "#8e24aa", "#455a64", "#ad1457")
DASHES: tuple[Any, ...] = ("-", (0, (6, 3)), (0, (2, 2.5)), (0, (9, 3, 2, 3)), (0, (12, 4)), (0, (4, 2, 1, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P")
HOLLOW = (False, True, False, True, True, False)
SUFFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
INK, SOFT, FAINT = "#1d2329", "#57616b", "#dde2e7"
SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "stepwise",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # the one that matplotlib brings
    "font.size": 11.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "xtick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.color": SOFT,
    "ytick.labelcolor": INK,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "legend.labelspacing": 0.9,
}


def short(value: float) -> str:
    """Shortens a number: 1,500,000 becomes 1.5M."""
    for least, suffix in SUFFIXES:
        if abs(value) >= least:
            return f"{value / least:.3g}{suffix}"
    return f"{value:.3g}"


def ticks(axis: Axis, values: Sequence[float]) -> list[tuple[float, str]]:
    """Returns the ticks of an axis with their labels; it reaches from the first to the last of them.

    A logarithmic axis drops values up to 0. If these are all, the axis is linear.
    """
    positive = [value for value in values if value > 0]
    if not (axis.log and positive):
        found = MaxNLocator(nbins=6, steps=[1, 2, 5, 10]).tick_values(min(0.0, *values), max(values) or 1.0)
        return [(float(value), short(float(value))) for value in found]
    least, most = min(positive), max(positive)
    if most >= 16 * least and all(math.log2(value).is_integer() for value in positive):
        first, last = round(math.log2(least)), round(math.log2(most))
        every = math.ceil((last - first + 1) / TICKS_MAX)
        labelled = {2.0**each: f"2{str(each).translate(RAISED)}" for each in range(first, last + 1, every)}
        return [*labelled.items(), *([] if most in labelled else [(most, "")])]
    decades = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 2)
    named = [step * 10.0**decade for decade in decades for step in ((1, 2, 5) if len(decades) <= 5 else (1,))]
    low = max(value for value in named if value <= least * 1.0000001)
    high = min(value for value in named if value >= most * 0.9999999 and value > low)
    return [(value, short(value)) for value in named if low <= value <= high]


def save(curve: Curve, path: Path) -> None:
    """Writes a curve to a file of its own, on a white background. Makes the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(svg(curve, f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n') + "\n", encoding="utf-8")


def svg(curve: Curve, behind: str = "") -> str:
    """Draws a curve; empty if it has no points. behind: SVG that is drawn first."""
    series = {name: points for name, points in curve.series.items() if points}
    if not series:
        return ""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # the reader's own settings must not change the drawing
        matplotlib.rcParams.update(SETTINGS)
        figure = Figure(figsize=(WIDTH / POINTS_AN_INCH, HEIGHT / POINTS_AN_INCH))
        box = (LEFT / WIDTH, BOTTOM / HEIGHT, 1 - (LEFT + RIGHT) / WIDTH, 1 - (TOP + BOTTOM) / HEIGHT)
        _draw(figure.add_axes(box), curve, series)
        written = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(written, format="svg", transparent=True, metadata=nothing)
    return _embeddable(written.getvalue(), curve.title, behind)


def _draw(axes: Axes, curve: Curve, series: dict[str, list[Point]]) -> None:
    points = [point for each in series.values() for point in each]
    reach = [value for point in points for value in (point.y, point.low, point.high) if value is not None]
    _scale(axes, "x", curve.x, [point.x for point in points])
    _scale(axes, "y", curve.y, reach)
    drawn = {name: _series(axes, at, each) for at, (name, each) in enumerate(series.items())}
    # In the legend, the names stand in the order in which the series end.
    names = sorted(series, key=lambda name: -series[name][-1].y)
    wrapped = ["\n".join(textwrap.wrap(name, NAME_CHARACTERS_MAX)) for name in names]
    axes.legend([drawn[name] for name in names], wrapped, loc="upper left", bbox_to_anchor=(1.02, 1), borderaxespad=0)


def _scale(axes: Axes, which: str, described: Axis, values: Sequence[float]) -> None:
    labelled = ticks(described, values)
    places, texts = [value for value, _ in labelled], [text for _, text in labelled]
    if described.log and places[0] > 0:
        axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_minor_locator(NullLocator())
    axis.set_major_locator(FixedLocator(places))
    axis.set_major_formatter(FixedFormatter(texts))
    axes.set(**{f"{which}lim": (places[0], places[-1]), f"{which}label": described.label})


def _series(axes: Axes, at: int, points: list[Point]) -> Any:
    colour, at = COLOURS[at % len(COLOURS)], at % len(MARKERS)
    below = [point.y - (point.y if point.low is None else min(point.low, point.y)) for point in points]
    above = [(point.y if point.high is None else max(point.high, point.y)) - point.y for point in points]
    return axes.errorbar(
        [point.x for point in points],
        [point.y for point in points],
        yerr=[below, above],
        color=colour,
        linestyle=DASHES[at],
        linewidth=1.8,
        elinewidth=1.2,
        marker=MARKERS[at],
        markersize=6,
        markerfacecolor="#fff" if HOLLOW[at] else colour,
        clip_on=False,
    )


def _embeddable(written: str, title: str, behind: str) -> str:
    """Turns matplotlib's file into an element of a page, whose styles and names concern nothing outside of it."""
    body = written[written.index(">", written.index("<svg ")) + 1 :]
    body = re.sub(r"\s*<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = body.replace("*{stroke-linejoin", ".plot *{stroke-linejoin")
    used = set(re.findall(r'(?:url\(|href=")#(\w+)', body))
    prefix = "plot" + hashlib.sha256(f"{title}{body}".encode()).hexdigest()[:8]
    body = re.sub(r' id="([^"]+)"', lambda each: f' id="{prefix}-{each[1]}"' if each[1] in used else "", body)
    body = re.sub(r'(url\(|href=")#', rf"\1#{prefix}-", body)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" class="plot" role="img" '
        f'aria-label="{escape(title)}" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">\n'
        f"{behind}{body.strip()}"
    )
