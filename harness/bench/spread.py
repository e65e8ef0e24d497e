"""Sums up several runs by their median and quartiles."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of the runs that count."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        if not values:
            raise ValueError("no run counts")
        low, median, high = (
            statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
        )
        return cls(median, low, high, len(values))

    def text(self, digits: int = 2, unit: str = "") -> str:
        return f"{self.median:.{digits}f}{unit} [{self.low:.{digits}f}, {self.high:.{digits}f}]"
