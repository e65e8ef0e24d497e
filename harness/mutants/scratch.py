"""A copy of the repository that a mutant may be put into."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from harness import tlc
from harness.command import child
from harness.mutants.catalogue import PROGRAM, Mutant
from harness.mutants.mirror import mirror, remove
from harness.protocols import BUILD, REPOSITORY

PARTS = ("codegen", "templates", "runtime", "harness", "spec", "generated", "tests", "pyproject.toml")
TIMEOUT_SECONDS = 300


class NoLongerApplies(Exception):
    """The text that a mutant changes is not there, or is there more than once."""


def work_of(root: Path, protocol: str) -> Path:
    """Where conformance of a protocol builds in a copy of the repository."""
    return root / "build/conform" / protocol


class Scratch:
    """One copy, below build/mutants, that nobody else has as long as this process lives."""

    def __init__(self, name: str = "") -> None:
        folder = BUILD / "mutants"
        folder.mkdir(parents=True, exist_ok=True)
        for number in itertools.count():
            self.root = folder / f"{name}{number}"
            # Closed, and so given back, with this object.
            self._lock = open(folder / f"{name}{number}.lock", "w")  # noqa: SIM115
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            self._lock.close()

    def prepare(self, mutant: Mutant, with_fault: bool = True, whole: bool = True) -> None:
        """A fresh copy with the mutant's edits; without its fault, only with those of model configurations.

        whole: whether the checker is in it; else it is used with the repository's own, and has only what the mutant
        changes.
        """
        for part in PARTS if whole else ():
            mirror(REPOSITORY / part, self.root / part)
        if mutant.is_compiled and with_fault:
            mirror(REPOSITORY / "spec", self.root / PROGRAM)
        else:
            remove(self.root / PROGRAM)
        self._share_oracle()
        if mutant.asks_conformance:
            self._forget_builds(mutant.protocol)
        for edit in mutant.edits:
            if not edit.is_generated and (with_fault or edit.file.endswith(".cfg")):
                self._apply(edit.file, edit.old, edit.new)
        generated = [
            [Path(edit.file).name, edit.old, edit.new] for edit in mutant.edits if edit.is_generated and with_fault
        ]
        (self.root / "edits.json").write_text(json.dumps(generated))

    def _forget_builds(self, protocol: str) -> None:
        """What was built of another mutant, maybe from another runtime, or only in part; not what TLC has said."""
        for folder in work_of(self.root, protocol).glob("*/generated"):
            remove(folder.parent)

    def _apply(self, file: str, old: str, new: str) -> None:
        path = self.root / file
        text = path.read_text() if path.exists() else ""
        if text.count(old) != 1:
            raise NoLongerApplies(f"{file} has {old!r} {text.count(old)} times, not once")
        path.write_text(text.replace(old, new))

    def _share_oracle(self) -> None:
        """What TLC said of the same modules need not be asked again; a test may ask of every protocol."""
        for kept in BUILD.glob("conform/*/oracle/*.cases"):
            target = self.root / "build" / kept.relative_to(BUILD)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileNotFoundError):  # the oldest are thrown away
                    shutil.copy2(kept, target)

    def environment(self) -> dict[str, str]:
        """Of what is run for a mutant."""
        environment = {**os.environ, "TLA2TOOLS_JAR": str(tlc.jar().resolve()), "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("PYTHONPATH", None)
        # what is found with a fault in it is no result
        environment["STEPWISE_RESULTS"] = str(self.root / "build/results")
        return environment

    def run(self, *arguments: str, timeout_seconds: float = TIMEOUT_SECONDS) -> subprocess.CompletedProcess[str]:
        """A Python command in the copy. What takes too long is killed with all that it started."""
        command = [sys.executable, *arguments]
        started = subprocess.Popen(
            command,
            cwd=self.root,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        with started, child(started) as process:
            out, err = process.communicate(timeout=timeout_seconds)
        return subprocess.CompletedProcess(command, process.returncode, out, err)
