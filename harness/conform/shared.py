"""What campaigns of one protocol have in common, so that it need not be made for each of them again.

A mutant changes what is compiled, and little or nothing of what that is compared with: the domain goes by the
layout, and the model's cases by the model's steps. So all that is kept here goes by what it was made from, and
is used for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from codegen import front, ir
from codegen.emit import generate
from harness.conform.build import Sources
from harness.conform.domain import Domain, DomainText, load_text
from harness.conform.oracle import Case, Oracle, Part
from harness.conform.outline import outline
from harness.conform.values import Patterns


@dataclass(frozen=True)
class Ground:
    """What a build is compared on, but for the cases. oracles: by whether a section loses its races; the rest:
    see Stage.
    """

    patterns: Patterns
    noise: dict[str, list[dict[str, Any]]]
    oracles: dict[bool, Oracle]
    complete: bool


Made = TypeVar("Made")


class _Last(Generic[Made]):
    """What was made last, for as long as what it is made from stays the same."""

    def __init__(self) -> None:
        self._made: tuple[object, Made] | None = None

    def of(self, key: object, make: Callable[[], Made]) -> Made:
        if self._made is None or self._made[0] != key:
            self._made = key, make()
        return self._made[1]


class Shared:
    """Of each kind, what was made last. spec: the folder of the protocol, which is taken to stay as it is."""

    def __init__(self, spec: Path) -> None:
        self.spec = spec
        self.text: DomainText = load_text(spec / "conform.yaml")
        self.shipped: ir.Protocol = front.load(spec)
        self._generated: _Last[tuple[ir.Protocol, dict[str, str]]] = _Last()
        self._ground: _Last[Ground] = _Last()
        self._cases: dict[bool, _Last[list[Case]]] = {losing: _Last() for losing in (False, True)}

    def generated(self, folder: Path, over: dict[str, Any]) -> tuple[ir.Protocol, dict[str, str]]:
        """The protocol of a folder, with something laid over its layout, and the files that are generated from it."""

        def make() -> tuple[ir.Protocol, dict[str, str]]:
            protocol = front.load(folder, over or None)
            return protocol, generate(protocol)

        return self._generated.of((folder, repr(over)), make)

    def ground(self, protocol: ir.Protocol, sources: Sources, generated: Path, build: str) -> Ground:
        """What a build of the protocol is compared on. build: as Domain has it."""
        patterns = Patterns(protocol)
        search_path = sources.search_path(generated)
        # Beside its outline, the steps decide no more than what numbers stand for and which indexes are checked first.
        key = outline(protocol), patterns.computed, Oracle.early(protocol), Oracle.modules(protocol, search_path), build

        def make() -> Ground:
            domain = Domain(self.text, protocol, patterns, str(self.spec / "conform.yaml"), build)
            noise, oracles = domain.noise(), {}
            for losing in (False, True):
                families = [family for family in domain.families if bool(family.trouble.section) == losing]
                if families:
                    oracles[losing] = Oracle(protocol, families, noise, search_path)
            return Ground(patterns, noise, oracles, domain.complete)

        return self._ground.of(key, make)

    def cases(self, ground: Ground, part: Part, workdir: Path) -> list[Case]:
        """The cases of all oracles. Forms differ only where sections lose their races: what is calm is the same
        in all of them.
        """
        found: list[Case] = []
        for losing, oracle in ground.oracles.items():
            make = partial(_listed, oracle, workdir, part)
            found += self._cases[losing].of((oracle.digest, part), make)
        return found


def _listed(oracle: Oracle, workdir: Path, part: Part) -> list[Case]:
    return list(oracle.cases(workdir, part))
