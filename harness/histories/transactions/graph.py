"""Builds the graph of which transactions come before which, and finds its cycles.

It is Adya's direct serialization graph, with real time added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from harness.histories import NEVER
from harness.histories.transactions.places import Accesses, key_of

WW, WR, RW = range(3)
"""Kinds of dependencies, the weakest first: a write after a write, a read of a write, a write after a read."""


@dataclass(frozen=True)
class Dependencies:
    """Pairs of transactions of which the source must come before the target: arrays of one length."""

    source: np.ndarray
    """int64: a transaction."""
    target: np.ndarray
    """int64: a transaction."""
    kind: np.ndarray
    """int8: WW, WR or RW."""
    source_place: np.ndarray
    """int64: the place that the source wrote or read."""
    target_place: np.ndarray
    """int64: the place that the target wrote or read."""

    def where(self, chosen: np.ndarray) -> Dependencies:
        """The dependencies that a mask, or indices, choose."""
        return Dependencies(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.source)


def dependencies(states: Accesses, readings: Accesses) -> Dependencies:
    """The dependencies between neighbours in the order of each key. The others follow from these, and are left out."""
    after = np.searchsorted(states.place, readings.place, side="right")
    parts = [_between(WW, states, np.arange(len(states) - 1), states, np.arange(1, len(states)))]
    read, written = np.flatnonzero(after > 0), after[after > 0] - 1
    parts.append(_between(WR, states, written, readings, read))
    read, written = np.flatnonzero(after < len(states)), after[after < len(states)]
    parts.append(_between(RW, readings, read, states, written))
    return joined(parts)


def joined(parts: list[Dependencies]) -> Dependencies:
    """All parts as one."""
    return Dependencies(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in Dependencies.__dataclass_fields__)
    )


def _between(kind: int, sources: Accesses, source: np.ndarray, targets: Accesses, target: np.ndarray) -> Dependencies:
    """The dependencies among these pairs of accesses: those with one key and two different transactions."""
    source_place, target_place = sources.place[source], targets.place[target]
    source, target = sources.transaction[source], targets.transaction[target]
    chosen = (key_of(source_place) == key_of(target_place)) & (source != target)
    kinds = np.full(len(source), kind, dtype=np.int8)
    return Dependencies(source, target, kinds, source_place, target_place).where(chosen)


@dataclass(frozen=True)
class Times:
    """The times of every transaction, including unknown writers."""

    call: np.ndarray
    """int64: nanoseconds. NEVER if it is unknown or does not matter; then no edge of real time leads to it."""
    returned: np.ndarray
    """int64: nanoseconds; NEVER if it is unknown."""

    def edges(self, first: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Real time as a chain of points: the source and target of each edge, and the number of points.

        Each return has a point, numbered from `first` on. Edges lead from a transaction to its point, from each point
        to the next, and from the last point before a call to that transaction.
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
    """A matrix of edges, for scipy's graph functions."""
    return csr_array((np.ones(len(sources), dtype=np.int8), (sources, targets)), shape=(size, size))


def cyclic(sources: np.ndarray, targets: np.ndarray, size: int) -> np.ndarray:
    """int64: the strongly connected component of each node, or -1 if the node is alone in it."""
    count, label = connected_components(matrix(sources, targets, size), directed=True, connection="strong")
    members = np.bincount(label, minlength=count)
    return np.where(members[label] > 1, label, -1).astype(np.int64)
