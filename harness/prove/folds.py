"""Searches and counts over many places, each as one term: so the loops of whole tables need no unrolling.

A search has the least place for which a condition holds; a count has the number of such places. TLA+ has them as
FirstIndex and CountIndex, bytecode as loops: see loops.py. Two with equal conditions are one and the same, so a proof
needs to know nothing else of them. Whatever holds for all their values holds for the true ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import z3

from harness.prove import terms
from harness.prove.terms import Bits, Truth

NUMBER_BITS = 24
ROUNDS_MAX = 1 << NUMBER_BITS - 1
NUMBER = terms.variable("fold.place", NUMBER_BITS)
PLACE = terms.widen(NUMBER, 64)
"""The place at which a condition is looked at, from 0."""

Same = Callable[[Truth, int], bool]
"""Whether a condition never holds at a place below a number."""


def at(term: z3.ExprRef, number: Bits) -> z3.ExprRef:
    """A term at another place."""
    return z3.substitute(term, (NUMBER, number))


def within(rounds: int) -> Truth:
    """The condition that a place is within a fold of so many rounds."""
    return terms.below(NUMBER, terms.bits(rounds, NUMBER_BITS))


@dataclass(frozen=True)
class Fold:
    """A search or a count: a number that depends on a condition and the number of places, and on nothing else.

    found: of a search, whether there is such a place. number: then it is the place; of a count, the count.
    """

    condition: Truth
    rounds: int
    number: Bits
    found: Truth
    fact: Truth

    @property
    def wide(self) -> Bits:
        """The number in 64 bits."""
        return terms.widen(self.number, 64)


@dataclass
class Folds:
    """All folds of a step."""

    searches: list[Fold] = field(default_factory=list)
    counts: list[Fold] = field(default_factory=list)

    @property
    def facts(self) -> list[Truth]:
        """True for every input: so they assume nothing."""
        return [each.fact for each in (*self.searches, *self.counts)]

    def search(self, condition: Truth, rounds: int, never: Same) -> Fold:
        """The search for a condition; never: see Same."""
        return _known(self.searches, condition, rounds, never) or self._search(condition, rounds)

    def count(self, condition: Truth, rounds: int, never: Same) -> Fold:
        """The count of a condition."""
        return _known(self.counts, condition, rounds, never) or self._count(condition, rounds)

    def _search(self, condition: Truth, rounds: int) -> Fold:
        name = f"fold.search.{len(self.searches)}"
        number, found = terms.variable(name, NUMBER_BITS), z3.Bool(f"{name}.found")
        holds = terms.implied(found, cast(Truth, at(condition, number)))
        fact = terms.all_of([terms.below(number, terms.bits(rounds, NUMBER_BITS)), holds])
        self.searches.append(Fold(condition, rounds, number, found, fact))
        return self.searches[-1]

    def _count(self, condition: Truth, rounds: int) -> Fold:
        number = terms.variable(f"fold.count.{len(self.counts)}", NUMBER_BITS)
        fact = terms.below(number, terms.bits(rounds + 1, NUMBER_BITS))
        self.counts.append(Fold(condition, rounds, number, terms.TRUE, fact))
        return self.counts[-1]


def _known(folds: list[Fold], condition: Truth, rounds: int, never: Same) -> Fold | None:
    for each in folds:
        if each.rounds == rounds:
            differs = terms.negated(terms.same_truth(each.condition, condition))
            if z3.is_false(differs) or never(differs, rounds):
                return each
    return None
