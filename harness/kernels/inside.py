"""`python -m harness.kernels.inside PLAN.json`: measures on the running kernel, and prints lines of JSON.

The command is the same on the host and in a machine, where it is the only one. The plan names the object files with
their budgets, and the stages of conformance (see planned() of run.py).
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness import veristat
from harness.kernels.verifier_log import Origins, origins
from harness.rig import bpf
from harness.veristat import Judged, VeristatError

LEVEL_OF_ONE_PATH, LEVEL_OF_ALL_PATHS = 1, 2
LOG_BYTES_MAX = 1 << 28
LOGS_MAX = 6  # a faulty generator makes all programs fail, and each log may take a minute


def say(kind: str, found: Any) -> None:
    print(json.dumps({kind: found}), flush=True)


def verifier_log(path: Path, program: str, level: int) -> bytes:
    """Returns the whole log of the verifier for one program. Raises VeristatError."""
    command = [
        str(veristat.VERISTAT),
        "-v",
        "-l",
        str(level),
        f"--log-size={LOG_BYTES_MAX}",
        "-e",
        "prog,verdict",
        "-o",
        "csv",
        "-f",
        f"*/{program}",
        str(path),
    ]
    with tempfile.TemporaryFile() as sink:
        done = subprocess.run(command, stdout=sink, stderr=subprocess.PIPE, check=False)
        sink.seek(0)
        said = sink.read()
    if done.returncode:
        raise VeristatError(
            f"`{' '.join(command)}` failed with {done.returncode}: {done.stderr.decode(errors='replace').strip()}"
        )
    return said.partition(b"VERIFIER LOG:\n")[2].rpartition(b"\nprog_name,")[0] + b"\n"


def explained(path: Path, judged: Judged) -> tuple[bytes, Origins]:
    """Returns the log that shows what is wrong with a program: the refused path, or else all paths."""
    program = judged.measured.program
    if judged.measured.verdict != "success":
        log = verifier_log(path, program, LEVEL_OF_ONE_PATH)
        found = origins(log.decode(errors="replace").splitlines())
        if found.last or found.last_c:
            return log, found
    log = verifier_log(path, program, LEVEL_OF_ALL_PATHS)
    return log, origins(log.decode(errors="replace").splitlines())


def jited_bytes(path: Path, programs: list[str]) -> dict[str, int]:
    """Returns the size of programs as machine code, with the functions that they call. Raises BpfError."""
    with bpf.Object.open(path, only=programs) as loaded:
        return {name: loaded.program(name).jited_bytes() for name in programs}


def measured(entry: dict[str, Any], release: str) -> Iterator[tuple[str, Any]]:
    """Yields the figures of an object file's programs, then the programs with faults, which need a log."""
    path, protocol = Path(entry["object"]), entry["protocol"]
    judged = [veristat.judge(protocol, each, entry["budgets"], release, strict=True) for each in veristat.measure(path)]
    loaded = [each.measured.program for each in judged if each.measured.verdict == "success"]
    jited = jited_bytes(path, loaded) if loaded else {}
    for each in judged:
        name = each.measured.program
        yield "program", {**asdict(each), "jited_bytes": jited.get(name, 0), "form": entry["form"]}
    for each in judged:
        if each.faults:
            yield "log", each


def measure(plan: dict[str, Any], release: str) -> None:
    logs = 0
    for entry in plan["objects"]:
        for kind, found in measured(entry, release):
            if kind == "log":
                logs += 1
                if logs <= LOGS_MAX:
                    log, where = explained(Path(entry["object"]), found)
                    packed = base64.b64encode(zlib.compress(log, 1)).decode()
                    say("log", {"program": found.measured.program, "log": packed, **asdict(where)})
            else:
                say(kind, found)


def conform(plan: dict[str, Any]) -> None:
    for entry in plan["conformance"]:
        # These imports load the generator, which takes half a minute in a machine: load it only if it is needed.
        from harness.conform.campaign import Trial  # noqa: PLC0415
        from harness.kernels.conformance import load  # noqa: PLC0415

        began = time.monotonic()
        stage = load(Path(entry["stage"]))
        result = Trial(stage, entry["form"]).run(stage.cases)
        say(
            "conformance",
            {
                "protocol": entry["protocol"],
                "form": entry["form"],
                "inputs": sum(result.inputs.values()),
                "mismatches": len(result.mismatches) + len(result.stray),
                "seconds": round(time.monotonic() - began, 1),
                "faults": [*map(str, result.mismatches[:3]), *result.stray],
            },
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m harness.kernels.inside", description="Measure what a plan names.")
    parser.add_argument("plan", type=Path)
    plan = json.loads(parser.parse_args().plan.read_text(encoding="utf-8"))
    release = os.uname().release
    say("kernel", release)
    try:
        measure(plan, release)
        conform(plan)
    except (VeristatError, bpf.BpfError, OSError) as error:
        say("error", str(error))
        return 2
    say("ended", True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
