"""Runs the fuzzers, the kill test, the crash test, and replays of saved failures, from the command line."""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from harness.base import command
from harness.base.command import counted
from harness.base.protocols import UnknownProtocol, chosen
from harness.fuzz.campaign import NOT_OF_THE_ROUND, SEED_MAX, Plan, run, told
from harness.fuzz.crash import crash_under_load
from harness.fuzz.kill import kill_under_load
from harness.fuzz.kinds import KINDS
from harness.fuzz.replay import replay
from harness.fuzz_generator import cli as generator
from harness.fuzz_targets.parsers import cli as parsers
from harness.fuzz_targets.readers import cli as readers
from harness.live.plugin import LiveError
from harness.results import ResultsError

MINUTES_A_PROTOCOL = 1.0
DOING = "make network namespaces and load programs into the kernel"


def main(argv: list[str]) -> int:
    try:
        match argv:
            case ["kill", *rest]:
                return _kill(rest)
            case ["crash", *rest]:
                return _crash(rest)
            case ["parsers", *rest]:
                return parsers.main(rest)
            case ["readers", *rest]:
                return readers.main(rest)
            case ["generator", *rest]:
                return generator.main(rest)
            case ["replay", *rest]:
                return _replay(rest)
        return _fuzz(argv)
    except (LiveError, UnknownProtocol, ResultsError, *NOT_OF_THE_ROUND) as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2


def _fuzz(argv: list[str]) -> int:
    arguments = _arguments(argv)
    names = chosen([] if arguments.protocol == "all" else [arguments.protocol])
    kinds = arguments.only or list(KINDS)
    if kinds != ["parsers"]:
        command.need(command.NAMESPACES, DOING)
    seed = random.SystemRandom().randrange(1, SEED_MAX) if arguments.seed is None else arguments.seed
    minutes = arguments.minutes or (MINUTES_A_PROTOCOL * len(names) if arguments.rounds is None else None)
    plan = Plan(names, kinds, seed, minutes, arguments.rounds, arguments.first, arguments.receive_buffer)
    long = f"{minutes:g} minutes" if minutes else counted(arguments.rounds, "round")
    print(f"{', '.join(names)}: fuzzing from seed {seed}, {long}", flush=True)
    began = time.monotonic()
    stages = run(plan, lambda text: print(text, flush=True))
    print("\n".join(told(plan, stages, time.monotonic() - began)))
    if any(stage.has_failed for stage in stages):
        return 1
    return 2 if any(stage.unplayed for stage in stages) else 0


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m harness.fuzz",
        description="Plays rounds of each kind. Examples: random operations through lossy links, one at a time, "
        "against a plain reference. Kill: many operations at once, while the daemon is killed about every second; "
        "their history must be linearizable, or strictly serializable. Crash: the whole server goes down, if the "
        "protocol has a drain. Parsers: made-up frames for the packet programs, run natively.",
        epilog="The same seed and commit play the same rounds in the same order; the time limits their number. "
        "Failures are saved in tests/regressions, and `replay FILE...` plays them again. `kill PROTOCOL`, "
        "`crash PROTOCOL`, `parsers [PROTOCOL ...]` and `readers [TARGET ...]` play one kind for longer, and "
        "`generator` compiles made-up protocols: see their --help.",
    )
    parser.add_argument("protocol", nargs="?", default="all")
    parser.add_argument(
        "--minutes",
        type=_minutes,
        help=f"minutes after which no round starts ({MINUTES_A_PROTOCOL:g} for each protocol that is asked for)",
    )
    parser.add_argument("--seed", type=_number, help="seed of the whole run; a random one is printed")
    parser.add_argument(
        "--rounds", type=_number, help="number of rounds of each kind on each protocol, instead of minutes"
    )
    parser.add_argument(
        "--first", type=_number, default=0, metavar="N", help="start with round N of each kind (%(default)s)"
    )
    parser.add_argument(
        "--only", action="append", choices=list(KINDS), help="play only this kind; may be given several times"
    )
    _add_receive_buffer(parser)
    arguments = parser.parse_args(argv)
    if arguments.rounds is not None and arguments.minutes is not None:
        parser.error("--minutes and --rounds both limit the run: give only one of them")
    if arguments.rounds == 0:
        parser.error("0 rounds play nothing: give 1 or more")
    return arguments


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0
    if not 0 < minutes < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes: give one above 0")
    return minutes


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number: give 0 or more")
    return int(text)


def _replay(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m harness.fuzz replay",
        description="Replays files of tests/regressions: the moves of an example, the plan of a load, a "
        "frame, or a history, "
        "which must be refused again.",
    )
    parser.add_argument("file", nargs="+", type=Path)
    parser.add_argument("--quiet", action="store_true", help="do not print the moves of examples")
    arguments = parser.parse_args(argv)
    if any(path.suffix in (".json", ".yaml") for path in arguments.file):
        command.need(command.NAMESPACES, DOING)
    failed = 0
    for path in arguments.file:
        found = replay(path, (lambda _: None) if arguments.quiet else (lambda text: print(f"  {text}", flush=True)))
        failed += not found.agrees
        print(f"{'ok' if found.agrees else 'FAILED'} {path}: {found.text}", flush=True)
    return 1 if failed else 0


def _progress(protocol: str, text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{protocol}: {text}   ", end="" if text else "\n", file=sys.stderr, flush=True)


def _add_receive_buffer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--receive-buffer",
        type=int,
        metavar="BYTES",
        help="size of the daemon's receive buffers: 1 gives the smallest, which loses most of a burst",
    )


def _kill(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m harness.fuzz kill", description="Kills the daemon with SIGKILL again and again under load."
    )
    parser.add_argument("protocol")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument(
        "--period", type=float, default=1, help="mean number of seconds between kills (%(default)s); 0: never kill"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the load and of the kills (%(default)s)")
    _add_receive_buffer(parser)
    arguments = parser.parse_args(argv)
    command.need(command.NAMESPACES, DOING)
    protocol, period = arguments.protocol, arguments.period or None

    report = kill_under_load(
        protocol,
        arguments.seconds,
        period,
        arguments.seed,
        lambda text: _progress(protocol, text),
        arguments.receive_buffer,
    )
    _progress(protocol, "")
    print(report)
    return 1 if report.problems else 0


def _crash(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m harness.fuzz crash",
        description="Takes down the whole server, with its memory, at random moments of a load: records acknowledged "
        "as on the disk must be recovered.",
    )
    parser.add_argument("protocol")
    parser.add_argument("--crashes", type=int, default=20, help="number of crashes (%(default)s)")
    parser.add_argument(
        "--records", type=int, default=10_000_000, help="records to append in all loads together (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    arguments = parser.parse_args(argv)
    command.need(command.NAMESPACES, DOING)
    protocol = arguments.protocol
    report = crash_under_load(
        protocol, arguments.crashes, arguments.records, arguments.seed, lambda text: _progress(protocol, text)
    )
    _progress(protocol, "")
    print(report)
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(command.run("fuzz", lambda: main(sys.argv[1:])))
