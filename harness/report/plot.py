"""Draws curves as SVG, for a page or as files: linear or logarithmic axes, medians with their quartiles.

Markers and dashes, as well as colours, tell series apart. Each series is named at its end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from harness.results.models import Axis, Curve, Point

WIDTH, HEIGHT = 530, 340
LEFT, RIGHT, TOP, BOTTOM = 62, 118, 16, 48
LABEL_HEIGHT = 14
TICK_WIDTH = 44
COLOURS = ("#0b5394", "#b45309", "#2e7d32", "#8e24aa", "#455a64", "#ad1457")
DASHES = ("", "6 3", "2 2.5", "9 3 2 3", "12 4", "4 2 1 2")
MARKERS = (
    '<circle cx="{x}" cy="{y}" r="3.4"/>',
    '<rect x="{x}" y="{y}" width="6.4" height="6.4" transform="translate(-3.2 -3.2)" fill="#fff"/>',
    '<path d="M{x} {y} m0 -4.2 l4 7 l-8 0 z"/>',
    '<path d="M{x} {y} m0 -4.4 l4.4 4.4 l-4.4 4.4 l-4.4 -4.4 z" fill="#fff"/>',
    '<circle cx="{x}" cy="{y}" r="3.4" fill="#fff"/>',
    '<rect x="{x}" y="{y}" width="6.4" height="6.4" transform="translate(-3.2 -3.2)"/>',
)
SUFFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
STYLE = """
.plot { font: 11.5px var(--sans, system-ui, sans-serif); }
.plot .grid { stroke: #dde2e7; }
.plot .axis { stroke: #57616b; }
.plot text { fill: #1d2329; }
.plot tspan { font-size: 9px; }
.plot .tick { fill: #3f4850; font-variant-numeric: tabular-nums; }
"""


@dataclass(frozen=True)
class Scale:
    """An axis of a plot.

    place: maps a value to its position on the page. ticks: the labelled values, each with its label as SVG.
    """

    place: Callable[[float], float]
    ticks: list[tuple[float, str]]


def short(value: float) -> str:
    """Shortens a number: 1,500,000 becomes 1.5M."""
    for least, suffix in SUFFIXES:
        if abs(value) >= least:
            return f"{value / least:.3g}{suffix}"
    return f"{value:.3g}"


def scale(axis: Axis, values: list[float], start: float, end: float) -> Scale:
    """Makes an axis for these values, from `start` to `end` of the page. A logarithmic one drops values up to 0."""
    if axis.log and (positive := [value for value in values if value > 0]):
        return _logarithmic(positive, start, end)
    low, high = min(0.0, *values), max(values)
    step = _step((high - low) or 1.0)
    low, high = math.floor(low / step) * step, math.ceil((high or 1.0) / step) * step
    ticks = [low + at * step for at in range(round((high - low) / step) + 1)]
    return Scale(
        lambda value: start + (end - start) * (value - low) / (high - low), [(tick, short(tick)) for tick in ticks]
    )


def _step(span: float, wanted: int = 6) -> float:
    """Returns the distance between ticks: 1, 2 or 5 times a power of ten."""
    raw = span / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= raw)


def _logarithmic(values: list[float], start: float, end: float) -> Scale:
    if max(values) >= 16 * min(values) and all(math.log2(value).is_integer() for value in values):
        low, high = min(values), max(values)
        exponents = range(round(math.log2(low)), round(math.log2(high)) + 1)
        every = max(1, math.ceil(len(exponents) * TICK_WIDTH / abs(end - start)))
        ticks = [(2.0**each, f'2<tspan dy="-4">{each}</tspan>') for each in exponents[::every]]
    else:
        decades = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
        steps = (1, 2, 5) if len(decades) <= 4 else (1,)
        named = [step * 10.0**decade for decade in decades for step in steps]
        low = max(value for value in named if value <= min(values) * 1.0000001)
        high = min((value for value in named if value >= max(values) * 0.9999999), default=max(values))
        high = high if high > low else low * 10
        ticks = [(value, short(value)) for value in named if low <= value <= high]
    width = math.log(high / low) or 1.0
    return Scale(lambda value: start + (end - start) * math.log(max(value, low) / low) / width, ticks)


def save(curve: Curve, path: Path) -> None:
    """Writes a curve to a file of its own, on a white background. Makes the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        svg(curve, f'<style>{STYLE}</style>\n<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n') + "\n",
        encoding="utf-8",
    )


def svg(curve: Curve, behind: str = "") -> str:
    """Draws a curve; empty if it has no points. behind: SVG that is drawn first."""
    points = [point for series in curve.series.values() for point in series]
    if not points:
        return ""
    across = scale(curve.x, [point.x for point in points], LEFT, WIDTH - RIGHT)
    reach = [value for point in points for value in (point.y, point.low, point.high) if value is not None]
    up = scale(curve.y, reach, HEIGHT - BOTTOM, TOP)
    parts = _axes(curve, across, up)
    ends = _apart({name: up.place(series[-1].y) for name, series in curve.series.items() if series})
    for at, (name, series) in enumerate((name, series) for name, series in curve.series.items() if series):
        parts += _series(at, name, series, across, up, ends[name])
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" aria-label="{escape(curve.title)}" '
        f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">\n{behind}{body}\n</svg>'
    )


def _axes(curve: Curve, across: Scale, up: Scale) -> list[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = []
    for value, text in up.ticks:
        y = up.place(value)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    before = -math.inf
    for value, text in across.ticks:
        x = across.place(value)
        parts.append(f'<line class="axis" x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 4}"/>')
        if x - before >= TICK_WIDTH * 0.75:
            parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{text}</text>')
            before = x
    parts.append(f'<path class="axis" d="M{LEFT} {TOP} V{bottom} H{right}" fill="none"/>')
    parts.append(f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(curve.x.label)}</text>')
    turned = f"translate(13 {(TOP + bottom) / 2}) rotate(-90)"
    parts.append(f'<text transform="{turned}" text-anchor="middle">{escape(curve.y.label)}</text>')
    return parts


def _series(at: int, name: str, series: list[Point], across: Scale, up: Scale, label_y: float) -> list[str]:
    colour, dash, marker = COLOURS[at % len(COLOURS)], DASHES[at % len(DASHES)], MARKERS[at % len(MARKERS)]
    places = [(across.place(point.x), up.place(point.y)) for point in series]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [f'<g stroke="{colour}" fill="{colour}" stroke-width="1.3">']
    parts.append(f'<polyline points="{line}" fill="none" stroke-width="1.8" stroke-dasharray="{dash}"/>')
    for point, (x, y) in zip(series, places):
        if point.low is not None and point.high is not None:
            parts.append(f'<path d="M{x:.1f} {up.place(point.low):.1f} V{up.place(point.high):.1f}"/>')
        parts.append(marker.format(x=f"{x:.1f}", y=f"{y:.1f}"))
    x, y = places[-1]
    parts.append(f'<path d="M{x + 6:.1f} {y:.1f} L{WIDTH - RIGHT + 12} {label_y:.1f}" fill="none" stroke-width="0.6"/>')
    parts.append("</g>")
    parts.append(f'<text x="{WIDTH - RIGHT + 16}" y="{label_y + 4:.1f}" style="fill:{colour}">{escape(name)}</text>')
    return parts


def _apart(wanted: dict[str, float]) -> dict[str, float]:
    """Moves the heights of labels apart so that they do not touch, as near as possible to those wanted."""
    placed: dict[str, float] = {}
    for name, y in sorted(wanted.items(), key=lambda each: each[1]):
        placed[name] = max(y, max(placed.values(), default=-math.inf) + LABEL_HEIGHT)
    overflow = max(placed.values()) - (HEIGHT - BOTTOM)
    if overflow > 0:
        limit = float(HEIGHT - BOTTOM)
        for name, y in sorted(placed.items(), key=lambda each: -each[1]):
            placed[name] = min(y, limit)
            limit = placed[name] - LABEL_HEIGHT
    return placed
