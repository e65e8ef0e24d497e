"""Finds the source lines that explain a verifier's log: the costliest line of TLA+, and the last lines.

Kernels before 6.8 do not print the place of a quoted line. So the copy of the TLA+ that programs are compiled with has
its place at the end of every line (see builds.py). This module reads these marks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

PLACE = re.compile(r"^; (.*?)\s*\\\* (\S+\.tla:\d+)(?: @ .*)?$")
C_LINE = re.compile(r"^; (.*?)(?: @ (\S+:\d+))?$")
"""A quoted line. Kernels from 6.8 on add its place."""
INSTRUCTION = re.compile(r"^\d+: \([0-9a-f]{2}\) ")


@dataclass(frozen=True)
class Origin:
    """A line of TLA+ and its cost.

    place: `file:line`. insns: how many instructions of it the verifier processed. of: how many it processed in all.
    """

    place: str
    text: str
    insns: int
    of: int


@dataclass(frozen=True)
class Origins:
    """The source lines that explain a log."""

    costliest: Origin | None
    """The line of TLA+ with the most processed instructions."""
    last: Origin | None
    """The last line of TLA+ in the log. A refusal comes at it or behind it."""
    last_c: str = ""
    """The last line of C behind that, with its place if the kernel gives one; empty if a line of TLA+ is the last."""


def marked(line: str, place: str) -> str:
    """Returns a line of TLA+ as it is in the copy."""
    return f"{line.rstrip()} \\* {place}"


def origins(log: Iterable[str]) -> Origins:
    """Reads a verifier's log. Instructions of no line of TLA+ (those of the frame) only count for `of`."""
    insns: Counter[str] = Counter()
    texts: dict[str, str] = {}
    place, last, last_c, total = "", "", "", 0
    for line in log:
        if line.startswith("; "):
            found = PLACE.match(line)
            place = found[2] if found else ""
            if found:
                texts[place] = found[1].strip()
                last = place
            last_c = "" if found else _c_line(line)
        elif INSTRUCTION.match(line):
            total += 1
            insns[place] += bool(place)
    by_cost = sorted((each for each in insns if each), key=lambda each: (-insns[each], each))

    def origin(each: str) -> Origin:
        return Origin(each, texts[each], insns[each], total)

    return Origins(origin(by_cost[0]) if by_cost else None, origin(last) if last else None, last_c)


def _c_line(line: str) -> str:
    """Returns a quoted line of C, behind its place if that is known."""
    found = C_LINE.match(line)
    assert found is not None, line
    text, place = found.groups()
    return f"{place}: {text.strip()}" if place else text.strip()
