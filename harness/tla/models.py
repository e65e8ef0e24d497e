"""The models of the protocols, as the models.yaml beside each specification describes them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from harness.base.protocols import MODEL
from harness.base.protocols import protocols as all_protocols
from harness.tla import models_file
from harness.tla.model import CONFIGS, SESSION, Model
from harness.tla.models_file import FILE, Document
from harness.tla.tlc import ROOT, Outcome
from harness.tla.twins import Twins, twins_of


def folder_of(protocol: str) -> Path:
    return SESSION if protocol == "session" else ROOT / "spec" / protocol / MODEL


def file_of(protocol: str) -> Path:
    return folder_of(protocol) / FILE


def protocols() -> list[str]:
    """Returns everything that has models: `session`, the library's module, then folders under spec/."""
    found = {path.parent.parent.name for path in (ROOT / "spec").glob(f"*/{MODEL}/{FILE}")}
    return ["session", *sorted(found)]


def without_models() -> list[str]:
    """Returns the protocols without models."""
    return [name for name in all_protocols() if name not in protocols()]


def models_of(protocol: str) -> list[Model]:
    """Returns the models of one protocol, in the order of its models.yaml, and then the twins that it does not list.

    Raises TlcError for a fault in the file.
    """
    document = models_file.load(folder_of(protocol))
    listed = _listed(protocol, document)
    return [*listed, *twins_of(document, listed).derived]


def with_right_rules(protocol: str, name: str) -> Model:
    """Returns a model of a protocol as if nothing were wrong in it. It still checks only what it must violate.

    Raises TlcError for a fault in models.yaml, KeyError if the protocol lacks the model.
    """
    document = models_file.load(folder_of(protocol))
    model = {each.name: each for each in _listed(protocol, document)}[name]
    return replace(model, settings=document.settings(name, right=True))


def twins_in(protocol: str) -> Twins:
    """Returns the twins of a protocol's models that must fail. Raises TlcError for a fault in its models.yaml."""
    document = models_file.load(folder_of(protocol))
    return twins_of(document, _listed(protocol, document))


def _listed(protocol: str, document: Document) -> list[Model]:
    folder = folder_of(protocol)
    found = []
    for name, entry in document.models.items():
        settings = document.settings(name)
        found.append(
            Model(
                protocol=protocol,
                name=name,
                module=folder / f"{settings.module}.tla",
                settings=settings,
                config=CONFIGS / protocol / f"{name}.cfg",
                size=entry.size,
                verdict=entry.verdict,
                violates=entry.violates,
                distinct=entry.recorded.distinct,
                seconds=entry.recorded.seconds,
                about=entry.about,
                possible=tuple(entry.possible),
                simulation=entry.simulated.simulation if entry.simulated else None,
                generated=entry.recorded.generated,
            )
        )
    return found


def record(model: Model, outcome: Outcome) -> None:
    """Writes a run's counts and time into models.yaml, never a verdict."""
    key = "recorded" if model.twin_of is None else "twin"
    models_file.record(folder_of(model.protocol), model.twin_of or model.name, key, outcome)


def properties_of(model: Model) -> list[str]:
    """Names of the invariants and properties that a model checks."""
    return [*model.settings.invariants, *model.settings.properties]


def sentences(search_path: list[Path]) -> dict[str, str]:
    """Maps each operator that is defined right below a comment to the comment's text."""
    found: dict[str, str] = {}
    for folder in reversed(search_path):
        for path in sorted(folder.glob("*.tla")):
            comment: list[str] = []
            for line in path.read_text().splitlines():
                if line.startswith("\\*"):
                    comment.append(line.removeprefix("\\*").strip())
                    continue
                defined = re.match(r"(\w+) *==", line)
                if defined and comment:
                    found[defined[1]] = " ".join(comment)
                comment = []
    return found
