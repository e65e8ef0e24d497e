"""Where reads and writes are in the order of a key's versions.

The versions of a key only go up, and a deletion tells the version that it deleted. So the states of a key have an order
that is
known: `2 * VERSION` is the value of that version, `2 * VERSION + 1` that this version was deleted, 1 that nothing was
ever there. A reading of Missing with a floor F is of the state `2 * F + 1` or the last one before: all that this key
was up to then had versions up to F, and all that it will be has greater ones. A place is a key and such a position, as
one number, so that sorted places are keys after one another, each in the order of its versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np

from harness.transactions.history import VERSION_LIMIT, Columns, Kind

POSITIONS = 4 * VERSION_LIMIT
"""Positions that a key may have, and some that it never has."""
UNKNOWN_POSITION = POSITIONS - 1
"""Of what has a version that nobody was told; no access has it."""


@overload
def place(key: int, position: int) -> int: ...
@overload
def place(key: np.ndarray, position: np.ndarray | int) -> np.ndarray: ...
def place(key: np.ndarray | int, position: np.ndarray | int) -> np.ndarray | int:
    """Of numbers or arrays: keys from 0 to 2**29, positions below POSITIONS."""
    return key * POSITIONS + position


@overload
def key_of(places: int) -> int: ...
@overload
def key_of(places: np.ndarray) -> np.ndarray: ...
def key_of(places: np.ndarray | int) -> np.ndarray | int:
    """Of a place, or of each."""
    return places // POSITIONS


@overload
def position_of(places: int) -> int: ...
@overload
def position_of(places: np.ndarray) -> np.ndarray: ...
def position_of(places: np.ndarray | int) -> np.ndarray | int:
    """Of a place, or of each."""
    return places % POSITIONS


def described(position: int) -> str:
    """A position in words: `version 4`, `no value after version 4`."""
    if position == UNKNOWN_POSITION:
        return "a version that is not known"
    version, gone = divmod(position, 2)
    return f"version {version}" if not gone else f"no value after version {version}" if version else "no value"


@dataclass(frozen=True)
class Accesses:
    """What transactions did at places: arrays of one length, sorted by place."""

    place: np.ndarray
    """int64."""
    transaction: np.ndarray
    """int64; those from the number of transactions on are writers that are not known."""
    digest: np.ndarray
    """uint64; 0 where there is none."""
    has_digest: np.ndarray
    """bool."""

    def __len__(self) -> int:
        return len(self.place)

    def with_unknown(self, places: np.ndarray, first: int) -> Accesses:
        """With a write at each of these places, by transactions that are numbered from `first` on."""
        numbers = first + np.arange(len(places))
        nothing = np.zeros(len(places), dtype=np.uint64)
        added = (places, numbers, nothing, nothing.astype(bool))
        own = (self.place, self.transaction, self.digest, self.has_digest)
        return _sorted(*(np.concatenate(pair) for pair in zip(own, added, strict=True)))


def _sorted(place: np.ndarray, *others: np.ndarray) -> Accesses:
    order = np.argsort(place, kind="stable")
    return Accesses(place[order], *(other[order] for other in others))


def states_of(rows: Columns, counted: np.ndarray) -> Accesses:
    """The states that transactions which count made of keys, where their versions are known.

    counted: bool, by transaction.
    """
    chosen = rows.where(
        counted[rows.transaction] & (rows.version > 0) & ((rows.kind == Kind.WRITE) | (rows.kind == Kind.DELETE))
    )
    deletes = chosen.kind == Kind.DELETE
    return _sorted(place(chosen.key, 2 * chosen.version + deletes), chosen.transaction, chosen.digest, ~deletes)


def readings_of(rows: Columns, counted: np.ndarray, base: np.ndarray) -> Accesses:
    """What they read; a lock reads the version that it was told. Absent is what a lock without a version says,
    and has a place once the key is written: whoever inserts a version has seen the floor before it.

    counted: bool, by transaction. base: int64, by row: the version that the transaction locked, 0 for absent, -1 for no
    lock.
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
    """int64: of each place, the index of the last state of its key up to it; -1 where there is none."""
    index = np.searchsorted(states.place, places, side="right") - 1
    if not len(states):
        return index
    return np.where((index >= 0) & (key_of(states.place[np.maximum(index, 0)]) == key_of(places)), index, -1)
