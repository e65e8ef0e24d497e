"""Says which faults a protocol's own steps may have, and on which models each is run: those where it differs.

The models come in stages, so the larger ones wait until a fault has survived the smaller ones.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from codegen.emit.branch_numbers import unique_steps
from codegen.ir import VERDICTS, Protocol
from codegen.tla import sany
from harness.base.protocols import protocols
from harness.mutants.steps.changes import Change, changes_in
from harness.mutants.steps.vocabulary import Vocabulary
from harness.tla import models
from harness.tla.model import LIBRARY, Model
from harness.tla.syntax import compiled_of, files_of, steps_of, used_by
from harness.tla.tlc import ROOT

SESSION = "session"


@dataclass(frozen=True)
class Stage:
    """Some small models that must hold.

    kind: `quick` ones, `others`, or `live` ones: these say what happens in the end, have few properties, and none that
    is violated soon. own: those of the protocol whose step has the fault, or those of other protocols.
    """

    kind: str
    own: bool

    def has(self, model: Model) -> bool:
        live = model.name.startswith("live_")
        kind = "live" if live else "quick" if model.is_quick else "others"
        return not model.must_fail and model.size == "small" and kind == self.kind

    def protocols(self, protocol: str, change: Change) -> list[str]:
        """Returns the protocols whose models may notice a fault in a step of this one."""
        return [protocol] if self.own else users_of(protocol, change)


STAGES = [Stage(kind, own) for kind in ("quick", "others", "live") for own in (True, False)]


@functools.cache
def changes_of(protocol: str) -> list[Change]:
    """Returns the faults of a protocol's own modules; for `session`, those of spec/lib.

    Raises TlcError if the steps do not compile.
    """
    if protocol == SESSION:
        users = [name for name in protocols() if name in models.protocols()]
        vocabulary = Vocabulary.shared([Vocabulary.of(compiled_of(name)) for name in users if _opens_sessions(name)])
        found = [change for name in users for change in _changes(name, vocabulary, str(LIBRARY.relative_to(ROOT)))]
        return list({(change.module, change.full_name): change for change in found}.values())
    return _changes(protocol, Vocabulary.of(compiled_of(protocol)), f"spec/{protocol}")


def _opens_sessions(protocol: str) -> bool:
    return any(file.endswith("/SessionSteps.tla") for file in files_of(protocol))


def _changes(protocol: str, vocabulary: Vocabulary, folder: str) -> list[Change]:
    steps = steps_of(protocol)
    own = [operator for operator in steps.operators if operator.span.file.startswith(f"{folder}/")]
    return changes_in(steps.module, own, vocabulary, _verdicts(compiled_of(protocol), steps.module))


def _verdicts(protocol: Protocol, module: sany.Module) -> dict[str, tuple[str, ...]]:
    """Returns the verdicts that the generator lets each operator end with, by its number: those of all steps with it.

    A fault with another verdict is refused, and reaches no model.
    """
    allowed: dict[str, set[str]] = {}
    for step in unique_steps(protocol):
        for operator in used_by(module, [module.top[step.name]]):
            allowed.setdefault(operator.uid, set(VERDICTS)).intersection_update(protocol.verdicts_of(step.name))
    return {uid: tuple(verdict for verdict in VERDICTS if verdict in kept) for uid, kept in allowed.items()}


def models_in(protocol: str, stage: Stage) -> list[Model]:
    """Returns the models of a protocol in a stage, the shortest first."""
    chosen = [model for model in models.models_of(protocol) if stage.has(model)]
    return sorted(chosen, key=lambda model: model.seconds)


def users_of(protocol: str, change: Change) -> list[str]:
    """Returns the other protocols whose steps have the changed text."""
    return [name for name in models.protocols() if name != protocol and change.span.file in files_of(name)]
