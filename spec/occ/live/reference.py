"""Models transactions over a store in plain Python, and chooses the moves of the clients that fuzzing drives it with.

The reference is the store's reference, extended by who has locked each key and what is to be written there. The
daemon's sweep settles the locks of a session that is over, one place in each sweep; the reference follows this in the
cells.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spec.kv.live import reference as kv
from spec.kv.live.reference import Stored
from spec.lib.live.session_reference import Tables
from spec.occ.live.client import OccSession, Reading, Wish


@dataclass(frozen=True)
class Intent:
    """The key that a place has locked, and what is to be written there.

    base: the key's version, 0 if the key is not there. written: None if the key is to be deleted.
    """

    key: int
    base: int
    written: Stored | None


@dataclass
class Holding:
    """A session's transaction: the places that have locked a key, and the decision."""

    verdict: str = "Open"
    places: dict[int, Intent] = field(default_factory=dict)


class Reference(kv.Reference):
    """All entries, and who has locked them."""

    requests = frozenset(OccSession.answers)
    reads = frozenset(OccSession.read_answers)
    recalled = frozenset(kind for kinds in OccSession.answers.values() for kind in kinds)
    gathered = kv.Reference.gathered | {"LOCK", "COMMIT", "ABORT"}
    changing = kv.Reference.changing | {"GRANTED", "COMMITTED", "ABORTED"}

    def __init__(self, codec: Any, capacities: Mapping[str, int]) -> None:
        super().__init__(codec, capacities)
        self.holdings: dict[int, Holding] = {}
        self._ended: list[Intent] = []  # committed intents of ended sessions, which the reference has yet to follow
        self._bucket_is_other = False  # an operation before, of one message, may have changed the bucket

    def _blank(self) -> Tables:
        blank = super()._blank()
        return {**blank, "bucket": [{**cell, "pinned": frozenset()} for cell in blank["bucket"]]}

    def _holding(self, client: int) -> Holding:
        return self.holdings.setdefault(client, Holding())

    def holder(self, key: int) -> tuple[int, int] | None:
        """The session and place that have locked a key."""
        return next(((client, place) for client, place, intent in self._locks() if intent.key == key), None)

    def _locks(self) -> Iterator[tuple[int, int, Intent]]:
        for client, holding in self.holdings.items():
            for place, intent in holding.places.items():
                yield client, place, intent

    def version_at(self, key: int) -> int:
        return self.entries[key].version if key in self.entries else 0

    # --- Requests -----------------------------------------------------------------------------

    def outcomes(self, message: Any) -> set[str]:
        match message.kind.name:
            case "GET" | "FETCH" | "GATHER":
                return super().outcomes(message)
            case "LOCK":
                return self._of_lock(message)
            case "COMMIT":
                holding = self._holding(message.client)
                return (
                    {"COMMITTED"} if message.place in holding.places and holding.verdict != "Aborted" else {"REFUSED"}
                )
            case "ABORT":
                return {"REFUSED"} if self._holding(message.client).verdict == "Committed" else {"ABORTED"}
        if self.holder(message.key) is not None:
            return {"LOCKED"}
        if not self._may_lack_way(message):
            return super().outcomes(message)
        return {"LOCKED"} | (super().outcomes(message) if self._may_have_way(message) else set())

    def _of_lock(self, message: Any) -> set[str]:
        key = message.key
        if self._is_refused(message):
            return {"REFUSED"}
        if self._is_long(message.length):
            return {"TOO_LONG"}
        if self.holder(key) is not None or not self._may_have_way(message):
            return {"CONFLICT"}
        crowded = {"CONFLICT"} if self._may_lack_way(message) else set()
        if self.version_at(key) != message.version:
            return {"CONFLICT"}
        if key in self.entries and self._is_long(self.entries[key].length):
            return {"TOO_LONG"} | crowded
        done = {"GRANTED"} | crowded
        return done | {"NO_ROOM"} if self._may_spill(message) and self._page_is_full(key) else done

    def _is_refused(self, message: Any) -> bool:
        """Whether a lock cannot have this place: it is taken, or an earlier transaction is being settled."""
        holding = self._holding(message.client)
        return message.place in holding.places or holding.verdict != "Open"

    def _may_lack_way(self, message: Any) -> bool:
        return self._lacks_way(message) or (self._bucket_is_other and message.kind.name in TAKING)

    def _may_have_way(self, message: Any) -> bool:
        return not self._lacks_way(message) or self.has_waited(message) or self._bucket_is_other

    def _lacks_way(self, message: Any) -> bool:
        """Whether the message needs a way in the bucket, and others have pinned all of them."""
        return (
            message.kind.name in TAKING
            and self._way_of(message.key) is None
            and len(self._bucket_of(message.key)["pinned"]) == self.codec.WAYS
        )

    def slot_of(self, message: Any) -> int:
        intent = self._holding(message.client).places.get(message.place)
        if message.kind.name in ("COMMIT", "ABORT") and intent is not None:
            return self.codec.hash_slot(intent.key)
        return super().slot_of(message)

    def _wrong_operation(self, message: Any, asked: Any, done: Any, bucket_is_other: bool) -> list[str]:
        self._bucket_is_other = bucket_is_other
        try:
            return super()._wrong_operation(message, asked, done, bucket_is_other)
        finally:
            self._bucket_is_other = False

    def say_the_same(self, one: Any, other: Any) -> bool:
        """A commit or an abort also tells what was intended, and a repeated one does not."""
        return (one.kind, one.place, one.version) == (other.kind, other.place, other.version)

    def wrong_answer(self, message: Any, answer: Any) -> list[str]:
        kind = answer.kind.name
        if kind in kv.SEVERAL.values():
            return super().wrong_answer(message, answer)
        if kind == "COMMITTED":
            return self._wrong_commit(message, answer)
        found = super().wrong_answer(message, answer)
        if kind in ("VALUE", "MISSING") and answer.locked != (self.holder(message.key) is not None):
            found.append(
                f"key {message.key} was read as {'locked' if answer.locked else 'not locked'}, and it is not so"
            )
        if kind == "GRANTED" and answer.version != message.version:
            found.append(
                f"a lock of key {message.key} with version {message.version} was granted with version {answer.version}"
            )
        if kind == "CONFLICT" and answer.version not in self._conflicting(message):
            found.append(
                f"CONFLICT has version {answer.version} of key {message.key}, but should have "
                f"{self._conflicting(message)}"
            )
        return found

    def _conflicting(self, message: Any) -> set[int]:
        """The versions that a conflict may carry.

        It carries the version that exists. If no way is left, it may carry the version that was asked for.
        """
        there, key = {self.version_at(message.key)}, message.key
        if not self._may_lack_way(message) or self.holder(key) is not None or not self._is_looked_for(message):
            return there
        return there | {message.version} if self._may_have_way(message) else {message.version}

    def _is_looked_for(self, message: Any) -> bool:
        """Whether the bucket alone cannot tell that a lock names a version of a missing key."""
        return (
            message.version == 0
            or not self.codec.FILTERED
            or self.codec.hash_bit(message.key) in self._bucket_of(message.key)["filter"]
        )

    def _wrong_commit(self, message: Any, answer: Any) -> list[str]:
        intent = self._holding(message.client).places[message.place]
        version = self.version_written(intent)
        if version is None:  # the key to delete was not there: the message comes back
            return []
        found = []
        if answer.version != version:
            found.append(f"COMMITTED has version {answer.version} of key {intent.key}, but should have {version}")
        if answer.key != intent.key:
            found.append(f"place {message.place} has locked key {intent.key}, and key {answer.key} was committed")
        return found

    def version_written(self, intent: Intent) -> int | None:
        """The version that a commit writes, or the version that it deletes."""
        if intent.written is None:
            return intent.base or None
        return self._next_version(intent.base or self.floors[self.codec.hash_slot(intent.key)])

    def apply(self, message: Any, outcome: str) -> None:
        match outcome:
            case "GRANTED":
                written = None if message.deletes else kv.stored_of(message)
                self._holding(message.client).places[message.place] = Intent(message.key, message.version, written)
            case "COMMITTED" | "ABORTED":
                holding = self._holding(message.client)
                intent = holding.places.pop(message.place, None)
                holding.verdict = outcome.capitalize() if holding.places else "Open"
                if intent is not None and outcome == "COMMITTED":
                    self._write(intent)
            case _:
                super().apply(message, outcome)

    def _write(self, intent: Intent) -> None:
        version = self.version_written(intent)
        if intent.written is not None:
            self.entries[intent.key] = replace(intent.written, version=version)
        elif version is not None:
            slot = self.codec.hash_slot(intent.key)
            self.floors[slot] = max(self.floors[slot], self.entries.pop(intent.key).version)

    # --- Sessions that are over ---------------------------------------------------------------

    def revoke(self, client: int) -> None:
        """Takes the session's transaction to the outcome that was decided."""
        holding = self.holdings.pop(client, Holding())
        if holding.verdict == "Committed":
            self._ended += holding.places.values()

    def meets_sweep(self, _message: Any) -> bool:
        return any(self.is_fading(client) for client, _, _ in self._locks())

    def _follow_sweep(self, tables: Tables) -> None:
        """Settle what the sweep has settled for sessions that are over. The cells must be at rest."""
        for client, holding in self.holdings.items():
            if self.is_fading(client):
                done = [place for place in holding.places if place not in _places(tables["transaction"][client])]
                intents = [holding.places.pop(place) for place in done]
                self._ended += intents if holding.verdict == "Committed" else []
                if done and holding.verdict == "Open":
                    holding.verdict = "Aborted"
                holding.verdict = holding.verdict if holding.places else "Open"
        while self._ended:
            self._write(self._ended.pop(self._next_ended(tables)))

    def _next_ended(self, tables: Tables) -> int:
        """Choose the ended intent that the sweep may have written first.

        Within a bucket, the version of an inserted key shows what had been deleted before.
        """

        def has_come(intent: Intent) -> bool:
            ways = self._ways(tables["bucket"][self.codec.hash_slot(intent.key)], tables)
            return any(way.key == intent.key and way.entry.version == self.version_written(intent) for way in ways)

        inserted = [
            number
            for number, intent in enumerate(self._ended)
            if not intent.base and intent.written and has_come(intent)
        ]
        by_version = sorted(
            range(len(self._ended)), key=lambda number: self._ended[number].base or self.codec.VERSION_MODULUS
        )
        return (inserted or by_version)[0]

    # --- Where entries are --------------------------------------------------------------------

    def needs_daemon(self, message: Any) -> bool:
        key = message.key
        match message.kind.name:
            case "COMMIT" | "ABORT":
                return False
            case "LOCK":
                is_there = self._way_of(key) is not None or not self._is_looked_for(message)
                if is_there or self._is_long(message.length) or self._lacks_way(message):
                    return False
                bucket = self._bucket_of(key)
                spilled = not self.codec.FILTERED or self.codec.hash_bit(key) in bucket["filter"]
                return not self._is_refused(message) and (spilled or not self._has_room(bucket))
            case "GET":
                return super().needs_daemon(message)
        return self.holder(key) is None and not self._lacks_way(message) and super().needs_daemon(message)

    def _has_room(self, bucket: Mapping[str, Any]) -> bool:
        return any(
            way not in bucket["pinned"] and mark in ("Empty", "Clean") for way, mark in enumerate(bucket["marks"])
        )

    # --- The contents of the cells ------------------------------------------------------------

    def complaints(self, tables: Tables) -> list[str]:
        self._follow_sweep(tables)
        found = super().complaints(tables)
        locked = {(client, place): intent.key for client, place, intent in self._locks()}
        holders = self._holders(tables)
        for slot, bucket in enumerate(tables["bucket"]):
            for way in sorted(bucket["pinned"]):
                key = bucket["keys"][way]
                if not any(locked.pop(holder, None) == key for holder in holders[slot, way]):
                    found.append(f"key {key} of bucket {slot} is pinned, but no session has locked it")
        found += [
            f"key {key} is locked at place {place} of session {client}, and not pinned"
            for (client, place), key in locked.items()
        ]
        for client, place, intent in self._locks():
            found += self._wrong_intent(client, place, intent, tables)
        for client, cell in enumerate(tables["transaction"]):
            holding = self.holdings.get(client, Holding())
            if (cell["verdict"], _places(cell)) != (holding.verdict, set(holding.places)):
                wanted = f"{holding.verdict} with places {sorted(holding.places)}"
                found.append(
                    f"the transaction of session {client} is {cell['verdict']} with places {sorted(_places(cell))} and "
                    f"should be {wanted}"
                )
        return found

    def _wrong_intent(self, client: int, place: int, intent: Intent, tables: Tables) -> list[str]:
        codec, cell = self.codec, tables["intent"][client * self.codec.INTENTS + place]
        wanted = {
            "slot": codec.hash_slot(intent.key),
            "bit": codec.hash_bit(intent.key),
            "deletes": intent.written is None,
        }
        if intent.written is not None:
            wanted |= {"length": intent.written.length, "value": int.from_bytes(intent.written.value, "little")}
        wrong = {name: cell[name] for name, value in wanted.items() if cell[name] != value}
        return (
            [f"the intent of place {place} of session {client} says {wrong} and should say {wanted}"] if wrong else []
        )

    def left_over(self, tables: Tables) -> list[str]:
        """The store's leftovers, and locks that do not match a place or belong to no session."""
        found = super().left_over(tables)
        holders = self._holders(tables)
        for slot, bucket in enumerate(tables["bucket"]):
            for way in sorted(bucket["pinned"]):
                if len(holders[slot, way]) != 1 or bucket["marks"][way] == "Empty":
                    found.append(
                        f"way {way + 1} of bucket {slot}, which is {bucket['marks'][way]}, is pinned by "
                        f"{len(holders[slot, way])} places"
                    )
                for client, _ in holders.pop((slot, way)):
                    if tables["session"][client]["state"] == "Vacant":
                        found.append(
                            f"key {bucket['keys'][way]} of bucket {slot} is locked by session {client}, which is no "
                            "more"
                        )
        found += [
            f"place {place} of session {client} has a way of bucket {slot} that is not pinned"
            for (slot, _), some in sorted(holders.items())
            for client, place in some
        ]
        return found

    def _holders(self, tables: Tables) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """The sessions and places that claim a lock, by bucket and way; ways count from 0."""
        found: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for client, cell in enumerate(tables["transaction"]):
            for place in sorted(_places(cell)):
                slot = tables["intent"][client * self.codec.INTENTS + place]["slot"]
                found[slot, cell["ways"][place] - 1].append((client, place))
        return found

    def forge(self, message: Any, choice: int) -> Any:
        """An attacker who has seen the secret may also act for the session: this changes what the message asks for."""
        which, what = choice % 4, choice // 4
        if which or message.kind.name not in ("LOCK", "COMMIT", "ABORT"):
            message.expected = choice % 3
            return super().forge(message, what)
        message.place = what % self.codec.INTENTS
        message.deletes = bool(what & 8)
        message.locked = bool(what & 16)
        message.key = Actor.KEYS[what % len(Actor.KEYS)]
        return message


