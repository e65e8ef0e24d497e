"""Models the log in plain Python, and chooses the moves of the clients that fuzzing drives it with.

The reference is a list of records for each log. The processor that receives a packet determines the log, so the
reference learns the log from the answer. Without an answer it learns it from the cells: one log counts one
record more.

The daemon moves `drained` and `synced` on its own. The reference compares them when nothing is under way: they are at
the end of each log while the daemon serves, and stay where they are while it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spec.lib.live.session_reference import OPENING, OWN, SessionReference, Tables, opening
from spec.log.live.client import Content, LogSession, Place

CONTENT = ("transaction", "key", "version", "deletes", "length")


@dataclass(frozen=True)
class Record:
    """The content of a record. The session and number of its request tell it from a record with the same content."""

    transaction: int
    key: int
    version: int
    deletes: bool
    length: int
    value: bytes

    @classmethod
    def of(cls, message: Any) -> Record:
        """Read a record from a message, or from a cell or entry (a mapping with a value of bytes)."""
        read = message.get if isinstance(message, Mapping) else lambda name: getattr(message, name)
        return cls(*(read(name) for name in CONTENT), bytes(read("value")))

    @classmethod
    def all_of(cls, message: Any) -> list[Record]:
        """Read the records of an append or of its answer: one, or those of its operations."""
        several = message.kind.name in ("GATHER", "GATHERED")
        return [cls.of(each) for each in (message.operations if several else [message])]

    def __str__(self) -> str:
        what = "deleted" if self.deletes else f"{self.length} bytes, {self.value.rstrip(bytes(1)).hex() or 'empty'}"
        return f"transaction {self.transaction}: version {self.version} of key {self.key}, {what}"


@dataclass(frozen=True)
class Written:
    """A record that has a number, and the request that brought it."""

    record: Record
    client: int
    sequence: int


class Reference(SessionReference):
    """All logs, and how far the daemon has drained and synced each."""

    requests = frozenset({"APPEND", "GATHER"})
    reads = frozenset({"SYNC"})

    def __init__(self, codec: Any, capacities: Mapping[str, int]) -> None:
        super().__init__(codec, capacities)
        self.epoch = 0
        self.logs: list[list[Written]] = [[] for _ in range(capacities["head"])]
        self._reached = {"drained": [0] * len(self.logs), "synced": [0] * len(self.logs)}
        self._lost_marks: list[str] = []
        self._remembered: dict[int, Place] = {}
        self._waiting: dict[int, Place] = {}  # by session: its record, if appended and not acknowledged
        self._unplaced: Written | None = None

    # --- Requests -----------------------------------------------------------------------------

    def outcomes(self, message: Any) -> set[str]:
        if message.kind.name == "SYNC":
            return self._outcomes_of_sync(message)
        several = message.kind.name == "GATHER"
        if several and not message.operations:
            return {"FULL"}
        done = "GATHERED" if several else "APPENDED" if message.level.name == "MEMORY" else "STORED"
        if not several and self._place_waits(message):
            return {"STORED"}
        lengths = [
            (len(log) + len(Record.all_of(message)), drained)
            for log, drained in zip(self.logs[: self.codec.LOGS], self._reached["drained"])
        ]
        has_room = [
            length - drained <= self.codec.SLOTS and length <= self.codec.LAST_NUMBER for length, drained in lengths
        ]
        return ({done} if any(has_room) else set()) | ({"FULL"} if not all(has_room) else set())

    def _outcomes_of_sync(self, message: Any) -> set[str]:
        """The answer to a question about a record; empty if the record was not appended yet."""
        if message.log >= len(self.logs):
            return set()
        if message.epoch != self.epoch:
            return {"UNKNOWN"}
        return {"SYNCED"} if message.number <= len(self.logs[message.log]) else set()

    def _place_waits(self, message: Any) -> bool:
        account = self.accounts[message.client]
        return account.answer is None and account.sequence == message.sequence and message.client in self._waiting

    def needs_daemon(self, message: Any) -> bool:
        return message.kind.name == "SYNC" or (message.kind.name == "APPEND" and message.level.name == "DISK")

    def unanswered(self, message: Any) -> bool:
        """Places a new record later, from the cells: it has a number, only the daemon's acknowledgement is missing."""
        account = self.accounts.get(message.client)
        is_new = message.kind.name == "APPEND" and account.sequence != message.sequence
        is_right = super().unanswered(message)
        if is_new and is_right:
            self._unplaced = Written(Record.of(message), message.client, message.sequence)
        return is_right

    def wrong_answer(self, message: Any, answer: Any) -> list[str]:
        if message.kind.name == "SYNC":
            said, asked = Place.of(answer), Place.of(message)
            return [] if said == asked else [f"{asked} was asked about, and {said} was answered {answer.kind.name}"]
        place = Place.of(answer)
        if place is None:
            return _wrong_nowhere(answer)
        if self._place_waits(message):
            expected = self._waiting[message.client]
            return [] if place == expected else [f"the record at {expected} was acknowledged as {place}"]
        if place.log >= self.codec.LOGS:
            return [f"log {place.log} was answered, and there are {self.codec.LOGS}"]
        said, asked = Record.all_of(answer), Record.all_of(message)
        expected = Place(self.epoch, place.log, len(self.logs[place.log]) + len(asked))
        found = [] if place == expected else [f"appended as {place}, and the next is {expected}"]
        if expected.number - self._reached["drained"][place.log] > self.codec.SLOTS:
            found.append(
                f"appended as {place}, and number {expected.number - self.codec.SLOTS} of that slot has not been "
                "drained"
            )
        if len(said) != len(asked):
            return [*found, f"{len(asked)} records were answered with {len(said)}"]
        return found + [f"the answer has {one}, the request {other}" for one, other in zip(said, asked) if one != other]

    def wrong_memory(self, said: Any, answer: Any) -> list[str]:
        if answer.kind.name not in ("APPENDED", "STORED", "FULL", "GATHERED"):
            return []
        if answer.kind.name == "FULL":
            return _wrong_nowhere(answer)
        first, again = Place.of(said), Place.of(answer)
        return [] if first == again else [f"{answer.kind.name} came as {first}, but a repeated request got {again}"]

    def apply(self, message: Any, outcome: str) -> None:
        if self._place_waits_still(message):
            del self._waiting[message.client]
        elif outcome != "FULL":
            place = Place.of(self.accounts[message.client].said)
            for record in Record.all_of(message):
                self._append(Written(record, message.client, message.sequence), place)

    def _place_waits_still(self, message: Any) -> bool:
        place = self._waiting.get(message.client)
        return place is not None and self.logs[place.log][place.number - 1].sequence == message.sequence

    def _append(self, written: Written, place: Place) -> None:
        self.logs[place.log].append(written)
        self._remembered[written.client] = place

    def revoke(self, client: int) -> None:
        """A session's records stay; nobody will ask for their places."""
        self._waiting.pop(client, None)

    # --- The contents of the cells ------------------------------------------------------------

    def observe(self, tables: Tables) -> bool:
        self._place_unplaced(tables)
        self.epoch = self.epoch or tables["drained"][0]["epoch"]
        for name, reached in self._reached.items():
            for log, mark in enumerate(tables[name]):
                if mark["number"] < reached[log] or (mark["epoch"] != self.epoch):
                    self._lost_marks.append(
                        f"{name} of log {log} was at {self.epoch}.{reached[log]} and is "
                        f"{mark['epoch']}.{mark['number']}"
                    )
                reached[log] = mark["number"]
        is_drained = all(
            cell["number"] == head["appended"]
            for name in self._reached
            for cell, head in zip(tables[name], tables["head"])
        )
        return super().observe(tables) and is_drained

    def _place_unplaced(self, tables: Tables) -> None:
        """Puts the record without an answer into the log whose cell counts one record more than is known."""
        written, self._unplaced = self._unplaced, None
        if written is None:
            return
        more = [log for log, head in enumerate(tables["head"]) if head["appended"] > len(self.logs[log])]
        log = more[0] if more else 0  # if none has, complaints() will report the cells
        place = Place(self.epoch, log, len(self.logs[log]) + 1)
        self._append(written, place)
        self._waiting[written.client] = place

    def complaints(self, tables: Tables) -> list[str]:
        """The errors in the cells. Call it when nothing is under way."""
        found, self._lost_marks = self._lost_marks + self.session_complaints(tables), []
        for log, written in enumerate(self.logs):
            found += self._log_complaints(log, written, tables)
        for client, place in self._remembered.items():
            cell = tables["answer"][client]
            number = self.logs[place.log][place.number - 1].sequence
            expected = {"tag": number % self.codec.TAG_MODULUS, "log": place.log, "number": place.number}
            if cell != expected:
                found.append(f"session {client} remembers {cell} of its last record and should remember {expected}")
        return found

    def _log_complaints(self, log: int, written: Sequence[Written], tables: Tables) -> list[str]:
        appended, found = tables["head"][log]["appended"], []
        if appended != len(written):
            found.append(f"log {log} has {appended} records and should have {len(written)}")
        for name, reached in self._reached.items():
            if reached[log] > len(written):
                found.append(f"{name} of log {log} is at {reached[log]}, and there are {len(written)} records")
        for number in range(1, self.codec.SLOTS + 1):  # numbers of the first lap; later laps reuse their slots
            latest = number + (len(written) - number) // self.codec.SLOTS * self.codec.SLOTS
            found += self._slot_complaints(log, latest, written[latest - 1] if latest > 0 else None, tables)
        return found

    def _slot_complaints(self, log: int, number: int, written: Written | None, tables: Tables) -> list[str]:
        slot = log * self.codec.SLOTS + number % self.codec.SLOTS
        stamp, record = tables["stamp"][slot]["number"], self._record_of(tables["record"][slot])
        expected = written.record if written else Record(0, 0, 0, False, 0, bytes(self.codec.VALUE_SIZE))
        found = []
        if stamp != max(number, 0):
            found.append(f"slot {slot} has the stamp {stamp} and should have {max(number, 0)}")
        if record != expected:
            found.append(f"slot {slot} has {record} and should have {expected}")
        return found

    def _record_of(self, cell: Mapping[str, Any]) -> Record:
        return Record.of({**cell, "value": cell["value"].to_bytes(self.codec.VALUE_SIZE, "little")})

    def left_over(self, tables: Tables) -> list[str]:
        """The leftovers: sessions, records that are in no file or not on the disk, and slots with a wrong stamp."""
        found = self.session_complaints(tables)
        for log, head in enumerate(tables["head"]):
            appended = head["appended"]
            for name in self._reached:
                if tables[name][log]["number"] != appended:
                    found.append(
                        f"{name} of log {log} is at {tables[name][log]['number']}, and {appended} records were appended"
                    )
            for number in range(max(appended - self.codec.SLOTS, 0) + 1, appended + 1):
                slot = log * self.codec.SLOTS + number % self.codec.SLOTS
                if tables["stamp"][slot]["number"] != number:
                    found.append(
                        f"number {number} of log {log} was given, and slot {slot} has the stamp "
                        f"{tables['stamp'][slot]['number']}"
                    )
        return found

    # --- The contents of the files ------------------------------------------------------------

    def entry_complaints(self, entries: Iterable[Mapping[str, Any]], tables: Tables) -> list[str]:
        """The errors in the files: entries that were not appended so, or fewer than the cells say are drained."""
        found, count = [], [0] * len(self.logs)
        for entry in entries:
            log, number = entry["log"], entry["number"]
            count[log] += 1
            if (entry["epoch"], number) != (self.epoch, count[log]) or number > len(self.logs[log]):
                found.append(
                    f"a file has {entry['epoch']}.{log}.{number} where {self.epoch}.{log}.{count[log]} of "
                    f"{len(self.logs[log])} is next"
                )
                break
            record, expected = (
                Record.of({**entry, "value": bytes.fromhex(entry["value"])}),
                self.logs[log][number - 1].record,
            )
            if record != expected:
                found.append(f"a file has {record} as number {number} of log {log}, which is {expected}")
        for name in self._reached:
            for log, mark in enumerate(tables[name]):
                if mark["number"] > count[log]:
                    found.append(f"{name} of log {log} is at {mark['number']}, and the files end at {count[log]}")
        return found

    # --- Clients ------------------------------------------------------------------------------

    def broken_beliefs(self, actors: list[Actor], _now_ns: int) -> list[str]:
        """Errors if a place that a client was given does not hold that client's record."""
        found = []
        for actor in actors:
            for place, written in actor.believed.items():
                log = self.logs[place.log]
                there = log[place.number - 1] if place.number <= len(log) else None
                if there != written or place.epoch != self.epoch:
                    found.append(
                        f"session {written.client} got the answer that {written.record} is {place}, and there is "
                        f"{there and there.record}"
                    )
        return found

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
            case 4:  # fields that only XDP may set
                message.epoch, message.log, message.number = choice % 3, choice % self.codec.LOGS, choice % 11
            case 5 if self._is_executed(message):  # only its place counts when it comes again, not its content
                message.key, message.version, message.value = (
                    choice,
                    choice + 1,
                    choice.to_bytes(self.codec.VALUE_SIZE, "big"),
                )
        if message.kind.name in OPENING:
            message.kind = self.codec.Kind.RENEW
        return message

    def _is_executed(self, message: Any) -> bool:
        account = self.accounts.get(message.client)
        return account is not None and account.sequence == message.sequence


