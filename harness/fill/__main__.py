"""`just fill PROTOCOL`: fills a protocol's tables with millions of keys, and reads each again.

docs/reference/live.md describes the files that it needs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml

from codegen.errors import SpecErrors
from harness import command
from harness.bench.build import BenchError
from harness.fill.run import fill
from harness.fuzz.plugin import LiveError
from harness.protocols import UnknownProtocol, chosen
from harness.rig import RigError
from harness.rig.bpf import BpfError


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="just fill", description=__doc__)
    parser.add_argument("protocol")
    parser.add_argument("--keys", type=int, help="how many; those that the protocol's fill.py says, by default")
    parser.add_argument(
        "--override", type=Path, metavar="FILE", help="of the layout, on top of the sizes that go with the keys"
    )
    arguments = parser.parse_args()
    if arguments.keys is not None and arguments.keys < 1:
        parser.error("there has to be a key")
    return arguments


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<60}", end="" if text else "\r", file=sys.stderr, flush=True)


def main() -> int:
    arguments = parse()
    command.need(command.NAMESPACES, "make network namespaces and load programs into the kernel")
    try:
        chosen([arguments.protocol])
        override = yaml.safe_load(arguments.override.read_text(encoding="utf-8")) if arguments.override else None
        report = fill(arguments.protocol, arguments.keys, override, progress, said=lambda done: print(done, flush=True))
    except (BenchError, LiveError, SpecErrors, UnknownProtocol, RigError, BpfError, OSError) as error:
        print(f"fill: error: {error}", file=sys.stderr)
        return 2
    print(f"{arguments.protocol}: {report.summary}")
    return 0 if report.holds else 1


if __name__ == "__main__":
    raise SystemExit(command.run("fill", main))
