"""Hunts many faults in one run of a model.

A run of TLC on one fault mostly starts up and reads modules, and explores what the model explores without the fault. So
the steps get the faults of a run together. The one that a behaviour has is a variable. A behaviour begins without one,
and may get it in a state where it makes a difference: where the changed expression is evaluated and has another value.
TLC explores all that, and leaves a fault alone as soon as it has violated a property.
"""

from __future__ import annotations

import math
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.base.write_files import replace_whole
from harness.mutants.steps.changes import Change, text_at
from harness.mutants.steps.formulas import Formulas, text_in_place
from harness.mutants.steps.infection import MODULE, NUMBERS_FROM, Text, compared, number_in
from harness.tla import config, tlc
from harness.tla.model import Model
from harness.tla.tlc import ROOT, TlcError, TlcTimeout

HUNTED = "HuntedModel"
CHOSEN = NUMBERS_FROM - 1
"""The register of TLC that has the fault of the behaviour that it is at. The register of each fault counts states."""
DIFFERING = NUMBERS_FROM - 2
"""The register that has the faults that make a difference in the state that TLC is at."""
TOGETHER_MAX = 200
"""Faults in one run: TLC reads twice as many in more than twice the time."""
LONG_SECONDS = 10
"""A run that stops later than this has explored so much that the half of it is worth a start."""
NO_FAULT = 0
DONE = -1
DEFINITIONS = f"""---- MODULE {MODULE} ----
LOCAL INSTANCE TLC
LOCAL INSTANCE Integers
Compared(number, old, new) ==
  IF TLCGet({CHOSEN}) = number THEN new
    ELSE IF TLCGet({CHOSEN}) # {NO_FAULT} \\/ TLCGet(number) = {DONE} \\/ number \\in TLCGet({DIFFERING}) THEN old
    ELSE IF old = new THEN old
    ELSE IF TLCSet({DIFFERING}, TLCGet({DIFFERING}) \\cup {{number}}) THEN old ELSE old
====
"""
TIMES_AS_MANY_MAX = 3
"""A fault may make a model's states endless. It is given up when it has so many times as many, and STATES_MORE."""
STATES_MORE = 1000
STATES_UNRECORDED = 30_000
STATES_EACH_SECOND = 1000
"""TLC is stopped if it explores fewer, in the seconds of a processor."""
_PRINTED = re.compile(r'<<\s*"(differs|killed|given up)",\s*(\d+),\s*"(\w*)"\s*>>')


@dataclass
class Found:
    """The findings of a run.

    differing: the faults that made a difference. killed: the violated property. stopped: TLC's complaint, where it
    could not evaluate the steps. given_up: those with too many states.
    """

    differing: set[Change] = field(default_factory=set)
    killed: dict[Change, str] = field(default_factory=dict)
    stopped: dict[Change, str] = field(default_factory=dict)
    given_up: set[Change] = field(default_factory=set)

    def of(self, change: Change) -> bool:
        return change in self.killed or change in self.stopped or change in self.given_up


@dataclass(frozen=True)
class Stop:
    """Why TLC could not go on. guilty: the fault that it met, if it could say in which behaviour it was."""

    error: TlcError
    guilty: Change | None


def hunt_in(model: Model, formulas: Formulas, changes: Sequence[Change]) -> Found:
    """Hunts faults in one model. Raises TlcError if TLC cannot explore it for another reason than a fault."""
    found = Found()
    for at in range(0, len(changes), TOGETHER_MAX):
        _hunt_among(model, formulas, changes[at : at + TOGETHER_MAX], found)
    return found


