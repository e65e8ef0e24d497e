"""Defines families of cases, and the cases that TLC makes of them.

docs/reference/conform.md says how one is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.conform.places import Place

Assignment = tuple[tuple[Place, Any], ...]


@dataclass(frozen=True)
class Trouble:
    """A section that loses its races: see Undisturbed in Oracle.tla. section 0: none does.

    operation: the operation for which it does, from 1, if it runs for each.
    """

    section: int = 0
    always: bool = False
    rival: tuple[tuple[str, Any], ...] | None = None
    operation: int = 1


@dataclass(frozen=True)
class Family:
    """A product of dimensions, each a list of assignments to the same places; or a list of samples.

    free: places whose values were generated, so that a sample may use others.
    """

    name: str
    hook: str
    sweep_pass: int
    first: int
    count: int
    dimensions: tuple[tuple[Assignment, ...], ...]
    free: frozenset[Place]
    trouble: Trouble = Trouble()
    sampled: bool = False

    @property
    def arrives(self) -> bool:
        """Whether its message arrives in a packet, on which the hashed fields are set."""
        return self.hook in ("xdp", "tc", "user")

    def size(self) -> int:
        """The number of cases in the family."""
        total = 1
        for dimension in self.dimensions:
            total *= len(dimension)
        return total


@dataclass(frozen=True)
class Case:
    """One input of a hook, and the model's result.

    cells: the cells that the family names, by table and index; all others hold the build's noise.
    verdict: Reply, Forward, Drop, Malformed, Contended or Lost; in a sweep, how many indexes ended with Continue.
    ended: the section that ended the hook, from 1; in a sweep, how many indexes were visited.
    writes: cells that were written, in order: table, index, cell, section (with the operation: see gathered.Time).
    """

    family: Family
    message: dict[str, Any]
    cells: dict[tuple[str, int], dict[str, Any]]
    env: dict[str, Any]
    verdict: str | int
    ended: int
    answer: dict[str, Any]
    writes: tuple[tuple[str, int, dict[str, Any], int], ...]
