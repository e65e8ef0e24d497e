"""python -m harness.conform [PROTOCOL|all|garbage] [--form FORM]: compares compiled programs with the model.

With `garbage` it runs garbled packets instead, which must not have an effect.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from codegen.errors import SpecErrors
from harness.base import command
from harness.base.command import counted
from harness.base.protocols import UnknownProtocol, chosen
from harness.builds.make import BuildError
from harness.conform import malformed_packets
from harness.conform.build import ROOT
from harness.conform.campaign import Campaign, Result
from harness.conform.campaign_cache import Shared
from harness.conform.domain import PAIRS_MIN
from harness.conform.findings import findings
from harness.conform.kernel import RunnerError
from harness.conform.places import DomainError
from harness.data.btf import ShapeError
from harness.data.cells import FORMS
from harness.results import ResultsError, begin
from harness.rig.bpf import BpfError
from harness.tla import tlc

SHOWN = 5
ERRORS = (
    BuildError,
    BpfError,
    DomainError,
    ResultsError,
    RunnerError,
    ShapeError,
    SpecErrors,
    UnknownProtocol,
    tlc.TlcError,
)
"""Errors in the request, as opposed to faults of the comparison itself."""

Edits = tuple[tuple[str, str, str], ...]


def progress(text: str) -> None:
    """Reports progress on stderr."""
    print(f"... {text}", file=sys.stderr, flush=True)


def show(protocol: str, result: Result) -> list[str]:
    """Prints a build's result; returns the problems found."""
    hooks = ", ".join(f"{hook} {count:,}" for hook, count in result.inputs.items())
    print(
        f"{protocol}, {result.name}: {counted(sum(result.inputs.values()), 'input')} in {result.seconds:.1f} s "
        f"({hooks})"
    )
    for mismatch in result.mismatches[:SHOWN]:
        print(f"MISMATCH {mismatch}")
    if len(result.mismatches) > SHOWN:
        print(f"... and {len(result.mismatches) - SHOWN} more")
    for stray in result.stray:
        print(f"MISMATCH {stray}")
    count = len(result.mismatches)
    return ([f"{result.name}: {count} or more mismatches"] if count else []) + result.stray


def show_pairs(protocol: str, small: list[Result], pairs_min: int = PAIRS_MIN) -> list[str]:
    """Prints the evaluations of each step and the coverage of its branches; returns the problems found."""
    problems = []
    steps: dict[str, list[str]] = {}
    for result in small:
        for step, count in result.evaluations().items():
            steps.setdefault(step, []).append(f"{count:,}")
    width = max(map(len, steps))
    print(f"{protocol}: evaluations of each step ({', '.join(result.name for result in small)})")
    for step, counts in steps.items():
        print(f"  {step:<{width}}  {'  '.join(f'{count:>10}' for count in counts)}")
    lost = {branch for result in small for branch in result.after_a_loss()}
    for result in small:
        missed = result.uncovered()
        elsewhere = [] if result.complete else [branch for branch in missed if branch in lost]
        missed = [branch for branch in missed if branch not in elsewhere]
        total, pairs = len(result.branches) - len(elsewhere), result.pairs()
        print(f"{protocol}, {result.name}: {pairs:,} pairs, {result.covered(len(elsewhere))}")
        for branch in elsewhere:
            print(f"  only after a lost race, which this form cannot have: {branch.span}: {branch.label}")
        for branch in missed:
            print(f"  NOT TAKEN {branch.span}: {branch.label}")
        if missed:
            problems.append(
                f"{result.name}: {len(missed)} of {total} branches were not taken: "
                f"add the cells and messages that take them to a family of spec/{protocol}/conform.yaml"
            )
        if pairs < pairs_min:
            problems.append(
                f"{result.name}: {pairs:,} pairs are too few, it needs {pairs_min:,}: vary more in "
                f"spec/{protocol}/conform.yaml, "
                "or set pairs_min to the size of the whole domain "
                "(docs/reference/conform.md)"
            )
    return problems


def conform(
    protocol: str,
    forms: tuple[str, ...],
    seed: int,
    stop_early: bool,
    edits: Edits,
    work: Path | None,
    program: Path | None,
    shared: Shared | None,
) -> bool:
    """Runs one protocol's campaign; returns whether it conforms.

    With stop_early it runs the small builds alone, each up to its first mismatch.
    """
    spec = ROOT / "spec" / protocol
    if not (spec / "conform.yaml").exists():
        print(
            f"error: spec/{protocol}/conform.yaml does not exist: it declares the domain of the comparison, see "
            "docs/reference/conform.md",
            file=sys.stderr,
        )
        return False
    run = begin()
    campaign = Campaign(
        spec, work or ROOT / "build" / "conform" / protocol, progress, stop_early, edits, program, shared
    )
    if stop_early:
        return not any([show(protocol, campaign.small(form)) for form in forms])
    results = campaign.results(forms, seed)
    problems = [problem for result in results for problem in show(protocol, result)]
    problems += show_pairs(protocol, results[: len(forms)], campaign.text.pairs_min)
    for variant in results[len(forms) : -1]:
        print(f"{protocol}, {variant.name}: {variant.pairs():,} pairs, {variant.covered()}")
    for problem in problems:
        print(f"FAILED {protocol}: {problem}")
    if not edits and program is None:  # a mutant's result is not the protocol's
        subject = protocol if set(forms) == set(FORMS) else f"{protocol}-{'-'.join(forms)}"
        run.keep("conform", subject, findings(protocol, seed, results, len(forms), problems))
    if not problems:
        print(f"{protocol} conforms ({run.seconds:.1f} s)")
    return not problems


def main(arguments: list[str] | None = None, shared: Shared | None = None) -> int:
    """Runs the command. shared: results to reuse, if the command is about that one protocol."""
    parser = argparse.ArgumentParser(prog="python -m harness.conform", description=__doc__)
    parser.add_argument("protocol", nargs="?", default="all", help="a folder of spec/, `all`, or `garbage`")
    parser.add_argument(
        "--form", choices=[*FORMS, "all"], default="all", help="only this form: how the tables' cells are made atomic"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the samples and of the garbage")
    parser.add_argument("--packets", type=int, default=1_000_000, help="number of garbage packets for each protocol")
    parser.add_argument(
        "--stop-early", action="store_true", help="run only the small builds, each up to its first mismatch"
    )
    parser.add_argument(
        "--edits", type=Path, metavar="FILE.json", help="[[file, old, new], ...]: changes to generated files"
    )
    parser.add_argument(
        "--program", type=Path, metavar="DIR", help="folder of the steps to compile, instead of spec/PROTOCOL"
    )
    parser.add_argument("--work", type=Path, metavar="DIR", help="folder for builds, instead of build/conform/PROTOCOL")
    options = parser.parse_args(arguments)
    forms = FORMS if options.form == "all" else (options.form,)
    command.need(command.PROGRAMS, "run programs in the kernel")
    try:
        print(tlc.version())
        if options.protocol == "garbage":
            return 0 if all([malformed_packets.main(each, options.packets, options.seed) for each in chosen([])]) else 1
        names = chosen([] if options.protocol == "all" else [options.protocol])
        edits: Edits = tuple(map(tuple, json.loads(options.edits.read_text()))) if options.edits else ()
        done = [
            conform(each, forms, options.seed, options.stop_early, edits, options.work, options.program, shared)
            for each in names
        ]
        return 0 if all(done) else 1
    except ERRORS as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(command.run("conform", main))
