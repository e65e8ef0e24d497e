"""`just bench [PROTOCOL]`: see the package. Figures of one run are compared with each other, never with another's."""

from __future__ import annotations

import argparse
import os
import sys
import time

from harness import command
from harness.bench import campaign, rare_path
from harness.bench.build import BenchError, build, has_benchmark
from harness.bench.contest import Settings
from harness.bench.report import Report
from harness.protocols import BUILD, UnknownProtocol, chosen
from harness.rig import RigError
from harness.rig.bpf import BpfError


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="just bench", description=__doc__)
    parser.add_argument("protocols", nargs="*", metavar="PROTOCOL", help="all that have a benchmark, by default")
    parser.add_argument("--runs", type=int, default=5, help="interleaved runs of everything (5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of each (1)")
    parser.add_argument("--slots", type=int, default=64, help="requests in flight (64)")
    parser.add_argument("--no-checksum", action="store_true", help="clients leave out the UDP checksum, as IPv4 allows")
    parser.add_argument("--one-core-only", action="store_true", help="leave out the runs on two cores")
    parser.add_argument("--ablations", action="store_true", help="also what is lost without parts of the protocol; takes long")
    parser.add_argument("--rare-path-only", action="store_true", help="only what the rare path costs")
    parser.add_argument("--check", action="store_true", help="fail when a target is missed")
    arguments = parser.parse_args()
    if not (arguments.runs >= 1 and arguments.seconds > 0 and 1 <= arguments.slots <= 1024):
        parser.error("runs must be at least 1, seconds above 0, slots 1..1024")
    return arguments


def bench(name: str, arguments: argparse.Namespace) -> int:
    """Of one protocol; returns how many targets were missed."""
    settings = Settings(
        arguments.runs, arguments.seconds, arguments.slots, not arguments.no_checksum, not arguments.one_core_only
    )
    print(f"{name}: generating and compiling for the benchmark's sizes", file=sys.stderr)
    built = build(name)
    report = Report(name, campaign.conditions(settings))
    if not arguments.rare_path_only:
        campaign.run(report, built, settings)
    if hasattr(built.plugin, "RARE_PATH") and settings.two_cores and len(os.sched_getaffinity(0)) > 1:
        rows, curve = rare_path.run(built, settings)
        report.sections["The rare path: requests a second, wall time, the daemon on the other core"] = rows
        report.judge(built.plugin.RARE_PATH_TARGETS, rows)
        plot = BUILD / "bench" / f"{name}-rare-path.svg"
        curve.save(plot, f"{name}: rate and the share of the rare path")
        print(f"plot: {os.path.relpath(plot)}", file=sys.stderr)
    if arguments.ablations and hasattr(built.plugin, "ABLATIONS"):
        report.sections["Ablations: requests a second, wall time, the daemon on the other core"] = rare_path.ablations(name, settings)
    path = BUILD / "bench" / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.json"
    report.save(path)
    print(f"\n{report.text()}\n\nsaved to {os.path.relpath(path)}")
    return report.missed


def main() -> int:
    arguments = parse()
    command.need(command.NAMESPACES, "make network namespaces and run programs in them")
    missed = 0
    try:
        names = [name for name in chosen(arguments.protocols) if has_benchmark(name) or arguments.protocols]
        for name in names:
            if not has_benchmark(name):
                raise BenchError(f"{name} has no benchmark: spec/{name}/bench.py and bench.h would say what to ask for")
            missed += bench(name, arguments)
    except (BenchError, UnknownProtocol, RigError, BpfError) as error:
        print(f"bench: error: {error}", file=sys.stderr)
        return 2
    return 1 if missed and arguments.check else 0


if __name__ == "__main__":
    raise SystemExit(command.run("bench", main))