def _places(transaction: Mapping[str, Any]) -> set[int]:
    """The places of a transaction's cell that pin a way."""
    return {place for place, way in enumerate(transaction["ways"]) if way}


STORE_WRITES = (0, 1, 2, 5, 13)
"""The moves of the store's clients that are kept: close, renew, one deletion, one update, and one insertion."""

TAKING = frozenset({"INSERT", "UPDATE", "LOCK"})
"""The requests that may need a way in their bucket."""


def _told(wish: Wish) -> str:
    purpose = "delete it" if wish.value is None else f"write {len(wish.value)} bytes"
    return f"{wish.key} of version {wish.version} at {wish.place} to {purpose}"


class Actor(kv.Actor):
    """A client whose next move is chosen by a number. Most of its locks name the version that it saw last."""

    KEYS = (0, 1, 2, 3, 4, 2**64 - 1)
    opens = OccSession

    def __init__(self, codec: Any, capacities: Mapping[str, int]) -> None:
        super().__init__(codec, capacities)
        self._versions: dict[int, int] = {}
        self._locked: dict[int, int] = {}

    def _write(self, which: int, what: int, now_ns: int) -> tuple[str, bytes]:
        place = which % self.session.codec.INTENTS
        if what > 10:
            return self._lock(which, place, now_ns)
        if what > 6:
            return self._settle(which, place, now_ns)
        if what > 4:
            return self._gather(which, now_ns)
        return super()._write(which, STORE_WRITES[what], now_ns)

    def _lock(self, which: int, place: int, now_ns: int) -> tuple[str, bytes]:
        wish = self._wish(which, place)
        return f"Lock {_told(wish)}", self.session.lock(*wish, now_ns)

    def _wish(self, which: int, place: int) -> Wish:
        key, choice = self.KEYS[which % len(self.KEYS)], which // 4
        version = self._versions.get(key, 0) if choice % 5 else choice % 3
        value = None if choice % 3 == 0 else kv.BYTES[which % 256 :][: self._lengths[choice % 5]]
        return Wish(place, key, version, value)

    def _settle(self, which: int, place: int, now_ns: int) -> tuple[str, bytes]:
        kind, place, key = self._ending(which, place)
        return f"{kind.capitalize()} {place}", self.session.request(kind, now_ns, place=place, key=key)

    def _ending(self, which: int, place: int) -> tuple[str, int, int]:
        place = sorted(self._locked)[which % len(self._locked)] if self._locked and which % 8 else place
        key = self._locked.get(place, self.KEYS[which % len(self.KEYS)])
        return "COMMIT" if which % 3 else "ABORT", place, key

    def _gather(self, which: int, now_ns: int) -> tuple[str, bytes]:
        """One to four operations, some of them on one key, in one place, or of what another one locks."""
        session, labels, operations = self.session, [], []
        for i in range(1 + which % 4):
            each = which // 3 + 7 * i
            place = (each if each % 5 else which) % session.codec.INTENTS
            match (which // 2 + i) % 6:
                case 0 | 1 | 2:
                    wish = self._wish(each, place)
                    labels.append(f"lock {_told(wish)}")
                    operations.append(session.lock_operation(*wish))
                case 3 | 4:
                    kind, place, key = self._ending(each, place)
                    labels.append(f"{kind.lower()} {place}")
                    operations.append(session.place_operation(kind, place, key))
                case _:
                    kind, key = ("GET", "INSERT", "UPDATE", "DELETE")[each % 4], self.KEYS[each % len(self.KEYS)]
                    size = self._lengths[each % 5] if kind in ("INSERT", "UPDATE") else 0
                    labels.append(f"{kind.lower()} {key} of {size} bytes")
                    operations.append(session.operation(kind, key, kv.BYTES[each % 256 :][:size]))
        return f"Gather: {', '.join(labels)}", session.ask_all(operations, now_ns)

    def receive(self, datagram: bytes, now_ns: int) -> None:
        answer = self.session.receive(datagram, now_ns)
        for each in (answer, *answer.operations) if answer is not None else ():
            self._learn(each)

    def _learn(self, answer: Any) -> None:
        """Learns from an answer, or from an operation in it."""
        match answer.kind.name:
            case "OPENED":
                self._locked.clear()
            case "VALUE" | "MISSING":
                self._versions[answer.key] = Reading.of(answer).lock_version
            case "INSERTED" | "UPDATED" | "EXISTS" | "CONFLICT":
                self._versions[answer.key] = answer.version
            case "DELETED" | "ABSENT":
                self._versions[answer.key] = 0
            case "GRANTED":
                self._locked[answer.place] = answer.key
            case "COMMITTED" | "ABORTED":
                self._locked.pop(answer.place, None)
