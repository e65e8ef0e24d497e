"""just fuzz generator: plays rounds of made-up protocols until the time is over, two at a time."""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.base import command
from harness.base.command import counted
from harness.base.protocols import REPOSITORY
from harness.fuzz_generator.protocol import NAME, TOOLS
from harness.results import begin
from harness.results.models import Failure, Fuzz, Stage

REGRESSIONS = REPOSITORY / "tests/regressions/generator"
PARALLEL = 2
PROGRAMS_A_ROUND = 20
SEED_MAX = 2**31
FAULTS = {signal.SIGILL, signal.SIGTRAP, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGABRT}
"""Signals by which a program with a fault ends. By others, somebody ended it."""
FILES = ("layout.yaml", "conform.yaml", "MadeSteps.tla")
OPTIONAL = (f"{TOOLS}.tla",)


@dataclass
class Round:
    """The result of a round.

    wrong: the fault that it found, or ""; saved: the folder with that protocol; killed: somebody ended it by a signal.
    """

    seed: int
    run: int = 0
    inputs: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    wrong: str = ""
    saved: Path | None = None
    killed: bool = False


def play(seed: int, programs: int, regressions: Path = REGRESSIONS) -> Round:
    """Plays one round in a process of its own. If it finds something, its protocol is saved among the regressions."""
    found = Round(seed)
    with tempfile.TemporaryDirectory(prefix="stepwise-made-") as scratch:
        folder = Path(scratch) / "round"
        arguments = [sys.executable, "-m", "harness.fuzz_generator.round", str(seed), str(programs), str(folder)]
        # A group of its own: what ends the round must end its compilers and programs as well.
        begun = subprocess.Popen(
            arguments,
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        with command.child(begun) as process:
            output, errors = process.communicate()
        for line in output.splitlines():
            if line.startswith("{"):  # others are Hypothesis's own
                _count(found, json.loads(line))
        faulty = process.returncode > 0 or -process.returncode in FAULTS
        if not found.wrong and faulty:
            found.wrong = f"the round ended with {process.returncode}:\n{errors[-3000:]}"
        found.killed = process.returncode < 0 and not faulty
        if found.wrong:
            [last] = folder.iterdir()
            found.saved = _save(last / "spec" / NAME, found.wrong, regressions)
    return found


def _count(found: Round, line: dict[str, object]) -> None:
    if "wrong" in line:
        found.wrong = str(line["wrong"])
    elif line["refused"]:
        found.refused[str(line["refused"]).partition(":")[0]] += 1
    else:
        found.run += 1
        found.inputs += int(str(line["inputs"]))


def _save(spec: Path, wrong: str, regressions: Path) -> Path | None:
    if not spec.is_dir():
        return None
    texts = {name: (spec / name).read_text(encoding="utf-8") for name in (*FILES, *OPTIONAL) if (spec / name).exists()}
    folder = regressions / hashlib.sha256("".join(texts.values()).encode()).hexdigest()[:12]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "found.txt").write_text(wrong + "\n", encoding="utf-8")
    return folder


def _lane(lane: int, options: argparse.Namespace, first: int, until: float) -> list[Round]:
    """Plays every PARALLEL-th round, until the time is over or a round was killed."""
    found: list[Round] = []
    for at in itertools.count(lane, PARALLEL):
        if at >= options.rounds if options.rounds is not None else time.monotonic() >= until:
            break
        found.append(play((first + at) % SEED_MAX, options.programs))
        if found[-1].wrong:
            print(f"seed {found[-1].seed}: {found[-1].wrong}\nsaved to {found[-1].saved}", flush=True)
        if found[-1].killed:
            break
    return found


def main(arguments: Sequence[str]) -> int:
    """The command. Returns 1 if a round found something, and 2 if one was killed, for example for want of memory."""
    parser = argparse.ArgumentParser(prog="just fuzz generator", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="after which no round begins (%(default)s)")
    parser.add_argument("--rounds", type=int, help="a number of rounds, instead of minutes")
    parser.add_argument("--seed", type=int, help="seed of the first round; a random one is printed")
    parser.add_argument("--programs", type=int, default=PROGRAMS_A_ROUND, help="in a round (%(default)s)")
    options = parser.parse_args(arguments)
    command.need(command.PROGRAMS, "have the kernel run programs")
    first = random.SystemRandom().randrange(1, SEED_MAX) if options.seed is None else options.seed
    print(f"fuzzing the generator from seed {first}", flush=True)
    run = begin()
    until = time.monotonic() + 60 * options.minutes
    lanes = command.side_by_side(lambda lane: _lane(lane, options, first, until), range(PARALLEL), PARALLEL)
    rounds = [found for lane in lanes for found in lane]
    minutes = options.minutes if options.rounds is None else None
    run.keep("fuzz", "generator", findings(first, minutes, rounds, run.seconds))
    wrong = sum(bool(found.wrong) for found in rounds)
    refused = sum((found.refused for found in rounds), Counter[str]())
    done, inputs = sum(found.run for found in rounds), sum(found.inputs for found in rounds)
    print(
        f"{counted(done + refused.total(), 'protocol')} in {run.seconds:.0f} s: {refused.total():,} refused, "
        f"{done:,} built and run on {counted(inputs, 'input')}; {counted(wrong, 'round')} found a fault"
    )
    for kind, count in refused.most_common():
        print(f"  {count:>6,}  {kind}")
    killed = sorted(found.seed for found in rounds if found.killed)
    if killed:
        seeds = " and ".join(map(str, killed))
        print(f"fuzz generator: error: rounds were killed, so no others began: seeds {seeds}", file=sys.stderr)
        return 2
    return 1 if wrong else 0


def findings(first: int, minutes: float | None, rounds: list[Round], seconds: float) -> Fuzz:
    """Returns the results of rounds, as harness/results keeps them for the report."""
    wrong = [found for found in rounds if found.wrong]
    counts = {
        "refused": (sum(found.refused.total() for found in rounds), "protocols"),
        "built and run": (sum(found.run for found in rounds), "protocols"),
        "compared": (sum(found.inputs for found in rounds), "inputs"),
    }
    stages = [
        Stage(name=name, count=count, unit=unit, seconds=seconds, faults=len(wrong) if name == "compared" else 0)
        for name, (count, unit) in counts.items()
    ]
    failures = [
        Failure(text=f"seed {found.seed}: {found.wrong}", saved=str(found.saved.relative_to(REPOSITORY)))
        if found.saved
        else Failure(text=f"seed {found.seed}: {found.wrong}", saved=None)
        for found in wrong
    ]
    return Fuzz(seed=first, minutes=minutes, stages=stages, failures=failures)