def _hunt_among(model: Model, formulas: Formulas, changes: Sequence[Change], found: Found) -> None:
    """Hunts some faults, and goes on after each that TLC cannot evaluate."""
    started = time.monotonic()
    stop = _run(model, formulas, changes, found)
    if stop is None:
        return
    guilty = stop.guilty
    if guilty is None and len(changes) == 1 and _run(model, formulas, [], found) is None:
        guilty = changes[0]
    if stop.error.refused or (guilty is None and len(changes) == 1):
        raise TlcError(f"{model.full_name}, with faults together: {stop.error}")
    if guilty is not None and not found.of(guilty):
        found.differing.add(guilty)
        found.stopped[guilty] = str(stop.error).strip().splitlines()[-1]
    left = [change for change in changes if not found.of(change)]
    # TLC often stops at several faults, and starts again after each. Halves only make that faster.
    halves = guilty is None or time.monotonic() - started > LONG_SECONDS
    middle = (len(left) + 1) // 2 if halves else len(left)
    for part in (left[:middle], left[middle:]):
        if part:
            _hunt_among(model, formulas, part, found)


def _run(model: Model, formulas: Formulas, changes: Sequence[Change], found: Found) -> Stop | None:
    """Hunts faults until TLC cannot go on, or to the end: then it returns None."""
    states_max = TIMES_AS_MANY_MAX * (model.distinct or STATES_UNRECORDED) + STATES_MORE
    with tempfile.TemporaryDirectory(prefix="stepwise-together-") as scratch:
        folder = Path(scratch)
        watched, texts = _write(model, formulas, changes, states_max, folder)
        stop = None
        late = False
        try:
            tlc.check(
                watched.module,
                watched.config,
                [folder, *model.search_path],
                quick=model.seconds < LONG_SECONDS,
                printed=folder / "printed",
                processor_seconds_max=math.ceil(60 + states_max * (len(changes) + 1) / STATES_EACH_SECOND),
            )
        except TlcTimeout:
            late = True
        except TlcError as error:
            stop = Stop(error, _guilty(error, changes, texts))
        _read(folder / "printed", changes, found)
    if late:
        found.given_up |= {change for change in changes if not found.of(change)}
    return stop


def _read(printed: Path, changes: Sequence[Change], found: Found) -> None:
    text = printed.read_text(encoding="utf-8") if printed.exists() else ""
    for word, number, name in _PRINTED.findall(text):
        change = changes[int(number) - NUMBERS_FROM]
        if word == "differs":
            found.differing.add(change)
        elif word == "killed":
            found.killed.setdefault(change, name)
        else:
            found.given_up.add(change)


def _guilty(error: TlcError, changes: Sequence[Change], texts: Mapping[str, Text]) -> Change | None:
    """Returns the fault of the behaviour in which TLC stopped, or that TLC was about to compare."""
    chosen = [int(state.variables["hunted"]) for state in error.trace if "hunted" in state.variables]
    if not chosen:
        return None
    number = number_in(str(error), texts) if chosen[-1] == NO_FAULT else chosen[-1] - NUMBERS_FROM
    return None if number is None else changes[number]


def _write(
    model: Model, formulas: Formulas, changes: Sequence[Change], states_max: int, folder: Path
) -> tuple[Model, dict[str, Text]]:
    """Writes the steps with all faults, and the model that chooses one of them. Returns that model, and the steps."""
    texts = {}
    for file in dict.fromkeys(change.span.file for change in changes):
        own = [(number, change) for number, change in enumerate(changes) if change.span.file == file]
        text = compared((ROOT / file).read_text(encoding="utf-8"), own)
        replace_whole(folder / Path(file).name, text.text)
        texts[Path(file).stem] = text
    replace_whole(folder / f"{MODULE}.tla", DEFINITIONS)
    replace_whole(folder / f"{HUNTED}.tla", _module(model, formulas, len(changes), states_max))
    settings = model.settings.model_copy(
        update={
            "specification": None,
            "init": "HuntedInit",
            "next": "HuntedNext",
            "view": "HuntedView" if model.settings.view else None,
            "invariants": ["HuntedInvariant"],
            "properties": [],
        }
    )
    hunted = replace(model, module=folder / f"{HUNTED}.tla", config=folder / f"{HUNTED}.cfg", settings=settings)
    config.write(hunted)
    return hunted, texts


