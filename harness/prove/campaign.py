"""Proves the steps of protocols, several at a time, and keeps what it finds."""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from codegen import ir
from harness.prove import kept
from harness.prove.left import LeftFile, LeftStep, told
from harness.prove.programs import StepFunction
from harness.prove.proof import NO_LEAF, LeafResult, StepResult, proved
from harness.prove.reach import unfounded
from harness.prove.replay import replayed
from harness.prove.setting import Opened, opened, prepared

WORKERS = 2
LEAF_SECONDS = 120.0
EASY_SECONDS = LEAF_SECONDS / 10


@dataclass(frozen=True)
class Judged:
    """A step's result, beside what prove.yaml says of it. cached: whether it was known before."""

    result: StepResult
    told: LeftStep | None
    cached: bool

    @property
    def problems(self) -> list[str]:
        """The differences from prove.yaml, a sentence each."""
        name, found = self.result.step, []
        reason = self.result.reason
        if reason and (self.told is None or self.told.leaves or reason == NO_LEAF):
            found.append(f"{name} is left: {reason}")
        for leaf in self.result.leaves:
            listed = self.told is not None and self.told.has(leaf.arms)
            if leaf.counterexample:
                found.append(
                    f"{name}, leaf {leaf.arms} {leaf.name}: {' and '.join(leaf.counterexample.differs)} differ"
                )
            elif not leaf.proved and not listed:
                found.append(f"{name}, leaf {leaf.arms} {leaf.name} is left: {leaf.reason}")
            elif leaf.proved and listed and leaf.seconds < EASY_SECONDS:  # others depend on the machine
                found.append(f"{name}, leaf {leaf.arms} {leaf.name} is proved, but prove.yaml lists it as left")
        known = {leaf.arms for leaf in self.result.leaves}
        for arms in self.told.leaves if self.told else ():
            if arms not in known:
                found.append(f"{name} has no leaf {arms}, which prove.yaml lists")
        return found


@functools.lru_cache(maxsize=1)
def _opened(protocol: str, folder: Path, generated: Path | None) -> Opened:
    return opened(protocol, folder, generated)


def _prove(
    protocol: str, step: str, folder: Path, generated: Path | None, seconds: float, kinds: tuple[str, ...]
) -> StepResult:
    """Proves one step, in a worker."""
    ready = _opened(protocol, folder, generated)
    function = next(each for each in ready.steps if each.name == step)
    result = proved(ready.setting, function, seconds, kinds)
    result.leaves = [_shown(protocol, function, leaf, folder, generated) for leaf in result.leaves]
    return result


def _shown(protocol: str, step: StepFunction, leaf: LeafResult, folder: Path, generated: Path | None) -> LeafResult:
    """A leaf, with its counterexample replayed if it has one."""
    if leaf.counterexample is None:
        return leaf
    wrong, where = replayed(protocol, step, leaf.counterexample, folder, generated)
    told = f"NOT TRUE when it is run: {'; '.join(wrong)}" if wrong else where
    return replace(leaf, counterexample=replace(leaf.counterexample, replayed=told))


def results(
    protocol: str, wanted: str | None, seconds: float, generated: Path | None = None, folder: Path | None = None
) -> Iterator[Judged]:
    """Proves the steps of a protocol, or one, and yields each when it is there.

    Raises BuildError, SpecErrors, UnknownStep and others.
    """
    folder = folder or kept.PROVE / protocol
    prepared(protocol, folder, generated)
    ready = opened(protocol, folder, generated)
    names = [each.name for each in ready.steps]
    if wanted is not None and wanted not in names:
        raise UnknownStep(f"{protocol} has no step {wanted!r}; choose from: {', '.join(names)}")
    file = _told(protocol, ready)
    waiting = []
    for step in ready.steps:
        if wanted not in (None, step.name):
            continue
        if step.whole_reason:
            yield Judged(not_tried(ready, step), file.left.get(step.name), False)
            continue
        key = kept.key(ready.setting, step, ready.module, (seconds, _kinds(file, step.name)))
        result = kept.known(protocol, step.name, key) if generated is None else None
        if result is not None:
            yield Judged(result, file.left.get(step.name), True)
        else:
            waiting.append((step, key))
    yield from _side_by_side(protocol, waiting, folder, generated, seconds, file)


def _told(protocol: str, ready: Opened) -> LeftFile:
    kinds = ready.setting.protocol.message.field("kind")
    return told(protocol, [each.name for each in ready.steps], kinds.members if isinstance(kinds, ir.Enum) else ())


def assumptions(protocol: str) -> list[str]:
    """The assumptions of prove.yaml that the layout does not keep, a sentence each. Raises as results()."""
    ready = opened(protocol, kept.PROVE / protocol)
    return unfounded(ready.setting, ready.steps, _told(protocol, ready))


def not_tried(ready: Opened, step: StepFunction) -> StepResult:
    """The result of a step that cannot be proved at all: its leaves count, and none is proved."""
    leaves = [
        LeafResult(leaf.name, "", False, 0.0, leaf.path, reason=step.whole_reason)
        for leaf in ready.setting.evaluator().skeleton(step.name)
    ]
    return StepResult(step.name, leaves=leaves)


def _kinds(file: LeftFile, step: str) -> tuple[str, ...]:
    """The kinds of the messages that reach a step; all if there are none."""
    return file.reached_by[step].kinds if step in file.reached_by else ()


def _side_by_side(
    protocol: str,
    waiting: list[tuple[StepFunction, str]],
    folder: Path,
    generated: Path | None,
    seconds: float,
    file: LeftFile,
) -> Iterator[Judged]:
    if not waiting:
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(WORKERS, len(waiting)), mp_context=context) as pool:
        keys = {}
        for step, key in waiting:
            keys[pool.submit(_prove, protocol, step.name, folder, generated, seconds, _kinds(file, step.name))] = key
        for done in as_completed(keys):
            result = done.result()
            if generated is None:
                kept.keep(protocol, result, keys[done])
            yield Judged(result, file.left.get(result.step), False)


class UnknownStep(ValueError):
    """A step that the protocol does not have; the message lists those that it has."""
