"""python -m harness.fuzz_generator.round SEED PROGRAMS FOLDER: plays one round, in a process of its own.

The sanitizer ends the process where C does what it may not. FOLDER then has the protocol. Prints a line of JSON for
each protocol, and one with `wrong` if the round found something. Hypothesis makes that as short as it can.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sys
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from harness.fuzz_generator.judge import Wrong, judge
from harness.fuzz_generator.programs import programs
from harness.fuzz_generator.protocol import Program


def play(number: int, protocols: int, folder: Path) -> None:
    """Plays a round. Raises Wrong, and leaves the last protocol as the only folder in FOLDER.

    Each protocol has a folder of its own: the dynamic linker takes a library of the same path for the same library.
    Each is the second example of a search of its own. The first one of a search is the simplest, and the later ones
    repeat parts of earlier ones.
    """
    tried, seen, shrinking = itertools.count(), set[str](), False

    def judged(program: Program) -> None:
        nonlocal shrinking
        text = program.layout() + program.module() + program.tools
        if text in seen and not shrinking:
            return
        seen.add(text)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            found = judge(program, folder / str(next(tried)))
        except Wrong:
            shrinking = True
            raise
        if not shrinking:
            print(json.dumps({"refused": found.refused, "inputs": found.inputs}), flush=True)

    limits = settings(
        max_examples=2,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    for at in range(protocols):
        seed(f"{number}/{at}")(limits(given(programs())(judged)))()


def main() -> int:
    number, examples, folder = sys.argv[1:]
    try:
        play(int(number), int(examples), Path(folder))
    except Wrong as wrong:
        print(json.dumps({"wrong": str(wrong)}), flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
