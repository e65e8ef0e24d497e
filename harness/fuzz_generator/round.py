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
from harness.fuzz_generator.programs import Program, programs


def play(number: int, examples: int, folder: Path) -> None:
    """Plays a round. Raises Wrong, and leaves the last protocol as the only folder in FOLDER.

    Each protocol has a folder of its own: the dynamic linker takes a library of the same path for the same library.
    """
    tried = itertools.count()

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def judged(program: Program) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        found = judge(program, folder / str(next(tried)))
        print(json.dumps({"refused": found.refused, "inputs": found.inputs}), flush=True)

    judged()


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
