"""What failed, as files of tests/regressions; replay.py plays each again.

examples/<protocol>/*.json     the moves of an example, on a variant of the layout: against the daemon and the programs
histories/<protocol>/*.txt     what clients saw under load: only judged again, and must be refused again
loads/<protocol>/*.yaml        the plan of a load, by its seed: against the daemon and the programs
parsers/<protocol>/*.frame     a frame (harness/parsers)
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml

from codegen.errors import SpecErrors
from harness import documents, results
from harness.fuzz.plugin import LiveError
from harness.protocols import REPOSITORY

REGRESSIONS = REPOSITORY / "tests/regressions"
NAME_LENGTH = 12
Saved = TypeVar("Saved", bound=documents.Strict)


class Example(documents.Strict):
    """One example of a round.

    variant: the override of the layout. seed: of the round. failure: what it failed with, when it was saved.
    commit: of the repository, then.
    """

    protocol: str
    variant: dict[str, Any]
    actors: int
    receive_buffer: int | None = None
    seed: int
    commit: str = ""
    failure: str
    moves: list[tuple[str, dict[str, Any]]]


class Load(documents.Strict):
    """A round under load that failed.

    kind: a daemon that is killed, or a whole server that goes down. seed: of the round, and so of its plan. failure:
    what was seen, when it was saved. commit: of the repository, then.
    """

    kind: Literal["kill", "crash"]
    protocol: str
    seed: int
    receive_buffer: int | None = None
    commit: str = ""
    failure: str


def save_example(example: Example, regressions: Path = REGRESSIONS) -> Path:
    """Write it, a move a line, and return where; the same moves have the same name."""
    fields = example.model_dump()
    moves = fields.pop("moves")
    lines = [f" {json.dumps(name)}: {json.dumps(value)}," for name, value in fields.items()]
    lines += [' "moves": [', ",\n".join(f"  {json.dumps(each)}" for each in moves), " ]"]
    path = _place(regressions, "examples", example.protocol, json.dumps([fields["variant"], moves]).encode(), ".json")
    path.write_text("\n".join(["{", *lines, "}"]) + "\n", encoding="utf-8")
    return path


def save_history(protocol: str, history: Path, found: str, regressions: Path = REGRESSIONS) -> Path:
    """A copy of a history, with a comment on where it was found."""
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
    """Write it and return where; the same plan has the same name."""
    content = yaml.safe_dump(load.model_dump(), sort_keys=False, allow_unicode=True, width=120)
    path = _place(
        regressions, "loads", load.protocol, json.dumps([load.kind, load.seed, load.receive_buffer]).encode(), ".yaml"
    )
    path.write_text(content, encoding="utf-8")
    return path


def read(path: Path, model: type[Saved]) -> Saved:
    """An Example, or a Load. Raises LiveError where the file is none."""
    try:
        return documents.read(path, model, "docs/live.md")
    except SpecErrors as error:
        raise LiveError(str(error)) from None
