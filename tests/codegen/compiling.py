"""Compiles and imports generated code for a test; a compiler warning fails the test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
INCLUDE = [f"-I{RUNTIME}", f"-I{RUNTIME}/abi"]
FLAGS = ["-O2", "-Wall", "-Wextra", "-Werror", *INCLUDE]
UNDEFINED = ["-fsanitize=undefined", "-fsanitize-trap=all"]
COMPLAINT_CHARACTERS_MAX = 4000
CONTESTED = """
#include <stdbool.h>
#include <linux/types.h>

/* Somebody else adds one to the word just before each of the first `losses` attempts. */
unsigned int losses, attempts;
static bool contested(__u64 *word, __u64 before, __u64 after)
{
	attempts++;
	if (losses) {
		losses--;
		*word += 1;
	}
	if (*word != before)
		return false;
	*word = after;
	return true;
}
#define __sync_bool_compare_and_swap contested
"""
"""Text before generated C that makes its compare-and-swaps fail."""


def _clang(folder: Path, arguments: Sequence[str]) -> None:
    done = subprocess.run(["clang-19", *FLAGS, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:COMPLAINT_CHARACTERS_MAX]


def compile_native(folder: Path, *flags: str) -> Path:
    """run.c, which has a main()."""
    _clang(folder, [*flags, "run.c", "-o", "run"])
    return folder / "run"


def gcc_accepts(folder: Path) -> None:
    """Compiles run.c with gcc, which warns of other things than clang."""
    command = ["gcc", *FLAGS, "-c", "run.c", "-o", "run.gcc.o"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:COMPLAINT_CHARACTERS_MAX]


def compile_shared(folder: Path, *flags: str) -> Path:
    """run.c, as a library."""
    _clang(folder, [*flags, "-shared", "-fPIC", "run.c", "-o", "run.so"])
    return folder / "run.so"


def import_codec(folder: Path, protocol: str) -> ModuleType:
    """The generated codec in a folder."""
    sys.path.insert(0, str(folder))
    try:
        return __import__(f"{protocol}_codec")
    finally:
        sys.path.remove(str(folder))


def compile_bpf(folder: Path, source: str, *flags: str) -> Path:
    """A program's object file, for test runs: these have no daemon, and their packets no sender."""
    machine = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    output = Path(source).stem + ".o"
    _clang(
        folder,
        [
            "-target",
            "bpf",
            "-g",
            "-mcpu=v3",
            "-DSTEPWISE_CONFORM",
            "-idirafter",
            f"/usr/include/{machine}",
            *flags,
            "-c",
            source,
            "-o",
            output,
        ],
    )
    return folder / output
