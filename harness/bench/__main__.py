"""`just bench [PROTOCOL]`: measures the generated programs; see docs/how-to/measure.md.

Compare figures of one run only.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace

from harness import results
from harness.base import command
from harness.base.protocols import BUILD, UnknownProtocol, chosen
from harness.bench import campaign, clients, gathered, load_latency, rare_path, scaling, serving_cores
from harness.bench.build import BenchError, Build, build, has_benchmark
from harness.bench.report import Report
from harness.bench.server_comparison import Settings
from harness.bench.workload import ends
from harness.live.build import build as live_build
from harness.live.plugin import LiveError
from harness.rig import RigError
from harness.rig.bpf import BpfError

PARTS = ("speed", "gathered", "clients", "rare-path", "load", "cores", "scaling")
QUICK = ("speed", "gathered", "rare-path")
PACED_SECONDS_MAX = 0.5  # length of one run, of about sixty
PACED_SLOTS_MAX = 250  # a veth's ring has room for 256 packets, and packets of idle slots stay in it


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="just bench", description=__doc__)
    parser.add_argument(
        "protocols", nargs="*", metavar="PROTOCOL", help="a folder of spec/; default: every protocol with a benchmark"
    )
    parser.add_argument("--runs", type=int, default=5, help="interleaved runs of each measurement (5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of each run (1)")
    parser.add_argument("--slots", type=int, default=64, help="requests in flight (64)")
    parser.add_argument("--no-checksum", action="store_true", help="send IPv4 requests without a UDP checksum")
    parser.add_argument("--one-core-only", action="store_true", help="skip the runs on two cores")
    parser.add_argument(
        "--ablations", action="store_true", help="also measure without parts of the protocol; takes long"
    )
    only = f"{', '.join(PARTS)}; run only this part; may be given several times"
    parser.add_argument("--only", action="append", choices=PARTS, metavar="PART", help=only)
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}, with fewer runs of each")
    parser.add_argument("--check", action="store_true", help="fail if a target is missed")
    arguments = parser.parse_args()
    if not (arguments.runs >= 1 and arguments.seconds > 0 and 1 <= arguments.slots <= 1024):
        parser.error("--runs must be at least 1, --seconds above 0, and --slots 1..1024")
    if arguments.only and arguments.quick:
        parser.error("--quick and --only both choose what to run: give only one of them")
    arguments.only = arguments.only or (QUICK if arguments.quick else PARTS)
    if arguments.protocols == ["all"]:
        arguments.protocols = []
    return arguments


def bench(name: str, arguments: argparse.Namespace) -> int:
    """Benchmark one protocol. Returns the number of missed targets."""
    settings = Settings(
        arguments.runs, arguments.seconds, arguments.slots, not arguments.no_checksum, not arguments.one_core_only
    )
    run, two_cores = results.begin(), settings.two_cores and len(os.sched_getaffinity(0)) > 1
    print(f"{name}: generating and compiling for the benchmark's sizes", file=sys.stderr)
    built = build(name)
    report = Report(name, campaign.conditions(settings))
    if "speed" in arguments.only:
        campaign.run(report, built, replace(settings, two_cores=settings.two_cores and not arguments.quick))
    if "gathered" in arguments.only and hasattr(built.plugin, "GATHERED"):
        numbers = built.plugin.GATHERED
        rows, latencies = gathered.run(built, settings, ends(numbers) if arguments.quick else numbers)
        report.sections["Several operations in one message, one core for both ends: CPU time of an operation"] = rows
        report.sections["One message in flight: nanoseconds of a round trip with several operations"] = latencies
    if "clients" in arguments.only and clients.asks_of(name) is not None:
        title = f"A client that asks for {clients.COUNT:,} operations, over a socket: one at a time and gathered"
        report.sections[title] = clients.run(live_build(name), settings)
    if "rare-path" in arguments.only and hasattr(built.plugin, "RARE_PATH") and two_cores:
        rare_path_of(report, built, settings)
    if "load" in arguments.only and two_cores:
        paced = replace(
            settings, slots=min(settings.slots, PACED_SLOTS_MAX), seconds=min(settings.seconds, PACED_SECONDS_MAX)
        )
        rows, curves = load_latency.run(built, paced)
        report.sections["Open loop: latency counted from when a request was due; use of the server's core"] = rows
        report.curves += curves
    if "cores" in arguments.only and two_cores:
        rows, curve = serving_cores.run(built, settings)
        report.sections["Serving cores, both ends on each: round trips a microsecond of their CPU time"] = rows
        report.curves.append(curve)
    for title, scale in getattr(built.plugin, "SCALES", {}).items() if "scaling" in arguments.only else ():
        rows, curve = scaling.run(built, settings, title, scale)
        report.sections[f"Scaling, {title}: one core for both ends"] = rows
        report.curves.append(curve)
    if arguments.ablations and hasattr(built.plugin, "ABLATIONS"):
        title = "Ablations: requests a second, wall time, the daemon on the other core"
        report.sections[title] = rare_path.ablations(name, settings)
    print(f"\n{report.text()}\n")
    path = run.keep("bench", name, report.found())
    print(f"saved to {os.path.relpath(path)}")
    return report.missed


def rare_path_of(report: Report, built: Build, settings: Settings) -> None:
    """Measure the rare path. Its table and curve go into the report, and the curve into a file."""
    # This imports matplotlib, which takes a second: only a run that draws must wait for it.
    from harness.results import plot  # noqa: PLC0415

    rows, curve = rare_path.run(built, settings)
    report.sections["The rare path: requests a second, wall time, the daemon on the other core"] = rows
    report.judge(built.plugin.RARE_PATH_TARGETS, rows)
    report.curves.append(curve)
    path = BUILD / "bench" / f"{built.protocol}-rare-path.svg"
    plot.save(curve.found(), path)
    print(f"plot: {os.path.relpath(path)}", file=sys.stderr)


def main() -> int:
    arguments = parse()
    command.need(command.NAMESPACES, "make network namespaces and run programs in them")
    missed = 0
    try:
        names = [name for name in chosen(arguments.protocols) if has_benchmark(name) or arguments.protocols]
        for name in names:
            if not has_benchmark(name):
                raise BenchError(f"{name} has no benchmark: add spec/{name}/bench/bench.py and bench.h")
            missed += bench(name, arguments)
    except (BenchError, LiveError, UnknownProtocol, RigError, BpfError, results.ResultsError) as error:
        print(f"bench: error: {error}", file=sys.stderr)
        return 2
    return 1 if missed and arguments.check else 0


if __name__ == "__main__":
    raise SystemExit(command.run("bench", main))
