"""Which transactions come before which: the direct serialization graph of Adya, real time, and what is a cycle
in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from harness.histories import NEVER
from harness.transactions.places import Accesses, key_of

WW, WR, RW = range(3)
"""Kinds of dependencies, the weakest first: wrote after, read what was written, wrote after what was read."""


@dataclass(frozen=True)
class Dependencies:
    """What has to come before what: arrays of one length."""

    source: np.ndarray
    """int64: a transaction."""
    target: np.ndarray
    """int64."""
    kind: np.ndarray
    """int8: WW, WR or RW."""
    source_place: np.ndarray
    """int64: what the source wrote or read."""
    target_place: np.ndarray
    """int64."""

    def where(self, chosen: np.ndarray) -> Dependencies:
        """These alone: a mask, or indices."""
        return Dependencies(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.source)


def dependencies(states: Accesses, readings: Accesses) -> Dependencies:
    """Between neighbours in the order of each key: what follows from several of these is not among them."""
    after = np.searchsorted(states.place, readings.place, side="right")
    parts = [_between(WW, states, np.arange(len(states) - 1), states, np.arange(1, len(states)))]
    read, written = np.flatnonzero(after > 0), after[after > 0] - 1
    parts.append(_between(WR, states, written, readings, read))
    read, written = np.flatnonzero(after < len(states)), after[after < len(states)]
    parts.append(_between(RW, readings, read, states, written))
    return joined(parts)


def joined(parts: list[Dependencies]) -> Dependencies:
    """All of these."""
    return Dependencies(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in Dependencies.__dataclass_fields__)
    )


def _between(kind: int, sources: Accesses, source: np.ndarray, targets: Accesses, target: np.ndarray) -> Dependencies:
    """Those of one key, and of two transactions."""
    source_place, target_place = sources.place[source], targets.place[target]
    source, target = sources.transaction[source], targets.transaction[target]
    chosen = (key_of(source_place) == key_of(target_place)) & (source != target)
    kinds = np.full(len(source), kind, dtype=np.int8)
    return Dependencies(source, target, kinds, source_place, target_place).where(chosen)


@dataclass(frozen=True)
class Times:
    """Of each transaction, also of those that are not known."""

    call: np.ndarray
    """int64: nanoseconds; NEVER where it is not known, or does not matter: whatever ended, it did not begin after that.
    """
    returned: np.ndarray
    """int64: nanoseconds; NEVER where it is not known."""

    def edges(self, first: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Real time as a chain of points, numbered from `first` on: source and target of each edge, and how many points
        there are.

        A point is when a transaction ended. Its way goes from the transaction to the point, from point to point, and
        from the last point before it to each that began then.
        """
        points, at = np.unique(self.returned, return_inverse=True)
        ended = np.flatnonzero(self.returned != NEVER)
        before = np.searchsorted(points, self.call, side="left") - 1
        begun = np.flatnonzero((before >= 0) & (self.call != NEVER))
        chain = first + np.arange(len(points))
        sources = np.concatenate([ended, chain[:-1], first + before[begun]])
        targets = np.concatenate([first + at[ended], chain[1:], begun])
        return sources, targets, len(points)


def matrix(sources: np.ndarray, targets: np.ndarray, size: int) -> csr_array:
    """Of edges, for scipy's functions of graphs."""
    return csr_array((np.ones(len(sources), dtype=np.int8), (sources, targets)), shape=(size, size))


def cyclic(sources: np.ndarray, targets: np.ndarray, size: int) -> np.ndarray:
    """int64, of each node: its strongly connected component, or -1 where that is the node alone."""
    count, label = connected_components(matrix(sources, targets, size), directed=True, connection="strong")
    members = np.bincount(label, minlength=count)
    return np.where(members[label] > 1, label, -1).astype(np.int64)
