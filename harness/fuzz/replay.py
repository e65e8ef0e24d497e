"""Replays a saved failure (saved.py)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.base.command import counted
from harness.base.protocols import chosen
from harness.data.hash_seed import PLAIN
from harness.fuzz.kinds import LOADS, Turn
from harness.fuzz.machine import MOVES, Move, Stage, machine_on
from harness.fuzz.saved import Example, Load, read
from harness.fuzz_targets.parsers.build import build as build_target
from harness.fuzz_targets.parsers.build import folder, sources
from harness.fuzz_targets.parsers.run import fault_in
from harness.fuzz_targets.parsers.run import replay as replay_frames
from harness.live import plugin
from harness.live.build import build
from harness.live.judge import judge
from harness.live.plugin import LiveError
from harness.live.server import Server
from harness.rig.netns import Rig


@dataclass(frozen=True)
class Replayed:
    """The result of a replay."""

    agrees: bool
    """Whether all is as it should be. A saved history must be refused."""
    text: str


def replay(path: Path, tell: Callable[[str], None] = lambda _: None) -> Replayed:
    """Replay a saved file. Raises LiveError if it is not one.

    tell: receives each event of an example, in words.
    """
    known = {".json": _replay_example, ".txt": _replay_history, ".yaml": _replay_load, ".frame": _replay_frame}
    if not path.is_file() or path.suffix not in known:
        what = "has none of these names" if path.is_file() else "does not exist"
        kept = "tests/regressions has examples (.json), histories (.txt), loads (.yaml) and frames (.frame)"
        raise LiveError(f"replaying {path}: it {what}; {kept}")
    return known[path.suffix](path, tell)


def _replay_example(path: Path, tell: Callable[[str], None]) -> Replayed:
    example = read(path, Example)
    chosen([example.protocol])
    try:
        play(example, tell)
    except AssertionError as error:
        return Replayed(False, str(error))
    return Replayed(True, f"{counted(len(example.moves), 'move')}, all as in the reference")


def play(example: Example, tell: Callable[[str], None] = lambda _: None) -> None:
    """Play the moves of an example, without Hypothesis. Raises AssertionError if something disagrees."""
    built = build(example.protocol, example.variant)
    with Rig("replay") as rig, Server(rig, built, example.receive_buffer, PLAIN) as server:
        stage = Stage(server, plugin.reference(example.protocol), example.actors)
        try:
            _play_on(stage, example.moves, tell)
        finally:
            stage.close()


def _play_on(stage: Stage, moves: list[Move], tell: Callable[[str], None]) -> None:
    machine = machine_on(stage, tell)()
    try:
        for name, arguments in moves:
            if name not in MOVES:
                raise LiveError(f"replaying an example: {name!r} is not a move of an example")
            tell(f"{name} {arguments}")
            getattr(machine, name)(**arguments)
            machine.everything_agrees()
    finally:
        machine.teardown()


def _protocol_of(path: Path) -> str:
    """The protocol of a saved file, which is the name of its folder."""
    return chosen([path.resolve().parent.name])[0]


def _replay_history(path: Path, _tell: Callable[[str], None]) -> Replayed:
    judgement = judge(_protocol_of(path), [path])
    return Replayed(judgement.decided and not judgement.holds, judgement.text)


def _replay_load(path: Path, _tell: Callable[[str], None]) -> Replayed:
    load = read(path, Load)
    chosen([load.protocol])
    played = LOADS[load.kind](Turn(load.protocol, 0, load.seed, load.receive_buffer))
    return Replayed(played.failure is None, played.failure or played.told)


def _replay_frame(path: Path, _tell: Callable[[str], None]) -> Replayed:
    protocol = _protocol_of(path)
    said = replay_frames(build_target(sources(protocol), folder(protocol)), [path])
    return Replayed(said is None, "clean" if said is None else fault_in(said))