def _module(model: Model, formulas: Formulas, faults: int, states_max: int) -> str:
    """Returns the text of the model that chooses one of the faults. Its names begin so that no model has them."""
    behaviours = formulas.behaviours
    assert behaviours.initial is not None, "behaviours begin somewhere"
    properties = formulas.properties
    parts = [
        f"---- MODULE {HUNTED} ----",
        f"EXTENDS {model.module.stem}, TLC",
        "VARIABLE hunted",
        f"HuntedFaults == {NUMBERS_FROM}..{NUMBERS_FROM + faults - 1}",
        "ASSUME \\A number \\in HuntedFaults : TLCSet(number, 0)",
        f"ASSUME TLCSet({CHOSEN}, {NO_FAULT})",
        f"ASSUME TLCSet({DIFFERING}, {{}})",
        f"HuntedChosen == TLCSet({CHOSEN}, hunted)",
        f"HuntedIsOver(number) == TLCGet(number) = {DONE}",
        f"HuntedHasNone == hunted = {NO_FAULT}",
        f"HuntedOver(word, name) == PrintT(<<word, hunted, name>>) /\\ TLCSet(hunted, {DONE})",
        "HuntedView == " + (f"<<hunted, {model.settings.view}>>" if model.settings.view else "hunted"),
        _operator("HuntedModelInit", text_in_place(behaviours.initial)),
        _operator("HuntedModelNext", text_in_place(behaviours.action)),
    ]
    for name, box in properties.items():
        parts.append(_operator(f"HuntedAction{name}", text_in_place(box.action)))
        parts.append(_operator(f"HuntedSubscript{name}", text_in_place(box.subscript)))
    parts += ["HuntedInit ==", f"  /\\ hunted = {NO_FAULT}", "  /\\ HuntedChosen", "  /\\ HuntedModelInit"]
    # It is an IF, because TLC would take each side of a disjunction for a step of its own.
    steps = [
        f"  /\\ IF HuntedHasNone \\/ HuntedIsOver(hunted)\n"
        f"          \\/ HuntedAction{name} \\/ UNCHANGED HuntedSubscript{name}\n"
        f'       THEN TRUE ELSE HuntedOver("killed", "{name}")'
        for name in properties
    ]
    parts += [
        "HuntedStep ==",
        "  /\\ HuntedChosen",
        "  /\\ IF HuntedHasNone THEN TRUE ELSE ~ HuntedIsOver(hunted)",
        "  /\\ HuntedModelNext",
        "  /\\ UNCHANGED hunted",
        *steps,
    ]
    # HuntedFault comes last: TLC takes the steps of a state in their order, and now all that differs is known.
    parts += [
        "HuntedFault ==",
        "  /\\ HuntedHasNone",
        f"  /\\ \\E differing \\in {{TLCGet({DIFFERING})}} :",
        f"       /\\ TLCSet({DIFFERING}, {{}})",
        "       /\\ \\E number \\in differing :",
        '            /\\ IF TLCGet(number) = 0 THEN PrintT(<<"differs", number, "">>) ELSE ~ HuntedIsOver(number)',
        "            /\\ hunted' = number",
        f"  /\\ UNCHANGED {text_at(behaviours.subscript)}",
        "HuntedNext == HuntedStep \\/ HuntedFault",
    ]
    states = [
        "HuntedInvariant ==",
        "  /\\ HuntedChosen",
        "  /\\ CASE HuntedHasNone -> TRUE",
        "       [] HuntedIsOver(hunted) -> TRUE",
        *(f'       [] ~ {name} -> HuntedOver("killed", "{name}")' for name in model.settings.invariants),
        # TLC asks for states that it will not explore as well, and as often as it comes to them.
        *(f"       [] ~ {name} -> TRUE" for name in model.settings.constraints),
        f'       [] TLCGet(hunted) >= {states_max} -> HuntedOver("given up", "")',
        "       [] OTHER -> TLCSet(hunted, TLCGet(hunted) + 1)",
    ]
    return "\n".join([*parts, *states, "===="]) + "\n"


def _operator(name: str, text: str) -> str:
    return f"{name} ==\n{text}"
