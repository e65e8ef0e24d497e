"""Writes the .cfg of a model, the file that TLC reads, below build/check/."""

from __future__ import annotations

import textwrap

from harness.base import yaml_documents
from harness.base.write_files import replace_whole
from harness.tla.model import Model
from harness.tla.models import file_of

_NAMES = {
    "specification": "SPECIFICATION",
    "init": "INIT",
    "next": "NEXT",
    "view": "VIEW",
    "symmetry": "SYMMETRY",
}
_LISTS = {
    "constraints": "CONSTRAINTS",
    "action_constraints": "ACTION_CONSTRAINTS",
    "invariants": "INVARIANTS",
    "properties": "PROPERTIES",
}


def text_of(model: Model) -> str:
    """Returns a model's .cfg."""
    settings = model.settings
    source = yaml_documents.name_of(file_of(model.protocol))
    lines = [f"\\* `just check {model.protocol} {model.name}` writes this from {source}."]
    lines += [f"\\* {line}" for line in textwrap.wrap(model.about, 110)]
    lines += [f"{word} {name}" for key, word in _NAMES.items() if (name := getattr(settings, key)) is not None]
    if settings.constants:
        lines += ["CONSTANTS", *(f"  {statement}" for statement in settings.constants)]
    lines += [f"{word} {' '.join(names)}" for key, word in _LISTS.items() if (names := getattr(settings, key))]
    if not settings.check_deadlock:
        lines.append("CHECK_DEADLOCK FALSE")
    return "\n".join(lines) + "\n"


def write(model: Model) -> None:
    """Writes a model's .cfg to `model.config`. Another check may read it at the same time, so it is replaced whole."""
    replace_whole(model.config, text_of(model))