def _wrong_nowhere(answer: Any) -> list[str]:
    """The errors in a FULL answer: it must not have a place."""
    place = Place(answer.epoch, answer.log, answer.number)
    return [] if place == Place(0, 0, 0) else [f"FULL came with the place {place}"]


BYTES = bytes(range(1, 256)) * 2
"""Values are slices of this."""


class Actor:
    """A client whose next move is chosen by a number. `believed`: its records, by the places it was given."""

    KEYS = (0, 1, 2, 2**64 - 1)

    def __init__(self, codec: Any, capacities: Mapping[str, int]) -> None:
        self.session = LogSession(codec)
        self.believed: dict[Place, Written] = {}
        self._session_capacity = capacities["session"]
        self._asked: list[Written] = []
        self._version = 0

    def act(self, choice: int, now_ns: int) -> tuple[str, bytes]:
        """The next datagram to send, and a label for it."""
        session, (which, what) = self.session, divmod(choice, 14)
        if session.is_waiting and (session.is_open or session.is_opening or choice % 2):
            return f"{session.outstanding_kind} ({session.sequence}) again", session.again()
        if not session.is_alive(now_ns):
            if not session.is_invited:
                self.session = session = LogSession(session.codec)
            return opening(session, choice, self._session_capacity, now_ns)
        if what == 0:
            return "CLOSE", session.close(now_ns)
        if what == 1:
            return "RENEW", session.renew(now_ns)
        if what == 2 and self.believed:
            return self._sync(which, now_ns)
        if what > 11:
            return self._gather(which, now_ns)
        return self._append("DISK" if what < 5 else "MEMORY", which, now_ns)

    def _content(self, which: int) -> Content:
        """A record, with the next version of a key."""
        self._version += 1
        sizes = (0, 1, self.session.codec.VALUE_SIZE - 1, self.session.codec.VALUE_SIZE)
        value = None if which % 7 == 6 else BYTES[which % 255 :][: sizes[which % len(sizes)]]
        return Content(self.KEYS[which % len(self.KEYS)], self._version, value, which * 0x10001)

    def _append(self, level: str, which: int, now_ns: int) -> tuple[str, bytes]:
        session, one = self.session, self._content(which)
        datagram = session.append(level, one.key, one.version, one.value, now_ns, one.transaction)
        self._expect(datagram)
        return f"Append ({session.sequence}) {level} version {one.version} of {one.key}", datagram

    def _gather(self, which: int, now_ns: int) -> tuple[str, bytes]:
        """One to four records, which may be more than the buffer has room for."""
        datagram = self.session.gather([self._content(which + i) for i in range(1 + which % 4)], now_ns)
        self._expect(datagram)
        return f"Gather ({self.session.sequence}) {1 + which % 4} records up to version {self._version}", datagram

    def _sync(self, which: int, now_ns: int) -> tuple[str, bytes]:
        """Asks about a place that was given, or again about one that was asked about before."""
        waiting = self.session.outstanding_reads
        if which % 3 == 0 and waiting:
            return f"Sync (read {max(waiting)}) again", waiting[max(waiting)]
        place = list(self.believed)[which % len(self.believed)]
        number, datagram = self.session.sync(place, now_ns)
        return f"Sync {place} (read {number})", datagram

    def _expect(self, datagram: bytes) -> None:
        message = self.session.codec.Message.decode(datagram)
        self._asked = [Written(record, message.client, message.sequence) for record in Record.all_of(message)]

    def receive(self, datagram: bytes, now_ns: int) -> None:
        answer = self.session.receive(datagram, now_ns)
        if answer is not None and answer.kind.name in ("APPENDED", "STORED", "GATHERED"):
            last = Place.of(answer)
            for behind, written in enumerate(reversed(self._asked)):
                self.believed[replace(last, number=last.number - behind)] = written

    def lapse(self, client: int) -> None:
        """Ends the lease if the session is this client's."""
        if self.session.number == client:
            self.session.lease_end_ns = 0
