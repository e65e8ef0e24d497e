"""python -m harness.prove [PROTOCOL] [STEP]: proves that steps in TLA+ and their BPF bytecode are equal.

It fails if a leaf is refuted, or left without a reason in spec/PROTOCOL/prove.yaml, or proved although it has one. With
--faults it plants faults in generated steps instead, and fails if one is not refuted.
"""

from __future__ import annotations

import argparse
import sys

from codegen.errors import SpecErrors
from harness.base import command
from harness.base.command import counted
from harness.base.protocols import UnknownProtocol, chosen
from harness.builds.make import BuildError
from harness.data.btf import ShapeError
from harness.prove.bytecode import DecodeError
from harness.prove.campaign import LEAF_SECONDS, Judged, UnknownStep, assumptions, results
from harness.prove.faults import catalogue, hunted
from harness.prove.findings import findings
from harness.prove.syntax import SyntaxUnsupported
from harness.results import ResultsError, begin

ERRORS = (
    BuildError,
    DecodeError,
    ResultsError,
    ShapeError,
    SpecErrors,
    SyntaxUnsupported,
    UnknownProtocol,
    UnknownStep,
)


def show(judged: Judged) -> None:
    """Prints the row of a step, and its leaves that are not proved."""
    result = judged.result
    if result.reason:
        print(f"  {result.step:<16} left: {result.reason}", flush=True)
        return
    good = sum(leaf.proved for leaf in result.leaves)
    jumps = max((leaf.jumps for leaf in result.leaves), default=0)
    state = "proved" if result.proved else "NOT ALL"
    kept = ", kept" if judged.cached else ""
    count = f"{len(result.leaves)} {'leaf' if len(result.leaves) == 1 else 'leaves'}"
    print(
        f"  {result.step:<16} {state:<8} {good:>3} of {count}, {counted(jumps, 'jump')}, {result.seconds:.1f} s{kept}",
        flush=True,
    )
    for leaf in result.leaves:
        if leaf.counterexample:
            print(f"    REFUTED {leaf.arms} {leaf.name}: {', '.join(leaf.counterexample.differs)}")
            for line in leaf.counterexample.lines():
                print(f"      {line}")
            print(f"      {leaf.counterexample.replayed}")
        elif not leaf.proved:
            reason = judged.told.reason if judged.told and judged.told.has(leaf.arms) else "no reason in prove.yaml"
            print(f"    left {leaf.arms} {leaf.name}: {leaf.reason} ({reason})")


def prove(protocol: str, step: str | None, seconds: float) -> bool:
    """Proves a protocol's steps, or one; returns whether all is as prove.yaml says."""
    run = begin()
    print(f"{protocol}: each step against its bytecode, for all inputs")
    judged = []
    for each in results(protocol, step, seconds):
        judged.append(each)
        show(each)
    problems = [*assumptions(protocol), *(problem for each in judged for problem in each.problems)]
    found = findings(protocol, judged, problems)
    if step is None:
        run.keep("prove", protocol, found)
    for problem in problems:
        print(f"FAILED {protocol}: {problem}")
    share = f"{found.proved / max(1, found.leaves):.1%}"
    print(
        f"{protocol}: {found.proved:,} of {found.leaves:,} leaves are proved ({share}), "
        f"{counted(found.steps_proved, 'step')} of {len(judged)} completely; {run.seconds:.0f} s"
    )
    return not problems


def refute(protocol: str | None) -> bool:
    """Plants the faults of all protocols, or of one; returns whether each is refuted."""
    chosen([protocol] if protocol else [])
    faults = [each for each in catalogue() if protocol in (None, each.protocol)]
    missed = 0
    for each in hunted(faults):
        missed += not each.refuted
        word = "refuted" if each.refuted else "MISSED "
        print(f"{word} {each.fault.name} ({each.seconds:.1f} s)\n        {each.how}", flush=True)
    print(f"{counted(len(faults), 'fault')}, {len(faults) - missed} refuted")
    return not missed


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m harness.prove", description=__doc__)
    parser.add_argument("protocol", nargs="?", help="a folder of spec/; default: all")
    parser.add_argument("step", nargs="?", help="one step, by its name in TLA+; default: all")
    parser.add_argument(
        "--seconds", type=float, default=LEAF_SECONDS, metavar="N", help="CPU time for each leaf (%(default)s)"
    )
    parser.add_argument("--faults", action="store_true", help="plant faults in generated steps, and refute each")
    options = parser.parse_args()
    try:
        if options.faults:
            return 0 if refute(options.protocol) else 1
        names = chosen([options.protocol] if options.protocol else [])
        return 0 if all([prove(name, options.step, options.seconds) for name in names]) else 1
    except ERRORS as error:
        for line in error.errors if isinstance(error, SpecErrors) else [f"error: {error}"]:
            print(line, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(command.run("prove", main))
