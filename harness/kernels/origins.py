"""Which lines of TLA+ the verifier spent its instructions on: read from its log of a program that quotes them.

Since 6.8 a kernel writes behind a quoted line where it stands, and earlier ones do not. So the copy of the TLA+ that
programs are compiled with says so itself, at the end of every line (see builds.py), and what is read here is that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

PLACE = re.compile(r"^; (.*?)\s*\\\* (\S+\.tla:\d+)(?: @ .*)?$")
INSTRUCTION = re.compile(r"^\d+: \([0-9a-f]{2}\) ")


@dataclass(frozen=True)
class Origin:
    """A line of TLA+. place: `file:line`. insns: how many instructions of it the verifier processed, `of` how many in
    all.
    """

    place: str
    text: str
    insns: int
    of: int


@dataclass(frozen=True)
class Origins:
    """costliest: the line that most instructions were processed of. last: the one that the log has last: of a refusal,
    where.
    """

    costliest: Origin | None
    last: Origin | None


def marked(line: str, place: str) -> str:
    """A line of TLA+ as it stands in the copy."""
    return f"{line.rstrip()} \\* {place}"


def origins(log: Iterable[str]) -> Origins:
    """Of the lines of a verifier's log. What is of no line of TLA+ (the frame) counts for `of` only."""
    insns: Counter[str] = Counter()
    texts: dict[str, str] = {}
    place, last, total = "", "", 0
    for line in log:
        if line.startswith("; "):
            found = PLACE.match(line)
            place = found[2] if found else ""
            if found:
                texts[place] = found[1].strip()
                last = place
        elif INSTRUCTION.match(line):
            total += 1
            insns[place] += bool(place)
    by_cost = sorted((each for each in insns if each), key=lambda each: (-insns[each], each))

    def origin(each: str) -> Origin:
        return Origin(each, texts[each], insns[each], total)

    return Origins(origin(by_cost[0]) if by_cost else None, origin(last) if last else None)
