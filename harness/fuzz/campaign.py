"""A run plays rounds of every kind on every protocol, in turn, until the time is over.

The run's seed alone decides the rounds, their order and the seed of each. The time only decides how many are played.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from codegen.errors import SpecErrors
from harness import results
from harness.base import yaml_documents
from harness.base.command import counted
from harness.fuzz.kinds import KINDS, Round, Turn
from harness.fuzz_targets.parsers.build import ParsersError
from harness.histories import HistoriesError
from harness.histories.transactions import TransactionsError
from harness.live.plugin import LiveError, NotPlayed
from harness.results import models
from harness.rig.errors import RigError

SEED_MAX = 2**32 - 1
UNPLAYED_MAX = 2
"""A stage is given up after this many rounds that could not be played."""
NOT_OF_THE_ROUND = (NotPlayed, RigError, SpecErrors, HistoriesError, TransactionsError, ParsersError, OSError)
"""Errors that are not a round's fault: a tool is missing, or namespaces could not be made."""


@dataclass(frozen=True)
class Plan:
    """The request for a run: it has either `minutes` or `rounds`."""

    protocols: list[str]
    kinds: list[str]
    """Names in KINDS."""
    seed: int
    minutes: float | None = None
    """No round starts after this time."""
    rounds: int | None = None
    """Rounds of each kind on each protocol."""
    first: int = 0
    """The number of the first round, from 0."""
    receive_buffer: int | None = None


@dataclass
class Stage:
    """One kind on one protocol, and the results of its rounds."""

    protocol: str
    kind: str
    rounds: int = 0
    count: int = 0
    seconds: float = 0.0
    failures: list[tuple[int, Round]] = field(default_factory=list)
    unplayed: int = 0

    @property
    def goes_on(self) -> bool:
        return not self.has_failed and self.unplayed < UNPLAYED_MAX

    @property
    def has_failed(self) -> bool:
        return bool(self.failures)


def derived(seed: int, kind: str, protocol: str, number: int) -> int:
    """The seed of a round, from 1 to 2^32 - 1."""
    digest = hashlib.sha256(f"{seed} {kind} {protocol} {number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % SEED_MAX + 1


def stages_of(plan: Plan, say: Callable[[str], None] = print) -> list[Stage]:
    """The stages of a plan, in the order of their turns.

    Reports each kind that a protocol lacks. Raises LiveError if no stage is left.
    """
    stages = []
    for name in plan.kinds:
        for protocol in plan.protocols:
            if missing := KINDS[name].missing(protocol):
                say(f"{protocol}: no {name}: {missing}")
            else:
                stages.append(Stage(protocol, name))
    if not stages:
        raise LiveError(
            f"{', '.join(plan.protocols)} cannot be fuzzed: they have none of {', '.join(plan.kinds)}"
            " (docs/reference/live.md)"
        )
    return stages


def run(plan: Plan, say: Callable[[str], None] = print) -> list[Stage]:
    """Play a plan, and keep the results for `just report`.

    A stage that has failed, or cannot be played, plays no further round.
    """
    begun, stages = results.begin(), stages_of(plan, say)
    try:
        for stage, number in _turns(plan, stages):
            _play(plan, stage, number, say)
    finally:
        for protocol in plan.protocols:
            own = [stage for stage in stages if stage.protocol == protocol]
            begun.keep("fuzz", protocol, found(plan, own, begun.seconds))
    return stages


def _turns(plan: Plan, stages: list[Stage]) -> Iterator[tuple[Stage, int]]:
    """Each stage's first round, then each stage's second, and so on."""
    end, numbers = _until(plan)
    for number in numbers:
        for stage in stages:
            if end is not None and time.monotonic() >= end:
                return
            if stage.goes_on:
                yield stage, number
        if not any(stage.goes_on for stage in stages):
            return


def _until(plan: Plan) -> tuple[float | None, Iterable[int]]:
    """The time after which no round starts (None if rounds are counted), and the numbers of the rounds."""
    if plan.rounds is not None:
        return None, range(plan.first, plan.first + plan.rounds)
    if plan.minutes is None:
        raise LiveError("the plan has neither minutes nor rounds; give one of them")
    return time.monotonic() + plan.minutes * 60, itertools.count(plan.first)


def _play(plan: Plan, stage: Stage, number: int, say: Callable[[str], None]) -> None:
    turn = Turn(stage.protocol, number, derived(plan.seed, stage.kind, stage.protocol, number), plan.receive_buffer)
    began = time.monotonic()
    try:
        played = KINDS[stage.kind].play(turn)
    except NOT_OF_THE_ROUND as error:
        stage.unplayed += 1
        say(f"NOT PLAYED {stage.protocol} {stage.kind} {number}: {error}")
        return
    seconds = time.monotonic() - began
    stage.rounds += 1
    stage.count += played.count
    stage.seconds += seconds
    say(f"{stage.protocol} {stage.kind} {number}: {played.told} ({seconds:.0f} s)")
    if played.failure is not None:
        stage.failures.append((number, played))
        say(
            f"FAILED {stage.protocol} {stage.kind} {number}, seed {turn.seed}:\n  "
            + "\n  ".join(played.failure.splitlines())
        )
        if played.saved:
            say(f"saved: just fuzz replay {yaml_documents.name_of(played.saved)}")
        say(f"the same round: {_again(plan, stage, number)}")


def _again(plan: Plan, stage: Stage, number: int) -> str:
    buffer = f" --receive-buffer {plan.receive_buffer}" if plan.receive_buffer is not None else ""
    return f"just fuzz {stage.protocol} --only {stage.kind} --seed {plan.seed} --first {number} --rounds 1{buffer}"


def found(plan: Plan, stages: list[Stage], seconds: float) -> models.Fuzz:
    """The results of one protocol, for `just report`."""
    return models.Fuzz(
        seed=plan.seed,
        minutes=round(seconds / 60, 2) if plan.minutes is None else plan.minutes,
        stages=[
            models.Stage(
                name=stage.kind,
                count=stage.count,
                unit=KINDS[stage.kind].unit,
                seconds=round(stage.seconds, 1),
                faults=len(stage.failures),
            )
            for stage in stages
        ],
        failures=[
            models.Failure(
                text=f"{stage.kind} {number}: {played.failure}",
                saved=yaml_documents.name_of(played.saved) if played.saved else None,
            )
            for stage in stages
            for number, played in stage.failures
        ],
    )


def told(plan: Plan, stages: list[Stage], seconds: float) -> Iterator[str]:
    """The summary of a run, line by line."""
    for protocol in plan.protocols:
        own = [stage for stage in stages if stage.protocol == protocol]
        words = [
            f"{stage.count:,} {KINDS[stage.kind].unit} in {stage.seconds:.0f} s ({stage.kind})"
            for stage in own
            if stage.rounds
        ]
        if words:
            yield f"{protocol}: {', '.join(words)}"
    if missed := [f"{stage.protocol} {stage.kind}" for stage in stages if not stage.rounds and not stage.unplayed]:
        yield f"the time ended before the first round of {', '.join(missed)}"
    failed = [f"{stage.protocol} {stage.kind}" for stage in stages if stage.has_failed]
    unplayed = sum(stage.unplayed for stage in stages)
    if unplayed:
        yield f"{counted(unplayed, 'round')} could not be played: see above"
    rounds = counted(sum(stage.rounds for stage in stages), "round")
    outcome = f"FAILED: {', '.join(failed)}" if failed else "nothing was found"
    yield f"seed {plan.seed}: {rounds} in {seconds / 60:.1f} minutes: {outcome}"
