"""Replays a counterexample: runs the step on the bytes that Z3 found, in the kernel and as the machine that this is.

The proof is about bytecode, as the prover understands it. If the step leaves other bytes than the prover said, then the
counterexample is the prover's mistake. In the kernel it is a program of its own, of the same text and flags, which the
verifier has accepted and the JIT compiled.
"""

from __future__ import annotations

import ctypes
import errno
import subprocess
from pathlib import Path

from harness.base.protocols import GENERATED, RUNTIME
from harness.base.write_files import renew
from harness.builds.make import BuildError
from harness.prove.programs import COMPILER, StepFunction, compile_for_bpf
from harness.prove.proof import Counterexample
from harness.rig import bpf

ROOM = 64
"""Bytes behind a struct: the daemon's form of the message has a pointer there."""
PACKET = bytes(64)


class NotReplayed(Exception):
    """The kernel did not run the step; the message says why."""


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


def natively(step: StepFunction, path: Path, example: Counterexample) -> list[str]:
    """Runs the step of a library; returns the parts of the result that are not as the prover said."""
    function = getattr(ctypes.CDLL(str(path)), f"prove_{step.function}")
    function.restype = ctypes.c_uint32
    buffers = {
        name: ctypes.create_string_buffer(bytes.fromhex(text), len(text) // 2 + ROOM)
        for name, text in example.before.items()
    }
    outcome = function(*(ctypes.byref(buffers[role]) for role in step.parameters))
    return _differences(example, outcome, {name: buffers[name].raw for name in example.after})


def program(
    protocol: str, step: StepFunction, example: Counterexample, folder: Path, generated: Path | None = None
) -> Path:
    """Compiles a step as a program of its own, with its arguments in variables. Raises BuildError."""
    variables = "".join(
        f"unsigned char prove_{name}[{len(text) // 2}] __attribute__((aligned(8)));\n"
        for name, text in example.before.items()
    )
    arguments = ", ".join(f"(void *)prove_{role}" for role in step.parameters)
    text = f"""#include "{protocol}_steps.h"

{variables}__u32 prove_outcome;

__attribute__((section("xdp"), used)) int prove_replay(void *context)
{{
\t(void)context;
\tprove_outcome = {step.function}({arguments});
\treturn 0;
}}

char _license[] __attribute__((section("license"), used)) = "Dual MIT/GPL";
"""
    made = folder / f"{step.function}_replay.o"
    compile_for_bpf(protocol, text, made, generated or GENERATED / protocol, step.daemon)
    return made


def in_kernel(path: Path, example: Counterexample) -> list[str]:
    """Runs the step of a program; returns the parts of the result that are not as the prover said.

    Raises NotReplayed if this process may not, or if the verifier refuses the program.
    """
    try:
        with bpf.Object.open(path) as opened:
            for name, text in example.before.items():
                opened.variable(f"prove_{name}").write(bytes.fromhex(text))
            opened.program("prove_replay").test_run(PACKET)
            outcome = int.from_bytes(opened.variable("prove_outcome").read(), "little")
            after = {name: opened.variable(f"prove_{name}").read() for name in example.after}
    except bpf.BpfError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS):
            raise NotReplayed("this process may not load programs: run it as root") from None
        raise NotReplayed(f"the verifier refuses it: {str(error).splitlines()[-1]}") from None
    return _differences(example, outcome, after)


def _differences(example: Counterexample, outcome: int, after: dict[str, bytes]) -> list[str]:
    wrong = [] if outcome == example.outcome else [f"outcome {outcome:#x} instead of {example.outcome:#x}"]
    for name, text in example.after.items():
        found = after[name][: len(text) // 2].hex()
        if found != text:
            wrong.append(f"{name} {found} instead of {text}")
    return wrong


def replayed(
    protocol: str, step: StepFunction, example: Counterexample, folder: Path, generated: Path | None = None
) -> tuple[list[str], str]:
    """Runs a counterexample; returns what is not as the prover said, and where it was run. Raises BuildError."""
    wrong = natively(step, library(protocol, step, folder, generated), example)
    try:
        wrong += [
            f"{each}, in the kernel" for each in in_kernel(program(protocol, step, example, folder, generated), example)
        ]
    except NotReplayed as error:
        return wrong, f"replayed natively; not in the kernel, because {error}"
    return wrong, "replayed natively and in the kernel"
