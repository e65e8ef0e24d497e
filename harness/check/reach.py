"""Measures which arms of the steps the models reach.

TLC explores each model once more, with copies of the steps that print an arm's number when the arm is first taken.
Properties are left out: they evaluate steps as well, and would hide that no behaviour of the model takes an arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.base.write_files import replace_whole
from harness.tla import models
from harness.tla.arms import Arm, arms_of
from harness.tla.model import CONFIGS, Model
from harness.tla.syntax import own_files_of
from harness.tla.tlc import ROOT, TlcError
from harness.tla.watching import digest_of, explore_printing, extending, positions_of, remembered

MODULE = "WatchedArms"
DEFINITIONS = """---- MODULE {module} ----
LOCAL INSTANCE TLC
LOCAL INSTANCE Integers
ASSUME \\A number \\in {numbers} : TLCSet(number, FALSE)
LOCAL WatchedFirst(number) == TLCGet(number) \\/ (TLCSet(number, TRUE) /\\ PrintT(number))
WatchedArm(number, result) == IF WatchedFirst(number) THEN result ELSE result
WatchedCondition(false, true, value) == IF value THEN WatchedFirst(true) ELSE ~ WatchedFirst(false)
====
"""
NUMBERS_FROM = 1_000
"""Numbers of TLC's registers, of which each arm has one. Models may use the lower ones."""


@dataclass(frozen=True)
class Reach:
    """The run of one model. `arms` are positions in the list of arms."""

    model: Model
    distinct: int
    seconds: float
    arms: frozenset[int]


class Watch:
    """The arms of a protocol's steps, and copies of the steps that print which of them they take.

    own: positions of the arms that models of this protocol must reach. The others are in steps of another protocol,
    such as those of sessions, whose own models must reach them.
    Raises TlcError if the steps do not compile.
    """

    def __init__(self, protocol: str):
        self.arms = arms_of(protocol)
        others = frozenset[str]().union(*(own_files_of(other) for other in models.protocols() if other != protocol))
        self.own = frozenset(number for number, arm in enumerate(self.arms) if arm.span.file not in others)
        self.folder = CONFIGS / "reach" / protocol
        write_watched(self.arms, self.folder)

    def explore(self, model: Model) -> Reach:
        """Explores a model with the copies, unless it was explored before with the same text.

        Raises TlcError if TLC cannot, or if it finds another number of states than is recorded.
        """

        def find() -> dict[str, Any]:
            found = self._explore(model)
            return {"distinct": found.distinct, "seconds": found.seconds, "arms": sorted(found.arms)}

        digest = digest_of(model, *sorted(self.folder.glob("*.tla")))
        found = remembered(self.folder / f"{model.name}.json", digest, find)
        return Reach(model, found["distinct"], found["seconds"], frozenset(found["arms"]))

    def _explore(self, model: Model) -> Reach:
        try:
            outcome, numbers = explore_printing(model, self.folder)
        except TlcError as error:
            raise TlcError(f"{model.full_name}: {error}") from None
        if model.distinct not in (None, outcome.distinct):
            raise TlcError(
                f"{model.full_name}: {outcome.distinct:,} distinct states with arms watched, "
                f"{model.distinct:,} are recorded in models.yaml: run the check without --reach first"
            )
        arms = {number - NUMBERS_FROM for number in numbers} & set(range(len(self.arms)))
        return Reach(model, outcome.distinct, outcome.seconds, frozenset(arms))


def write_watched(arms: Sequence[Arm], folder: Path) -> None:
    """Writes the modules that contain the arms, with calls around each, into a folder. Each arm has its position."""
    for file in dict.fromkeys(arm.span.file for arm in arms):
        numbered = [(number, arm) for number, arm in enumerate(arms) if arm.span.file == file]
        text = watched((ROOT / file).read_text(encoding="utf-8"), numbered)
        replace_whole(folder / Path(file).name, text)
    numbers = f"{NUMBERS_FROM}..{NUMBERS_FROM + len(arms) - 1}"
    replace_whole(folder / f"{MODULE}.tla", DEFINITIONS.format(module=MODULE, numbers=numbers))


def watched(text: str, arms: Sequence[tuple[int, Arm]]) -> str:
    r"""Returns a module's text with calls around its arms.

    arms: each with its number. An arm begins a new line and is indented, so that the text keeps its columns: lists of
    /\ and \/ depend on them.
    """
    changes: list[tuple[int, int, int, str]] = []  # position; endings first; outer beginnings and inner endings first
    conditions: dict[tuple[int, int], list[int]] = {}
    for number, arm in arms:
        begin, end = positions_of(text, arm.span)
        name = f"WatchedArm({NUMBERS_FROM + number},"
        if arm.is_condition:
            pair = conditions.setdefault((begin, end), [])
            pair.append(NUMBERS_FROM + number)  # FALSE comes first
            name = f"WatchedCondition({', '.join(map(str, pair))},"
            if len(pair) == 1:
                continue
        changes.append((begin, 1, begin - end, f"{name}\n" + " " * (arm.span.column - 1)))
        changes.append((end, 0, end - begin, ")"))
    parts, at = [], 0
    for position, _, _, added in sorted(changes):
        parts += [text[at:position], added]
        at = position
    return extending("".join([*parts, text[at:]]), MODULE)
