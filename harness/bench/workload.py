"""Describes workloads for a protocol's bench.py: parameters for its bench.h, and the numbers that slots draw.

A number stands for whatever the protocol names by it: a key, an account. bench_draw() in slots.h draws them.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

INTERVALS_MAX = 512  # BENCH_INTERVALS_MAX in slots.h
COUNT_MAX = 1 << 32
ZIPF_EXACT = 32
ZIPF_PARTS = 16  # of each doubling of the rank: weights within a part differ by 6 %
ENTRY = struct.Struct("<QQIIIi")

T = TypeVar("T")


@dataclass(frozen=True)
class Interval:
    """`count` numbers from `first` on, all drawn equally often. `weight` is that of all of them together."""

    first: int
    count: int
    weight: float


Numbers = tuple[Interval, ...]


@dataclass(frozen=True)
class Workload:
    """One workload. parameters: at most eight numbers for bench.h. numbers: those that slots draw, if they draw."""

    parameters: Sequence[int]
    numbers: Numbers = ()


@dataclass(frozen=True)
class Point:
    """One point of a scale.

    label: its name in the table. at: its place on the axis. override: changes to the layout, on top of the benchmark's
    own sizes. loads: workloads that run before.
    """

    label: str
    at: float
    workload: Workload
    override: dict[str, Any] = field(default_factory=dict)
    loads: Sequence[Workload] = ()


def ends(points: Sequence[T]) -> list[T]:
    """Returns the first and the last, for a run that must be quick."""
    return [*points[:1], *points[1:][-1:]]


@dataclass(frozen=True)
class Scale:
    """A quantity that speed may depend on.

    axis, unit, log: the title and unit of the axis, and whether it is logarithmic. sentence: the thing to look for.
    measured: some outcomes, and all outcomes of which they are a share. A point's place on the axis is this share.
    """

    axis: str
    unit: str
    log: bool
    sentence: str
    points: Sequence[Point]
    measured: tuple[Sequence[str], Sequence[str]] | None = None


def powers_of_8() -> list[int]:
    """Sizes of a table from 2^10 to 2^25. Tables of all sizes together are a seventh larger than the last."""
    return [1 << exponent for exponent in range(10, 26, 3)]


def uniform(count: int, first: int = 0) -> Numbers:
    """Draw each of `count` numbers equally often."""
    return (Interval(first, count, 1.0),)


def zipf(count: int, exponent: float, first: int = 0) -> Numbers:
    """Draw the number of rank r in proportion to r ** -exponent. The first number has rank 1.

    The first ranks are exact. Later ranks form intervals: each interval has its exact weight, and its ranks share it
    equally.
    """
    edges = list(range(1, min(ZIPF_EXACT, count) + 1))
    low = ZIPF_EXACT
    while low < count:
        edges += [low + low * part // ZIPF_PARTS for part in range(1, ZIPF_PARTS + 1)]
        low *= 2
    edges = sorted({edge for edge in edges if edge <= count} | {count + 1})
    return tuple(
        Interval(first + begin - 1, end - begin, _zipf_weight(begin, end, exponent))
        for begin, end in itertools.pairwise(edges)
    )


def _zipf_weight(begin: int, end: int, exponent: float) -> float:
    """The weight of the ranks from `begin` to before `end`. For many ranks it is approximate, to 1 in 10,000."""
    if end - begin == 1 or begin < ZIPF_EXACT:
        weight: float = sum(rank**-exponent for rank in range(begin, end))
        return weight
    if exponent == 1:
        raise ValueError("the exponent 1 is not supported: use 0.99 or 1.01")
    power = 1 - exponent
    integral: float = ((end - 0.5) ** power - (begin - 0.5) ** power) / power
    return integral


def mixed(*parts: tuple[float, Numbers]) -> Numbers:
    """Mix the parts. Each gets its share of the draws."""
    mixture: list[Interval] = []
    for share, numbers in parts:
        total = sum(interval.weight for interval in numbers)
        mixture += [Interval(each.first, each.count, share * each.weight / total) for each in numbers if share > 0]
    return tuple(mixture)


def table(numbers: Numbers) -> list[bytes]:
    """Make the entries of Walker's alias method. The threshold of a random entry picks one of its two intervals."""
    if not 1 <= len(numbers) <= INTERVALS_MAX:
        raise ValueError(f"{len(numbers)} intervals; give 1 to {INTERVALS_MAX}")
    if any(not 1 <= each.count < COUNT_MAX for each in numbers):
        raise ValueError("an interval must have 1 to 2^32 - 1 numbers")
    mean = sum(each.weight for each in numbers) / len(numbers)
    share = [each.weight / mean for each in numbers]
    other = list(range(len(numbers)))
    keeps = [1.0] * len(numbers)
    scarce = [at for at, value in enumerate(share) if value < 1]
    ample = [at for at, value in enumerate(share) if value >= 1]
    while scarce and ample:
        low, high = scarce.pop(), ample.pop()
        keeps[low], other[low] = share[low], high
        share[high] -= 1 - share[low]
        (scarce if share[high] < 1 else ample).append(high)
    return [
        ENTRY.pack(
            own.first,
            numbers[second].first,
            own.count,
            numbers[second].count,
            min(int(keep * COUNT_MAX), COUNT_MAX - 1),
            0,
        )
        for own, second, keep in zip(numbers, other, keeps)
    ]
