"""What the commands found, kept for `just report`: one JSON file of each command and what it was run on.

    build/results/check/lock.json    build/results/kernels/6.1.json    build/results/bench/kv.json

A file is replaced by the next run of the same command. STEPWISE_RESULTS names another folder than build/results.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.protocols import REPOSITORY

FORMAT = 1


class ResultsError(RuntimeError):
    """A file of results cannot be written, or is none; the message names it."""


@dataclass(frozen=True)
class Kept:
    """One command's findings on one subject: a protocol, a kernel, or "all".

    commit: of the repository, with `+` behind it where files differed from it; "" where there is no repository.
    began: seconds since 1970. seconds: how long the command took. kernel: the running one's release.
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
    """A command's run, from when it began: what is committed later is not what it was run on.

    began: seconds since 1970. commit: as in `Kept`.
    """

    began: float
    commit: str

    @property
    def seconds(self) -> float:
        """Until now."""
        return time.time() - self.began

    def keep(self, command: str, subject: str, found: dict[str, Any]) -> Path:
        """Write what `command` found, whole or not at all. Raises ResultsError."""
        path = folder() / command / f"{subject}.json"
        content = {
            "format": FORMAT,
            "command": command,
            "subject": subject,
            "commit": self.commit,
            "kernel": os.uname().release,
            "began": round(self.began, 3),
            "seconds": round(self.seconds, 3),
            "found": found,
        }
        partial = path.with_suffix(f".{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
            partial.replace(path)
        except OSError as error:
            raise ResultsError(
                f"cannot keep results in {path}: {error.strerror}; name another folder by STEPWISE_RESULTS"
            ) from error
        return path


def begin() -> Run:
    """A run that begins now."""
    return Run(time.time(), commit())


def read(path: Path) -> Kept:
    """Raises ResultsError where the file is no such file, or of another format."""
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")), str(path))
    except OSError as error:
        raise ResultsError(f"cannot read the results in {path}: {error.strerror}") from error
    except ValueError as error:
        raise ResultsError(f"{path} is no file of results: {error}") from error


def parse(content: Any, where: str) -> Kept:
    """One run, from what JSON has of it. where: for the message. Raises ResultsError."""
    try:
        fields = dict(content)
        if fields.pop("format") != FORMAT:
            raise ResultsError(f"{where} is of another version of Stepwise: run the command again that wrote it")
        return Kept(**fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResultsError(f"{where} is no file of results: {error}") from error


def plain(kept: Kept) -> dict[str, Any]:
    """One run as JSON has it; parse() turns it back."""
    return {"format": FORMAT, **asdict(kept)}


def read_all(where: Path | None = None) -> list[Kept]:
    """Of a folder (build/results), in the order of commands and subjects. Raises ResultsError."""
    return [read(path) for path in sorted((where or folder()).glob("*/*.json"))]


def commit() -> str:
    """As in `Kept`. STEPWISE_COMMIT says it where the repository's history is not at hand, as in a container."""
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
