"""`python -m harness.kernels [PROTOCOL...]`: checks every program on every kernel, its budget and conformance.

It exits with 1 if a program does not load, is over its budget there, or does not conform. It exits with 2 if a kernel
could not be measured.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import Any

from codegen.errors import SpecErrors
from harness import results
from harness.base import command
from harness.base.command import counted
from harness.base.protocols import SPEC, UnknownProtocol, chosen
from harness.builds.make import BuildError
from harness.conform.kernel import RunnerError
from harness.conform.places import DomainError
from harness.data.btf import ShapeError
from harness.kernels import baseline, kernel_list
from harness.kernels.kernel_list import Listed, UnknownKernel
from harness.kernels.run import Asked, Found, KernelError, measure
from harness.kernels.table import table
from harness.kernels.vm.machine import MachineError, check_tools
from harness.results import ResultsError, models
from harness.rig.bpf import BpfError
from harness.tla import tlc

SMOKE = "limiter"
SMOKE_INPUTS, INPUTS = 300, 2000
BOOT_SECONDS_MAX = 10


def progress(text: str) -> None:
    print(f"... {text}", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="just kernels", description="Load every program on several kernels; run conformance there."
    )
    parser.add_argument("protocols", nargs="*", metavar="PROTOCOL", help="folders of spec/; default: all")
    parser.add_argument(
        "--kernel", action="append", default=[], metavar="NAME", help="a kernel of kernels.yaml; default: all"
    )
    parser.add_argument(
        "--smoke", action="store_true", help=f"run conformance only for {SMOKE} only, on {SMOKE_INPUTS} inputs"
    )
    parser.add_argument("--no-conform", action="store_true", help="load the programs, but skip conformance")
    parser.add_argument(
        "--update-baseline", action="store_true", help="write the figures of this run to harness/kernels/baseline.json"
    )
    return parser.parse_args()


def asked(options: argparse.Namespace) -> Asked:
    protocols = chosen(options.protocols)
    conforming = [
        each for each in protocols if (SPEC / each / "conform.yaml").exists() and (not options.smoke or each == SMOKE)
    ]
    return Asked(protocols, [] if options.no_conform else conforming, SMOKE_INPUTS if options.smoke else INPUTS)


def one(kernel: Listed, what: Asked, before: baseline.Baseline) -> Found:
    """Measures a kernel, keeps what was found, and reports the times."""
    run = results.begin()
    found = measure(kernel, what, progress)
    known = before.get(baseline.kernel_of(found.kernel), {})
    for program in found.programs:
        program["baseline"] = known.get(program["program"])
    kept = models.Kernel(
        kernel=found.kernel,
        boot_seconds=found.boot_seconds,
        programs=[models.Program.model_validate(each) for each in found.programs],
        conformance=[models.KernelConformance.model_validate(each) for each in found.conformance],
    )
    run.keep("kernels", kernel.name, kept)
    booted = f"booted in {found.boot_seconds:.1f} s, " if found.boot_seconds is not None else ""
    progress(f"{kernel.name}: {booted}{run.seconds:.0f} s in all")
    return found


def summary(found: list[Found], faults: list[str]) -> str:
    programs = sum(each["declared"] for one in found for each in one.programs)
    inputs = sum(each["inputs"] for one in found for each in one.conformance)
    fine = "all within budget" + (", and all conform" if inputs else "")
    said = counted(len(faults), "fault") if faults else fine
    counts = f"{counted(programs, 'program')} on {counted(len(found), 'kernel')}, {counted(inputs, 'input')} compared"
    return f"{counts}: {said}"


def run(options: argparse.Namespace) -> int:
    kernels = kernel_list.chosen(options.kernel)
    what = asked(options)
    if any(each.package for each in kernels):
        check_tools()
    before = baseline.read()
    found = [one(kernel, what, before) for kernel in kernels]
    print(table([asdict(each) for each in found], before))
    faults = [fault for each in found for fault in each.faults]
    for fault in faults:
        print(f"kernels: {fault}", file=sys.stderr)
    for kernel, each in zip(kernels, found):
        if each.boot_seconds is not None and each.boot_seconds > BOOT_SECONDS_MAX:
            slow = f"{kernel.name} took {each.boot_seconds:.1f} s to boot, {BOOT_SECONDS_MAX} is the target"
            print(f"kernels: note: {slow}", file=sys.stderr)
    if options.update_baseline:
        new: Any = before
        for each in found:
            new = baseline.updated(new, each.kernel, each.programs)
        baseline.write(new)
    print(summary(found, faults))
    return 1 if faults else 0


def main() -> int:
    options = arguments()
    command.need(command.PROGRAMS, "have kernels verify programs")
    try:
        return run(options)
    except (
        BpfError,
        BuildError,
        DomainError,
        KernelError,
        MachineError,
        ResultsError,
        RunnerError,
        ShapeError,
        SpecErrors,
        UnknownKernel,
        UnknownProtocol,
        tlc.TlcError,
    ) as error:
        print(f"kernels: error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(command.run("kernels", main))
