"""Finds faults that no order of transactions can explain.

Examples are a version that two transactions wrote, a value that nobody wrote, and a value whose writer was aborted.
"""

from __future__ import annotations

import numpy as np

from harness.histories.transactions.anomalies import Anomaly, Finding
from harness.histories.transactions.history import Kind, Outcome
from harness.histories.transactions.places import (
    described,
    key_of,
    place,
    position_of,
    readings_of,
    state_before,
    states_of,
)
from harness.histories.transactions.unknown import Candidates, Known, undeleted, unwritten


class Plain:
    """Looks for these faults; `finding` is the first one, or None.

    `states` and `readings` are input of the search for cycles. In them, a version that several transactions can have
    written has an unknown writer of its own.
    """

    def __init__(self, known: Known):
        self._known = known
        self._history = known.history
        self.states = states_of(known.rows, known.counted)
        self.readings = readings_of(known.rows, known.counted, known.base)
        self.finding = self._told_and_aborted() or self._twice() or self._deleted_absence()
        if self.finding is None:
            self.finding = self._other_value() or self._unwritten()
        if self.finding is None:
            self.finding = self._undeleted() or self._skipped() or self._written_over()

    def _at(self, at: int) -> str:
        return f"key {self._history.keys[key_of(at)]}, {described(position_of(at))}"

    def _made(self, state: int) -> str:
        return f"{self._history.name(self.states.transaction[state])} made {self._at(self.states.place[state])}"

    def _aborted(self) -> Candidates:
        rows = self._known.rows
        writes = (rows.kind == Kind.WRITE) | (rows.kind == Kind.DELETE)
        chosen = writes & (rows.version == 0) & (self._history.outcome[rows.transaction] == Outcome.ABORTED)
        return Candidates(rows, self._known.base, np.flatnonzero(chosen))

    def _told_and_aborted(self) -> Finding | None:
        rows = self._known.rows
        aborted = self._history.outcome[rows.transaction] == Outcome.ABORTED
        found = np.flatnonzero(aborted & rows.known & ((rows.kind == Kind.WRITE) | (rows.kind == Kind.DELETE)))
        if not len(found):
            return None
        row = found[0]
        name, key = self._history.name(rows.transaction[row]), self._history.keys[rows.key[row]]
        return Finding(
            Anomaly.ABORTED_READ, (f"{name} got the answers that key {key} was committed, and that it was aborted",)
        )

    def _twice(self) -> Finding | None:
        found = np.flatnonzero(self.states.place[1:] == self.states.place[:-1])
        if not len(found):
            return None
        first = int(found[0])
        return Finding(Anomaly.VERSION_TWICE, (self._made(first), self._made(first + 1)))

    def _deleted_absence(self) -> Finding | None:
        rows = self._known.rows
        deleted = (rows.kind == Kind.DELETE) & (self._known.base == 0) & (rows.version > 0)
        found = np.flatnonzero(deleted & self._known.counted[rows.transaction])
        if not len(found):
            return None
        value = self._at(place(rows.key[found[0]], 2 * rows.version[found[0]]))
        name = self._history.name(rows.transaction[found[0]])
        line = f"{name} locked the key as one that does not exist, and deleted {value}"
        return Finding(Anomaly.LOST_UPDATE, (line,))

    def _other_value(self) -> Finding | None:
        if not len(self.states):
            return None
        index = np.minimum(np.searchsorted(self.states.place, self.readings.place), len(self.states) - 1)
        comparable = self.readings.has_digest & (self.states.place[index] == self.readings.place)
        found = np.flatnonzero(comparable & (self.states.digest[index] != self.readings.digest))
        if not len(found):
            return None
        state = index[found[0]]
        return self._unexplained_value(found[0], f"{self._made(state)}, with the digest {self.states.digest[state]}")

    def _unexplained_value(self, reading: int, written: str) -> Finding:
        """The finding for a value that was read with a version, though that version was not written with it."""
        at, digest = int(self.readings.place[reading]), int(self.readings.digest[reading])
        rows, key = self._known.rows, key_of(at)
        others = (
            self._known.counted[rows.transaction]
            & (rows.kind == Kind.WRITE)
            & (rows.key == key)
            & (rows.digest == digest)
        )
        lines = [
            f"{self._history.name(self.readings.transaction[reading])} read {self._at(at)}, with the digest {digest}",
            written,
        ]
        if np.any(others):
            row = np.flatnonzero(others)[0]
            lines.append(
                f"{self._history.name(rows.transaction[row])} wrote that value, as version {rows.version[row]}"
            )
            return Finding(Anomaly.INTERMEDIATE_READ, tuple(lines))
        if self._aborted().has_writes(key, digest):
            return Finding(Anomaly.ABORTED_READ, (*lines, "only an aborted transaction would have written that value"))
        return Finding(Anomaly.THIN_AIR, (*lines, "no transaction wrote that value"))

    def _unwritten(self) -> Finding | None:
        """Find a version that was seen and that nobody can have written.

        If several transactions can have written it, the version gets an unknown writer of its own. Whatever follows
        from this writer would follow for each candidate.
        """
        ambiguous = set()
        for key, version, digest in unwritten(self.states, self.readings):
            at = place(key, 2 * version)
            if self._known.left.writers(key, version, digest):
                ambiguous.add(at)
                continue
            readers = self.readings.place == at
            if digest is not None:
                reading = np.flatnonzero(readers & self.readings.has_digest & (self.readings.digest == digest))[0]
                return self._unexplained_value(reading, "no transaction wrote this version")
            aborted = self._aborted().writers(key, version, None)
            who = (
                self.readings.transaction[readers]
                if np.any(readers)
                else self.states.transaction[self.states.place == at + 1]
            )
            verb = "locked" if np.any(readers) else "deleted"
            line = f"{self._history.name(who[0])} {verb} {self._at(at)}"
            if aborted:
                return Finding(Anomaly.ABORTED_READ, (line, "only an aborted transaction would have written it"))
            return Finding(Anomaly.THIN_AIR, (line, "no transaction wrote it"))
        self.states = self.states.with_unknown(np.array(sorted(ambiguous), dtype=np.int64), len(self._history.names))
        return None

    def _undeleted(self) -> Finding | None:
        for key, version, floor in undeleted(self.states, self.readings):
            if self._known.left.deleters(key, version, floor):
                continue
            reader = self.readings.transaction[self.readings.place == place(key, 2 * floor + 1)]
            rows = self._known.rows
            told = (
                np.isin(rows.transaction, reader)
                & (rows.key == key)
                & (rows.kind == Kind.MISSING)
                & (rows.version == floor)
            )
            value = self._at(place(key, 2 * version))
            if not np.any(told):
                line = f"{self._history.name(reader[0])} locked the key as one that does not exist"
                return Finding(Anomaly.LOST_UPDATE, (f"{line}, and wrote version {floor + 1} over {value}",))
            line = f"{self._history.name(reader[0])} read nothing, with the floor {floor}, but there was {value}"
            if self._aborted().deleters(key, version, floor):
                return Finding(Anomaly.ABORTED_READ, (line, "only an aborted transaction would have deleted it"))
            return Finding(Anomaly.THIN_AIR, (line, "no transaction deleted it"))
        return None

    def _skipped(self) -> Finding | None:
        """Find a value that is neither an update of the one before nor an insertion after a deletion."""
        places = self.states.place
        gap = (places[1:] % 2 == 0) & (places[:-1] % 2 == 0) & (places[1:] > places[:-1] + 2)
        found = np.flatnonzero(gap & (key_of(places[1:]) == key_of(places[:-1])))
        for index in found.tolist():
            if key_of(places[index]) not in self._known.left.keys:
                lines = (
                    self._made(index),
                    self._made(index + 1),
                    "no transaction wrote the versions between, or deleted the value before",
                )
                return Finding(Anomaly.THIN_AIR, lines)
        return None

    def _written_over(self) -> Finding | None:
        """Find a read of a state that its own writer replaced."""
        states = self.states
        order = np.lexsort((states.place, states.transaction, key_of(states.place)))
        first, then = order[:-1], order[1:]
        same = (states.transaction[first] == states.transaction[then]) & (
            key_of(states.place[first]) == key_of(states.place[then])
        )
        intermediate = np.zeros(len(states), dtype=bool)
        intermediate[first[same]] = True
        if not np.any(intermediate):
            return None
        before = state_before(states, self.readings.place)
        others = (before >= 0) & intermediate[before] & (states.transaction[before] != self.readings.transaction)
        found = np.flatnonzero(others)
        if not len(found):
            return None
        state = before[found[0]]
        last = first[same][first[same] == state][0]
        lines = (
            f"{self._history.name(self.readings.transaction[found[0]])} read {self._at(states.place[state])}",
            f"{self._history.name(states.transaction[last])} made it, and wrote over it",
        )
        return Finding(Anomaly.INTERMEDIATE_READ, lines)
