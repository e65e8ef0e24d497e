"""python -m harness.mutants [PROTOCOL...] [--only TEXT] [--sample N] [--without-faults]
python -m harness.mutants --steps [PROTOCOL...] [--only TEXT] [--sample N]

Seeds each fault of the catalogue into a copy of the repository, and runs the check that must notice it. Fails if a
mutant survives, no longer applies, or is caught by a check other than the one it names.
"""

from __future__ import annotations

import argparse
import queue
import sys

from harness.base import command
from harness.base.command import counted
from harness.base.protocols import UnknownProtocol, chosen
from harness.mutants.catalogue import CatalogueError, Mutant, catalogue, has_mutants, require_domains, witness
from harness.mutants.conform_worker import Warm
from harness.mutants.findings import findings
from harness.mutants.hunt import Verdict, hunt, passes
from harness.mutants.scratch import Scratch
from harness.mutants.steps import __main__ as steps
from harness.results import ResultsError, begin
from harness.results.sample import SampleError, sampled
from harness.tla.tlc import TlcError

PARALLEL = 2
STEPS = "--steps"


def hunt_all(mutants: list[Mutant], without_faults: bool) -> list[Verdict]:
    """Hunt every mutant, PARALLEL at a time, and print each verdict as soon as there is one."""
    free: queue.SimpleQueue[Scratch] = queue.SimpleQueue()
    for _ in range(PARALLEL):
        free.put(Scratch())

    def one(mutant: Mutant) -> Verdict:
        scratch = free.get()
        try:
            return (passes if without_faults else hunt)(mutant, scratch, warm)
        finally:
            free.put(scratch)

    verdicts = []
    with Warm() as warm:
        for verdict in command.side_by_side(one, mutants, PARALLEL):
            verdicts.append(verdict)
            show(verdict, without_faults)
    return verdicts


def show(verdict: Verdict, without_faults: bool) -> None:
    """Print the verdict on a mutant."""
    mutant = verdict.mutant
    good = "passes without it" if without_faults else "caught"
    print(
        f"{good if verdict.caught else 'NOT CAUGHT':<10} {mutant.name}  ({mutant.place}; {verdict.seconds:.1f} s)",
        flush=True,
    )
    print(f"           {mutant.caught_by if verdict.caught and not without_faults else ''} {verdict.how}", flush=True)


def announce(names: list[str]) -> None:
    """Print which protocols the mutants belong to."""
    own = [name for name in names if has_mutants(name)]
    print(f"the machinery's mutants, run with {witness()}" + (f", and those of {', '.join(own)}" if own else ""))
    for name in names:
        if name not in own:
            print(f"{name} has no mutants of its own: spec/{name}/mutants.yaml does not exist")


def main() -> int:
    """The command."""
    if STEPS in sys.argv:
        return steps.main([argument for argument in sys.argv[1:] if argument != STEPS])
    parser = argparse.ArgumentParser(prog="python -m harness.mutants", description=__doc__)
    parser.add_argument("protocol", nargs="*", help="folders of spec/; default: all")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="run only mutants with this text in their name or file"
    )
    parser.add_argument(
        "--sample", type=int, metavar="N", help="run N of them; the commit chooses them, so another commit runs others"
    )
    parser.add_argument(
        "--without-faults", action="store_true", help="instead, show that the checks pass without the faults"
    )
    options = parser.parse_args()
    run = begin()
    command.need(command.PROGRAMS, "run mutants in the kernel")
    try:
        names = chosen(options.protocol)
        require_domains(options.protocol)
        mutants = catalogue(names)
        picked = [
            each
            for each in mutants
            if options.only in each.name or any(options.only in edit.file for edit in each.edits)
        ]
        if not picked:
            raise CatalogueError(f"no mutant has {options.only!r} in its name or file")
        if options.sample is not None:
            picked = sampled(picked, options.sample, "mutant")
        announce(names)
        verdicts = hunt_all(picked, options.without_faults)
        # a run of selected mutants is for whoever works on them, so it is not kept for the report
        if len(picked) == len(mutants) and not options.without_faults:
            run.keep("mutants", "-".join(options.protocol) or "all", findings(mutants, verdicts, witness()))
    except (CatalogueError, ResultsError, SampleError, TlcError, UnknownProtocol) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    survivors = [verdict for verdict in verdicts if not verdict.caught]
    print(
        f"{counted(len(verdicts), 'mutant')}, {len(verdicts) - len(survivors)} caught as they must be, "
        f"{counted(len(survivors), 'survivor')} ({run.seconds:.0f} s)"
    )
    for verdict in survivors:
        print(f"FAILED {verdict.mutant.name}: {verdict.how}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(command.run("mutants", main))
