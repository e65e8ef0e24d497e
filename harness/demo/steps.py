"""The steps of the demonstration before there is traffic: check, generate, build, load."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from harness import veristat
from harness.demo.screen import Screen
from harness.fuzz.build import Build, build
from harness.fuzz.server import Server
from harness.protocols import REPOSITORY


class StepFailed(Exception):
    """A step did not end well; the message has its output."""


def run_tool(screen: Screen, label: str, doing: str, module: str, *arguments: str) -> tuple[str, float]:
    """Run one of the project's commands; its output and how long it took."""
    begun = time.monotonic()
    command = [sys.executable, "-m", module, *arguments]
    with screen.working(label, doing):
        process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            output, _ = process.communicate()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    if process.returncode != 0:
        raise StepFailed(f"python -m {module} {' '.join(arguments)}:\n{output.strip()}")
    return output, time.monotonic() - begun


def check_model(screen: Screen, protocol: str) -> bool:
    """Explore the small model."""
    output, seconds = run_tool(screen, "model", "TLC explores the small model", "harness.check", protocol, "small")
    screen.say("model", output.strip(), True)
    return True


def generate_code(screen: Screen, protocol: str) -> None:
    """Compile the specification; what comes out must be what is committed."""
    _, seconds = run_tool(screen, "generate", "compiling the steps", "codegen", "generate", protocol)
    files = [path for path in sorted((REPOSITORY / "generated" / protocol).iterdir()) if path.is_file()]
    lines = sum(path.read_text().count("\n") for path in files)
    screen.say("generate", f"{len(files)} files, {lines:,} lines, in {seconds:.1f} s: generated/{protocol}", True)


def build_code(screen: Screen, protocol: str) -> Build:
    """Compile it."""
    with screen.working("build", "compiling the programs, the daemon and the load"):
        built = build(protocol)
        built.load_program()
    names = ", ".join(path.name for path in (_bpf_object(built), built.daemon))
    screen.say("build", f"{names}: {Path(built.directory).relative_to(REPOSITORY)}", True)
    return built


def load_programs(screen: Screen, server: Server) -> bool:
    """What is loaded where, and what the verifier made of it."""
    with screen.working("load", "measuring the programs"):
        judged = veristat.check(server.build.name, _bpf_object(server.build))
    status = server.status()
    interface = status["interfaces"][0]
    where = f"{interface['name']} of a veth pair between two namespaces: XDP {interface['xdp']}, TC {interface['tc']}"
    rows = [
        f"{each.measured.program:<16} {each.measured.insns:>6,} of {each.budget['insns'] if each.budget else 0:>6,} instructions"
        for each in judged
    ]
    good = not any(each.faults for each in judged) and interface["xdp"] == "native"
    screen.say("load", "\n".join([where, *rows]), good)
    return good


def _bpf_object(built: Build) -> Path:
    return built.directory / f"{built.name}.bpf.o"
