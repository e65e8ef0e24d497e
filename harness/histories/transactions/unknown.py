"""Concludes which transactions of unknown outcome took place, and which versions their writes got.

A value that was seen was written. If only one unanswered write can have written it, that one did. Its transaction then
counts, with all that it read and wrote. If several can have written it, nothing is concluded about any of them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from harness.histories.transactions.history import Columns, History, Kind, Outcome
from harness.histories.transactions.places import (
    Accesses,
    key_of,
    place,
    position_of,
    readings_of,
    state_before,
    states_of,
)

NO_LOCK = -1


class Candidates:
    """Writes without a version, indexed by what they can have written."""

    def __init__(self, rows: Columns, base: np.ndarray, chosen: np.ndarray):
        """Index the chosen rows, which must be writes or deletions."""
        self._by_digest: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._by_base: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._deletions: dict[int, list[int]] = defaultdict(list)
        self._base = {}
        self.keys = set()
        columns = (chosen, rows.key[chosen], rows.kind[chosen], rows.digest[chosen], base[chosen])
        for row, key, kind, digest, locked in zip(*(column.tolist() for column in columns), strict=True):
            self._base[row] = locked
            self.keys.add(key)
            if kind == Kind.DELETE:
                self._deletions[key].append(row)
            else:
                self._by_digest[key, digest].append(row)
                self._by_base[key, max(locked, 0)].append(row)

    def writers(self, key: int, version: int, digest: int | None) -> list[int]:
        """The rows that can have written this version.

        A row whose transaction locked a version can only have written the next one. Others can have written any.
        """
        if digest is None:
            return self._by_base.get((key, 0), []) + (self._by_base.get((key, version - 1), []) if version > 1 else [])
        return [
            row
            for row in self._by_digest.get((key, digest), [])
            if self._base[row] <= 0 or self._base[row] == version - 1
        ]

    def deleters(self, key: int, first: int, last: int) -> list[int]:
        """The rows that can have deleted a version from `first` to `last`."""
        return [
            row
            for row in self._deletions.get(key, [])
            if self._base[row] == NO_LOCK or first <= self._base[row] <= last
        ]

    def has_deletions(self, key: int) -> bool:
        return key in self._deletions

    def has_writes(self, key: int, digest: int) -> bool:
        """Whether there is a write of this value, with any version."""
        return bool(self._by_digest.get((key, digest)))


@dataclass(frozen=True)
class Known:
    """A history with everything that can be concluded from it."""

    history: History
    rows: Columns
    """The history's rows without those that did nothing, and with the concluded versions."""
    base: np.ndarray
    """int64, by row: the version of the key that the transaction locked, 0 for absent, NO_LOCK without a lock."""
    counted: np.ndarray
    """bool, by transaction: whether it was certainly committed."""
    left: Candidates
    """Writes that may have been executed, with an unknown version."""


def conclude(history: History) -> Known:
    """Conclude from a history's reads what became of its unanswered writes."""
    base = _bases(history.rows)
    # A deletion does nothing if the transaction locked the key as absent.
    kept = (history.rows.kind != Kind.DELETE) | (base != 0) | (history.rows.version > 0)
    rows, base = history.rows.where(kept), base[kept]
    rows = replace(rows, version=rows.version.copy())
    writes = (rows.kind == Kind.WRITE) | (rows.kind == Kind.DELETE)
    possible = history.outcome[rows.transaction] != Outcome.ABORTED
    counted = history.outcome == Outcome.COMMITTED
    counted[rows.transaction[writes & possible & rows.known]] = True
    while True:
        # A locked key keeps its version until the transaction is over.
        follows = writes & counted[rows.transaction] & (rows.version == 0) & (base > 0)
        rows.version[follows] = base[follows] + (rows.kind[follows] == Kind.WRITE)
        left = Candidates(rows, base, np.flatnonzero(writes & possible & (rows.version == 0)))
        found = _found(rows, base, counted, left) if left.keys else {}
        if not found:
            return Known(history, rows, base, counted, left)
        for row, version in found.items():
            rows.version[row] = version
            counted[rows.transaction[row]] = True


