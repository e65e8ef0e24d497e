"""Shares results among the campaigns of one protocol, so that they are made only once.

A mutant changes the compiled program, and little or nothing of what it is compared with. The domain depends on the
layout, and the model's cases depend on the model's steps. So each result is kept with its inputs, and reused only for
the same inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from codegen import ir
from codegen.compile import load
from codegen.emit import generate
from harness.conform.build import Sources
from harness.conform.cases import Case
from harness.conform.domain import Domain, DomainText, load_text
from harness.conform.oracle import Oracle, Part
from harness.conform.outline import moved, outline
from harness.data.model_values import Patterns


@dataclass(frozen=True)
class Ground:
    """The ground for comparing a build, without its cases.

    oracles: by whether a section loses its races. The other fields: see Stage.
    """

    patterns: Patterns
    noise: dict[str, list[dict[str, Any]]]
    oracles: dict[bool, Oracle]
    complete: bool


Made = TypeVar("Made")


class _Last(Generic[Made]):
    """Keeps the last result for as long as its inputs stay the same."""

    def __init__(self) -> None:
        self._made: tuple[object, Made] | None = None

    def of(self, key: object, make: Callable[[], Made]) -> Made:
        if self._made is None or self._made[0] != key:
            self._made = key, make()
        return self._made[1]


class Shared:
    """Keeps the last result of each kind. spec: the protocol's folder, whose files must not change."""

    def __init__(self, spec: Path) -> None:
        self.spec = spec
        self.text: DomainText = load_text(spec / "conform.yaml")
        self.shipped: ir.Protocol = load(spec)
        self._generated: _Last[tuple[ir.Protocol, dict[str, str]]] = _Last()
        self._ground: _Last[Ground] = _Last()
        self._cases: dict[bool, _Last[list[Case]]] = {losing: _Last() for losing in (False, True)}

    def generated(self, folder: Path, over: dict[str, Any]) -> tuple[ir.Protocol, dict[str, str]]:
        """Returns the protocol of a folder, with changes to its layout, and its generated files."""

        def make() -> tuple[ir.Protocol, dict[str, str]]:
            protocol = load(folder, over or None)
            return protocol, generate(protocol)

        return self._generated.of((folder, repr(over)), make)

    def ground(self, protocol: ir.Protocol, sources: Sources, generated: Path, build: str) -> Ground:
        """Returns the ground for comparing a build of the protocol. build: its name, as in Domain."""
        patterns = Patterns(protocol)
        search_path = sources.search_path(generated)
        # Besides the outline, steps decide only what numbers stand for, and which indexes are checked first or moved.
        checked = Oracle.early(protocol), moved(protocol)
        key = outline(protocol), patterns.computed, *checked, Oracle.modules(protocol, search_path), build

        def make() -> Ground:
            domain = Domain(self.text, protocol, patterns, str(self.spec / "conform.yaml"), build)
            noise, oracles = domain.noise(), {}
            for losing in (False, True):
                families = [family for family in domain.families if bool(family.trouble.section) == losing]
                if families:
                    oracles[losing] = Oracle(protocol, families, noise, search_path, patterns)
            return Ground(patterns, noise, oracles, domain.complete)

        return self._ground.of(key, make)

    def cases(self, ground: Ground, part: Part, workdir: Path) -> list[Case]:
        """Returns the cases of all oracles.

        Forms differ only in cases in which sections lose their races, so they share all others.
        """
        found: list[Case] = []
        for losing, oracle in ground.oracles.items():
            make = partial(_listed, oracle, workdir, part)
            found += self._cases[losing].of((oracle.digest, part), make)
        return found


def _listed(oracle: Oracle, workdir: Path, part: Part) -> list[Case]:
    return list(oracle.cases(workdir, part))
