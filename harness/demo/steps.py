"""The steps of the demonstration before there is traffic: check, generate, build, load."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from harness import veristat
from harness.check import models
from harness.demo.screen import Screen
from harness.fuzz.build import Build, build
from harness.fuzz.server import Server
from harness.protocols import REPOSITORY


class StepFailed(Exception):
    """A step did not end well; the message has its output."""


def run_tool(
    screen: Screen, label: str, doing: str, module: str, *arguments: str, progress: Callable[[list[str]], str] | None = None
) -> tuple[list[str], float]:
    """Run one of the project's commands; the lines that it printed and how long it took."""
    begun = time.monotonic()
    command = [sys.executable, "-m", module, *arguments]
    lines: list[str] = []
    with screen.working(label, doing) as at:
        # A group of its own, so that what it started ends with it.
        process = subprocess.Popen(
            command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                if progress:
                    at(progress(lines))
            process.wait()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
            process.stdout.close()
    if process.returncode != 0:
        raise StepFailed("\n".join([f"`python -m {module} {' '.join(arguments)}` says:", *_last(lines)]))
    return lines, time.monotonic() - begun


def _last(lines: list[str], most: int = 12) -> list[str]:
    """The end of an output, without the signs of life in it."""
    return [line for line in lines if line and not line.lstrip().startswith("...")][-most:]


def check_model(screen: Screen, protocol: str) -> None:
    """Explore the small models: those that hold, and those that must fail."""
    if protocol not in models.protocols():
        screen.say("model", f"spec/{protocol} has no models (.cfg): nothing was checked")
        return

    def progress(lines: list[str]) -> str:
        return f"{len(_models(lines))} of them done"

    lines, seconds = run_tool(
        screen, "model", "TLC explores the small models", "harness.check", protocol, "small", progress=progress
    )
    found = _models(lines)
    holding = [states for verdict, states in found if verdict == "holds"]
    text = f"{sum(holding):,} states of {len(holding)} models explored in {seconds:.0f} s: all properties hold"
    failing = len(found) - len(holding)
    if failing:
        text += f"\n{failing} models with a known mistake put back: the checker finds every one"
    if not holding:
        raise StepFailed("\n".join([f"the check of {protocol} reports no model that holds:", *_last(lines)]))
    screen.say("model", text, True)


def _models(lines: list[str]) -> list[tuple[str, int]]:
    """The verdict of each model that was reported, and how many states it has."""
    matches = (re.match(r"\S+/\S+ +(holds|fails as it must).* ([\d,]+) states", line) for line in lines)
    return [(match[1], int(match[2].replace(",", ""))) for match in matches if match]


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
    names = ", ".join(path.name for path in (built.programs, built.daemon))
    screen.say("build", f"{names}: {Path(built.directory).relative_to(REPOSITORY)}", True)
    return built


def load_programs(screen: Screen, server: Server) -> bool:
    """What is loaded where, and what the verifier made of it."""
    with screen.working("load", "measuring the programs"):
        judged = veristat.check(server.build.name, server.build.programs)
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

