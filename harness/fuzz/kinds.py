"""The kinds of fuzzing, and how to play one round of each."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from harness import results
from harness.base import yaml_documents
from harness.base.command import counted
from harness.fuzz.crash import crash_under_load
from harness.fuzz.kill import kill_under_load
from harness.fuzz.round import Order, actors, play_alone, variants
from harness.fuzz.run import summary
from harness.fuzz.saved import Example, Load, save_example, save_history, save_load
from harness.fuzz.shrink import shrunk
from harness.fuzz_targets.parsers.build import build as build_target
from harness.fuzz_targets.parsers.build import folder, sources
from harness.fuzz_targets.parsers.run import KEPT, kept
from harness.fuzz_targets.parsers.run import fuzz as fuzz_parsers
from harness.fuzz_targets.parsers.seeds import seeds
from harness.live import plugin
from harness.live.plugin import LiveError, NotPlayed

EXAMPLES_A_ROUND = 8
LOAD_SECONDS = 6
KILL_PERIOD_SECONDS = 1.0
CRASHES_A_ROUND = 1
INPUTS_A_ROUND = 100_000


@dataclass(frozen=True)
class Turn:
    """A round to play."""

    protocol: str
    number: int
    """Counts the rounds of this kind on this protocol, from 0."""
    seed: int
    """The round's own seed, from 1 to 2^32 - 1."""
    receive_buffer: int | None = None


@dataclass(frozen=True)
class Round:
    """The result of a round."""

    count: int
    """In the kind's unit."""
    told: str
    failure: str | None = None
    """The fault that was found, or None."""
    saved: Path | None = None
    """The file that replays the failure, if there is one."""
    refused: Path | None = None
    """The history, if it was refused."""


@dataclass(frozen=True)
class Kind:
    """A kind of fuzzing."""

    unit: str  # in the plural
    missing: Callable[[str], str | None]
    """Returns why a protocol cannot be fuzzed in this way; None if it can."""
    play: Callable[[Turn], Round]
    """Plays one round. Raises campaign.NOT_OF_THE_ROUND."""


def _without_reference(protocol: str) -> str | None:
    if not plugin.has_reference(protocol):
        return f"it has no reference to compare with: spec/{protocol}/live/reference.py does not exist"
    return None if plugin.workload(protocol).fuzz else f"spec/{protocol}/live/workload.yaml has no `fuzz`"


def _without_load(protocol: str) -> str | None:
    return None if plugin.workload(protocol).kill else f"spec/{protocol}/live/workload.yaml has no `kill`"


def _without_drain(protocol: str) -> str | None:
    return None if plugin.workload(protocol).crash else f"spec/{protocol}/live/workload.yaml has no `crash`"


def _examples(turn: Turn) -> Round:
    """Play a round of examples; rounds take the variants of the layout in turn."""
    protocol, overrides = turn.protocol, variants(turn.protocol)
    variant = turn.number % len(overrides)
    told = play_alone(Order(protocol, variant, turn.seed, EXAMPLES_A_ROUND, turn.receive_buffer))
    words = f"variant {variant}: {summary(told.counts)}; moves {told.digest[:8]}"
    if not told.failure:
        return Round(told.counts["examples"], words)
    saved = None
    if told.moves:
        example = Example(
            protocol=protocol,
            variant=overrides[variant],
            actors=actors(protocol),
            receive_buffer=turn.receive_buffer,
            seed=turn.seed,
            commit=results.commit(),
            failure=told.failure.splitlines()[0],
            moves=told.moves,
        )
        saved = save_example(example)
    return Round(told.counts["examples"], words, told.failure, saved)


def _that_ends(play: Callable[[Turn], Round]) -> Callable[[Turn], Round]:
    """Wraps a round under load, so that a load that does not end is a failure."""

    def played(turn: Turn) -> Round:
        try:
            return play(turn)
        except NotPlayed:
            raise
        except (LiveError, subprocess.TimeoutExpired) as error:
            return Round(0, "a load that did not end", str(error))

    return played


@_that_ends
def _load(turn: Turn) -> Round:
    report = kill_under_load(
        turn.protocol, LOAD_SECONDS, KILL_PERIOD_SECONDS, turn.seed, receive_buffer=turn.receive_buffer
    )
    load = report.load
    words = (
        f"{counted(load['operations'], 'operation')}, {counted(load['faults'], 'packet')} lost, repeated or late, "
        f"{counted(report.kills, 'restart')} of the daemon after kill -9; "
        + (report.history.promise if report.history.holds else f"not {report.history.promise}")
    )
    if not report.problems:
        return Round(load["operations"], words)
    is_refused = report.history.decided and not report.history.holds
    return Round(load["operations"], words, str(report), refused=report.recorded if is_refused else None)


@_that_ends
def _crash(turn: Turn) -> Round:
    report = crash_under_load(turn.protocol, CRASHES_A_ROUND, None, turn.seed)
    words = (
        f"the server went down {counted(report.crashes, 'time')}, {counted(report.counts['answered'], 'record')} "
        "answered, "
        f"{counted(report.counts['records'], 'record')} recovered"
    )
    return Round(report.crashes, words, str(report) if report.problems else None)


LOADS = {"kill": _load, "crash": _crash}


def _kept(kind: Literal["kill", "crash"]) -> Callable[[Turn], Round]:
    """Wraps a round under load: if it fails, its plan is saved, and its history if that was refused."""

    def played(turn: Turn) -> Round:
        found = LOADS[kind](turn)
        if found.failure is None:
            return found
        failure = found.failure
        if found.refused:
            failure += f"\nits history, made small: {yaml_documents.name_of(_saved_history(turn, found.refused))}"
        first = next((line for line in failure.splitlines() if line.startswith("PROBLEM: ")), failure.splitlines()[0])
        load = Load(
            kind=kind,
            protocol=turn.protocol,
            seed=turn.seed,
            receive_buffer=turn.receive_buffer,
            commit=results.commit(),
            failure=first.removeprefix("PROBLEM: "),
        )
        return replace(found, failure=failure, saved=save_load(load))

    return played


def _saved_history(turn: Turn, refused: Path) -> Path:
    short = shrunk(turn.protocol, refused)
    try:
        return save_history(
            turn.protocol,
            short,
            f"found by a load of {LOAD_SECONDS} s with seed {turn.seed}, cut from a longer history",
        )
    finally:
        short.unlink()


def _parsers(turn: Turn) -> Round:
    protocol = turn.protocol
    target = build_target(sources(protocol), folder(protocol))
    starts = [*seeds(protocol), *(path.read_bytes() for path in kept(protocol))]
    found = fuzz_parsers(target, starts, INPUTS_A_ROUND, turn.seed, KEPT / protocol)
    words = f"{counted(found.inputs, 'input')} from {counted(len(starts), 'frame')}, {found.edges:,} edges taken"
    return Round(found.inputs, words, found.fault, found.saved)


KINDS = {
    "parsers": Kind("inputs", lambda _: None, _parsers),
    "examples": Kind("examples", _without_reference, _examples),
    "kill": Kind("operations", _without_load, _kept("kill")),
    "crash": Kind("crashes", _without_drain, _kept("crash")),
}
"""In the order of their turns: the quickest first, because time may be short."""
