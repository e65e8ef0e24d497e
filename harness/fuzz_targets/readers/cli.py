"""Command line of `python -m harness.fuzz readers`."""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from harness.base.command import counted
from harness.base.protocols import REPOSITORY
from harness.fuzz_targets.parsers.build import ParsersError
from harness.fuzz_targets.parsers.cli import SEED_MAX, inputs_of, seed_of
from harness.fuzz_targets.parsers.run import fault_in
from harness.fuzz_targets.readers.build import TARGETS, Target, build, folder, target_of
from harness.fuzz_targets.readers.run import KEPT, fuzz, keep, kept, replay


def main(argv: list[str]) -> int:
    arguments = _arguments(argv)
    try:
        targets = [target_of(name) for name in arguments.target or TARGETS]
        if arguments.replay:
            return _replay(targets, arguments.replay)
        seed = random.SystemRandom().randrange(1, SEED_MAX) if arguments.seed is None else arguments.seed
        return 0 if all([_fuzz_one(target, arguments.inputs, seed, arguments.keep) for target in targets]) else 1
    except (ParsersError, OSError) as error:
        print(f"fuzz: error: {'fuzzing the readers: ' if isinstance(error, OSError) else ''}{error}", file=sys.stderr)
        return 2


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m harness.fuzz readers",
        description="libFuzzer makes up files for the code that the daemon reads them with, which is compiled with "
        "ASan and UBSan. Each result is compared with a plain reader's, or with the stated properties.",
        epilog="An input with which a fault was found is saved in tests/regressions/readers/TARGET, where a test "
        "replays it.",
    )
    parser.add_argument("target", nargs="*", metavar="TARGET", help=f"{' or '.join(TARGETS)}; default: all")
    parser.add_argument(
        "--inputs",
        type=inputs_of,
        default=10_000_000,
        metavar="N",
        help="number of inputs for each target (10 million)",
    )
    parser.add_argument(
        "--seed", type=seed_of, metavar="S", help="the same seed and commit make the same run; a random seed is printed"
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep what reaches more in tests/regressions/readers/TARGET, as few inputs as do",
    )
    parser.add_argument("--replay", type=Path, nargs="+", metavar="INPUT", help="replay only these files, each once")
    return parser.parse_args(argv)


def _fuzz_one(target: Target, inputs: int, seed: int, keeps: bool) -> bool:
    program = build(target, folder(target))
    print(
        f"{target.name}: {counted(inputs, 'input')} from {counted(len(kept(target)), 'kept one')}, seed {seed}",
        flush=True,
    )
    found = fuzz(program, target, inputs, seed, KEPT / target.name, lambda done: _progress(target, done, inputs))
    print(
        f"{target.name}: {counted(found.inputs, 'input')} in {found.seconds:.0f} s "
        f"({found.inputs / found.seconds:,.0f}/s); "
        f"{found.edges:,} edges taken, {counted(found.corpus, 'input')} that reach something new"
    )
    if found.saved is not None:
        print(f"FAILED {target.name}, seed {seed}: {found.fault}")
        print(
            f"to replay it: python -m harness.fuzz readers {target.name} --replay {found.saved.relative_to(REPOSITORY)}"
        )
        return False
    if keeps:
        inputs_kept = keep(program, target)
        size = sum(path.stat().st_size for path in inputs_kept)
        print(
            f"{target.name}: {counted(len(inputs_kept), 'input')} of {size:,} bytes kept in "
            f"{(KEPT / target.name).relative_to(REPOSITORY)}"
        )
    print(f"{target.name}: clean")
    return True


def _progress(target: Target, done: int, inputs: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{target.name}: {done:,} of {inputs:,} inputs   ", end="\r", file=sys.stderr, flush=True)


def _replay(targets: list[Target], inputs: list[Path]) -> int:
    if len(targets) != 1:
        raise ParsersError("replaying inputs: name the one target that they are for")
    for path in inputs:
        if not path.is_file():
            raise ParsersError(
                f"replaying {path}: it does not exist; kept files are in tests/regressions/readers/{targets[0].name}"
            )
    said = replay(build(targets[0], folder(targets[0])), inputs)
    if said:
        print(f"{said.rstrip()}\nFAILED {targets[0].name}: {fault_in(said)}")
        return 1
    print(f"{targets[0].name}: {counted(len(inputs), 'input')}, clean")
    return 0
