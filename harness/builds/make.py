"""Calls make, for all that is built."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from harness.base.protocols import REPOSITORY


class BuildError(RuntimeError):
    """Something cannot be built; the message says what, and has the compiler's output."""


def make(
    protocol: str,
    generated: Path,
    folder: Path,
    *targets: str,
    doing: str,
    defines: str = "",
    runtime: Path = REPOSITORY / "runtime",
) -> None:
    """Call make for a protocol; it does nothing if all is up to date. Raises BuildError.

    generated: the folder of the generated code. folder: for all that is made. targets: of runtime/Makefile; `all` by
    default. doing: begins the message of an error. defines: options for the compiler.
    """
    command = [
        "make",
        "--no-print-directory",
        "-s",
        "-C",
        str(runtime),
        f"PROTOCOL={protocol}",
        f"GENERATED={generated}",
        f"BUILD={folder}",
        *([f"DEFINES={defines}"] if defines else []),
        *targets,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    except FileNotFoundError:
        raise BuildError(f"{doing}: there is no `make` on the PATH; run ./bootstrap") from None
    if done.returncode:
        raise BuildError(f"{doing}:\n{done.stdout}{done.stderr}".rstrip())
