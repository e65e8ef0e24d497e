"""Measures one kernel: compiles its programs, measures them on it, and collects the findings."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.base import command, yaml_documents
from harness.base.folder_lock import alone
from harness.base.protocols import GENERATED, REPOSITORY
from harness.kernels.builds import WORK, Programs, programs_for
from harness.kernels.conformance import prepare
from harness.kernels.kernel_list import Listed
from harness.kernels.vm import machine
from harness.veristat import LIMITS, budgets

# Two processors, because with only one a verifier knows that env.cpu is 0.
MACHINE_CPUS, MACHINE_MEMORY_MIB, MACHINE_TIMEOUT_S = 2, 3072, 1800
LAST_LINES = 12
PROGRAM = re.compile(r"^SEC\([^)]*\)\nint (\w+)\(", re.MULTILINE)


class KernelError(RuntimeError):
    """A kernel could not be measured; the message says how far it came."""


@dataclass(frozen=True)
class Asked:
    """A measurement to make.

    protocols: those to load. conforming: those of them whose conformance runs, on at most `inputs` inputs each. work:
    the folder for all files.
    """

    protocols: list[str]
    conforming: list[str]
    inputs: int
    spec: Path | None = None
    work: Path = WORK


@dataclass
class Found:
    """The findings on a kernel.

    programs, conformance: as results keep them. faults: sentences on both.
    """

    kernel: str = ""
    boot_seconds: float | None = None
    programs: list[dict[str, Any]] = field(default_factory=list)
    conformance: list[dict[str, Any]] = field(default_factory=list)
    origins: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    ended: bool = False
    errors: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)


def measure(kernel: Listed, asked: Asked, report: Callable[[str], None]) -> Found:
    """Measures a kernel, after waiting for any process that uses the same folder.

    Raises KernelError, MachineError, and what compiling and conformance raise.
    """
    with alone(asked.work):
        return _measure(kernel, asked, report)


def _measure(kernel: Listed, asked: Asked, report: Callable[[str], None]) -> Found:
    image = machine.fetch(kernel.package) if kernel.package else None
    release = image.release if image else os.uname().release
    report(f"{kernel.name} ({release}): compiling")
    programs = [programs_for(protocol, release, asked.work, asked.spec) for protocol in asked.protocols]
    plan = planned(
        programs, asked, lambda protocol: report(f"{kernel.name}: conformance of {protocol}: what the model says")
    )
    folder = asked.work / kernel.name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.log"):
        old.unlink()
    path = folder / "plan.json"
    path.write_text(json.dumps(plan, indent=1), encoding="utf-8")
    found = Found()
    reader = Reader(found, folder, report, kernel.name)
    inside = [sys.executable, "-m", "harness.kernels.inside", str(path)]
    if image is None:
        status = here(inside, reader)
    else:
        report(f"{kernel.name}: starting the machine")
        ended = machine.boot(
            image, inside, reader.take, cpus=MACHINE_CPUS, memory_mib=MACHINE_MEMORY_MIB, timeout_s=MACHINE_TIMEOUT_S
        )
        status, found.boot_seconds = ended.status, round(ended.boot_seconds, 1)
    if not found.ended:
        said = "\n".join(found.errors or found.other[-LAST_LINES:])
        raise KernelError(f"measuring on kernel {kernel.name} ended with {status}:\n{said}")
    found.programs += [
        absent(each, program) for each in programs if each.object is None for program in names(each.protocol)
    ]
    found.programs.sort(key=lambda each: each["program"])
    found.faults = [
        sentence(fault, each["program"], kernel.name, found) for each in found.programs for fault in each["faults"]
    ]
    found.faults += [
        f"kernel {kernel.name}: {each['protocol']}: {each['mismatches']} of {each['inputs']:,} inputs mismatch; the "
        f"first: {each['faults'][0]}"
        for each in found.conformance
        if each["mismatches"]
    ]
    return found


def planned(programs: list[Programs], asked: Asked, report: Callable[[str], None]) -> dict[str, Any]:
    """Makes the plan for inside.py. report: called with each protocol whose conformance is prepared."""
    plan: dict[str, Any] = {"objects": [], "conformance": []}
    for each in programs:
        if each.object is None:
            continue
        what = {"protocol": each.protocol, "form": each.form}
        plan["objects"].append({**what, "object": str(each.object), "budgets": budgets(each.protocol, asked.spec)})
        if each.protocol in asked.conforming:
            report(each.protocol)
            plan["conformance"].append(
                {**what, "stage": str(prepare(each.protocol, each.form, asked.inputs, asked.work))}
            )
    return plan


def here(inside: list[str], reader: Reader) -> int:
    """Runs the measurement on the running kernel, in the same way as in a machine."""
    with command.child(
        subprocess.Popen(inside, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    ) as running:
        assert running.stdout
        for part in running.stdout:
            reader.take(part)
        return running.wait()


def names(protocol: str) -> list[str]:
    """Returns a protocol's programs by its generated code, because a kernel may load none of them."""
    text = (GENERATED / protocol / f"{protocol}.bpf.c").read_text(encoding="utf-8")
    return PROGRAM.findall(text)


