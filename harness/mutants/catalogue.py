"""The mutants: harness/mutants/mutants.yaml has those of the machinery, spec/<protocol>/mutants.yaml a protocol's.

    mutants:
      - name: what is wrong
        edits:
          - file: spec/orders/OrderSteps.tla    # from the root of the repository
            old: the exact text, which is there once
            new: what takes its place
        caught_by: {model: small, property: NoOrderIsLost}

`caught_by` is one of

    {model: NAME, property: NAME}   the model checker finds that property violated
    {conform: TEXT}                 conformance reports a mismatch that has this text in it
    {refused: TEXT}                 it does not build or load, for this reason
    {test: NODE}                    this test of tests/ fails

A file under generated/ is changed in conformance's small build, after the generator has run: a fault in the
emitted C. A model is run with its .cfg as the edits leave it. The machinery's mutants are run with the
protocol that has the most sections.
"""

from __future__ import annotations

from pathlib import Path

import pydantic
import yaml

from harness.protocols import REPOSITORY, SPEC

GENERIC = Path(__file__).parent / "mutants.yaml"


class CatalogueError(Exception):
    """A mutants.yaml is not what it should be."""


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Edit(_Strict):
    """One change of a file."""

    file: str
    old: str
    new: str

    @property
    def is_generated(self) -> bool:
        """Whether it changes what the generator wrote, and not what it is written from."""
        return self.file.startswith("generated/")


class CaughtBy(_Strict):
    """The check that must notice."""

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


class Mutant(_Strict):
    """One fault."""

    name: str
    edits: tuple[Edit, ...]
    caught_by: CaughtBy
    protocol: str = ""

    @property
    def place(self) -> str:
        """Where the fault is, for people."""
        return self.edits[0].file


class _File(_Strict):
    mutants: list[Mutant]


def load(path: Path) -> list[Mutant]:
    """The mutants of one file."""
    try:
        return _File.model_validate(yaml.safe_load(path.read_text())).mutants
    except (pydantic.ValidationError, yaml.YAMLError) as error:
        raise CatalogueError(f"{path.relative_to(REPOSITORY)}: {error}") from None


def sections_of(protocol: str) -> int:
    """How many sections a protocol's hooks have, from its layout."""
    layout = yaml.safe_load((SPEC / protocol / "layout.yaml").read_text())
    hooks = sum(len(sections) for sections in layout.get("hooks", {}).values())
    return hooks + sum(len(each["sections"]) for each in layout.get("sweep", {}).get("passes", []))


def catalogue(protocols: list[str]) -> list[Mutant]:
    """The mutants of these protocols, and the machinery's."""
    richest = max(protocols, key=sections_of)
    found = [mutant.model_copy(update={"protocol": richest}) for mutant in load(GENERIC)]
    for protocol in protocols:
        path = SPEC / protocol / "mutants.yaml"
        if path.exists():
            found += [mutant.model_copy(update={"protocol": protocol}) for mutant in load(path)]
    names = [mutant.name for mutant in found]
    if len(set(names)) != len(names):
        raise CatalogueError(f"mutants of the same name: {sorted({name for name in names if names.count(name) > 1})}")
    return found
