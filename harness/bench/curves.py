"""Holds curves as data for `just report`: axes, medians with quartiles, and a sentence that explains them."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.bench.spread import Spread
from harness.results import models


@dataclass
class Curve:
    """Series of points by name.

    notes, left_out: the points that are left out, and why. left_out has their labels by series and reason.
    """

    title: str
    sentence: str
    x: models.Axis
    y: models.Axis
    series: dict[str, list[tuple[float, Spread]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    left_out: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def add(self, name: str, at: float, spread: Spread) -> None:
        self.series.setdefault(name, []).append((at, spread))

    def leave_out(self, name: str, label: str, why: str) -> None:
        self.left_out.setdefault((name, why), []).append(label)

    def found(self) -> models.Curve:
        """The curve for results, with its points in the order of x."""

        def point(at: float, spread: Spread) -> models.Point:
            return models.Point(x=at, y=spread.median, low=spread.low, high=spread.high)

        return models.Curve(
            title=self.title,
            sentence=self.sentence,
            x=self.x,
            y=self.y,
            series={
                name: [point(at, spread) for at, spread in sorted(points, key=lambda each: each[0])]
                for name, points in self.series.items()
            },
            notes=[
                *self.notes,
                *(f"{name} at {', '.join(labels)}: {why}" for (name, why), labels in self.left_out.items()),
            ],
        )
