"""What failed, as files of tests/regressions, and how each is played again.

    examples/<protocol>/*.json     the moves of an example, on a variant of the layout: against the daemon and the programs
    histories/<protocol>/*.txt     what clients saw under load: only judged again, and must be refused again
    parsers/<protocol>/*.frame     a frame (harness/parsers)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen.errors import SpecErrors
from harness import documents, results
from harness.command import counted
from harness.fuzz import plugin
from harness.fuzz.build import build
from harness.fuzz.judge import judge
from harness.fuzz.machine import Move, Stage, machine_on
from harness.fuzz.plugin import LiveError
from harness.fuzz.server import Server
from harness.parsers.build import build as build_target
from harness.parsers.build import folder, sources
from harness.parsers.run import fault_in
from harness.parsers.run import replay as replay_frames
from harness.protocols import REPOSITORY, chosen
from harness.rig.netns import Rig

REGRESSIONS = REPOSITORY / "tests/regressions"
NAME_LENGTH = 12


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


@dataclass(frozen=True)
class Replayed:
    """agrees: whether all is as it should be, which of a history is that it is refused."""

    agrees: bool
    text: str


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


def read_example(path: Path) -> Example:
    """Raises LiveError where the file is none."""
    try:
        return documents.read(path, Example, "docs/live.md")
    except SpecErrors as error:
        raise LiveError(str(error)) from None


def replay(path: Path, tell: Callable[[str], None] = lambda _: None) -> Replayed:
    """Play a saved file again. tell: is given what happens in an example. Raises LiveError where it is no such file."""
    known = {".json": _replay_example, ".txt": _replay_history, ".frame": _replay_frame}
    if not path.is_file() or path.suffix not in known:
        what = "is none of them" if path.is_file() else "is not there"
        kept = "tests/regressions has examples (.json), histories (.txt) and frames (.frame)"
        raise LiveError(f"replaying {path}: it {what}; {kept}")
    return known[path.suffix](path, tell)


def _replay_example(path: Path, tell: Callable[[str], None]) -> Replayed:
    example = read_example(path)
    chosen([example.protocol])
    try:
        play(example, tell)
    except AssertionError as error:
        return Replayed(False, str(error))
    return Replayed(True, f"{counted(len(example.moves), 'move')}, all as the reference says")


def play(example: Example, tell: Callable[[str], None] = lambda _: None) -> None:
    """The moves of an example, without Hypothesis. Raises AssertionError where something does not agree."""
    built = build(example.protocol, example.variant)
    with Rig("replay") as rig, Server(rig, built, example.receive_buffer) as server:
        stage = Stage(server, plugin.reference(example.protocol), example.actors)
        try:
            _play_on(stage, example.moves, tell)
        finally:
            stage.close()


def _play_on(stage: Stage, moves: list[Move], tell: Callable[[str], None]) -> None:
    machine = machine_on(stage, tell)()
    try:
        for name, arguments in moves:
            rule = getattr(machine, name, None)
            if not hasattr(rule, "is_move"):
                raise LiveError(f"replaying an example: {name!r} is no move of one")
            tell(f"{name} {arguments}")
            rule(**arguments)
            machine.everything_agrees()
    finally:
        machine.teardown()


def _protocol_of(path: Path) -> str:
    """Of a file whose folder is named after it."""
    return chosen([path.resolve().parent.name])[0]


def _replay_history(path: Path, _tell: Callable[[str], None]) -> Replayed:
    judgement = judge(_protocol_of(path), [path])
    return Replayed(judgement.decided and not judgement.holds, judgement.text)


def _replay_frame(path: Path, _tell: Callable[[str], None]) -> Replayed:
    protocol = _protocol_of(path)
    said = replay_frames(build_target(sources(protocol), folder(protocol)), [path])
    return Replayed(said is None, "clean" if said is None else fault_in(said))
