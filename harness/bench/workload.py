"""What a protocol's bench.py says of its workloads: parameters for its bench.h, and the numbers that slots draw.

Numbers stand for whatever the protocol names by them: keys, accounts. They are drawn by bench_draw() in slots.h.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

INTERVALS_MAX = 512  # BENCH_INTERVALS_MAX in slots.h
COUNT_MAX = 1 << 32
ZIPF_EXACT = 32
ZIPF_PARTS = 16  # of each doubling of the rank: within one the weights differ by 6 %
ENTRY = struct.Struct("<QQIIIi")


@dataclass(frozen=True)
class Interval:
    """`count` numbers from `first` on, all drawn equally often; `weight` is of all of them together."""

    first: int
    count: int
    weight: float


Numbers = tuple[Interval, ...]


@dataclass(frozen=True)
class Workload:
    """parameters: at most eight numbers, the protocol's own. numbers: what slots draw from, where they draw."""

    parameters: Sequence[int]
    numbers: Numbers = ()


@dataclass(frozen=True)
class Point:
    """One point of a scale.

    label: in the table. at: where it is on the axis. override: of the layout, on top of the benchmark's own sizes.
    loads: what is asked for before.
    """

    label: str
    at: float
    workload: Workload
    override: dict[str, Any] = field(default_factory=dict)
    loads: Sequence[Workload] = ()


@dataclass(frozen=True)
class Scale:
    """Something that speed may depend on.

    axis, unit, log: what the axis shows, and whether it is logarithmic. sentence: on what to look for.
    measured: where points are not put on the axis but measured: outcomes, and those among which their share is taken.
    """

    axis: str
    unit: str
    log: bool
    sentence: str
    points: Sequence[Point]
    measured: tuple[Sequence[str], Sequence[str]] | None = None


def powers_of_8() -> list[int]:
    """Sizes of a table from 2^10 to 2^25; tables of all of them together are a seventh larger than the last."""
    return [1 << exponent for exponent in range(10, 26, 3)]


def uniform(count: int, first: int = 0) -> Numbers:
    """Each of `count` numbers equally often."""
    return (Interval(first, count, 1.0),)


def zipf(count: int, exponent: float, first: int = 0) -> Numbers:
    """The number of rank r (the first has rank 1) in proportion to r ** -exponent.

    Exact for the first ranks; further on intervals have their exact weights, and the ranks within one the same.
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
    """Of the ranks from `begin` to before `end`; by the midpoint rule where there are many, so to 1 in 10,000."""
    if end - begin == 1 or begin < ZIPF_EXACT:
        weight: float = sum(rank**-exponent for rank in range(begin, end))
        return weight
    if exponent == 1:
        raise ValueError("the exponent 1 has another integral, and is not needed: take 0.99 or 1.01")
    power = 1 - exponent
    integral: float = ((end - 0.5) ** power - (begin - 0.5) ** power) / power
    return integral


def mixed(*parts: tuple[float, Numbers]) -> Numbers:
    """Each of the parts with its share of the draws."""
    mixture: list[Interval] = []
    for share, numbers in parts:
        total = sum(interval.weight for interval in numbers)
        mixture += [Interval(each.first, each.count, share * each.weight / total) for each in numbers if share > 0]
    return tuple(mixture)


def table(numbers: Numbers) -> list[bytes]:
    """The entries of Walker's alias method: of a random entry, its interval or the other one, by its threshold."""
    if not 1 <= len(numbers) <= INTERVALS_MAX:
        raise ValueError(f"{len(numbers)} intervals; there may be 1 to {INTERVALS_MAX}")
    if any(not 1 <= each.count < COUNT_MAX for each in numbers):
        raise ValueError("an interval has 1 to 2^32 - 1 numbers")
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
