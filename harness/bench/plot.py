"""A curve as SVG: rates over a share, medians with their quartiles, on a logarithmic scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from pathlib import Path

from harness.bench.spread import Spread

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 76, 150, 48, 60
LABEL_WIDTH = 34
COLOURS = ("#1f6feb", "#d9480f", "#2b8a3e", "#862e9c")
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 15px }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  .axis { stroke: #57606a; stroke-width: 1 }
"""


@dataclass(frozen=True)
class Curve:
    """Series over the same shares: what each axis shows, and for each name a value a share."""

    x_title: str
    y_title: str
    shares: list[float]
    series: dict[str, list[Spread]]

    def save(self, path: Path, title: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.svg(title), encoding="utf-8")

    def svg(self, title: str) -> str:
        values = [value for spreads in self.series.values() for each in spreads for value in (each.low, each.high) if value > 0]
        low, high = 10 ** math.floor(math.log10(min(values))), max(values) * 1.3
        share_max = max(self.shares) or 1.0

        def x(share: float) -> float:
            return LEFT + (WIDTH - LEFT - RIGHT) * share / share_max

        def y(value: float) -> float:
            return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(max(value, low) / low) / math.log(high / low)

        parts = [f'<text class="title" x="{LEFT}" y="26">{escape(title)}</text>']
        parts += self._scales(x, y, low, high)
        for colour, (name, spreads) in zip(COLOURS, self.series.items()):
            parts += _series(name, colour, [(x(share), y(each.low), y(each.median), y(each.high)) for share, each in zip(self.shares, spreads)])
            parts += _values(colour, [(x(share), y(each.median), each.median) for share, each in zip(self.shares, spreads)])
        body = "\n  ".join(parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">\n'
            f'  <title>{escape(title)}</title>\n  <style>{STYLE}</style>\n  <rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n  {body}\n</svg>\n'
        )

    def _scales(self, x, y, low: float, high: float) -> list[str]:
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        parts = []
        for exponent in range(round(math.log10(low)), math.floor(math.log10(high)) + 1):
            for step in (1, 2, 5):
                value = step * 10.0**exponent
                if low <= value <= high:
                    parts.append(f'<line class="grid" x1="{LEFT}" y1="{y(value):.1f}" x2="{right}" y2="{y(value):.1f}"/>')
                    parts.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
        for share in self.shares:
            parts.append(f'<line class="grid" x1="{x(share):.1f}" y1="{TOP}" x2="{x(share):.1f}" y2="{bottom}"/>')
        for share in _apart(self.shares, x):
            parts.append(f'<text x="{x(share):.1f}" y="{bottom + 20}" text-anchor="middle">{share:.0%}</text>')
        parts.append(f'<line class="axis" x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}"/>')
        parts.append(f'<line class="axis" x1="{LEFT}" y1="{TOP}" x2="{LEFT}" y2="{bottom}"/>')
        parts.append(f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 16}" text-anchor="middle">{escape(self.x_title)}</text>')
        middle = (TOP + bottom) / 2
        parts.append(f'<text transform="translate(20 {middle}) rotate(-90)" text-anchor="middle">{escape(self.y_title)}</text>')
        return parts


def _apart(shares: list[float], x) -> list[float]:
    """Those whose labels do not touch."""
    shown: list[float] = []
    for share in shares:
        if not shown or x(share) - x(shown[-1]) > LABEL_WIDTH:
            shown.append(share)
    return shown


def _series(name: str, colour: str, points: list[tuple[float, float, float, float]]) -> list[str]:
    line = " ".join(f"{x:.1f},{middle:.1f}" for x, _, middle, _ in points)
    parts = [f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>']
    for x, low, middle, high in points:
        parts.append(f'<line x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{middle:.1f}" r="3.5" fill="{colour}"/>')
    x, _, middle, _ = points[-1]
    parts.append(f'<text x="{x + 12:.1f}" y="{middle + 4:.1f}" style="fill:{colour}">{escape(name)}</text>')
    return parts


def _values(colour: str, points: list[tuple[float, float, float]]) -> list[str]:
    """What the points stand for: above them, or below where the label would touch the one before."""
    parts = []
    before = -LABEL_WIDTH
    for x, y, value in points:
        is_apart = x - before > LABEL_WIDTH
        before = x if is_apart else -LABEL_WIDTH
        parts.append(
            f'<text x="{x:.1f}" y="{y - 10 if is_apart else y + 20:.1f}" text-anchor="middle" style="fill:{colour}">{value:.2f}</text>'
        )
    return parts
