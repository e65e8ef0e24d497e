"""Compiles generated C for a test, for this machine or for the kernel; what the compiler says against it fails the test."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
FLAGS = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{RUNTIME}"]
UNDEFINED = ["-fsanitize=undefined", "-fsanitize-trap=all"]
COMPLAINT_CHARACTERS_MAX = 4000


def _clang(folder: Path, arguments: Sequence[str]) -> None:
    done = subprocess.run(["clang-19", *FLAGS, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:COMPLAINT_CHARACTERS_MAX]


def compile_native(folder: Path, *flags: str) -> Path:
    """run.c, which has a main()."""
    _clang(folder, [*flags, "run.c", "-o", "run"])
    return folder / "run"


def compile_bpf(folder: Path, source: str, *flags: str) -> Path:
    """A program's object file."""
    machine = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    output = Path(source).stem + ".o"
    _clang(folder, ["-target", "bpf", "-g", "-mcpu=v3", "-idirafter", f"/usr/include/{machine}", *flags, "-c", source, "-o", output])
    return folder / output
