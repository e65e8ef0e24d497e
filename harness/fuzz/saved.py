"""Saves failures as files of tests/regressions; replay.py replays each.

Each kind of failure has a folder:

    examples/<protocol>/*.json     the moves of an example on a variant of the layout; replayed with daemon and programs
    histories/<protocol>/*.txt     a history that clients recorded under load; only judged, and must be refused again
    loads/<protocol>/*.yaml        the plan of a load, by its seed; replayed with daemon and programs
    parsers/<protocol>/*.frame     a frame (harness/fuzz_targets/parsers)
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml

from codegen.errors import SpecErrors
from harness import results
from harness.base import yaml_documents
from harness.base.protocols import REPOSITORY
from harness.live.plugin import LiveError

REGRESSIONS = REPOSITORY / "tests/regressions"
NAME_LENGTH = 12
Saved = TypeVar("Saved", bound=yaml_documents.Strict)


class Example(yaml_documents.Strict):
    """One example of a round."""

    protocol: str
    variant: dict[str, Any]
    """The override of the layout."""
    actors: int
    receive_buffer: int | None = None
    seed: int
    """The seed of the round."""
    commit: str = ""
    """The commit of the repository when the example was saved."""
    failure: str
    """The failure when the example was saved."""
    moves: list[tuple[str, dict[str, Any]]]


class Load(yaml_documents.Strict):
    """A round under load that failed."""

    kind: Literal["kill", "crash"]
    """Whether the daemon is killed, or the whole server crashes."""
    protocol: str
    seed: int
    """The seed of the round, and so of its plan."""
    receive_buffer: int | None = None
    commit: str = ""
    """The commit of the repository when the load was saved."""
    failure: str
    """The failure when the load was saved."""


def save_example(example: Example, regressions: Path = REGRESSIONS) -> Path:
    """Write an example, one move a line, and return its path. The same moves get the same name."""
    fields = example.model_dump()
    moves = fields.pop("moves")
    lines = [f" {json.dumps(name)}: {json.dumps(value)}," for name, value in fields.items()]
    lines += [' "moves": [', ",\n".join(f"  {json.dumps(each)}" for each in moves), " ]"]
    path = _place(regressions, "examples", example.protocol, json.dumps([fields["variant"], moves]).encode(), ".json")
    path.write_text("\n".join(["{", *lines, "}"]) + "\n", encoding="utf-8")
    return path


def save_history(protocol: str, history: Path, found: str, regressions: Path = REGRESSIONS) -> Path:
    """Copy a history, add a comment on where it was found, and return the copy's path."""
    content = history.read_bytes()
    path = _place(regressions, "histories", protocol, content, ".txt")
    said = "".join(f"# {line}\n" for line in (*found.splitlines(), f"commit {results.commit() or 'unknown'}"))
    path.write_bytes(said.encode() + content)
    return path


def _place(regressions: Path, kind: str, protocol: str, content: bytes, suffix: str) -> Path:
    path = regressions / kind / protocol / f"{hashlib.sha256(content).hexdigest()[:NAME_LENGTH]}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def save_load(load: Load, regressions: Path = REGRESSIONS) -> Path:
    """Write a load and return its path. The same plan gets the same name."""
    content = yaml.safe_dump(load.model_dump(), sort_keys=False, allow_unicode=True, width=120)
    path = _place(
        regressions, "loads", load.protocol, json.dumps([load.kind, load.seed, load.receive_buffer]).encode(), ".yaml"
    )
    path.write_text(content, encoding="utf-8")
    return path


def read(path: Path, model: type[Saved]) -> Saved:
    """Read an Example or a Load. Raises LiveError if the file is not one."""
    try:
        return yaml_documents.read(path, model, "docs/reference/live.md")
    except SpecErrors as error:
        raise LiveError(str(error)) from None
