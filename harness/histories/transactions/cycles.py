"""Finds the weakest anomaly in the order of transactions, and a shortest cycle that shows it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from harness.histories import NEVER
from harness.histories.transactions.anomalies import Anomaly, Finding
from harness.histories.transactions.graph import RW, WR, WW, Dependencies, Times, cyclic, dependencies, joined, matrix
from harness.histories.transactions.places import UNKNOWN_POSITION, Accesses, described, key_of, place, position_of
from harness.histories.transactions.unknown import Known, insertions_after

VISITS_MAX = 500_000_000
"""After visiting this many nodes, the search for one kind of cycle returns the shortest that it has."""
STEPS_SHOWN = 12
KIND_NAMES = {WW: "ww", WR: "wr", RW: "rw"}
STAGES = (
    (Anomaly.WRITE_CYCLE, (WW,), WW),
    (Anomaly.CIRCULAR_INFORMATION_FLOW, (WW, WR), WR),
    (Anomaly.READ_SKEW, (WW, WR), RW),
    (Anomaly.WRITE_SKEW, (WW, WR, RW), RW),
)
"""The anomaly, the kinds of dependencies on its path, and the kind of the one that closes the cycle.

A stage may assume that no earlier stage has found a cycle.
"""

Closing = Callable[[int, np.ndarray], np.ndarray]
"""From a node and some others, selects those that come before the node by the dependency that closes the cycle."""


class Search:
    """Searches for cycles of a history's transactions. `finding` is the weakest anomaly, or None."""

    def __init__(self, known: Known, states: Accesses, readings: Accesses):
        """Search at once. `states` and `readings` are of the transactions that count, and of unknown writers."""
        self._known = known
        self._history = known.history
        self._states, self._readings = states, readings
        transactions = len(known.history.names)
        self._size = max(transactions, int(states.transaction.max(initial=-1)) + 1)
        unknown = np.full(self._size - transactions, NEVER)
        self._times = Times(
            np.concatenate([known.history.call, unknown]), np.concatenate([known.history.returned, unknown])
        )
        self.finding = self._search()

    def _search(self) -> Finding | None:
        edges = joined([dependencies(self._states, self._readings), self._before_insertions()])
        sources, targets, points = self._times.edges(self._size)
        size = self._size + points
        component = cyclic(np.concatenate([edges.source, sources]), np.concatenate([edges.target, targets]), size)[
            : self._size
        ]
        if np.all(component < 0):
            return None
        edges = _inside(edges, component)
        by_data = cyclic(edges.source, edges.target, self._size)
        data_edges = _inside(edges, by_data)
        for anomaly, kinds, closing in STAGES:
            if anomaly == Anomaly.READ_SKEW:
                steps = self._lost_update(by_data)
                if steps:
                    return self._told(Anomaly.LOST_UPDATE, steps)
            cycle = self._by_dependency(data_edges, kinds, closing)
            if cycle:
                return self._told(anomaly, cycle)
        cycle = self._by_time(edges, component)
        if not cycle:
            raise AssertionError("a component of the graph has no cycle")
        return self._told(Anomaly.REAL_TIME, cycle)

    def _before_insertions(self) -> Dependencies:
        reading, inserter = insertions_after(self._known, self._states, self._readings)
        places = self._readings.place[reading]
        kinds = np.full(len(reading), RW, dtype=np.int8)
        return Dependencies(
            self._readings.transaction[reading], inserter, kinds, places, place(key_of(places), UNKNOWN_POSITION)
        )

    def _by_dependency(self, edges: Dependencies, kinds: tuple[int, ...], closing: int) -> list[str]:
        used = edges.where(np.isin(edges.kind, [*kinds, closing]))
        component = cyclic(used.source, used.target, self._size)
        used = _inside(used, component)
        ends = used.where(used.kind == closing)
        before = defaultdict(list)
        for source, target in zip(ends.source.tolist(), ends.target.tolist(), strict=True):
            before[target].append(source)
        inner = used.where(np.isin(used.kind, kinds))
        certain = closing in kinds
        path = self._pair(inner, ends)
        if not path:
            path = _shortest(
                inner, component, sorted(before), lambda start, nodes: np.isin(nodes, before[start]), certain
            )
        if not path:
            return []
        closed = ends.where((ends.source == path[-1]) & (ends.target == path[0])).where(np.array([0]))
        return [self._step(closed), *self._along(path, inner)]

    def _pair(self, edges: Dependencies, ends: Dependencies) -> list[int]:
        """Two nodes with an edge in one direction and an end in the other, or none. No cycle is shorter."""
        both = np.intersect1d(edges.source * self._size + edges.target, ends.target * self._size + ends.source)
        return [int(both[0] // self._size), int(both[0] % self._size)] if len(both) else []

    def _by_time(self, edges: Dependencies, component: np.ndarray) -> list[str]:
        """The lines of a cycle with a single step of real time, or none.

        One step is enough. Suppose that a cycle has two: A ended before B started, and C before D. Then A ended before
        D started, or C before B. Either of these steps closes a shorter cycle by itself.
        """
        call, returned = self._times.call, self._times.returned
        starts = np.flatnonzero((component >= 0) & (call != NEVER)).tolist()
        pairs = edges.where(returned[edges.target] < call[edges.source])
        path = [int(pairs.source[0]), int(pairs.target[0])] if len(pairs) else []
        path = path or _shortest(
            edges, component, starts, lambda start, nodes: returned[nodes] < call[start], certain=True
        )
        if not path:
            return []
        line = (
            f"{self._history.name(path[-1])} -rt-> {self._history.name(path[0])}: the one had ended at "
            f"{returned[path[-1]]}, "
            f"the other started at {call[path[0]]}"
        )
        return [line, *self._along(path, edges)]

    def _lost_update(self, component: np.ndarray) -> list[str]:
        """The lines for a transaction that read a key and wrote it, with another's version in between; or none.

        If there are several, the one with the fewest versions in between is chosen.
        """
        states, readings = self._states, self._readings
        writers = np.flatnonzero(component[states.transaction] >= 0)
        own = defaultdict(list)
        for index, pair in zip(writers.tolist(), self._pairs(states, writers).tolist(), strict=True):
            own[pair].append(index)
        readers = np.flatnonzero(component[readings.transaction] >= 0)
        pairs = self._pairs(readings, readers)
        both = np.isin(pairs, list(own))
        following = np.searchsorted(states.place, readings.place[readers], side="right")
        best: tuple[int, int, int, int] | None = None
        for reading, pair, after in zip(
            *(column[both].tolist() for column in (readers, pairs, following)), strict=True
        ):
            for index in own[pair]:
                others = states.transaction[after] != readings.transaction[reading] if index >= after else False
                if others and (best is None or index - after < best[0]):
                    best = index - after, reading, after, index
        if best is None:
            return []
        _, reading, after, index = best
        first = Dependencies(
            *(
                np.array([value])
                for value in (
                    readings.transaction[reading],
                    states.transaction[after],
                    RW,
                    readings.place[reading],
                    states.place[after],
                )
            )
        )
        chain = dependencies(_slice(states, after, index + 1), _slice(states, 0, 0))
        return [self._step(first), *(self._step(chain.where(np.array([step]))) for step in range(len(chain)))]

    def _pairs(self, accesses: Accesses, chosen: np.ndarray) -> np.ndarray:
        """int64: one number for the transaction and key of each chosen access."""
        pairs: np.ndarray = accesses.transaction[chosen] * len(self._history.keys) + key_of(accesses.place[chosen])
        return pairs

    def _along(self, path: list[int], edges: Dependencies) -> Iterator[str]:
        for source, target in itertools.pairwise(path):
            found = edges.where((edges.source == source) & (edges.target == target))
            yield self._step(found.where(np.array([np.argmin(found.kind)])))

    def _step(self, edge: Dependencies) -> str:
        """The line for a dependency; `edge` must have one element."""
        kind = int(edge.kind[0])
        source, target = (described(position_of(int(at[0]))) for at in (edge.source_place, edge.target_place))
        verbs = {WW: ("wrote", "wrote"), WR: ("wrote", "read"), RW: ("read", "wrote")}[kind]
        key = self._history.keys[key_of(int(edge.source_place[0]))]
        return (
            f"{self._history.name(int(edge.source[0]))} -{KIND_NAMES[kind]}-> "
            f"{self._history.name(int(edge.target[0]))}: "
            f"key {key}: the one {verbs[0]} {source}, the other {verbs[1]} {target}"
        )

    def _told(self, anomaly: Anomaly, steps: list[str]) -> Finding:
        left_out = len(steps) - STEPS_SHOWN
        return Finding(
            anomaly, tuple(steps[:STEPS_SHOWN]) + ((f"and {left_out:,} more steps",) if left_out > 0 else ())
        )


def _slice(accesses: Accesses, first: int, last: int) -> Accesses:
    return Accesses(*(getattr(accesses, name)[first:last] for name in accesses.__dataclass_fields__))


def _inside(edges: Dependencies, component: np.ndarray) -> Dependencies:
    """The edges that stay inside one component with cycles."""
    return edges.where((component[edges.source] >= 0) & (component[edges.source] == component[edges.target]))


def _shortest(
    edges: Dependencies, component: np.ndarray, starts: list[int], closing: Closing, certain: bool
) -> list[int]:
    """The nodes of a shortest path along edges, from one of the starts to a node that closes the cycle; or none.

    The search tries every start of each component, from the smallest component on, and stops at the first component
    that has a path. After VISITS_MAX it returns the best path so far. If it has none by then, it goes on only if a path
    is certain to exist.
    """
    starts_array = np.array(starts, dtype=np.int64)
    labels, sizes = np.unique(component[component >= 0], return_counts=True)
    visits = 0
    for label in labels[np.argsort(sizes, kind="stable")]:
        nodes = np.flatnonzero(component == label)
        own = edges.where(component[edges.source] == label)
        graph = matrix(np.searchsorted(nodes, own.source), np.searchsorted(nodes, own.target), len(nodes))
        best: list[int] = []
        for start in starts_array[component[starts_array] == label].tolist():
            visits += len(nodes)
            path = _path(graph, nodes, start, closing)
            if path and (not best or len(path) < len(best)):
                best = path
            if len(best) == 2 or (visits > VISITS_MAX and (best or not certain)):
                break
        if best or (visits > VISITS_MAX and not certain):
            return best
    return []


def _path(graph: csr_array, nodes: np.ndarray, start: int, closing: Closing) -> list[int]:
    """The shortest path from one start, or none."""
    order, before = breadth_first_order(
        graph, int(np.searchsorted(nodes, start)), directed=True, return_predecessors=True
    )
    hits = np.flatnonzero(closing(start, nodes[order]))
    if not len(hits):
        return []
    path = [int(order[hits[0]])]
    while nodes[path[-1]] != start:
        path.append(int(before[path[-1]]))
    return [int(nodes[index]) for index in reversed(path)]
