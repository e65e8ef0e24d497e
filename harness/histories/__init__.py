"""Are recorded histories linearizable? The checker is Go (Porcupine), built with the protocol's model.

    python -m harness.histories PROTOCOL HISTORY...
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.protocols import BUILD, REPOSITORY, SPEC

SOURCE = Path(__file__).resolve().parent
VERDICTS = {0: "linearizable", 1: "not linearizable", 3: "undecided"}


class HistoriesError(Exception):
    """The checker cannot be built or run; the message says why and what to do."""


@dataclass(frozen=True)
class Verdict:
    """What the checker said of a set of histories."""

    linearizable: bool
    decided: bool
    text: str

    def __str__(self) -> str:
        return self.text


def build(protocol: str, build_dir: Path | None = None) -> Path:
    """Build the checker of a protocol and return its path."""
    model = SPEC / protocol / "history.go"
    if not model.exists():
        raise HistoriesError(f"{protocol} has no model of its histories: {model.relative_to(REPOSITORY)} is not there")
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin:/usr/lib/go/bin")
    if go is None:
        raise HistoriesError("building the checker of histories needs Go: run ./bootstrap")
    output = (build_dir or BUILD / protocol) / "histories"
    output.parent.mkdir(parents=True, exist_ok=True)
    # The model belongs to the protocol's folder; the overlay puts it into the module as its package `protocol`.
    overlay = output.with_name("histories-overlay.json")
    overlay.write_text(json.dumps({"Replace": {str(SOURCE / "protocol" / "protocol.go"): str(model)}}))
    command = [go, "build", "-overlay", str(overlay), "-o", str(output), "."]
    done = subprocess.run(command, cwd=SOURCE, env={**os.environ, "GOFLAGS": "-buildvcs=false"}, capture_output=True, text=True)
    if done.returncode != 0:
        raise HistoriesError(f"building the checker of {protocol}'s histories failed:\n{done.stderr.strip()}")
    return output


def check(protocol: str, histories: list[Path], timeout_seconds: float = 60, drawing: Path | None = None) -> Verdict:
    """Judge histories, all of them; the drawing is made of the first that is refused."""
    command = [str(build(protocol)), "--timeout", f"{timeout_seconds}s"]
    if drawing is not None:
        command += ["--drawing", str(drawing)]
    done = subprocess.run([*command, *map(str, histories)], capture_output=True, text=True)
    if done.returncode not in VERDICTS:
        raise HistoriesError(f"the checker of {protocol}'s histories failed: {done.stderr.strip()}")
    return Verdict(done.returncode == 0, done.returncode != 3, done.stdout.strip())
