"""`just fill PROTOCOL`: fills a protocol's tables with millions of keys, and reads each again.

docs/reference/live.md describes the files that it needs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml

from codegen.errors import SpecErrors
from harness import results
from harness.base import command
from harness.base.protocols import UnknownProtocol, chosen
from harness.bench.build import BenchError
from harness.fill.run import Report, fill
from harness.live.plugin import LiveError
from harness.results.models import Fill, FillPass
from harness.rig import RigError
from harness.rig.bpf import BpfError


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="just fill", description=__doc__)
    parser.add_argument("protocol")
    parser.add_argument("--keys", type=int, help="number of keys; default: that of the protocol's fill.py")
    parser.add_argument(
        "--override",
        type=Path,
        metavar="FILE",
        help="constants of the layout, besides the sizes that follow from the keys",
    )
    arguments = parser.parse_args()
    if arguments.keys is not None and arguments.keys < 1:
        parser.error("--keys must be at least 1")
    return arguments


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<60}", end="" if text else "\r", file=sys.stderr, flush=True)


def found(protocol: str, report: Report) -> Fill:
    """The results for `just report`."""
    passes = [
        FillPass(
            title=each.title,
            seconds=round(each.seconds, 1),
            requests=each.requests,
            complaints=each.complaints,
            again=each.again,
            rare_share=each.rare_share,
        )
        for each in report.passes
    ]
    return Fill(
        protocol=protocol,
        keys=report.keys,
        table_bytes=report.table_bytes,
        load_seconds=round(report.load_s, 1),
        reload_seconds=round(report.reload_s, 1),
        kills=report.kills,
        passes=passes,
    )


def main() -> int:
    arguments = parse()
    command.need(command.NAMESPACES, "make network namespaces and load programs into the kernel")
    run = results.begin()
    try:
        chosen([arguments.protocol])
        override = yaml.safe_load(arguments.override.read_text(encoding="utf-8")) if arguments.override else None
        report = fill(arguments.protocol, arguments.keys, override, progress, said=lambda done: print(done, flush=True))
        run.keep("fill", arguments.protocol, found(arguments.protocol, report))
    except (
        BenchError,
        LiveError,
        SpecErrors,
        UnknownProtocol,
        RigError,
        BpfError,
        results.ResultsError,
        OSError,
    ) as error:
        print(f"fill: error: {error}", file=sys.stderr)
        return 2
    print(f"{arguments.protocol}: {report.summary}")
    return 0 if report.holds else 1


if __name__ == "__main__":
    raise SystemExit(command.run("fill", main))
