"""Judges whether recorded histories are linearizable.

    python -m harness.histories PROTOCOL HISTORY...

The checker is a Go program, based on Porcupine and built with the protocol's model.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from harness.base.folder_lock import alone
from harness.base.protocols import BUILD, LIVE, REPOSITORY, SPEC

SOURCE = Path(__file__).resolve().parent
VERDICTS = {0: "linearizable", 1: "not linearizable", 3: "undecided"}
NONE = "-"
"""Stands for an argument or an outcome that does not exist."""
NEVER = 2**63 - 1
"""The return of an operation that was not answered."""


class HistoriesError(Exception):
    """The checker cannot be built or run; the message says why and what to do."""


@dataclass(frozen=True)
class Verdict:
    """The checker's verdict on a set of histories."""

    linearizable: bool
    decided: bool
    text: str
    key: str | None = None
    """The first key that was refused, if any."""

    def __str__(self) -> str:
        return self.text


class Operation(NamedTuple):
    """One line of a history; history/history.go describes its words."""

    client: str
    key: str
    operation: str
    argument: str
    outcome: str
    call: int
    returned: int


def read(path: Path) -> Iterator[Operation]:
    """The operations of a history."""
    with path.open(encoding="ascii") as file:
        for line in file:
            if not line.startswith("#"):
                client, key, operation, argument, outcome, call, returned = line.split()
                end = NEVER if returned == NONE else int(returned)
                yield Operation(client, key, operation, argument, outcome, int(call), end)


def write(path: Path, operations: Iterable[Operation]) -> None:
    """Write a history of these operations. They may come from the old file, which is replaced only at the end."""
    partial = path.with_name(f"{path.name}.new")
    with partial.open("w", encoding="ascii") as file:
        for *words, call, returned in operations:
            file.write(f"{' '.join(words)} {call} {NONE if returned == NEVER else returned}\n")
    partial.rename(path)


def build(protocol: str, build_dir: Path | None = None) -> Path:
    """Build the checker of a protocol and return its path."""
    model = SPEC / protocol / LIVE / "history.go"
    if not model.exists():
        raise HistoriesError(
            f"{protocol} has no model of its histories: {model.relative_to(REPOSITORY)} does not exist"
        )
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin:/usr/lib/go/bin")
    if go is None:
        raise HistoriesError("building the checker of histories needs Go: run ./bootstrap")
    output = (build_dir or BUILD / protocol) / "histories"
    # The model belongs to the protocol's folder; the overlay puts it into the module as its package `protocol`.
    overlay = output.with_name("histories-overlay.json")
    command = [go, "build", "-overlay", str(overlay), "-o", str(output), "."]
    with alone(output.parent):
        overlay.write_text(json.dumps({"Replace": {str(SOURCE / "protocol" / "protocol.go"): str(model)}}))
        done = subprocess.run(
            command,
            check=False,
            cwd=SOURCE,
            env={**os.environ, "GOFLAGS": "-buildvcs=false"},
            capture_output=True,
            text=True,
        )
    if done.returncode != 0:
        raise HistoriesError(f"building the checker of {protocol}'s histories failed:\n{done.stderr.strip()}")
    return output


def check(protocol: str, histories: list[Path], timeout_seconds: float = 60, drawing: Path | None = None) -> Verdict:
    """Judge all these histories. The drawing shows the first that is refused."""
    command = [str(build(protocol)), "--timeout", f"{timeout_seconds}s"]
    if drawing is not None:
        command += ["--drawing", str(drawing)]
    done = subprocess.run([*command, *map(str, histories)], check=False, capture_output=True, text=True)
    if done.returncode not in VERDICTS:
        raise HistoriesError(f"the checker of {protocol}'s histories failed: {done.stderr.strip()}")
    refused = re.search(r"first wrong on key (\S+)$", done.stdout, re.MULTILINE)
    return Verdict(done.returncode == 0, done.returncode != 3, done.stdout.strip(), refused[1] if refused else None)
