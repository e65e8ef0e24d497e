"""Runs the steps of the demonstration before there is traffic: check, generate, build, load."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness import veristat
from harness.base.protocols import REPOSITORY
from harness.demo.screen import Screen
from harness.live.build import Build, build
from harness.live.server import Server
from harness.tla import models
from harness.tla.run import run


class StepFailed(Exception):
    """A step failed. The message has its output."""


def run_tool(screen: Screen, label: str, doing: str, module: str, *arguments: str) -> tuple[list[str], float]:
    """Run one of the project's commands. Returns the lines that it printed, and the seconds that it took."""
    begun = time.monotonic()
    command = [sys.executable, "-m", module, *arguments]
    lines: list[str] = []
    with screen.working(label, doing):
        # It leads a process group, so that its children stop with it.
        process = subprocess.Popen(
            command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        assert process.stdout is not None, "it is a pipe"
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
            process.wait()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
            process.stdout.close()
    if process.returncode != 0:
        raise StepFailed("\n".join([f"`python -m {module} {' '.join(arguments)}` says:", *lines[-12:]]))
    return lines, time.monotonic() - begun


def _sign_of_life(progress: str) -> str:
    """The model checker's progress, in words."""
    found = re.search(r"([\d,]+) distinct states found", progress)
    return f"{found[1]} states" if found else ""


def check_model(screen: Screen, protocol: str) -> None:
    """Explore the quick models that hold. All others would take too long here."""
    quick = [model for model in models.models_of(protocol) if model.is_quick] if protocol in models.protocols() else []
    holding = [model for model in quick if not model.must_fail]
    if not holding:
        screen.say("model", f"spec/{protocol} has no quick model that must hold, so nothing was checked")
        return
    states, seconds = 0, 0.0
    for model in holding:
        with screen.working("model", f"TLC explores {protocol}/{model.name}") as at:
            report = run(model, progress=lambda text: at(_sign_of_life(text)))
        if report.surprises:
            raise StepFailed(
                "\n".join(
                    [f"{protocol}/{model.name}:", *report.surprises, f"`just check {protocol} {model.name}` shows it"]
                )
            )
        states, seconds = states + report.outcome.distinct, seconds + report.outcome.seconds
    names = " and ".join(model.name for model in holding)
    text = f"{states:,} states of {names} explored in {seconds:.0f} s: all properties hold"
    failing = len(quick) - len(holding)
    if failing:
        text += f"\n(`just check {protocol}` also puts back {failing} known mistakes, and finds every one)"
    screen.say("model", text, True)


def generate_code(screen: Screen, protocol: str) -> None:
    """Compile the specification into generated/."""
    _, seconds = run_tool(screen, "generate", "compiling the steps", "codegen", "generate", protocol)
    files = [path for path in sorted((REPOSITORY / "generated" / protocol).iterdir()) if path.is_file()]
    lines = sum(path.read_text().count("\n") for path in files)
    screen.say("generate", f"{len(files)} files, {lines:,} lines, in {seconds:.1f} s: generated/{protocol}", True)


def build_code(screen: Screen, protocol: str) -> Build:
    """Compile the programs, the daemon and the load."""
    with screen.working("build", "compiling the programs, the daemon and the load"):
        built = build(protocol)
        built.load_program()
    names = ", ".join(path.name for path in (built.programs, built.daemon))
    screen.say("build", f"{names}: {Path(built.directory).relative_to(REPOSITORY)}", True)
    return built


def load_programs(screen: Screen, server: Server) -> bool:
    """Show where the programs are loaded, and the verifier's figures for them. Returns whether all is well."""
    with screen.working("load", "measuring the programs"):
        judged = veristat.check(server.build.name, server.build.programs)
    status = server.status()
    interface = status["interfaces"][0]
    where = (
        f"{interface['name']} of a veth pair between two namespaces: XDP {interface['xdp']}, TC {interface['tc']}; "
        "--first, so new tables need not wait"
    )
    rows = [
        f"{each.measured.program:<16} {each.measured.insns:>6,} of {each.budget['insns'] if each.budget else 0:>6,} "
        "instructions"
        for each in judged
    ]
    good = not any(each.faults for each in judged) and interface["xdp"] == "native"
    screen.say("load", "\n".join([where, *rows]), good)
    return good
