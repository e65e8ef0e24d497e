"""Keeps the findings of commands for `just report`: one JSON file for each command and its subject.

    build/results/check/lock.json    build/results/kernels/6.1.json    build/results/bench/kv.json

The next run of the same command replaces its file. STEPWISE_RESULTS names a folder other than build/results.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from harness.base.protocols import REPOSITORY
from harness.base.write_files import replace_whole

FORMAT = 1


class ResultsError(RuntimeError):
    """A file of results cannot be written or is malformed; the message names it."""


@dataclass(frozen=True)
class Kept:
    """One command's findings on one subject: a protocol, a kernel, or "all".

    commit: the repository's commit, with `+` behind it if files differed from it; "" without a repository.
    began: seconds since 1970. seconds: how long the command took. kernel: the running kernel's release.
    """

    command: str
    subject: str
    commit: str
    kernel: str
    began: float
    seconds: float
    found: dict[str, Any]


def folder() -> Path:
    return Path(os.environ.get("STEPWISE_RESULTS") or REPOSITORY / "build/results")


@dataclass(frozen=True)
class Run:
    """A command's run. It keeps the commit of its start, because it did not run on later commits.

    began: seconds since 1970. commit: as in `Kept`.
    """

    began: float
    commit: str

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.time() - self.began

    def keep(self, command: str, subject: str, found: BaseModel) -> Path:
        """Write the findings of `command`, whole or not at all. Raises ResultsError."""
        path = folder() / command / f"{subject}.json"
        content = {
            "format": FORMAT,
            "command": command,
            "subject": subject,
            "commit": self.commit,
            "kernel": os.uname().release,
            "began": round(self.began, 3),
            "seconds": round(self.seconds, 3),
            "found": found.model_dump(),
        }
        try:
            replace_whole(path, json.dumps(content, indent=1) + "\n")
        except OSError as error:
            raise ResultsError(
                f"cannot keep results in {path}: {error.strerror}; name another folder by STEPWISE_RESULTS"
            ) from error
        return path


def begin() -> Run:
    """Start a run now."""
    return Run(time.time(), commit())


def read(path: Path) -> Kept:
    """Read one file of results. Raises ResultsError if it is malformed or has another format."""
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")), str(path))
    except OSError as error:
        raise ResultsError(f"cannot read the results in {path}: {error.strerror}") from error
    except ValueError as error:
        raise ResultsError(f"{path} is not a valid file of results: {error}") from error


def parse(content: Any, where: str) -> Kept:
    """Read one run from parsed JSON. where: its source, for the message. Raises ResultsError."""
    try:
        fields = dict(content)
        if fields.pop("format") != FORMAT:
            raise ResultsError(f"{where} is of another version of Stepwise: rerun the command that wrote it")
        return Kept(**fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResultsError(f"{where} is not a valid file of results: {error}") from error


def plain(kept: Kept) -> dict[str, Any]:
    """Return one run as JSON data; parse() reverses this."""
    return {"format": FORMAT, **asdict(kept)}


def read_all(where: Path | None = None) -> list[Kept]:
    """Read all results of a folder (build/results), by command and subject. Raises ResultsError."""
    return [read(path) for path in sorted((where or folder()).glob("*/*.json"))]


def commit() -> str:
    """Return the commit, as in `Kept`. STEPWISE_COMMIT gives it where the history is missing, as in a container."""
    if told := os.environ.get("STEPWISE_COMMIT"):
        return told

    def said(*arguments: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", REPOSITORY, *arguments], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    head = said("rev-parse", "HEAD")
    return f"{head}{'+' if said('status', '--porcelain') else ''}" if head else ""
