"""Finds on which models a fault makes any difference: in which of them the changed expression has another value.

TLC explores each model once, with steps that evaluate both texts of each expression, and print a fault's number when
their values first differ. On all other models the fault changes nothing, so it is not run there.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.base.write_files import replace_whole
from harness.mutants.steps.changes import Change, changed_site
from harness.tla.model import Model
from harness.tla.tlc import ROOT, TlcError
from harness.tla.watching import explore_printing, extending, position_of, positions_of

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
NUMBERS_FROM = 10_000
"""TLC has an array up to the largest number of a register, and copies it to make room for a larger one."""
_PLACE = re.compile(
    r"line (\d+), col(?:umn)? (\d+)(?: to line \d+, col(?:umn)? \d+)? (?:of module|in) (\w+)", re.IGNORECASE
)


@dataclass(frozen=True)
class Infected:
    """The run of one model, and the faults that made a difference in it."""

    model: Model
    seconds: float
    changes: frozenset[Change]


@dataclass
class Text:
    """A module's text with its comparisons. Each has a number, the expression, and what the fault makes of it."""

    text: str
    regions: list[tuple[int, int, int]]
    """Begin and end of each new text, and the change's number."""

    def number_at(self, line: int, column: int) -> int | None:
        """Returns the change in whose new text a place is: the innermost."""
        at = position_of(self.text, line, column)
        around = [(end - begin, number) for begin, end, number in self.regions if begin <= at < end]
        return min(around)[1] if around else None


class Comparison:
    """Faults in the steps, and copies of the modules that compare them.

    failing: faults that TLC could not evaluate. They are taken to make a difference wherever they may.
    """

    def __init__(self, changes: Sequence[Change]):
        self.changes = list(changes)
        self.failing: set[int] = set()

    def explore(self, model: Model) -> Infected:
        """Explores a model. Raises TlcError if TLC cannot."""
        seconds, numbers = self._explore(model)
        return Infected(model, seconds, frozenset(self.changes[number] for number in numbers | self.failing))

    def _explore(self, model: Model) -> tuple[float, set[int]]:
        while True:
            failing = set(self.failing)
            with tempfile.TemporaryDirectory(prefix="stepwise-compared-") as scratch:
                texts = self._write(Path(scratch), failing)
                try:
                    outcome, printed = explore_printing(model, Path(scratch))
                except TlcError as error:
                    guilty = number_in(str(error), texts)
                    if guilty is None or guilty in failing:
                        raise TlcError(f"{model.full_name}, with faults compared: {error}") from None
                    self.failing.add(guilty)
                    continue
            numbers = {number - NUMBERS_FROM for number in printed} & set(range(len(self.changes)))
            return outcome.seconds, numbers

    def _write(self, folder: Path, without: set[int]) -> dict[str, Text]:
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


def number_in(complaint: str, texts: Mapping[str, Text]) -> int | None:
    """Returns the fault whose new text TLC was evaluating when it failed, by the places in its complaint."""
    for line, column, module in reversed(_PLACE.findall(complaint)):
        if module in texts and (number := texts[module].number_at(int(line), int(column))) is not None:
            return number
    return None


def compared(text: str, changes: Sequence[tuple[int, Change]]) -> Text:
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
    return Text(whole, [(begin + moved, end + moved, number) for begin, end, number in regions])
