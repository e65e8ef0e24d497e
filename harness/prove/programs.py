"""Compiles the steps of a protocol to BPF, each into a function and a section of its own, without hooks."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from codegen import ir
from codegen.c.names import snake
from harness.base.protocols import RUNTIME
from harness.base.write_files import renew
from harness.builds.make import BuildError

COMPILER = "clang-19"
SIGNATURE = r"static __always_inline __u32 {name}\(([^)]*)\)"
ABI = RUNTIME / "abi" / "stepwise.h"


@dataclass(frozen=True)
class StepFunction:
    """A step and its function in C.

    table: the table of the step's cells. whole: whether it reads a whole table. daemon: whether only the daemon runs
    it, so that the shipped programs do not have it. parameters: `cell`, `message` and `environment`, in C's order.
    """

    name: str
    function: str
    table: ir.TableLayout
    cell: ir.Record
    whole: bool
    daemon: bool
    parameters: tuple[str, ...]
    declared: str

    @property
    def section(self) -> str:
        """The section of its wrapper."""
        return f"prove/{self.function}"

    @property
    def whole_reason(self) -> str:
        """Why the step cannot be proved at all; empty if it can be tried."""
        if self.table.atomic == "user":
            return "it moves a packet's tail, which a BPF function of its own cannot"
        return ""

    def struct_tag(self, protocol: str) -> str:
        """The struct of the cell, as the function's parameter names it; empty for a whole table."""
        words = self.declared.split(",")[self.parameters.index("cell")].split()
        return words[words.index("struct") + 1].removeprefix(f"{protocol}_") if "struct" in words else ""

    def wrapper(self) -> str:
        """The C text of a function that does nothing else."""
        names = ", ".join(re.findall(r"(\w+)\s*(?:,|$)", self.declared))
        return (
            f'__attribute__((noinline, section("{self.section}"))) __u32 prove_{self.function}({self.declared})\n'
            f"{{\n\treturn {self.function}({names});\n}}\n"
        )


def steps(protocol: ir.Protocol, generated: Path) -> list[StepFunction]:
    """All steps of a protocol, in the order of the hooks."""
    header = (generated / f"{protocol.name}_steps.h").read_text()
    native = header.partition("#ifndef __bpf__")[2]
    tables = {table.name: table for table in protocol.tables}
    sections = [*protocol.xdp, *protocol.tc, *protocol.user]
    sections += [section for each in protocol.sweep for section in each.sections]
    sections += protocol.drain.sections if protocol.drain else ()
    found: dict[str, StepFunction] = {}
    for section in sections:
        table = tables[section.table]
        found.setdefault(section.step.name, _step(protocol, section.step.name, table, section.step, header, native))
    if protocol.recovery:
        step = protocol.recovery.step
        cell = protocol.recovery.cell
        table = ir.TableLayout(cell.name, cell, "array", 1, "", "owned")
        found.setdefault(step.name, _step(protocol, step.name, table, step, header, native))
    return list(found.values())


def _step(
    protocol: ir.Protocol, name: str, table: ir.TableLayout, step: ir.Step, header: str, native: str
) -> StepFunction:
    function = f"{protocol.name}_{snake(name)}"
    signature = re.search(SIGNATURE.format(name=function), header)
    if signature is None:
        raise BuildError(
            f"generated/{protocol.name}/{protocol.name}_steps.h has no function {function}; run `just generate`"
        )
    declared = " ".join(signature[1].split())
    roles = []
    for each in declared.split(","):
        word = each.split()[-1].lstrip("*")
        roles.append(word if word in ("message", "environment") else "cell")
    cell = step.cell_type.cell if isinstance(step.cell_type, ir.Table) else step.cell_type
    return StepFunction(
        name=name,
        function=function,
        table=table,
        cell=cell,
        whole=isinstance(step.cell_type, ir.Table),
        daemon=re.search(SIGNATURE.format(name=function), native) is not None,
        parameters=tuple(roles),
        declared=declared,
    )


def compiled(protocol: str, functions: list[StepFunction], generated: Path, folder: Path, daemon: bool) -> Path:
    """Compiles wrappers to an object file. Raises BuildError.

    daemon: whether these are steps of the daemon, which the header hides from BPF programs.
    """
    made = target(protocol, folder, daemon)
    text = f'#include "{protocol}_steps.h"\n\n' + "\n".join(each.wrapper() for each in functions)
    compile_for_bpf(protocol, text, made, generated, daemon)
    return made


def compile_for_bpf(protocol: str, text: str, made: Path, generated: Path, daemon: bool) -> None:
    """Compiles a text in C beside `made`, with the flags of runtime/Makefile. Raises BuildError."""
    source = made.with_suffix(".c")
    renew(source, text)
    command = [COMPILER, "-target", "bpf", "-O2", "-g", "-mcpu=v3", "-Wall", "-Wextra", "-Werror"]
    command += ["-U__bpf__", "-D__x86_64__"] if daemon else []
    command += [f"-I{generated}", f"-I{RUNTIME}", f"-I{RUNTIME / 'abi'}", "-idirafter", f"/usr/include/{_multiarch()}"]
    command += ["-c", str(source), "-o", str(made)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise BuildError(f"cannot compile the steps of {protocol}: there is no {COMPILER}; run ./bootstrap") from None
    if run.returncode:
        raise BuildError(f"compiling the steps of {protocol}:\n{run.stderr.rstrip()}")


def target(protocol: str, folder: Path, daemon: bool) -> Path:
    """The object file of the steps."""
    return folder / f"{protocol}_{'daemon' if daemon else 'programs'}.o"


def _multiarch() -> str:
    run = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=False)
    return run.stdout.strip()


def verdicts() -> dict[str, int]:
    """The numbers of the verdicts, from the header of runtime/."""
    found = re.search(r"enum stepwise_verdict \{([^}]*)\}", ABI.read_text())
    if found is None:
        raise BuildError(f"{ABI} has no enum stepwise_verdict")
    names = [line.split("=")[0].strip() for line in re.sub(r"/\*.*?\*/", "", found[1], flags=re.S).split(",")]
    return {name.removeprefix("STEPWISE_").capitalize(): at for at, name in enumerate(filter(None, names))}
