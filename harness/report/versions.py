"""Lists the versions of the tools on this machine, with which the results were made."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata

from harness.base.protocols import REPOSITORY
from harness.tla import tlc

ABSENT = "not found"
COMMANDS = {
    "clang": ("clang-19", "--version"),
    "bpftool": ("bpftool", "version"),
    "Java": ("java", "-version"),
    "Go": ("go", "version"),
    "QEMU": ("qemu-system-x86_64", "--version"),
    "Docker": ("docker", "--version"),
}


def tools() -> dict[str, str]:
    """Returns the version of each tool, by name; ABSENT if there is none."""
    found = {"kernel": " ".join(os.uname()[each] for each in (0, 2, 4)), "Python": sys.version.split()[0]}
    try:
        found["TLC"] = tlc.version().removeprefix("TLC Version ")
    except tlc.TlcError:
        found["TLC"] = ABSENT
    return found | {name: _first_line(command) for name, command in COMMANDS.items()}


def _first_line(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ABSENT
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip() if lines and done.returncode == 0 else ABSENT


def python_packages() -> dict[str, str]:
    """Returns the installed version of each package that pyproject.toml names."""
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]
    return {name: _installed(name) for name in (re.split(r"[=<>!~ ;\[]", each)[0] for each in wanted)}


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ABSENT
