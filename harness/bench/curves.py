"""Holds curves as data for `just report`: axes, medians with quartiles, and a sentence that explains them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.bench.spread import Spread


@dataclass(frozen=True)
class Axis:
    """One axis. title: the quantity. unit: in words, or "" for a share or a count. log: whether it is logarithmic."""

    title: str
    unit: str
    log: bool = False


@dataclass
class Curve:
    """Series of points by name.

    notes, left_out: the points that are left out, and why. left_out has their labels by series and reason.
    """

    title: str
    sentence: str
    x: Axis
    y: Axis
    series: dict[str, list[tuple[float, Spread]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    left_out: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def add(self, name: str, at: float, spread: Spread) -> None:
        self.series.setdefault(name, []).append((at, spread))

    def leave_out(self, name: str, label: str, why: str) -> None:
        self.left_out.setdefault((name, why), []).append(label)

    def plain(self) -> dict[str, Any]:
        """The curve for JSON, with its points in the order of x."""

        def point(at: float, spread: Spread) -> dict[str, float]:
            return {"x": at, "y": spread.median, "low": spread.low, "high": spread.high}

        series: Mapping[str, list[dict[str, float]]] = {
            name: [point(at, spread) for at, spread in sorted(points, key=lambda each: each[0])]
            for name, points in self.series.items()
        }
        return {
            "title": self.title,
            "sentence": self.sentence,
            "x": vars(self.x),
            "y": vars(self.y),
            "series": series,
            "notes": [
                *self.notes,
                *(f"{name} at {', '.join(labels)}: {why}" for (name, why), labels in self.left_out.items()),
            ],
        }
