"""python -m harness.nightly [--only TEXT]: runs all checks that are too slow for `just test`, one after the other.

Each command has a log in build/nightly. If one fails, the others still run. docs/nightly.md has the last figures.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from harness.base import command
from harness.base.protocols import BUILD, REPOSITORY

OUTPUT = BUILD / "nightly"
GARBLED_PACKETS = 1_000_000
COMMANDS = (
    "check all all",
    "conform all",
    "prove",
    "prove --faults",
    "mutants",
    "mutants --steps",
    "fuzz all --minutes 20",
    "fuzz generator --minutes 60",
    "fuzz crash log",
    "fuzz parsers",
    "fuzz readers",
    "test tests/security/test_garbled_packets.py tests/security/test_garbled_gathers.py",
    "kernels",
    "docker all",
    "bench all",
)


def log_of(words: str) -> Path:
    return OUTPUT / f"{words.replace(' ', '_').replace('/', '_')}.log"


def run(words: str) -> tuple[int, float, str]:
    """Runs one command; returns its exit code, its seconds and its last line."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with log_of(words).open("wb") as sink:
        started = subprocess.Popen(
            ["just", *words.split()],
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=os.environ | {"STEPWISE_GARBLED_PACKETS": str(GARBLED_PACKETS)},
            start_new_session=True,
        )
        with command.child(started):
            code = started.wait()
    lines = [line for line in log_of(words).read_text(errors="replace").splitlines() if line.strip()]
    return code, time.monotonic() - began, lines[-1].strip() if lines else ""


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m harness.nightly", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="run only commands with this text")
    options = parser.parse_args()
    picked = [words for words in COMMANDS if options.only in words]
    if not picked:
        print(f"error: no command contains {options.only!r}; choose from {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    command.need(command.NAMESPACES, "make network namespaces and load programs into the kernel")
    failed = []
    for words in picked:
        code, seconds, last = run(words)
        print(f"{'ok' if code == 0 else 'FAILED':<7}{seconds / 60:7.1f} min  just {words}\n{'':<19}{last}", flush=True)
        if code:
            failed.append(words)
    for words in failed:
        print(f"FAILED just {words}: see {log_of(words).relative_to(REPOSITORY)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(command.run("nightly", main))
