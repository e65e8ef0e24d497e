"""Loads mutants: the machinery's from harness/mutants/mutants.yaml, a protocol's from spec/<protocol>/mutants.yaml.

    mutants:
      - name: the fault, in words
        edits:
          - file: spec/orders/OrderSteps.tla    # path from the root of the repository
            old: the exact text, which must occur once
            new: its replacement
        caught_by: {model: small, property: NoOrderIsLost}

`caught_by` is one of

    {model: NAME, property: NAME}   this model, without what is `wrong` in it, violates this property
    {conform: TEXT}                 conformance reports a mismatch that contains this text
    {refused: TEXT}                 generating, building or loading fails, for this reason
    {test: NODE}                    this test of tests/ fails

A file under generated/ is changed in conformance's small build, after the generator has run: a fault in the emitted C.
A file under program/ stands for the one under spec/, but only the program gets the change, and not the model: a fault
as if other steps had been compiled. The machinery's
mutants are run with the protocol on which conformance sees most, whichever protocols were chosen.
"""

from __future__ import annotations

from pathlib import Path

import pydantic

from codegen.errors import SpecErrors
from codegen.layout.read import layout_of
from harness.base import yaml_documents
from harness.base.protocols import SPEC, protocols
from harness.conform import drain_cases
from harness.conform.domain import DomainText, load_text
from harness.conform.places import DomainError

PROGRAM = "program"
GENERIC = Path(__file__).parent / "mutants.yaml"


class CatalogueError(Exception):
    """The catalogue cannot be used; the message says why."""


class Edit(yaml_documents.Strict):
    """One change of a file."""

    file: str
    old: str
    new: str

    @property
    def is_compiled(self) -> bool:
        """Whether it changes the steps of the program, and not those of the model."""
        return self.file.startswith(f"{PROGRAM}/")

    @property
    def source(self) -> str:
        """The file of the repository that has the text. If it is generated, the edited one may be of another build."""
        return self.file.replace(f"{PROGRAM}/", "spec/", 1) if self.is_compiled else self.file

    @property
    def is_generated(self) -> bool:
        """Whether it changes the generator's output, and not its input."""
        return self.file.startswith("generated/")


class CaughtBy(yaml_documents.Strict):
    """The check that must notice a mutant."""

    model: str = ""
    property: str = ""
    conform: str = ""
    refused: str = ""
    test: str = ""

    @pydantic.model_validator(mode="after")
    def _one(self) -> CaughtBy:
        given = [kind for kind in ("model", "conform", "refused", "test") if getattr(self, kind)]
        if len(given) != 1 or bool(self.model) != bool(self.property):
            raise ValueError("give one of: model with property, conform, refused, test")
        return self

    def __str__(self) -> str:
        if self.model:
            return f"model {self.model}: {self.property}"
        kind = next(kind for kind in ("conform", "refused", "test") if getattr(self, kind))
        return f"{kind}: {getattr(self, kind)}"


class Mutant(yaml_documents.Strict):
    """One fault, and the check that must notice it."""

    name: str
    edits: tuple[Edit, ...]
    caught_by: CaughtBy
    protocol: str = ""

    @property
    def is_compiled(self) -> bool:
        """Whether the program is generated from other steps than the model has."""
        return any(edit.is_compiled for edit in self.edits)

    @property
    def asks_conformance(self) -> bool:
        """Whether conformance must notice it, or the building and loading with which conformance starts."""
        return bool(self.caught_by.conform or self.caught_by.refused)

    @property
    def spares_the_checker(self) -> bool:
        """Whether conformance must notice it, and is not changed itself: the fault is only in the compiled program."""
        return self.asks_conformance and all(edit.is_generated or edit.is_compiled for edit in self.edits)

    @property
    def place(self) -> str:
        """The file of the fault, for people."""
        return self.edits[0].file


class _File(yaml_documents.Strict):
    mutants: list[Mutant]


def load(path: Path) -> list[Mutant]:
    """The mutants of one file."""
    try:
        return yaml_documents.read(path, _File, "docs/reference/live.md").mutants
    except SpecErrors as error:
        raise CatalogueError(str(error)) from None


def sections_of(protocol: str) -> int:
    """The number of sections in a protocol's hooks, from its layout."""
    layout = layout_of(SPEC / protocol)
    hooks, passes = layout.hooks, layout.sweep.passes if layout.sweep else []
    user = hooks.user if isinstance(hooks.user, list) else [hooks.user] if hooks.user else []
    return len(hooks.xdp) + len(hooks.tc) + len(user) + sum(len(each.sections) for each in passes)


def _seen(text: DomainText) -> tuple[int, int]:
    """Measures how much conformance can see with a domain.

    The first number counts the hooks, plus 1 if sections lose races, plus 1 if some lose only the first race. The
    second is the number of families in which a section loses only the first race.
    """
    hooks = {
        family.hook if family.hook in ("xdp", "tc", "user") else "sweep"
        for family in text.families
        if family.hook not in drain_cases.HOOKS
    }
    contended = [family for family in text.families if family.contended]
    rivals = [family for family in contended if family.rival]
    return len(hooks) + bool(contended) + bool(rivals), len(rivals)


def witness() -> str:
    """The protocol with which the machinery's mutants are run: the one on which conformance sees most."""
    seen: dict[str, tuple[int, ...]] = {}
    for protocol in protocols():
        path = SPEC / protocol / "conform.yaml"
        try:
            if path.exists():
                seen[protocol] = (*_seen(load_text(path)), sections_of(protocol))
        except DomainError as error:
            raise CatalogueError(str(error)) from None
    if not seen:
        raise CatalogueError("no protocol has a conform.yaml, so no run could catch the machinery's mutants")
    return max(seen, key=lambda protocol: seen[protocol])


def require_domains(named: list[str]) -> None:
    """Raise CatalogueError if a named protocol has no domain, because conformance cannot test it."""
    for protocol in named:
        if not (SPEC / protocol / "conform.yaml").exists():
            raise CatalogueError(
                f"{protocol} has no spec/{protocol}/conform.yaml, so conformance could catch no mutant of it: "
                "docs/reference/conform.md says how to write it"
            )


def has_mutants(protocol: str) -> bool:
    """Whether the protocol has mutants of its own."""
    return (SPEC / protocol / "mutants.yaml").exists()


def catalogue(chosen: list[str]) -> list[Mutant]:
    """The mutants of these protocols, and the machinery's."""
    generic = witness()
    found = [mutant.model_copy(update={"protocol": generic}) for mutant in load(GENERIC)]
    for protocol in chosen:
        path = SPEC / protocol / "mutants.yaml"
        if has_mutants(protocol):
            found += [mutant.model_copy(update={"protocol": protocol}) for mutant in load(path)]
    names = [mutant.name for mutant in found]
    if len(set(names)) != len(names):
        raise CatalogueError(f"mutants of the same name: {sorted({name for name in names if names.count(name) > 1})}")
    return found
