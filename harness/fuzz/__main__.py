"""Command line of the fuzzer and of the kill test."""

from __future__ import annotations

import argparse
import random
import sys

from codegen.errors import SpecErrors
from harness import command
from harness.fuzz import plugin
from harness.fuzz.kill import kill_under_load
from harness.fuzz.plugin import LiveError
from harness.fuzz.run import fuzz
from harness.histories import HistoriesError
from harness.protocols import UnknownProtocol, chosen
from harness.rig.errors import RigError


DOING = "make network namespaces and load programs into the kernel"


def main(argv: list[str]) -> int:
    try:
        return _kill(argv[1:]) if argv[:1] == ["kill"] else _fuzz(argv)
    except (LiveError, RigError, SpecErrors, UnknownProtocol, HistoriesError) as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2


def _fuzz(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m harness.fuzz",
        description="Random operations through lossy links against a plain reference.",
        epilog="`python -m harness.fuzz kill PROTOCOL` kills the daemon every second under load.",
    )
    parser.add_argument("protocol", nargs="?", default="all")
    parser.add_argument("--minutes", type=float, default=1, help="for each protocol (%(default)s)")
    parser.add_argument("--seed", type=int, help="of the first round; the rounds after it count up")
    parser.add_argument("--rounds", type=int, help="instead of minutes")
    arguments = parser.parse_args(argv)
    command.need(command.NAMESPACES, DOING)
    names = chosen([] if arguments.protocol == "all" else [arguments.protocol])
    seed = random.SystemRandom().randrange(2**31) if arguments.seed is None else arguments.seed
    failed = 0
    for protocol in names:
        if not plugin.has_reference(protocol):
            missing = f"there is nothing to compare it with: spec/{protocol}/reference.py is not there (docs/live.md says what it defines)"
            if arguments.protocol != "all":
                raise LiveError(f"{protocol} cannot be fuzzed: {missing}")
            print(f"{protocol}: {missing}")
            continue
        failed += not fuzz(protocol, arguments.minutes * 60, seed, arguments.rounds)
    return 1 if failed else 0


def _kill(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m harness.fuzz kill", description="The daemon is killed with SIGKILL again and again under load."
    )
    parser.add_argument("protocol")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--period", type=float, default=1, help="seconds from kill to kill (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the load (%(default)s)")
    arguments = parser.parse_args(argv)
    command.need(command.NAMESPACES, DOING)

    def progress(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r{arguments.protocol}: {text}   ", end="", file=sys.stderr, flush=True)

    report = kill_under_load(arguments.protocol, arguments.seconds, arguments.period, arguments.seed, progress)
    progress("\n") if sys.stderr.isatty() else None
    print(report)
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(command.run("fuzz", lambda: main(sys.argv[1:])))
