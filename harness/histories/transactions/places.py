"""Places reads and writes in the order of a key's versions.

The versions of a key only go up, and a deletion reports the version that it deleted. So the order of a key's states is
known, and each state has a position in it:

- 1: nothing was ever there;
- `2 * VERSION`: the key has the value of this version;
- `2 * VERSION + 1`: this version was deleted.

A read of Missing with the floor F saw the state at `2 * F + 1`, or the last one before it. All versions of the key up
to this read are at most F, and all later ones are greater.

A place is a key and a position as one number. Sorted places are ordered by key, and then by version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np

from harness.histories.transactions.history import VERSION_LIMIT, Columns, Kind

POSITIONS = 4 * VERSION_LIMIT
"""The number of positions that each key gets. Some of them are never used."""
UNKNOWN_POSITION = POSITIONS - 1
"""The position of a version that no client learned. No access has it."""


@overload
def place(key: int, position: int) -> int: ...
@overload
def place(key: np.ndarray, position: np.ndarray | int) -> np.ndarray: ...
def place(key: np.ndarray | int, position: np.ndarray | int) -> np.ndarray | int:
    """The place of a key (0 to 2**29) and a position (below POSITIONS), as numbers or arrays."""
    return key * POSITIONS + position


@overload
def key_of(places: int) -> int: ...
@overload
def key_of(places: np.ndarray) -> np.ndarray: ...
def key_of(places: np.ndarray | int) -> np.ndarray | int:
    """The key of a place, or of each place in an array."""
    return places // POSITIONS


@overload
def position_of(places: int) -> int: ...
@overload
def position_of(places: np.ndarray) -> np.ndarray: ...
def position_of(places: np.ndarray | int) -> np.ndarray | int:
    """The position of a place, or of each place in an array."""
    return places % POSITIONS


def described(position: int) -> str:
    """A position in words: `version 4`, `no value after version 4`."""
    if position == UNKNOWN_POSITION:
        return "an unknown version"
    version, gone = divmod(position, 2)
    return f"version {version}" if not gone else f"no value after version {version}" if version else "no value"


@dataclass(frozen=True)
class Accesses:
    """Reads or writes of transactions at places: arrays of one length, sorted by place."""

    place: np.ndarray
    """int64."""
    transaction: np.ndarray
    """int64; numbers beyond those of the history are unknown writers."""
    digest: np.ndarray
    """uint64; 0 if there is none."""
    has_digest: np.ndarray
    """bool."""

    def __len__(self) -> int:
        return len(self.place)

    def with_unknown(self, places: np.ndarray, first: int) -> Accesses:
        """These accesses, and a write at each of the places by an unknown writer; writers are numbered from `first`."""
        numbers = first + np.arange(len(places))
        nothing = np.zeros(len(places), dtype=np.uint64)
        added = (places, numbers, nothing, nothing.astype(bool))
        own = (self.place, self.transaction, self.digest, self.has_digest)
        return _sorted(*(np.concatenate(pair) for pair in zip(own, added, strict=True)))


def _sorted(place: np.ndarray, *others: np.ndarray) -> Accesses:
    order = np.argsort(place, kind="stable")
    return Accesses(place[order], *(other[order] for other in others))


def states_of(rows: Columns, counted: np.ndarray) -> Accesses:
    """The states of keys that counted transactions made, if their versions are known.

    counted: bool, by transaction.
    """
    chosen = rows.where(
        counted[rows.transaction] & (rows.version > 0) & ((rows.kind == Kind.WRITE) | (rows.kind == Kind.DELETE))
    )
    deletes = chosen.kind == Kind.DELETE
    return _sorted(place(chosen.key, 2 * chosen.version + deletes), chosen.transaction, chosen.digest, ~deletes)


def readings_of(rows: Columns, counted: np.ndarray, base: np.ndarray) -> Accesses:
    """The reads of counted transactions. A lock reads the version that its answer reports.

    A lock without a version found the key absent. Such a read has a place only if the transaction then wrote the key:
    it inserted version V, so it saw the floor V - 1.

    counted: bool, by transaction.
    base: int64, by row: the version that the transaction locked, 0 for absent, -1 for no lock.
    """
    seen = counted[rows.transaction]
    inserts = seen & (rows.kind == Kind.WRITE) & (base == 0) & (rows.version > 0)
    values = seen & ((rows.kind == Kind.VALUE) | (rows.kind == Kind.LOCK) & (rows.version > 0))
    chosen = np.concatenate([np.flatnonzero(mask) for mask in (values, seen & (rows.kind == Kind.MISSING), inserts)])
    version = rows.version[chosen] - inserts[chosen]
    has_digest = rows.kind[chosen] == Kind.VALUE
    digest = np.where(has_digest, rows.digest[chosen], 0)
    return _sorted(place(rows.key[chosen], 2 * version + ~values[chosen]), rows.transaction[chosen], digest, has_digest)


def state_before(states: Accesses, places: np.ndarray) -> np.ndarray:
    """int64: for each place, the index of the last state of its key up to it, or -1 if there is none."""
    index = np.searchsorted(states.place, places, side="right") - 1
    if not len(states):
        return index
    return np.where((index >= 0) & (key_of(states.place[np.maximum(index, 0)]) == key_of(places)), index, -1)
