"""Models the store in plain Python, and chooses the moves of the clients that fuzzing drives it with.

The reference is a dict. It also looks at where an entry is kept: in a bucket or in its page, and in which spot of its
shelf the tail is. This place matters for three things only: what the kernel can answer without the daemon, whether
there is room, and whether the cells together hold what the dict holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spec.kv.live.client import KvSession
from spec.lib.live.session_reference import OPENING, OWN, SessionReference, Tables, opening

SEVERAL = {"FETCH": "FETCHED", "GATHER": "GATHERED"}
"""Requests for several operations, and what they are answered with."""

GOT = frozenset({"GET", "VALUE", "MISSING"})


@dataclass(frozen=True)
class Stored:
    """An entry, as stored or as a cell has it: the whole slot, followed by the tail.

    spot: of the shelf, where the tail is kept, if a cell says so. Any spot is right, so comparisons ignore it.
    """

    version: int
    length: int
    value: bytes
    spot: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"version {self.version} of {self.length} bytes, {self.value.rstrip(bytes(1)).hex() or 'empty'}"


@dataclass(frozen=True)
class Way:
    """A key's entry in a bucket."""

    mark: str
    key: int
    entry: Stored

    @property
    def is_live(self) -> bool:
        return self.mark in ("Clean", "Dirty")


