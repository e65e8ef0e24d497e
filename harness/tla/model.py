"""One model of a protocol, and the folders of the modules that it may use."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from codegen.layout.folders import used_folders
from harness.base.protocols import MODEL
from harness.tla.models_file import Settings
from harness.tla.tlc import ROOT, Simulation

LIBRARY = ROOT / "spec" / "lib"
SESSION = LIBRARY / "session"
CONFIGS = ROOT / "build" / "check"
QUICK_STATES_MAX = 4_000
"""Small models with at most so many states are quick. The tests run a sample of them."""


@dataclass(frozen=True)
class Model:
    """One model, with all that it inherits.

    protocol: `session` for those of spec/lib/session, else the folder under spec/.
    settings: the content of its .cfg.
    config: the .cfg for TLC. harness.tla.config writes it before each run.
    size: `small` runs in every check, `large` takes minutes.
    verdict: the verdict that TLC must reach. violates: the property that must be violated.
    distinct: the recorded count of states; None for a large model that nobody has run to its end yet.
    simulation: what is run of a model in place of all its behaviours. generated: the recorded count of its states.
    about: the model in a sentence; for a model that must fail, the hazard.
    possible: predicates of states that a model which holds must reach.
    twin_of: the model that must fail, of a twin that models.yaml does not list.
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
    possible: tuple[str, ...] = ()
    simulation: Simulation | None = None
    generated: int | None = None
    twin_of: str | None = None

    @property
    def full_name(self) -> str:
        return f"{self.protocol}/{self.name}"

    @property
    def must_fail(self) -> bool:
        return self.verdict != "holds"

    @property
    def is_quick(self) -> bool:
        return self.size == "small" and self.distinct is not None and self.distinct <= QUICK_STATES_MAX

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