def insertions_after(known: Known, states: Accesses, readings: Accesses) -> tuple[np.ndarray, np.ndarray]:
    """Readings (indices) of absent keys, and the transactions (numbers) that inserted these keys later.

    No client learned the versions of these insertions. A key that was ever deleted is left out, because it may have
    come and gone before it was read.
    """
    rows = known.rows
    inserts = (rows.kind == Kind.WRITE) & (rows.version == 0) & (known.base == 0) & known.counted[rows.transaction]
    deleted = np.unique(key_of(states.place[states.place % 2 == 1]))
    chosen = np.flatnonzero(inserts & ~np.isin(rows.key, deleted))
    pairs = [np.zeros((2, 0), dtype=np.int64)]
    for key, transaction in zip(rows.key[chosen].tolist(), rows.transaction[chosen].tolist(), strict=True):
        if not known.left.has_deletions(key):
            first, last = np.searchsorted(readings.place, [place(key, 0), place(key + 1, 0)])
            own = np.arange(first, last)
            missing = own[(readings.place[own] % 2 == 1) & (readings.transaction[own] != transaction)]
            pairs.append(np.array([missing, np.full(len(missing), transaction)]))
    found = np.concatenate(pairs, axis=1)
    return found[0], found[1]


def _bases(rows: Columns) -> np.ndarray:
    """int64, by row: the version that the transaction's first lock of the key reported, or NO_LOCK without a lock."""
    width = int(rows.key.max(initial=0)) + 1
    pair = rows.transaction * width + rows.key
    locks = np.flatnonzero(rows.kind == Kind.LOCK)
    pairs, first = np.unique(pair[locks], return_index=True)
    if not len(pairs):
        return np.full(len(rows), NO_LOCK)
    index = np.minimum(np.searchsorted(pairs, pair), len(pairs) - 1)
    return np.where(pairs[index] == pair, rows.version[locks][first][index], NO_LOCK)


def _found(rows: Columns, base: np.ndarray, counted: np.ndarray, left: Candidates) -> dict[int, int]:
    """The versions, by row, of writes that are the only candidates for something that was seen."""
    concerned = np.isin(rows.key, list(left.keys))
    states = states_of(rows.where(concerned), counted)
    readings = readings_of(rows.where(concerned), counted, base[concerned])
    found: dict[int, int] = {}
    for key, version, digest in unwritten(states, readings):
        candidates = left.writers(key, version, digest)
        if len(candidates) == 1 and candidates[0] not in found:
            found[candidates[0]] = version
    for key, version, floor in undeleted(states, readings):
        candidates = left.deleters(key, version, floor)
        if len(candidates) == 1 and candidates[0] not in found:
            locked = int(base[candidates[0]])
            if locked != NO_LOCK or not left.writers(key, version + 1, None):
                found[candidates[0]] = version if locked == NO_LOCK else locked
    return found


def unwritten(states: Accesses, readings: Accesses) -> list[tuple[int, int, int | None]]:
    """Key, version and digest (None if unknown) of values that were read, locked or deleted, but are not states."""
    deleted = states.place[states.place % 2 == 1] - 1
    values = readings.place % 2 == 0
    places = np.concatenate([readings.place[values], deleted])
    digest = np.concatenate([readings.digest[values], np.zeros(len(deleted), dtype=np.uint64)])
    has_digest = np.concatenate([readings.has_digest[values], np.zeros(len(deleted), dtype=bool)])
    absent = ~np.isin(places, states.place)
    found = set(zip(places[absent].tolist(), digest[absent].tolist(), has_digest[absent].tolist(), strict=True))
    return [
        (key_of(at), position_of(at) // 2, number if is_digest else None) for at, number, is_digest in sorted(found)
    ]


def undeleted(states: Accesses, readings: Accesses) -> list[tuple[int, int, int]]:
    """Key, version and floor of reads that found a key absent, though the last known state before is a value.

    The version is that of this value, and the floor is that of the read.
    """
    absences = readings.place[readings.place % 2 == 1]
    before = state_before(states, absences)
    present = (before >= 0) & (states.place[before] % 2 == 0) if len(states) else np.zeros(len(before), dtype=bool)
    chosen = np.flatnonzero(present)
    found = set(zip(states.place[before[chosen]].tolist(), absences[chosen].tolist(), strict=True))
    return [(key_of(value), position_of(value) // 2, position_of(absence) // 2) for value, absence in sorted(found)]
