"""The models of the protocols, as the models.yaml beside each specification describes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from codegen.layout.folders import used_folders
from harness.base.protocols import MODEL
from harness.base.protocols import protocols as all_protocols
from harness.tla import models_file
from harness.tla.models_file import FILE, Settings
from harness.tla.tlc import ROOT

LIBRARY = ROOT / "spec" / "lib"
SESSION = LIBRARY / "session"
CONFIGS = ROOT / "build" / "check"


@dataclass(frozen=True)
class Model:
    """One model, with all that it inherits.

    protocol: `session` for those of spec/lib/session, else the folder under spec/.
    settings: the content of its .cfg.
    config: the .cfg for TLC. harness.tla.config writes it before each run.
    size: `small` runs in every check, `large` takes minutes.
    verdict: the verdict that TLC must reach. violates: the property that must be violated.
    distinct: the recorded count of states; None for a large model that nobody has run to its end yet.
    about: the model in a sentence; for a model that must fail, the hazard.
    """

    protocol: str
    name: str
    module: Path
    settings: Settings
    config: Path
    size: str
    verdict: str
    violates: str | None
    distinct: int | None
    seconds: float
    about: str

    @property
    def must_fail(self) -> bool:
        return self.verdict != "holds"

    @property
    def search_path(self) -> list[Path]:
        """The folders of the modules that a model may extend."""
        return [self.module.parent, *folders_of_modules(self.protocol)]


def folders_of_modules(protocol: str) -> list[Path]:
    """Returns the folders from which the models of a protocol may take modules."""
    if protocol == "session":
        return [LIBRARY]
    spec = ROOT / "spec" / protocol
    used = [other for other in used_folders(spec) if other != LIBRARY]
    return [spec, LIBRARY, ROOT / "generated" / protocol, *(room for other in used for room in (other, other / MODEL))]


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
    """Returns the models of one protocol, in the order of its models.yaml. Raises TlcError for a fault in it."""
    folder = folder_of(protocol)
    described = models_file.load(folder)
    found = []
    for name, entry in described.models.items():
        settings = described.settings(name)
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
            )
        )
    return found


def record(model: Model, distinct: int, seconds: float) -> None:
    """Writes a run's counts and time into models.yaml, never a verdict."""
    models_file.record(folder_of(model.protocol), model.name, distinct, seconds)


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
