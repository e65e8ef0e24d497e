"""Command line of the fuzzers, of the kill test and of the crash test."""

from __future__ import annotations

import argparse
import random
import sys

from codegen.errors import SpecErrors
from harness import command
from harness.fuzz import plugin
from harness.fuzz.crash import crash_under_load
from harness.fuzz.kill import kill_for, kill_under_load
from harness.fuzz.plugin import LiveError
from harness.fuzz.run import fuzz
from harness.histories import HistoriesError
from harness.parsers import cli as parsers
from harness.protocols import UnknownProtocol, chosen
from harness.rig.errors import RigError
from harness.transactions import TransactionsError


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
        return _fuzz(argv)
    except (LiveError, RigError, SpecErrors, UnknownProtocol, HistoriesError, TransactionsError) as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2


def _fuzz(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m harness.fuzz",
        description="Random operations through lossy links against a plain reference, one at a time; then many at once, "
        "while the daemon is killed every second: their history must be linearizable, or strictly serializable where they are of transactions.",
        epilog="`python -m harness.fuzz kill PROTOCOL` does the latter alone, and says more of it; `crash PROTOCOL` has the whole server go down; "
        "`parsers [PROTOCOL ...]` gives made-up frames to the packet programs, natively and guided by coverage.",
    )
    parser.add_argument("protocol", nargs="?", default="all")
    parser.add_argument("--minutes", type=float, default=1, help="for each protocol (%(default)s)")
    parser.add_argument("--seed", type=int, help="of the first round; the rounds after it count up")
    parser.add_argument("--rounds", type=int, help="instead of minutes, and without the load")
    _add_receive_buffer(parser)
    arguments = parser.parse_args(argv)
    command.need(command.NAMESPACES, DOING)
    names = chosen([] if arguments.protocol == "all" else [arguments.protocol])
    failed = 0
    for protocol in names:
        if not plugin.has_reference(protocol):
            missing = f"there is nothing to compare it with: spec/{protocol}/reference.py is not there (docs/live.md says what it defines)"
            if arguments.protocol != "all":
                raise LiveError(f"{protocol} cannot be fuzzed: {missing}")
            print(f"{protocol}: {missing}")
            continue
        failed += not _fuzz_one(protocol, arguments)
    return 1 if failed else 0


def _fuzz_one(protocol: str, arguments: argparse.Namespace) -> bool:
    """Half of the time against the reference, half under load, where the protocol has one to be killed under."""
    seed = random.SystemRandom().randrange(2**31) if arguments.seed is None else arguments.seed
    seconds, buffer = arguments.minutes * 60, arguments.receive_buffer
    loaded = arguments.rounds is None and bool(plugin.workload(protocol).kill)
    if not fuzz(protocol, seconds / 2 if loaded else seconds, seed, arguments.rounds, receive_buffer=buffer):
        return False
    return not loaded or kill_for(protocol, seconds / 2, seed, lambda text: _progress(protocol, text), buffer)


def _progress(protocol: str, text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{protocol}: {text}   ", end="" if text else "\n", file=sys.stderr, flush=True)


def _add_receive_buffer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--receive-buffer", type=int, metavar="BYTES", help="of the daemon's sockets: 1 is the least there is, and loses most of a burst"
    )


def _kill(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m harness.fuzz kill", description="The daemon is killed with SIGKILL again and again under load."
    )
    parser.add_argument("protocol")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--period", type=float, default=1, help="seconds from kill to kill (%(default)s); 0: never")
    parser.add_argument("--seed", type=int, default=1, help="of the load (%(default)s)")
    _add_receive_buffer(parser)
    arguments = parser.parse_args(argv)
    command.need(command.NAMESPACES, DOING)
    protocol, period = arguments.protocol, arguments.period or None

    report = kill_under_load(
        protocol, arguments.seconds, period, arguments.seed, lambda text: _progress(protocol, text), arguments.receive_buffer
    )
    _progress(protocol, "")
    print(report)
    return 1 if report.problems else 0


def _crash(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m harness.fuzz crash",
        description="The whole server goes down at random moments of a load, its memory with it: what was acknowledged as on the disk must be recovered.",
    )
    parser.add_argument("protocol")
    parser.add_argument("--crashes", type=int, default=20, help="how often (%(default)s)")
    parser.add_argument("--records", type=int, default=10_000_000, help="to be appended in all the loads together (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    arguments = parser.parse_args(argv)
    command.need(command.NAMESPACES, DOING)
    protocol = arguments.protocol
    report = crash_under_load(protocol, arguments.crashes, arguments.records, arguments.seed, lambda text: _progress(protocol, text))
    _progress(protocol, "")
    print(report)
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(command.run("fuzz", lambda: main(sys.argv[1:])))
