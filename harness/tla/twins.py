"""Finds the twin of each model that must fail: a model with the same constants and the right rule, which holds.

A wrong rule that fails shows nothing about the right one. With a twin, each model that must fail stands beside one that
shows that the right rule holds just there. A twin is a model of models.yaml, or else it is derived from the entry of
the model that must fail, without the constants that the entry lists as `wrong`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from harness.tla.model import Model
from harness.tla.models_file import Document, Settings, constant_of

PREFIX = "twin_"
_OPERATOR = re.compile(r"(\w+) *<- *(\w+)")


@dataclass(frozen=True)
class Twins:
    """names: for each model that must fail, the name of its twin. derived: the twins that models.yaml does not list."""

    names: dict[str, str]
    derived: list[Model]


def twins_of(document: Document, listed: list[Model]) -> Twins:
    """Finds the twins of a protocol's models.

    listed: the models of the document, in its order.
    """
    holding = [model for model in listed if not model.must_fail]
    names: dict[str, str] = {}
    derived: dict[str, Model] = {}
    for model in listed:
        if model.must_fail:
            right = _right(document, model)
            found = next((other for other in holding if _is_twin(other, right, model.violates)), None)
            if found is None:
                key = repr(_explored(right))
                found = derived[key] = _joined(derived.get(key), document, model, right)
            names[model.name] = found.name
    return Twins(names, list(derived.values()))


def _right(document: Document, model: Model) -> Settings:
    """Returns the settings of a model that must fail, without what is wrong in them, and with all that holds then."""
    settings = document.right_settings(model.name)
    invariants, properties = list(settings.invariants), list(settings.properties)
    if model.violates and model.violates not in (*invariants, *properties):
        (invariants if model.verdict == "invariant" else properties).append(model.violates)
    faults = model.module.read_text(encoding="utf-8")
    operators = {found[2] for text in settings.constants if (found := _OPERATOR.fullmatch(text))}
    # The module of the faults extends the other. Only constants that name an operator of its own need it.
    if not any(re.search(rf"^{name}\b.*==", faults, re.MULTILINE) for name in operators):
        settings = settings.model_copy(update={"module": document.inherited(model.name).module})
    else:
        settings = settings.model_copy(update={"module": model.module.stem})
    return settings.model_copy(update={"invariants": invariants, "properties": properties})


def _explored(settings: Settings) -> dict[str, object]:
    """Returns what determines the states of a model, and not what is checked in them."""
    found = settings.model_dump(exclude={"invariants", "properties", "always", "faults"})
    return {**found, "constants": sorted(settings.constants, key=constant_of)}


def _is_twin(listed: Model, right: Settings, violated: str | None) -> bool:
    checked = (*listed.settings.invariants, *listed.settings.properties)
    return _explored(listed.settings) == _explored(right) and (violated is None or violated in checked)


def _joined(twin: Model | None, document: Document, model: Model, right: Settings) -> Model:
    """Returns the twin of a model that must fail, which may be that of others already."""
    if twin is not None:
        both = {
            key: list(dict.fromkeys([*getattr(twin.settings, key), *getattr(right, key)]))
            for key in ("invariants", "properties")
        }
        about = f"{twin.about.removesuffix('.')}, {model.name}."
        return replace(twin, settings=twin.settings.model_copy(update=both), about=about)
    name = PREFIX + model.name.removeprefix("fail_")
    recorded = document.models[model.name].twin
    return replace(
        model,
        name=name,
        module=model.module.with_name(f"{right.module}.tla"),
        settings=right,
        config=Path(model.config).with_name(f"{name}.cfg"),
        size=recorded.size if recorded else model.size,
        verdict="holds",
        violates=None,
        distinct=recorded.distinct if recorded else None,
        seconds=recorded.seconds if recorded else 0.0,
        about=f"The right rules with the constants of {model.name}.",
        simulation=recorded.simulated.simulation if recorded and recorded.simulated else None,
        generated=recorded.generated if recorded else None,
        twin_of=model.name,
    )
