"""Command line of `python -m harness.fuzz parsers`."""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from harness.base.command import counted
from harness.base.protocols import REPOSITORY, UnknownProtocol, chosen
from harness.fuzz_targets.parsers.build import ParsersError, build, folder, sources
from harness.fuzz_targets.parsers.run import KEPT, fault_in, fuzz, keep, kept, replay
from harness.fuzz_targets.parsers.seeds import seeds

SEED_MAX = 2**32 - 1


def main(argv: list[str]) -> int:
    arguments = _arguments(argv)
    try:
        names = chosen(arguments.protocol)
        if arguments.replay:
            return _replay(names, arguments.replay)
        seed = random.SystemRandom().randrange(1, SEED_MAX) if arguments.seed is None else arguments.seed
        share, rest = divmod(arguments.inputs, len(names))
        failed = 0
        for number, protocol in enumerate(names):
            failed += not _fuzz_one(protocol, share + (number < rest), seed, arguments.keep)
        return 1 if failed else 0
    except (ParsersError, UnknownProtocol) as error:
        print(f"fuzz: error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"fuzz: error: fuzzing the parsers: {error}", file=sys.stderr)
        return 2


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m harness.fuzz parsers",
        description="libFuzzer makes up frames for the packet programs, which are compiled natively with ASan and "
        "UBSan. Each result is compared with that of a plain reader of the RFCs.",
        epilog="A frame with which a fault was found is saved in tests/regressions/parsers/PROTOCOL, where a test "
        "replays it.",
    )
    parser.add_argument("protocol", nargs="*", metavar="PROTOCOL", help="default: all")
    parser.add_argument(
        "--inputs",
        type=inputs_of,
        default=10_000_000,
        metavar="N",
        help="number of inputs for all protocols together (10 million)",
    )
    parser.add_argument(
        "--seed", type=seed_of, metavar="S", help="the same seed and commit make the same run; a random seed is printed"
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep what reaches more in tests/regressions/parsers/PROTOCOL, as few inputs as do",
    )
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FRAME", help="replay only these files, each once")
    return parser.parse_args(argv)


def inputs_of(text: str) -> int:
    if not text.replace("_", "").isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of inputs: give 1 or more")
    return int(text)


def seed_of(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= SEED_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed: give a number from 1 to {SEED_MAX}")
    return int(text)


def _fuzz_one(protocol: str, inputs: int, seed: int, keeps: bool) -> bool:
    target = build(sources(protocol), folder(protocol))
    starts = [*seeds(protocol), *(path.read_bytes() for path in kept(protocol))]
    print(f"{protocol}: {counted(inputs, 'input')} from {counted(len(starts), 'frame')}, seed {seed}", flush=True)
    found = fuzz(target, starts, inputs, seed, KEPT / protocol, lambda done: _progress(protocol, done, inputs))
    print(
        f"{protocol}: {counted(found.inputs, 'input')} in {found.seconds:.0f} s "
        f"({found.inputs / found.seconds:,.0f}/s); "
        f"{found.edges:,} edges of the programs taken, {counted(found.corpus, 'input')} that reach something new"
    )
    if found.saved is not None:
        path = found.saved.relative_to(REPOSITORY)
        print(f"FAILED {protocol}, seed {seed}: {found.fault}")
        print(f"to replay it: python -m harness.fuzz parsers {protocol} --replay {path}")
        return False
    if keeps:
        frames = keep(protocol, target)
        size = sum(path.stat().st_size for path in frames)
        print(
            f"{protocol}: {counted(len(frames), 'frame')} of {size:,} bytes kept in "
            f"{(KEPT / protocol).relative_to(REPOSITORY)}"
        )
    print(f"{protocol}: clean")
    return True


def _progress(protocol: str, done: int, inputs: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{protocol}: {done:,} of {inputs:,} inputs   ", end="\r", file=sys.stderr, flush=True)


def _replay(names: list[str], frames: list[Path]) -> int:
    if len(names) != 1:
        raise ParsersError("replaying frames: name the one protocol whose programs they are for")
    for path in frames:
        if not path.is_file():
            raise ParsersError(
                f"replaying {path}: there is no such file; kept files are in tests/regressions/parsers/{names[0]}"
            )
    said = replay(build(sources(names[0]), folder(names[0])), frames)
    if said:
        print(f"{said.rstrip()}\nFAILED {names[0]}: {fault_in(said)}")
        return 1
    print(f"{names[0]}: {counted(len(frames), 'frame')}, clean")
    return 0
