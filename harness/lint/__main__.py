"""python -m harness.lint [--only TEXT]: runs the tools that check the repository's text, in under a minute.

Each tool reads its own settings, from pyproject.toml, .clang-format or .clang-tidy.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.base import command
from harness.base.protocols import REPOSITORY
from harness.lint.checked_files import checked_files

C_FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-Iruntime", "-Iruntime/abi")  # the same as in runtime/Makefile
TIDY_FILES_MAX = 8
PROGRESS = re.compile(r"\[\d+/\d+\] Processing file|\d+ warnings? generated")
SHEBANGS = (b"#!/usr/bin/env bash", b"#!/bin/sh", b"#!/bin/bash")


@dataclass(frozen=True)
class Check:
    """A tool's command. mend: the command that repairs all that the tool finds, if there is one."""

    name: str
    arguments: Sequence[str]
    mend: str = ""


class NotLinted(Exception):
    """A tool is missing; the message says which one."""


def is_shell(name: str) -> bool:
    path = REPOSITORY / name
    return not path.suffix and not path.is_symlink() and path.read_bytes().startswith(SHEBANGS)


def checks(files: Sequence[str]) -> list[Check]:
    """Returns all checks, the slowest first."""
    python, here = sys.executable, str(Path(sys.executable).parent)
    c_files = [name for name in files if name.endswith((".c", ".h"))]
    tidied = [name for name in c_files if name.startswith("runtime/") and name.endswith(".c")]
    chunks = [tidied[at : at + TIDY_FILES_MAX] for at in range(0, len(tidied), TIDY_FILES_MAX)]
    spelled = [name for name in files if not name.endswith((".json", ".lock"))]
    return [
        Check("mypy", [python, "-m", "mypy"]),
        *(Check("clang-tidy", ["clang-tidy-19", "--quiet", *chunk, "--", *C_FLAGS]) for chunk in chunks),
        Check("clang-format", ["clang-format-19", "--dry-run", "-Werror", *c_files], "clang-format-19 -i FILE"),
        Check("codespell", [f"{here}/codespell", *spelled]),
        Check("prose", [python, "-m", "harness.lint.prose"]),
        Check("shellcheck", ["shellcheck", *(name for name in files if is_shell(name))]),
        Check("ruff check", [f"{here}/ruff", "check", "."], "ruff check --fix"),
        Check("ruff format", [f"{here}/ruff", "format", "--check", "."], "ruff format"),
    ]


def run(check: Check) -> tuple[Check, float, str]:
    """Runs a check; returns it, its seconds and its findings, empty if all is well. Raises NotLinted."""
    if shutil.which(check.arguments[0]) is None:
        raise NotLinted(f"running {check.name}: {check.arguments[0]} is not installed; run ./bootstrap")
    began = time.monotonic()
    started = subprocess.Popen(
        check.arguments,
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    with command.child(started):
        output, _ = started.communicate()
    lines = [line for line in output.splitlines() if not PROGRESS.match(line)]
    found = ("\n".join(lines).strip() or f"it ended with {started.returncode}") if started.returncode else ""
    return check, time.monotonic() - began, found


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="just lint", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="run only the tools with this text in their name")
    options = parser.parse_args()
    picked = [check for check in checks(checked_files()) if options.only in check.name]
    if not picked:
        print(f"error: no tool has {options.only!r} in its name", file=sys.stderr)
        return 2
    began, failed = time.monotonic(), set()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for check, seconds, found in pool.map(run, picked):
            print(f"{'FAILED' if found else 'ok':<7}{seconds:5.1f} s  {check.name}", flush=True)
            if found:
                failed.add(check.name)
                print(found + (f"\n{check.name}: `{check.mend}` mends it" if check.mend else ""), flush=True)
    names = {check.name for check in picked}
    print(f"{len(failed)} of {len(names)} tools found something, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(command.run("lint", main))
