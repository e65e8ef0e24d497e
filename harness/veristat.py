"""`python -m harness.veristat [PROTOCOL...]`: runs every program through the real verifier, against its budget.

The layout sets a budget for each of xdp, tc and sweep, or for one pass, `sweep_1`. It limits the instructions that the
verifier processes, the states that it keeps, and the bytes of stack. A program without a budget fails as well.

Older verifiers recognize fewer states that they have visited, and so process more instructions. For the older kernels
of `just kernels`, a layout has separate budgets. On other kernels before 6.12 a program must load, but has no budget.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from codegen.layout.versions import version
from harness import results
from harness.base import command
from harness.base.command import counted
from harness.base.protocols import REPOSITORY, SPEC, UnknownProtocol, bpf_object, chosen

VERISTAT = REPOSITORY / "build/tools/veristat"
LIMITS = ("insns", "states", "stack")
LOG_LEVEL_STATISTICS = "4"
ASSUMED = re.compile(r"^Func#\d+ .* is global and assumed valid\.\n", re.MULTILINE)
BUDGETS_SINCE = (6, 12)  # the oldest kernel for which budgets count


class VeristatError(RuntimeError):
    """veristat could not be run, or its output was not understood."""


@dataclass(frozen=True)
class Measured:
    """The verifier's figures for a program.

    stack: of the program and all its subprograms together, as newer veristats count it.
    log: the end of the verifier's log if it refused the program.
    """

    program: str
    verdict: str
    insns: int
    states: int
    stack: int
    log: str


@dataclass(frozen=True)
class Judged:
    """A program and its budget. faults: a sentence each."""

    protocol: str
    measured: Measured
    budget: dict[str, int] | None
    faults: tuple[str, ...]


def measure(path: Path) -> list[Measured]:
    """Run every program of an object file through the verifier."""
    if not VERISTAT.exists():
        raise VeristatError(f"{VERISTAT} does not exist: run ./bootstrap")
    if not path.exists():
        raise VeristatError(f"{path} does not exist: run `just build {path.parent.name}`")
    arguments = [
        str(VERISTAT),
        "-v",
        "-l",
        LOG_LEVEL_STATISTICS,
        "-o",
        "csv",
        "-e",
        "prog,verdict,insns,states",
        str(path),
    ]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    logs, header, rest = done.stdout.rpartition("prog_name,")
    if done.returncode != 0 or not header:
        raise VeristatError(f"{' '.join(arguments)} failed with {done.returncode}:\n{done.stderr.strip()}")
    rows = list(csv.DictReader(io.StringIO(header + rest)))
    if not rows:
        raise VeristatError(f"{path} has no programs that veristat can load:\n{done.stderr.strip()}")
    return [_measured(row, _log_of(logs, row["prog_name"])) for row in rows]


def _log_of(logs: str, program: str) -> str:
    """Return the verifier's log of one program."""
    for part in logs.split("PROCESSING ")[1:]:
        head, _, body = part.partition("\n")
        if head.split(", DURATION")[0].endswith(f"/{program}"):
            return body
    raise VeristatError(f"veristat printed no log of {program}")


def _measured(row: dict[str, str], log: str) -> Measured:
    stack = re.search(r"^stack depth ([\d+]+)", log, re.MULTILINE)
    if not stack:
        raise VeristatError(f"the verifier's log of {row['prog_name']} does not report its use of stack")
    return Measured(
        program=row["prog_name"],
        verdict=row["verdict"],
        insns=int(row["total_insns"]),
        states=int(row["total_states"]),
        stack=sum(map(int, stack[1].split("+"))),
        log="" if row["verdict"] == "success" else last_words(log[: stack.start()]),
    )


def last_words(log: str) -> str:
    """Return the end of a verifier's log, without the lines about functions that it checks on their own."""
    return ASSUMED.sub("", log).strip()[-2000:]


def budgets(protocol: str, spec: Path | None = None) -> dict[str, dict[str, Any]]:
    """Return the layout's `budget`, by the part of a program's name that follows the protocol's.

    spec: the folder of the specification, if it is not in spec/.
    """
    layout = yaml.safe_load(((spec or SPEC / protocol) / "layout.yaml").read_text(encoding="utf-8"))
    return layout.get("budget") or {}


def budgets_count(release: str) -> bool:
    """Return whether a kernel is new enough for the budgets that name no kernel."""
    return version(release) >= BUDGETS_SINCE


def budget_on(budget: dict[str, Any], release: str) -> dict[str, int] | None:
    """Return a program's budget on a kernel; None if the layout has none for such an old kernel."""
    own: dict[str, int] | None = (budget.get("kernels") or {}).get(".".join(map(str, version(release))))
    if own is not None:
        return own
    return {limit: most for limit, most in budget.items() if limit != "kernels"} if budgets_count(release) else None


