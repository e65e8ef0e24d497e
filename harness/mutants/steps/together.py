"""Hunts many faults in one run of a model.

A run of TLC on one fault mostly starts up and reads modules. So the steps get the faults of a run together. The one
that a behaviour has is a variable, chosen in its first state. TLC then explores the behaviours of all faults, one
breadth after the other, and leaves a fault alone as soon as it has violated a property.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.base.write_files import replace_whole
from harness.mutants.steps.changes import Change
from harness.mutants.steps.formulas import Formulas, text_in_place
from harness.mutants.steps.infection import MODULE, NUMBERS_FROM, compared
from harness.tla import config, tlc
from harness.tla.model import Model
from harness.tla.tlc import ROOT, TlcError, TlcTimeout

HUNTED = "HuntedModel"
CHOSEN = NUMBERS_FROM - 1
"""The register of TLC that has the fault of the behaviour that it is at. The register of each fault counts states."""
DONE = -1
DEFINITIONS = f"""---- MODULE {MODULE} ----
LOCAL INSTANCE TLC
Compared(number, old, new) == IF TLCGet({CHOSEN}) = number THEN new ELSE old
====
"""
STATES_MORE = 1000
"""A fault may have that many states beside a multiple of the model's, which is small for some."""
_PRINTED = re.compile(r'<<\s*"(killed|given up)",\s*(\d+),\s*"(\w*)"\s*>>')


@dataclass
class Found:
    """Faults of a run that did not survive it.

    killed: the violated property. stopped: TLC's complaint, where it could not evaluate the steps. given_up: those with
    too many states.
    """

    killed: dict[Change, str] = field(default_factory=dict)
    stopped: dict[Change, str] = field(default_factory=dict)
    given_up: set[Change] = field(default_factory=set)

    def of(self, change: Change) -> bool:
        return change in self.killed or change in self.stopped or change in self.given_up


def hunt_in(
    model: Model, formulas: Formulas, changes: Sequence[Change], times_as_long_max: int, seconds: float
) -> Found:
    """Hunts faults in one model.

    seconds: how long the model takes without a fault, on a processor. Raises TlcError if TLC cannot explore the model
    for another reason than a fault.
    """
    found = Found()
    left = list(changes)
    while left:
        with tempfile.TemporaryDirectory(prefix="stepwise-together-") as scratch:
            folder = Path(scratch)
            watched = _write(model, formulas, left, times_as_long_max, folder)
            limit = math.ceil(20 + times_as_long_max * seconds * len(left))
            guilty, complaint = None, ""
            try:
                tlc.check(
                    watched.module,
                    watched.config,
                    [folder, *model.search_path],
                    printed=folder / "printed",
                    processor_seconds_max=limit,
                )
            except TlcTimeout:
                complaint = "late"
            except TlcError as error:
                complaint = str(error).strip().splitlines()[-1]
                guilty = _guilty(error, left)
                if guilty is None:
                    raise TlcError(f"{model.protocol}/{model.name}, with faults together: {error}") from None
            _read(folder / "printed", left, found)
        if complaint == "late":
            found.given_up |= {change for change in left if not found.of(change)}
        elif guilty is not None and not found.of(guilty):
            found.stopped[guilty] = complaint
        left = [change for change in left if not found.of(change)] if guilty is not None else []
    return found


def _read(printed: Path, changes: Sequence[Change], found: Found) -> None:
    text = printed.read_text(encoding="utf-8") if printed.exists() else ""
    for word, number, name in _PRINTED.findall(text):
        change = changes[int(number) - NUMBERS_FROM]
        if word == "killed":
            found.killed.setdefault(change, name)
        else:
            found.given_up.add(change)


def _guilty(error: TlcError, changes: Sequence[Change]) -> Change | None:
    """Returns the fault of the behaviour in which TLC stopped."""
    chosen = [state.variables["fault"] for state in error.trace if "fault" in state.variables]
    return changes[int(chosen[-1]) - NUMBERS_FROM] if chosen else None


def _write(model: Model, formulas: Formulas, changes: Sequence[Change], times_as_long_max: int, folder: Path) -> Model:
    """Writes the steps with all faults, and the model that chooses one of them. Returns that model."""
    for file in dict.fromkeys(change.span.file for change in changes):
        own = [(number, change) for number, change in enumerate(changes) if change.span.file == file]
        text = compared((ROOT / file).read_text(encoding="utf-8"), own)
        replace_whole(folder / Path(file).name, text.text)
    replace_whole(folder / f"{MODULE}.tla", DEFINITIONS)
    states_max = times_as_long_max * (model.distinct or 0) + STATES_MORE
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
    return hunted


def _module(model: Model, formulas: Formulas, faults: int, states_max: int) -> str:
    behaviours = formulas.behaviours
    assert behaviours.initial is not None, "behaviours begin somewhere"
    properties = formulas.properties
    parts = [
        f"---- MODULE {HUNTED} ----",
        f"EXTENDS {model.module.stem}, TLC",
        "VARIABLE fault",
        f"Faults == {NUMBERS_FROM}..{NUMBERS_FROM + faults - 1}",
        "ASSUME \\A number \\in Faults : TLCSet(number, 0)",
        f"ASSUME TLCSet({CHOSEN}, 0)",
        f"Chosen == TLCSet({CHOSEN}, fault)",
        f"IsOver(number) == TLCGet(number) = {DONE}",
        f"Over(word, name) == PrintT(<<word, fault, name>>) /\\ TLCSet(fault, {DONE})",
        "HuntedView == " + (f"<<fault, {model.settings.view}>>" if model.settings.view else "fault"),
        _operator("ModelInit", text_in_place(behaviours.initial)),
        _operator("ModelNext", text_in_place(behaviours.action)),
    ]
    for name, box in properties.items():
        if box.initial is not None:
            parts.append(_operator(f"Initial{name}", text_in_place(box.initial)))
        parts.append(_operator(f"Action{name}", text_in_place(box.action)))
        parts.append(_operator(f"Subscript{name}", text_in_place(box.subscript)))
    # IF, because TLC takes each side of a disjunction of actions for a step of its own.
    initial = [
        f'  /\\ IF Initial{name} THEN TRUE ELSE Over("killed", "{name}")'
        for name, box in properties.items()
        if box.initial is not None
    ]
    parts += ["HuntedInit ==", "  /\\ fault \\in Faults", "  /\\ Chosen", "  /\\ ModelInit", *initial]
    steps = [
        f"  /\\ IF IsOver(fault) \\/ Action{name} \\/ UNCHANGED Subscript{name} THEN TRUE\n"
        f'       ELSE Over("killed", "{name}")'
        for name in properties
    ]
    parts += [
        "HuntedNext ==",
        "  /\\ Chosen",
        "  /\\ ~ IsOver(fault)",
        "  /\\ ModelNext",
        "  /\\ UNCHANGED fault",
        *steps,
    ]
    states = [
        "HuntedInvariant ==",
        "  /\\ Chosen",
        "  /\\ CASE IsOver(fault) -> TRUE",
        *(f'       [] ~ {name} -> Over("killed", "{name}")' for name in model.settings.invariants),
        f'       [] TLCGet(fault) >= {states_max} -> Over("given up", "")',
        "       [] OTHER -> TLCSet(fault, TLCGet(fault) + 1)",
    ]
    return "\n".join([*parts, *states, "===="]) + "\n"


def _operator(name: str, text: str) -> str:
    return f"{name} ==\n{text}"
