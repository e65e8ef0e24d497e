"""Draws the heat map: TLA+ source in which a branch's shade shows how often it was taken."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from harness.results.models import Branch, Build

LEVELS = 5
"""Number of shades for branches that were taken; level 0 is for those that were not."""
RATIO = 4
KEY = (f"under 1/{RATIO ** (LEVELS - 1)}", *(f"from 1/{RATIO ** (LEVELS + 1 - at)}" for at in range(2, LEVELS + 1)))
"""Meaning of the levels from 1 on: shares of the count of the most-taken branch."""


@dataclass(frozen=True)
class Heat:
    """One branch, summed over several builds. level: 0 to LEVELS; None if no build must take it."""

    branch: Branch
    times: int
    level: int | None

    @property
    def title(self) -> str:
        if self.level is None:
            return f"{self.branch.label}: only after a lost race"
        return f"{self.branch.label}: {self.times:,} times" if self.times else f"{self.branch.label}: NOT TAKEN"


@dataclass(frozen=True)
class Segment:
    """A part of a line. heat: that of the innermost branch around it; None outside all branches."""

    text: str
    heat: Heat | None


@dataclass(frozen=True)
class Line:
    """One line of the source. begins: the branches that start in it."""

    number: int
    segments: list[Segment]
    begins: list[Heat]


def added(builds: Iterable[Build]) -> list[Heat]:
    """Sums, for every branch, how often the builds took it."""
    times: dict[tuple[str, str, int, int], int] = {}
    branches: dict[tuple[str, str, int, int], Branch] = {}
    excused: dict[tuple[str, str, int, int], bool] = {}
    for branch in (branch for build in builds for branch in build.branches):
        key = (branch.label, branch.file, branch.line, branch.column)
        branches[key] = branch
        times[key] = times.get(key, 0) + branch.times
        excused[key] = excused.get(key, True) and branch.excused
    most = max(times.values(), default=0)
    return [Heat(branches[key], count, None if excused[key] else level(count, most)) for key, count in times.items()]


def level(times: int, most: int) -> int:
    """Returns 0 for a branch that was never taken, and LEVELS for a count within RATIO of the most.

    Each further factor of RATIO lowers the level by one, down to 1.
    """
    if not times:
        return 0
    ratios = math.ceil(math.log(most / times) / math.log(RATIO) - 1e-9)
    return max(1, LEVELS + 1 - max(1, ratios))


def lines(source: str, file: str, heats: list[Heat]) -> list[Line]:
    """Splits the source into lines, and each line into parts with their heat."""
    own = sorted((heat for heat in heats if heat.branch.file == file), key=_size, reverse=True)
    found = []
    for number, text in enumerate(source.splitlines(), 1):
        covering: list[Heat | None] = [None] * len(text)
        for heat in own:  # the largest first, so that inner branches overwrite outer ones
            branch = heat.branch
            if branch.line <= number <= branch.last_line:
                first = branch.column - 1 if number == branch.line else len(text) - len(text.lstrip())
                last = branch.last_column if number == branch.last_line else len(text)
                covering[first:last] = [heat] * (min(last, len(text)) - first)
        begins = sorted((heat for heat in own if heat.branch.line == number), key=lambda heat: heat.branch.column)
        found.append(Line(number, _segments(text, covering), begins))
    return found


def _size(heat: Heat) -> tuple[int, int]:
    branch = heat.branch
    return branch.last_line - branch.line, branch.last_column - branch.column


def _segments(text: str, covering: list[Heat | None]) -> list[Segment]:
    segments: list[Segment] = []
    for character, heat in zip(text, covering, strict=True):
        if segments and segments[-1].heat is heat:
            segments[-1] = Segment(segments[-1].text + character, heat)
        else:
            segments.append(Segment(character, heat))
    return segments