def judge(
    protocol: str, measured: Measured, budget_by_hook: dict[str, dict[str, Any]], release: str, strict: bool = False
) -> Judged:
    """Compare a program with its budget. strict: a missing budget for an old kernel is a fault."""
    part = measured.program.removeprefix(f"{protocol}_")
    hook = part if part in budget_by_hook else re.sub(r"_\d+$", "", part)
    declared = budget_by_hook.get(hook)
    budget = budget_on(declared, release) if declared else None
    faults = []
    if measured.verdict != "success":
        faults.append(f"{measured.program}: the verifier refused it: {measured.log}")
    if declared is None:
        faults.append(f"{measured.program}: spec/{protocol}/layout.yaml gives no budget for {part}")
    elif budget is None and strict:
        number = ".".join(map(str, version(release)))
        add = f'add budget.{hook}.kernels."{number}"'
        faults.append(f"{measured.program}: spec/{protocol}/layout.yaml gives no budget for kernel {number}: {add}")
    limits = budget or {}
    for limit in LIMITS if limits else ():
        found, most = getattr(measured, limit), limits.get(limit)
        if most is None:
            faults.append(f"{measured.program}: spec/{protocol}/layout.yaml gives no budget of {limit} for {part}")
        elif measured.verdict == "success" and found > most:
            faults.append(f"{measured.program}: {limit} {found:,} is over its budget of {most:,}")
    return Judged(protocol, measured, budget, tuple(faults))


def check(protocol: str, path: Path | None = None) -> list[Judged]:
    """Measure and judge the programs of a protocol, from its build or from another object file."""
    by_hook, release = budgets(protocol), os.uname().release
    return [judge(protocol, measured, by_hook, release) for measured in measure(path or bpf_object(protocol))]


def refuse_older(protocols: list[str]) -> None:
    """Refuse to measure programs that are not those of their specifications, as after a failed `just generate`.

    Raises VeristatError.
    """
    # The machines of `just kernels` import this module, and the generator takes them seconds.
    from harness.builds.freshness import CannotTell, staleness  # noqa: PLC0415

    older: dict[str, str] = {}
    for protocol in protocols:
        try:
            sentence = staleness(protocol)
        except CannotTell as unknown:
            print(f"veristat: warning: {unknown}", file=sys.stderr)
            continue
        if sentence:
            older[protocol] = sentence
    if older:
        raise VeristatError(
            f"the programs of {', '.join(older)} are older than their sources, so nothing was measured: "
            f"`just generate {' '.join(older)}` must succeed first\n" + "\n".join(older.values())
        )


def table(judged: list[Judged]) -> str:
    """Format each program's figures with their budgets, one program a line."""

    def beside(each: Judged, limit: str) -> str:
        most = (each.budget or {}).get(limit)
        return f"{getattr(each.measured, limit):,} / {'-' if most is None else f'{most:,}'}"

    rows: list[tuple[str, ...]] = [("program", "verdict", *LIMITS)]
    rows += [
        (each.measured.program, each.measured.verdict, *(beside(each, limit) for limit in LIMITS)) for each in judged
    ]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def keep(run: results.Run, judged: list[Judged]) -> None:
    """Keep each protocol's figures for `just report`. Raises ResultsError."""
    # The machines of `just kernels` import this module, and pydantic takes them seconds.
    from harness.results.models import Verified, Veristat  # noqa: PLC0415

    for protocol in dict.fromkeys(each.protocol for each in judged):
        programs = [
            Verified(
                program=each.measured.program,
                verdict=each.measured.verdict,
                insns=each.measured.insns,
                states=each.measured.states,
                stack=each.measured.stack,
                budget=each.budget,
                faults=list(each.faults),
            )
            for each in judged
            if each.protocol == protocol
        ]
        run.keep("veristat", protocol, Veristat(protocol=protocol, programs=programs))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="just veristat", description="Verify every program and hold it against its budget."
    )
    parser.add_argument("protocols", nargs="*", metavar="PROTOCOL", help="folders of spec/; default: all")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    command.need(command.PROGRAMS, "have the kernel verify programs")
    run = results.begin()
    try:
        protocols = chosen(arguments.protocols)
        refuse_older(protocols)
        judged = [each for protocol in protocols for each in check(protocol)]
        keep(run, judged)
    except (VeristatError, UnknownProtocol, results.ResultsError) as error:
        print(f"veristat: error: {error}", file=sys.stderr)
        return 2
    print(json.dumps([asdict(each) for each in judged], indent=2) if arguments.json else table(judged))
    faults = [fault for each in judged for fault in each.faults]
    for fault in faults:
        print(f"veristat: {fault}", file=sys.stderr)
    if faults:
        failed = " ".join(dict.fromkeys(each.protocol for each in judged if each.faults))
        keeps = f"`just kernels {failed} --kernel host --no-conform` keeps the verifier's log"
        print(f"veristat: {keeps}; CONTRIBUTING.md says how to read it", file=sys.stderr)
    if not faults and not arguments.json:
        release = os.uname().release
        since = ".".join(map(str, BUDGETS_SINCE))
        said = "all within budget" if budgets_count(release) else f"all load; budgets apply from kernel {since} on"
        print(f"{counted(len(judged), 'program')} on kernel {release}, {said}")
    return 1 if faults or not judged else 0


if __name__ == "__main__":
    raise SystemExit(command.run("veristat", main))