class Reference(SessionReference):
    """All entries, and the greatest version deleted from each bucket: new versions continue from there."""

    requests = frozenset(KvSession.answers)
    reads = frozenset(KvSession.read_answers)
    recalled = frozenset(kind for kinds in KvSession.answers.values() for kind in kinds)
    """The answers to requests. When a request is sent again, its answer must carry the same version as before."""

    gathered = frozenset({"GET", "INSERT", "UPDATE", "DELETE"})
    """The operations that a GATHER executes."""

    changing = frozenset({"INSERTED", "UPDATED", "DELETED"})
    """The answers to operations that may change what their bucket can answer."""

    def __init__(self, codec: Any, capacities: Mapping[str, int]) -> None:
        super().__init__(codec, capacities)
        self.entries: dict[int, Stored] = {}
        self.floors: defaultdict[int, int] = defaultdict(int)
        self._tables: Tables = self._blank()

    def _blank(self) -> Tables:
        """Return the cells as they are before anything has happened."""
        ways, size = self.codec.WAYS, self.codec.PAGE_SIZE
        entry = {"version": 0, "length": 0, "spot": 0, "value": 0}
        bucket = {
            "filter": frozenset(),
            "floor": 0,
            "marks": ("Empty",) * ways,
            "keys": (0,) * ways,
            "entries": (entry,) * ways,
        }
        page = {"spilled": ({"mark": "Vacant", "bit": 0, "slot": 0, "key": 0, "entry": entry},) * size}
        shelf, tail = {"taken": frozenset()}, {"bytes": (0,) * self.codec.SPOTS}
        blank = {"bucket": bucket, "page": page, "shelf": shelf, "tail": tail}
        return {name: [cell] * self.capacities[name] for name, cell in blank.items()}

    # --- Requests -----------------------------------------------------------------------------

    def outcomes(self, message: Any) -> set[str]:
        kind, is_there = message.kind.name, message.key in self.entries
        if kind in SEVERAL:
            return {SEVERAL[kind]}
        if kind == "GET":
            return {"VALUE"} if is_there else {"MISSING"}
        if message.length > self.codec.VALUE_MAX:
            return {"TOO_LONG"}
        if kind == "DELETE":
            return {"DELETED"} if is_there else {"ABSENT"}
        if is_there != (kind == "UPDATE"):
            return {"EXISTS"} if is_there else {"ABSENT"}
        if self._writes_tail(message) and self._shelf_is_full(message.key):
            return {"NO_ROOM"}
        done = {"UPDATED" if is_there else "INSERTED"}
        return done | {"NO_ROOM"} if self._may_spill(message) and self._page_is_full(message.key) else done

    def wrong_answer(self, message: Any, answer: Any) -> list[str]:
        if message.kind.name in SEVERAL:
            return self._wrong_operations(message, answer)
        kind, found = answer.kind.name, []
        stored = self.entries.get(message.key)
        version = self.version_of(kind, message.key)
        if version is not None and answer.version != version:
            found.append(f"{kind} has version {answer.version} of key {message.key}, but should have {version}")
        if kind == "VALUE" and stored_of(answer) != replace(stored, version=answer.version):
            found.append(f"key {message.key} was read as {stored_of(answer)}, but is {stored}")
        if answer.key != message.key:
            found.append(f"the answer's key is {answer.key}, the request's {message.key}")
        return found

    def _wrong_operations(self, message: Any, answer: Any) -> list[str]:
        """Executes the operations of a request, one after the other."""
        if len(answer.operations) != len(message.operations):
            return [f"{len(message.operations)} operations were answered with {len(answer.operations)}"]
        found, written = [], set()
        for asked, done in zip(message.operations, answer.operations):
            alone = replace(message, **vars(asked), count=0, operations=[])
            slot = self.slot_of(alone)
            found += self._wrong_operation(message, alone, done, slot in written)
            if done.kind.name in self.changing:
                written.add(slot)
        return found

    def slot_of(self, message: Any) -> int:
        """The bucket that a request for one key works on."""
        return self.codec.hash_slot(message.key)

    def _wrong_operation(self, message: Any, asked: Any, done: Any, bucket_is_other: bool) -> list[str]:
        """Executes an operation. Returns the errors in its outcome.

        bucket_is_other: whether an operation before may have changed what its bucket can answer.
        """
        may_be = {"GET"} if message.kind.name == "FETCH" else self.gathered
        if done.kind.name == asked.kind.name:
            is_left = asked.kind.name not in may_be or bucket_is_other or self.needs_daemon(asked)
            return [] if is_left and vars(done).items() <= vars(asked).items() else [f"{asked} was left as {done}"]
        expected = self.outcomes(asked) if asked.kind.name in may_be else set()
        if done.kind.name not in expected:
            return [f"an operation was answered {done.kind.name}, expected {expected}: {asked}"]
        found = self.wrong_answer(asked, done)
        self.apply(asked, done.kind.name)
        return found

    def version_of(self, kind: str, key: int) -> int | None:
        """The version that an answer must carry, if any."""
        match kind:
            case "INSERTED":
                return self._next_version(self.floors[self.codec.hash_slot(key)])
            case "UPDATED":
                return self._next_version(self.entries[key].version)
            case "VALUE" | "EXISTS" | "DELETED":
                return self.entries[key].version
            case "MISSING" if self.codec.TELLS_FLOOR:
                return self.floors[self.codec.hash_slot(key)]
        return None

    def _next_version(self, version: int) -> int:
        return (version + 1) % self.codec.VERSION_MODULUS

    def wrong_memory(self, said: Any, answer: Any) -> list[str]:
        if said.kind.name == "GATHERED":
            pairs = list(zip(said.operations, answer.operations))
            return [
                f"an operation came to {one}, but a repeated request got {other}"
                for one, other in pairs
                if not self.say_the_same(one, other) and not (one.kind.name in GOT and other.kind.name in GOT)
            ]
        if said.kind.name not in self.recalled or answer.version == said.version:
            return []
        return [f"{said.kind.name} came with version {said.version}, but a repeated request got {answer.version}"]

    def say_the_same(self, one: Any, other: Any) -> bool:
        """Whether the answer to an operation fits that to the repeated request."""
        return one == other

    def apply(self, message: Any, outcome: str) -> None:
        key = message.key
        match outcome:
            case "INSERTED" | "UPDATED":
                self.entries[key] = replace(stored_of(message), version=self.version_of(outcome, key))
            case "DELETED":
                slot = self.codec.hash_slot(key)
                self.floors[slot] = max(self.floors[slot], self.entries.pop(key).version)

    def revoke(self, client: int) -> None:
        """A session holds nothing that must be taken back when it ends."""

    # --- Where entries are --------------------------------------------------------------------

    def observe(self, tables: Tables) -> bool:
        self._tables = tables
        return super().observe(tables)

    def needs_daemon(self, message: Any) -> bool:
        """Whether the bucket cannot answer alone.

        Either it lacks the key, which may be in the page, or has no room for it; or the value has a tail, or will have
        one.
        """
        if message.kind.name in SEVERAL:
            return False
        codec, is_get = self.codec, message.kind.name == "GET"
        if not is_get and message.length > codec.VALUE_MAX:
            return False
        bucket, way = self._bucket_of(message.key), self._way_of(message.key)
        if way is not None:
            return (
                (way.is_live and self._is_long(way.entry.length))
                or self._writes_tail(message)
                or not (codec.WRITE_BACK or is_get)
            )
        if not codec.FILTERED or codec.hash_bit(message.key) in bucket["filter"]:
            return True
        return message.kind.name == "INSERT" and (
            self._writes_tail(message) or not codec.WRITE_BACK or not self._has_room(bucket)
        )

    def _has_room(self, bucket: Mapping[str, Any]) -> bool:
        """Whether a way can be taken without moving anything to the page."""
        return any(mark in ("Empty", "Clean") for mark in bucket["marks"])

    def _may_spill(self, message: Any) -> bool:
        """Whether a write may put something into the page.

        It may if the way that it needs holds another key, or if the store is written through.
        """
        waited = self.has_waited(message) or self.needs_daemon(message)
        return waited and (self._way_of(message.key) is None or not self.codec.WRITE_BACK)

    def _is_long(self, length: int) -> bool:
        return length > self.codec.SLOT_SIZE

    def _writes_tail(self, message: Any) -> bool:
        return message.kind.name in ("INSERT", "UPDATE") and self._is_long(message.length)

    def _page_is_full(self, key: int) -> bool:
        page = self._tables["page"][self.codec.hash_home(self.codec.hash_slot(key))]
        return all(each["mark"] != "Vacant" for each in page["spilled"])

    def _shelf_is_full(self, key: int) -> bool:
        return len(self._tables["shelf"][self.codec.hash_shelf(key)]["taken"]) == self.codec.SPOTS

    def _bucket_of(self, key: int) -> Mapping[str, Any]:
        return self._tables["bucket"][self.codec.hash_slot(key)]

    def _way_of(self, key: int) -> Way | None:
        return next((way for way in self._ways(self._bucket_of(key), self._tables) if way.key == key), None)

    def _ways(self, bucket: Mapping[str, Any], tables: Tables) -> list[Way]:
        """The ways of a bucket that are not empty."""
        found = zip(bucket["marks"], bucket["keys"], bucket["entries"])
        return [Way(mark, key, self._entry(key, entry, tables)) for mark, key, entry in found if mark != "Empty"]

    def _entry(self, key: int, entry: Mapping[str, Any], tables: Tables) -> Stored:
        length, spot, value = entry["length"], 0, entry["value"].to_bytes(self.codec.SLOT_SIZE, "little")
        if self._is_long(length):
            spot = entry["spot"]
            value += self._tail(key, spot, tables)[:length]
        return Stored(entry["version"], length, value, spot)

    def _tail(self, key: int, spot: int, tables: Tables) -> bytes:
        """The bytes in a spot; empty if the spot does not exist."""
        if not 1 <= spot <= self.codec.SPOTS:
            return b""
        return tables["tail"][self.codec.hash_shelf(key)]["bytes"][spot - 1].to_bytes(self.codec.VALUE_MAX, "little")

    def _held(self, slot: int, tables: Tables) -> list[Mapping[str, Any]]:
        """The entries that the page holds for a bucket."""
        page = tables["page"][self.codec.hash_home(slot)]
        return [each for each in page["spilled"] if each["mark"] != "Vacant" and each["slot"] == slot]

    # --- The contents of the cells ------------------------------------------------------------

    def complaints(self, tables: Tables) -> list[str]:
        """The errors in the cells. Call it when nothing is under way."""
        found = self.left_over(tables)
        kept: dict[int, Stored] = {}
        for slot, bucket in enumerate(tables["bucket"]):
            kept |= self._kept(slot, bucket, tables)
            if bucket["floor"] != self.floors[slot]:
                found.append(f"bucket {slot} has floor {bucket['floor']} and should have {self.floors[slot]}")
        for key in sorted(kept.keys() | self.entries.keys()):
            if kept.get(key) != self.entries.get(key):
                there, wanted = kept.get(key, "not there"), self.entries.get(key, "not there")
                found.append(f"key {key} of bucket {self.codec.hash_slot(key)} is {there} and should be {wanted}")
        return found

    def _kept(self, slot: int, bucket: Mapping[str, Any], tables: Tables) -> dict[int, Stored]:
        """The entries of a bucket and its page, taken together."""
        kept = {each["key"]: self._entry(each["key"], each["entry"], tables) for each in self._held(slot, tables)}
        for way in self._ways(bucket, tables):
            if way.is_live:
                kept[way.key] = way.entry
            else:
                kept.pop(way.key, None)
        return kept

    def left_over(self, tables: Tables) -> list[str]:
        """The leftovers of sessions, and contradictions between cells, whatever was stored."""
        found = self.session_complaints(tables)
        for index, page in enumerate(tables["page"]):
            for each in page["spilled"]:
                found += self._misplaced(index, each)
        for slot, bucket in enumerate(tables["bucket"]):
            found += self._contradictions(slot, bucket, tables)
        return found + self._misshelved(tables)

    def _misshelved(self, tables: Tables) -> list[str]:
        """The errors in the spots: each taken spot must belong to exactly one entry with a tail."""
        found, users = [], defaultdict(list)
        for slot, bucket in enumerate(tables["bucket"]):
            for key, entry in self._kept(slot, bucket, tables).items():
                if self._is_long(entry.length):
                    users[self.codec.hash_shelf(key), entry.spot].append(key)
        for (index, spot), keys in users.items():
            if spot - 1 not in tables["shelf"][index]["taken"]:
                found.append(f"spot {spot} of shelf {index} is not taken, and key {keys[0]} has its tail there")
            if len(keys) > 1:
                found.append(f"the keys {sorted(keys)} have their tails in one spot, {spot} of shelf {index}")
        for index, shelf in enumerate(tables["shelf"]):
            nobodys = [spot + 1 for spot in sorted(shelf["taken"]) if (index, spot + 1) not in users]
            found += [f"spot {spot} of shelf {index} is taken, but no key owns it" for spot in nobodys]
        return found

    def _misplaced(self, index: int, spilled: Mapping[str, Any]) -> list[str]:
        codec, mark, key = self.codec, spilled["mark"], spilled["key"]
        if mark == "Vacant":
            return []
        if mark != "Held":
            return [f"key {key} was left {mark} in page {index}"]
        if codec.hash_slot(key) != spilled["slot"] or codec.hash_home(spilled["slot"]) != index:
            return [f"key {key} is in page {index} for bucket {spilled['slot']}, where it does not belong"]
        if codec.hash_bit(key) != spilled["bit"]:
            return [f"key {key} has bit {spilled['bit']} in page {index} and should have {codec.hash_bit(key)}"]
        return []

    def _contradictions(self, slot: int, bucket: Mapping[str, Any], tables: Tables) -> list[str]:
        found, ways, held = [], self._ways(bucket, tables), self._held(slot, tables)
        for what, keys in (("bucket", [way.key for way in ways]), ("page of bucket", [each["key"] for each in held])):
            found += [f"the {what} {slot} has key {key} twice" for key in set(keys) if keys.count(key) > 1]
        spilled = {each["key"]: self._entry(each["key"], each["entry"], tables) for each in held}
        bits = {self.codec.hash_bit(key) for key in spilled}
        if bucket["filter"] != bits:
            found.append(f"the filter of bucket {slot} is {set(bucket['filter'])}, what was spilled has {bits}")
        for way in ways:
            older = spilled.get(way.key)
            if self.codec.hash_slot(way.key) != slot:
                found.append(f"key {way.key} is in bucket {slot}, where it does not belong")
            if way.mark == "Clean" and (older != way.entry or older.spot != way.entry.spot):
                found.append(f"key {way.key} is Clean in bucket {slot} as {way.entry}, the page has {older}")
            if way.mark in ("Dirty", "Gone") and older is not None and older.version > way.entry.version:
                found.append(
                    f"key {way.key} is {way.mark} in bucket {slot} as {way.entry}, the page has a newer one: {older}"
                )
        return found

    def broken_beliefs(self, _actors: list[Actor], _now_ns: int) -> list[str]:
        """A client has no lasting beliefs: another client may change what it read a moment later."""
        return []

    # --- Messages that must change nothing -----------------------------------------------------

    def forge(self, message: Any, choice: int) -> Any:
        """A message that an attacker forges from one seen on the wire."""
        modulus = self.codec.SEQUENCE_MODULUS
        match choice % 6:
            case 0:
                message.secret = (choice + 1).to_bytes(8, "little")
            case 1:
                asked = self.requests | self.reads | OWN
                answers = [kind for kind in self.codec.Kind if kind.name not in asked]
                message.kind = answers[choice // 6 % len(answers)]
            case 2 if message.kind.name not in self.reads:
                message.sequence = (message.sequence + modulus // 2) % modulus
            case 3:
                message.client = (message.client + 1 + choice // 6) % (self.capacities["session"] + 2)
            case _:
                self._seem_handed_over(message, choice // 6)
        if message.kind.name in OPENING:
            message.kind = self.codec.Kind.RENEW
        return message

    def _seem_handed_over(self, message: Any, choice: int) -> None:
        """Sets the fields that only XDP and the daemon may set. From a client they must have no effect."""
        message.epoch = choice % 5
        message.way = choice % (self.codec.WAYS + 1)
        message.victim = Actor.KEYS[choice % len(Actor.KEYS)]
        message.evicts = message.found = bool(choice & 1)
        message.old = message.entry = choice % (self.codec.PAGE_SIZE + 1)
        message.spot = message.former = choice % (self.codec.SPOTS + 1)
        message.generation = choice % 7
        message.version = choice
        if message.kind.name in self.reads:
            message.length = self.codec.VALUE_MAX + 1


def stored_of(message: Any) -> Stored:
    """The entry that a message, or an operation of it, carries."""
    return Stored(message.version, message.length, message.value + getattr(message, "tail", b""))


BYTES = bytes(range(256)) * 257
"""Values are slices of this, so no value has the same byte twice in a row."""


class Actor:
    """A client whose next move is chosen by a number."""

    KEYS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 2**64 - 1)
    opens = KvSession
    """The class of the sessions that the client opens, one after the other."""

    def __init__(self, codec: Any, capacities: Mapping[str, int]) -> None:
        self.session = self.opens(codec)
        self._session_capacity = capacities["session"]
        in_slot, in_tail = (
            (0, 1, codec.SLOT_SIZE - 1, codec.SLOT_SIZE),
            (codec.SLOT_SIZE + 1, codec.VALUE_MAX - 1, codec.VALUE_MAX),
        )
        self._lengths = (*in_slot, *in_tail, codec.VALUE_MAX + 1, 2**16 - 1)

    def act(self, choice: int, now_ns: int) -> tuple[str, bytes]:
        """The next datagram to send, and a label for it."""
        session, (which, what) = self.session, divmod(choice, 20)
        if session.is_opening or (session.outstanding_kind == "CLOSE" and choice % 2):
            return f"{session.outstanding_kind} again", session.again()
        if not session.is_alive(now_ns):
            if not session.is_invited:
                self.session = session = self.opens(session.codec)
            return opening(session, choice, self._session_capacity, now_ns)
        if what == 5 and "FETCH" in session.read_answers:
            return self._fetch(which, now_ns)
        if what <= 5:
            return self._get(which, what == 0, now_ns)
        if session.is_waiting and what < 14:
            return f"{session.outstanding_kind} (write {session.sequence}) again", session.again()
        if session.given_up and what < 17:
            return "what was given up, again", session.given_up[which % len(session.given_up)]
        given_up = f", giving up {session.outstanding_kind}" if session.is_waiting else ""
        if session.is_waiting:
            session.give_up()
        label, datagram = self._write(which, (3 * what + which) % 16, now_ns)
        return f"{label} (write {session.sequence}){given_up}", datagram

    def _get(self, which: int, again: bool, now_ns: int) -> tuple[str, bytes]:
        session, key = self.session, self.KEYS[which % len(self.KEYS)]
        waiting = session.outstanding_reads
        if again and waiting:
            return f"Get (read {max(waiting)}) again", waiting[max(waiting)]
        number, datagram = session.get(key, now_ns)
        return f"Get {key} (read {number})", datagram

    def _fetch(self, which: int, now_ns: int) -> tuple[str, bytes]:
        keys = [self.KEYS[(which + 3 * i) % len(self.KEYS)] for i in range(1 + which % 4)]
        number, datagram = self.session.fetch(keys, now_ns)
        return f"Fetch {keys} (read {number})", datagram

    def _gather(self, which: int, now_ns: int) -> tuple[str, bytes]:
        """One to four operations, some of them on one key."""
        wanted = []
        for i in range(1 + which % 4):
            kind = ("INSERT", "UPDATE", "GET", "DELETE", "INSERT")[(which // 2 + i) % 5]
            size = self._lengths[(which + i) % len(self._lengths)] if kind in ("INSERT", "UPDATE") else 0
            wanted.append(
                (kind, self.KEYS[(which + i * (which % 3)) % len(self.KEYS)], BYTES[(which + i) % 256 :][:size])
            )
        return f"Gather {[(kind, key, len(value)) for kind, key, value in wanted]}", self.session.gather(wanted, now_ns)

    def _write(self, which: int, what: int, now_ns: int) -> tuple[str, bytes]:
        session, key = self.session, self.KEYS[which % len(self.KEYS)]
        value = BYTES[which % 256 :][: self._lengths[which % len(self._lengths)]]
        match what:
            case 0:
                return "Close", session.close(now_ns)
            case 1:
                return "Renew", session.renew(now_ns)
            case 2 | 3 | 4:
                return f"Delete {key}", session.delete(key, now_ns)
            case 5 | 6 | 7 | 8 | 9:
                return f"Update {key} to {len(value)} bytes", session.update(key, value, now_ns)
            case 10 | 11 | 12 if "GATHER" in session.answers:
                return self._gather(which, now_ns)
        return f"Insert {key} of {len(value)} bytes", session.insert(key, value, now_ns)

    def receive(self, datagram: bytes, now_ns: int) -> None:
        self.session.receive(datagram, now_ns)

    def lapse(self, client: int) -> None:
        """Ends the lease if the session is this client's."""
        if self.session.number == client:
            self.session.lease_end_ns = 0