def absent(programs: Programs, name: str) -> dict[str, Any]:
    """Returns the entry of a program that the layout does not have for a kernel."""
    nothing = dict.fromkeys((*LIMITS, "jited_bytes"), 0)
    return {
        "protocol": programs.protocol,
        "program": name,
        "form": programs.form,
        "verdict": "none",
        **nothing,
        "budget": None,
        "baseline": None,
        "declared": False,
        "faults": [],
    }


def sentence(fault: str, program: str, kernel: str, found: Found) -> str:
    """Adds the kernel, the lines of TLA+ and of C, and the log to a fault."""
    text = f"kernel {kernel}: {fault}"
    where = found.origins.get(program)
    if where is None:
        return text
    if where["last_c"]:
        text += f"\n  the last line of C before the refusal is {where['last_c']}"
    if where["line"]:
        line = where["line"]
        share = f"{line['insns']:,} of {line['of']:,} instructions processed"
        text += f"\n  {where['what']} {line['place']} ({share}): {line['text']}"
    return f"{text}\n  the verifier's log: {where['log']}"


class Reader:
    """Reads the output of inside.py, part by part. Logs go into files, everything else goes to `found`."""

    def __init__(self, found: Found, folder: Path, report: Callable[[str], None], kernel: str) -> None:
        self.found, self.folder, self.report, self.kernel = found, folder, report, kernel
        self._held = b""

    def take(self, part: bytes) -> None:
        *lines, self._held = (self._held + part).split(b"\n")
        for line in lines:
            self._line(line.decode(errors="replace"))

    def _line(self, text: str) -> None:
        try:
            [(kind, found)] = json.loads(text).items()
        except (ValueError, AttributeError):
            self.found.other.append(text)  # the output of a library
            return
        match kind:
            case "kernel":
                self.found.kernel = found
            case "program":
                self._program(found)
            case "log":
                self._log(found)
            case "conformance":
                self.found.conformance.append(found)
                mismatches = f"{found['mismatches']} mismatches, {found['seconds']:.1f} s"
                self.report(f"{self.kernel}: {found['protocol']}: {found['inputs']:,} inputs, {mismatches}")
            case "error":
                self.found.errors.append(found)
            case "ended":
                self.found.ended = True

    def _program(self, judged: dict[str, Any]) -> None:
        measured = judged["measured"]
        self.found.programs.append(
            {
                "protocol": judged["protocol"],
                "program": measured["program"],
                "form": judged["form"],
                "verdict": measured["verdict"],
                **{limit: measured[limit] for limit in LIMITS},
                "jited_bytes": judged["jited_bytes"],
                "budget": judged["budget"],
                "baseline": None,
                "declared": True,
                "faults": judged["faults"],
            }
        )
        self.report(
            f"{self.kernel}: {measured['program']}: {measured['verdict']}, {measured['insns']:,} instructions processed"
        )

    def _log(self, found: dict[str, Any]) -> None:
        path = self.folder / f"{found['program']}.log"
        path.write_bytes(zlib.decompress(base64.b64decode(found["log"])))
        refused = any(
            each["program"] == found["program"] and each["verdict"] != "success" for each in self.found.programs
        )
        line, what = found["costliest"], "the line with the most instructions is"
        if refused and found["last"]:
            line, what = found["last"], "the last line of TLA+ before the refusal is"
        self.found.origins[found["program"]] = {
            "line": line,
            "what": what,
            "last_c": found["last_c"] if refused else "",
            "log": yaml_documents.name_of(path),
        }
