"""Replays a counterexample: runs the step's C as the machine that this is runs it, on the bytes that Z3 found.

The proof is about bytecode, as the prover understands it. If the same C, compiled for this machine, leaves other bytes
than the prover said, then the counterexample is the prover's mistake.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

from harness.base.protocols import GENERATED, RUNTIME
from harness.base.write_files import renew
from harness.builds.make import BuildError
from harness.prove.programs import COMPILER, StepFunction
from harness.prove.proof import Counterexample

ROOM = 64
"""Bytes behind a struct: the daemon's form of the message has a pointer there."""


def library(protocol: str, step: StepFunction, folder: Path, generated: Path | None = None) -> Path:
    """Compiles a step for this machine. Raises BuildError."""
    source, target = folder / f"{step.function}_native.c", folder / f"{step.function}_native.so"
    renew(source, f'#include "{protocol}_steps.h"\n\n{step.wrapper()}')
    command = [COMPILER, "-shared", "-fPIC", "-O2", "-D_GNU_SOURCE", f"-I{generated or GENERATED / protocol}"]
    command += [f"-I{RUNTIME}", f"-I{RUNTIME / 'abi'}", str(source), "-o", str(target)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise BuildError(f"compiling {step.name} of {protocol} for this machine:\n{run.stderr.rstrip()}")
    return target


def replayed(step: StepFunction, path: Path, example: Counterexample) -> list[str]:
    """Runs the step on a counterexample; returns the parts of the result that are not as the prover said."""
    function = getattr(ctypes.CDLL(str(path)), f"prove_{step.function}")
    function.restype = ctypes.c_uint32
    buffers = {
        name: ctypes.create_string_buffer(bytes.fromhex(text), len(text) // 2 + ROOM)
        for name, text in example.before.items()
    }
    outcome = function(*(ctypes.byref(buffers[role]) for role in step.parameters))
    wrong = [] if outcome == example.outcome else [f"outcome {outcome:#x} instead of {example.outcome:#x}"]
    for name, text in example.after.items():
        found = buffers[name].raw[: len(text) // 2].hex()
        if found != text:
            wrong.append(f"{name} {found} instead of {text}")
    return wrong
