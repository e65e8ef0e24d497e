"""Finds on which models a fault makes any difference: in which of them the changed expression has another value.

TLC explores each model once, with steps that evaluate both texts of each expression, and print a fault's number when
their values first differ. On all other models the fault changes nothing, so it is not run there.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.base.write_files import replace_whole
from harness.mutants.steps.changes import Change, changed_site
from harness.tla.model import CONFIGS, Model
from harness.tla.tlc import ROOT, TlcError
from harness.tla.watching import digest_of, explore_printing, extending, position_of, positions_of, remembered

MODULE = "ComparedChanges"
DEFINITIONS = """---- MODULE {module} ----
LOCAL INSTANCE TLC
LOCAL INSTANCE Integers
ASSUME \\A number \\in {numbers} : TLCSet(number, FALSE)
Compared(number, old, new) ==
  IF TLCGet(number) THEN old
    ELSE IF old = new THEN old ELSE IF TLCSet(number, TRUE) /\\ PrintT(number) THEN old ELSE old
====
"""
NUMBERS_FROM = 2_000_000
_PLACE = re.compile(
    r"line (\d+), col(?:umn)? (\d+)(?: to line \d+, col(?:umn)? \d+)? (?:of module|in) (\w+)", re.IGNORECASE
)


@dataclass(frozen=True)
class Infected:
    """The run of one model.

    changes: those that made a difference in it. failing: those that TLC could not evaluate, in this model or another.
    """

    model: Model
    seconds: float
    changes: frozenset[Change]
    failing: frozenset[Change] = frozenset()

    @property
    def name(self) -> str:
        return f"{self.model.protocol}/{self.model.name}"


@dataclass
class _Text:
    """A module's text with its comparisons."""

    text: str
    regions: list[tuple[int, int, int]]
    """Begin and end of each new text, and the change's number."""

    def number_at(self, line: int, column: int) -> int | None:
        """Returns the change in whose new text a place is: the innermost."""
        at = position_of(self.text, line, column)
        around = [(end - begin, number) for begin, end, number in self.regions if begin <= at < end]
        return min(around)[1] if around else None


class Comparison:
    """Faults in the steps that a protocol's models have, and copies of the modules that compare them.

    remember: whether to keep what was found for another comparison of the same faults.
    failing: faults that TLC could not evaluate. They are taken to make a difference wherever they may.
    """

    def __init__(self, protocol: str, changes: Sequence[Change], remember: bool):
        self.changes = list(changes)
        self.remember = remember
        self.folder = CONFIGS / "compared" / protocol
        self.failing: set[int] = set()
        names = "\n".join(str(change) + change.new for change in self.changes)
        self._digest = hashlib.sha256((names + Path(__file__).read_text(encoding="utf-8")).encode()).hexdigest()

    def explore(self, model: Model) -> Infected:
        """Explores a model, unless it was explored before with the same text. Raises TlcError if TLC cannot."""

        def find() -> dict[str, Any]:
            seconds, numbers = self._explore(model)
            return {"seconds": seconds, "numbers": sorted(numbers), "failing": sorted(self.failing)}

        if self.remember:
            found = remembered(self.folder / f"{model.name}.json", digest_of(model) + self._digest, find)
        else:
            found = find()
        self.failing |= set(found["failing"])
        numbers = set(found["numbers"]) | self.failing
        changes, failing = (frozenset(self.changes[number] for number in each) for each in (numbers, self.failing))
        return Infected(model, found["seconds"], changes, failing)

    def _explore(self, model: Model) -> tuple[float, set[int]]:
        while True:
            failing = set(self.failing)
            with tempfile.TemporaryDirectory(prefix="stepwise-compared-") as scratch:
                texts = self._write(Path(scratch), failing)
                try:
                    outcome, printed = explore_printing(model, Path(scratch))
                except TlcError as error:
                    guilty = _guilty(str(error), texts)
                    if guilty is None or guilty in failing:
                        raise TlcError(f"{model.protocol}/{model.name}, with faults compared: {error}") from None
                    self.failing.add(guilty)
                    continue
            numbers = {number - NUMBERS_FROM for number in printed} & set(range(len(self.changes)))
            return outcome.seconds, numbers

    def _write(self, folder: Path, without: set[int]) -> dict[str, _Text]:
        texts = {}
        for file in dict.fromkeys(change.span.file for change in self.changes):
            own = [
                (number, change)
                for number, change in enumerate(self.changes)
                if change.span.file == file and number not in without
            ]
            found = compared((ROOT / file).read_text(encoding="utf-8"), own)
            texts[Path(file).stem] = found
            replace_whole(folder / Path(file).name, found.text)
        numbers = f"{NUMBERS_FROM}..{NUMBERS_FROM + len(self.changes) - 1}"
        replace_whole(folder / f"{MODULE}.tla", DEFINITIONS.format(module=MODULE, numbers=numbers))
        return texts


def _guilty(complaint: str, texts: dict[str, _Text]) -> int | None:
    """Returns the fault whose new text TLC was evaluating when it failed, by the places in its complaint."""
    for line, column, module in reversed(_PLACE.findall(complaint)):
        if module in texts and (number := texts[module].number_at(int(line), int(column))) is not None:
            return number
    return None


def compared(text: str, changes: Sequence[tuple[int, Change]]) -> _Text:
    r"""Returns a module's text in which each changed expression is compared with what the fault makes of it.

    Both texts begin a new line at the expression's column: lists of /\ and \/ depend on their columns.
    """
    added: list[tuple[int, int, int, int, str, int]] = []
    for order, (number, change) in enumerate(changes):
        begin, end = positions_of(text, change.site)
        indent = "\n" + " " * (change.site.column - 1)
        # Sorted by position. At one position endings come first; then outer beginnings, and inner endings.
        added.append((begin, 1, begin - end, order, f"Compared({NUMBERS_FROM + number},{indent}", -1))
        added.append((end, 0, end - begin, -order, f",{indent}{changed_site(text, change)})", number))
    parts: list[str] = []
    regions: list[tuple[int, int, int]] = []
    at, length = 0, 0
    for position, _, _, _, piece, number in sorted(added):
        length += position - at + len(piece)
        parts += [text[at:position], piece]
        at = position
        if number >= 0:
            regions.append((length - len(piece), length, number))
    alone = "".join([*parts, text[at:]])
    whole = extending(alone, MODULE)
    moved = len(whole) - len(alone)
    return _Text(whole, [(begin + moved, end + moved, number) for begin, end, number in regions])
