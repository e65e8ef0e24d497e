"""Measures which arms of the steps the models reach.

TLC explores each model once more, with copies of the steps that print an arm's number when the arm is first taken.
Properties are left out: they evaluate steps as well, and would hide that no behaviour of the model takes an arm.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.base.write_files import replace_whole
from harness.tla import config, tlc
from harness.tla.arms import Arm, arms_of
from harness.tla.model import CONFIGS, Model
from harness.tla.tlc import ROOT, TlcError
from harness.tla.watching import digest_of, extending

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
NUMBERS_FROM = 1_000_000
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

    Raises TlcError if the steps do not compile.
    """

    def __init__(self, protocol: str):
        self.arms = arms_of(protocol)
        self.folder = CONFIGS / "reach" / protocol
        write_watched(self.arms, self.folder)

    def explore(self, model: Model) -> Reach:
        """Explores a model with the copies, unless it was explored before with the same text.

        Raises TlcError if TLC cannot, or if it finds another number of states than is recorded.
        """
        kept = self.folder / f"{model.name}.json"
        digest = digest_of(model, *sorted(self.folder.glob("*.tla")))
        if kept.exists():
            earlier = json.loads(kept.read_text(encoding="utf-8"))
            if earlier["digest"] == digest:
                return Reach(model, earlier["distinct"], earlier["seconds"], frozenset(earlier["arms"]))
        found = self._explore(model)
        found_text = json.dumps(
            {"digest": digest, "distinct": found.distinct, "seconds": found.seconds, "arms": sorted(found.arms)}
        )
        replace_whole(kept, found_text)
        return found

    def _explore(self, model: Model) -> Reach:
        name = f"{model.protocol}/{model.name}"
        settings = model.settings.model_copy(update={"invariants": [], "properties": []})
        plain = replace(model, settings=settings, config=self.folder / f"{model.name}.cfg")
        config.write(plain)
        with tempfile.TemporaryDirectory(prefix="stepwise-reach-") as scratch:
            printed = Path(scratch) / "printed"
            search_path = [self.folder, *model.search_path]
            try:
                outcome = tlc.check(model.module, plain.config, search_path, printed=printed)
            except TlcError as error:
                raise TlcError(f"{name}: {error}") from None
            text = printed.read_text() if printed.exists() else ""
        if outcome.verdict != "holds":
            raise TlcError(f"{name}: {outcome.verdict} without any property to violate")
        if model.distinct not in (None, outcome.distinct):
            raise TlcError(
                f"{name}: {outcome.distinct:,} distinct states with arms watched, "
                f"{model.distinct:,} are recorded in models.yaml: run the check without --reach first"
            )
        numbers = {int(line) - NUMBERS_FROM for line in text.splitlines() if line.isdigit()}
        return Reach(model, outcome.distinct, outcome.seconds, frozenset(numbers & set(range(len(self.arms)))))


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
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    changes: list[tuple[int, int, int, str]] = []  # position; endings first; outer beginnings and inner endings first
    conditions: dict[tuple[int, int], list[int]] = {}
    for number, arm in arms:
        begin = starts[arm.span.line - 1] + arm.span.column - 1
        end = starts[arm.span.last_line - 1] + arm.span.last_column
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
