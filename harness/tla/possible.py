"""Looks for the states that a model must reach: `possible` in its entry of models.yaml.

A model that holds may hold because it never comes to what it is for. So it names predicates of states, each of which
must be true at least once. A watch for them is one more invariant, which is always true and prints.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from harness.base.write_files import replace_whole
from harness.tla import config, tlc
from harness.tla.model import Model
from harness.tla.tlc import Outcome
from harness.tla.watching import printed_numbers

_WATCH = "WatchedPossible"


def explore(
    model: Model, *, quick: bool = False, progress: Callable[[str], None] | None = None
) -> tuple[Outcome, list[str]]:
    """Explores or simulates a model. Returns TLC's result, and the names in `possible` of which no state was seen.

    Leaves the model's .cfg below build/check/. Raises TlcError if TLC reached no verdict.
    """
    config.write(model)
    with tempfile.TemporaryDirectory(prefix="stepwise-possible-") as scratch:
        folder = Path(scratch)
        watched = _watched(model, folder) if model.possible else model
        printed = folder / "printed"
        outcome = tlc.check(
            watched.module,
            watched.config,
            [folder, *model.search_path],
            quick=quick,
            simulation=model.simulation,
            printed=printed,
            progress=progress,
        )
        seen = printed_numbers(printed)
    return outcome, [name for number, name in enumerate(model.possible) if number not in seen]


def _watched(model: Model, folder: Path) -> Model:
    """Writes a module and a .cfg of the same model with the watch, and returns that model."""
    name = f"{model.module.stem}Watched"
    replace_whole(folder / f"{name}.tla", _module(name, model))
    invariants = [*model.settings.invariants, _WATCH]
    watched = replace(
        model,
        module=folder / f"{name}.tla",
        config=folder / f"{model.name}.cfg",
        settings=model.settings.model_copy(update={"invariants": invariants}),
    )
    config.write(watched)
    return watched


def _module(name: str, model: Model) -> str:
    # TLC prints a number when its predicate is true for the first time.
    watches = "\n".join(f"  /\\ {each} => SeenPossible({number})" for number, each in enumerate(model.possible))
    return f"""---- MODULE {name} ----
EXTENDS {model.module.stem}, TLC
ASSUME \\A number \\in 0..{len(model.possible) - 1} : TLCSet(number, FALSE)
SeenPossible(number) == TLCGet(number) \\/ (TLCSet(number, TRUE) /\\ PrintT(number))
{_WATCH} ==
{watches}
====
"""
