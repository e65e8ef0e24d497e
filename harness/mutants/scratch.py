"""Makes copies of the repository, into which mutants are put."""

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

from harness.base.command import child
from harness.base.protocols import BUILD, REPOSITORY
from harness.mutants.catalogue import PROGRAM, Mutant
from harness.mutants.sync_folder import remove, sync_folder
from harness.tla import tlc

PARTS = ("codegen", "templates", "runtime", "harness", "spec", "generated", "tests", "pyproject.toml", ".clang-format")
TIMEOUT_SECONDS = 300


class NoLongerApplies(Exception):
    """The text that a mutant changes does not occur, or occurs more than once."""


def work_of(root: Path, protocol: str) -> Path:
    """The folder in a copy of the repository where conformance of a protocol builds."""
    return root / "build/conform" / protocol


class Scratch:
    """One copy, below build/mutants. No other process can use it while this process lives."""

    def __init__(self, name: str = "") -> None:
        folder = BUILD / "mutants"
        folder.mkdir(parents=True, exist_ok=True)
        for number in itertools.count():
            self.root = folder / f"{name}{number}"
            # The lock is closed together with this object, which gives the copy back.
            self._lock = open(folder / f"{name}{number}.lock", "w")  # noqa: SIM115
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            self._lock.close()

    def prepare(self, mutant: Mutant, with_fault: bool = True, whole: bool = True) -> None:
        """Make the copy fresh, and apply the mutant's edits; without its fault, only edits of models.yaml.

        whole: whether the copy includes the checker. If it does not, it has only the files that the mutant changes, and
        is used with the repository's own checker.
        """
        for part in PARTS if whole else ():
            sync_folder(REPOSITORY / part, self.root / part)
        if mutant.is_compiled and with_fault:
            sync_folder(REPOSITORY / "spec", self.root / PROGRAM)
        else:
            remove(self.root / PROGRAM)
        self._share_oracle()
        if mutant.asks_conformance:
            self._forget_builds(mutant.protocol)
        for edit in mutant.edits:
            if with_fault and not edit.is_generated:
                self._apply(edit.file, edit.old, edit.new)
        generated = [
            [Path(edit.file).name, edit.old, edit.new] for edit in mutant.edits if edit.is_generated and with_fault
        ]
        (self.root / "edits.json").write_text(json.dumps(generated))

    def _forget_builds(self, protocol: str) -> None:
        """Remove other mutants' builds, which may be partial or of another runtime. TLC's results stay."""
        for folder in work_of(self.root, protocol).glob("*/generated"):
            remove(folder.parent)

    def _apply(self, file: str, old: str, new: str) -> None:
        path = self.root / file
        text = path.read_text() if path.exists() else ""
        if text.count(old) != 1:
            raise NoLongerApplies(f"{file} has {old!r} {text.count(old)} times, not once")
        path.write_text(text.replace(old, new))

    def _share_oracle(self) -> None:
        """Copy TLC's results of every protocol (a test may need any), so that TLC need not run again."""
        for kept in BUILD.glob("conform/*/oracle/*.cases"):
            target = self.root / "build" / kept.relative_to(BUILD)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileNotFoundError):  # the oldest results are removed meanwhile
                    shutil.copy2(kept, target)

    def environment(self) -> dict[str, str]:
        """The environment of commands that are run for a mutant."""
        environment = {**os.environ, "TLA2TOOLS_JAR": str(tlc.jar().resolve()), "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("PYTHONPATH", None)
        # findings about a faulty copy must not count as results of the repository
        environment["STEPWISE_RESULTS"] = str(self.root / "build/results")
        return environment

    def run(self, *arguments: str, timeout_seconds: float = TIMEOUT_SECONDS) -> subprocess.CompletedProcess[str]:
        """Run a Python command in the copy. If it takes too long, it is killed with all processes that it started."""
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
