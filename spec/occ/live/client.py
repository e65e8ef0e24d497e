"""Implements a client of transactions over the store.

It does what the store's client does, and also reads and writes several keys as if at one moment.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

from spec.kv.live.client import KvCaller, KvSession, StoreSession, value_of
from spec.lib.live.session_client import LeaseEnded, SessionError

Result = TypeVar("Result")

PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.0005, 0.05
"""The pause between two attempts: a random time below a limit that doubles from MIN to MAX."""


class TransactionError(SessionError):
    """A transaction was aborted and wrote nothing; the message says why."""


class Conflict(TransactionError):
    """Another transaction, or a write of the store, came in between: a new attempt may succeed."""


class Undecided(LeaseEnded):
    """The lease ended during the first commit: the transaction was written as a whole, or not at all."""


class Wish(NamedTuple):
    """A lock to ask for.

    place: of the transaction. version: of the key as it was read; 0 if it must not exist.
    value: to be written; None deletes the key.
    """

    place: int
    key: int
    version: int
    value: bytes | None


class OccSession(KvSession):
    """A store session with locks: at most one write, lock, commit, abort, or message with several, is outstanding."""

    answers: ClassVar[dict[str, tuple[str, ...]]] = {
        **KvSession.answers,
        **{kind: (*kinds, "LOCKED") for kind, kinds in StoreSession.answers.items()},
        "LOCK": ("GRANTED", "CONFLICT", "TOO_LONG", "NO_ROOM", "REFUSED"),
        "COMMIT": ("COMMITTED", "REFUSED"),
        "ABORT": ("ABORTED", "REFUSED"),
    }
    # an answer to a lock carries these fields of the existing entry
    one_way = frozenset({"tail", "version", "length", "value"})
    operation_fields = ("key", "place")

    def lock(self, place: int, key: int, version: int, value: bytes | None, now_ns: int) -> bytes:
        """Encode a lock; see Wish."""
        return self.request("LOCK", now_ns, **self._lock_fields(place, key, version, value))

    def commit(self, place: int, key: int, now_ns: int) -> bytes:
        return self.request("COMMIT", now_ns, place=place, key=key)

    def abort(self, place: int, key: int, now_ns: int) -> bytes:
        return self.request("ABORT", now_ns, place=place, key=key)

    def ask_all(self, operations: list[Any], now_ns: int) -> bytes:
        """Encode several operations as one request; see `gather`."""
        return self.request("GATHER", now_ns, **self.several(operations))

    def lock_operation(self, place: int, key: int, version: int, value: bytes | None) -> Any:
        """The same as `lock`, as an operation."""
        fields = self._lock_fields(place, key, version, value)
        del fields["tail"]
        return self.codec.Operation(kind=self.codec.Kind.LOCK, **fields)

    def place_operation(self, kind: str, place: int, key: int) -> Any:
        """A commit or an abort, as an operation."""
        return self.codec.Operation(kind=self.codec.Kind[kind], place=place, key=key)

    def _lock_fields(self, place: int, key: int, version: int, value: bytes | None) -> dict[str, Any]:
        written = self._stored(b"" if value is None else value)
        return {"place": place, "key": key, "version": version, "deletes": value is None, **written}


@dataclass(frozen=True)
class Reading:
    """The answer to a get of a key.

    value: None if the key is not there.
    version: of the entry; without one, the greatest version ever deleted from the key's bucket.
    locked: a transaction is about to write the key.
    """

    value: bytes | None
    version: int
    locked: bool

    @classmethod
    def of(cls, answer: Any) -> Reading:
        return cls(value_of(answer) if answer.kind.name == "VALUE" else None, answer.version, answer.locked)

    @property
    def lock_version(self) -> int:
        """The version that a lock of the key must carry."""
        return 0 if self.value is None else self.version

    def holds(self, later: Reading) -> bool:
        """Whether nothing was written between this reading and a later one, and nothing is about to be."""
        return not later.locked and (later.value is None) == (self.value is None) and later.version == self.version


class Transaction:
    """One attempt at a transaction: the readings so far, and the writes to do. See `OccCaller.transaction`."""

    def __init__(self, caller: OccCaller) -> None:
        self._caller = caller
        self._readings: dict[int, Reading] = {}
        self._writes: dict[int, bytes | None] = {}
        self._places: dict[int, int] = {}

    def get(self, key: int) -> bytes | None:
        """Return the value that the transaction sees, its own writes included; None if the key is not there."""
        if key in self._writes:
            return self._writes[key]
        if key not in self._readings:
            self._readings[key] = self._caller.read_key(key)
        return self._readings[key].value

    def get_all(self, keys: Sequence[int]) -> list[bytes | None]:
        """Return the values of many keys, like `get`. A message reads all that were not read yet."""
        unread = [key for key in dict.fromkeys(keys) if key not in self._writes and key not in self._readings]
        if unread:
            self._readings |= dict(zip(unread, self._caller.read_keys(unread)))
        return [self.get(key) for key in keys]

    def put(self, key: int, value: bytes) -> None:
        """Write the key at the end of the transaction, whether it exists or not."""
        self._write(key, value)

    def delete(self, key: int) -> None:
        """Delete the key at the end of the transaction, if it exists then."""
        self._write(key, None)

    def _write(self, key: int, value: bytes | None) -> None:
        count_max = self._caller.session.codec.INTENTS
        if key not in self._writes and len(self._writes) == count_max:
            raise TransactionError(f"a transaction writes at most {count_max} keys, so it cannot write key {key} too")
        self._writes[key] = value

    # --- For the caller -----------------------------------------------------------------------

    def complete(self) -> None:
        """Lock the keys to write, read the other keys again, and commit, each of these at once.

        Raises TransactionError if the transaction cannot commit.
        """
        try:
            self._lock()
            self._validate()
        except BaseException:
            self.abort()
            raise
        self._commit()

    def abort(self) -> None:
        """Release the locks that were taken, or may have been. If the lease has ended, the server does so."""
        if not self._caller.session.is_alive(self._caller.now_ns()):
            return
        with contextlib.suppress(LeaseEnded):
            self._caller.settle_all("ABORT", list(self._places.items()))

    def _lock(self) -> None:
        """Lock all keys to write.

        A key that was not read may have any version: after a conflict, the version in the answer is tried once.
        """
        wishes = [self._wish(place, key) for place, key in enumerate(self._writes)]
        self._places = {wish.key: wish.place for wish in wishes}
        answers = self._caller.lock_all(wishes)
        for number, (wish, answer) in enumerate(zip(wishes, answers)):
            is_newer = wish.key not in self._readings and answer.version != wish.version
            if answer.kind.name == "CONFLICT" and is_newer:
                answers[number] = self._caller.lock(*wish._replace(version=answer.version))
        for wish, answer in zip(wishes, answers):
            if answer.kind.name != "GRANTED":
                del self._places[wish.key]
        for wish, answer in zip(wishes, answers):
            self._check_lock(wish.place, wish.key, answer.kind.name)

    def _wish(self, place: int, key: int) -> Wish:
        reading = self._readings.get(key)
        return Wish(place, key, 0 if reading is None else reading.lock_version, self._writes[key])

    def _check_lock(self, place: int, key: int, outcome: str) -> None:
        match outcome:
            case "CONFLICT":
                raise Conflict(f"key {key} is locked, or was written since it was read")
            case "TOO_LONG":
                slot_size = self._caller.session.codec.SLOT_SIZE
                raise TransactionError(
                    f"key {key} has, or is to have, a value of more than {slot_size} bytes: no transaction writes it"
                )
            case "NO_ROOM":
                raise TransactionError(f"there is no room to lock key {key}: the page of its bucket is full")
            case "REFUSED":
                raise TransactionError(
                    f"key {key} cannot be locked at place {place}: an earlier transaction of the session has not ended"
                )

    def _validate(self) -> None:
        only_read = {key: reading for key, reading in self._readings.items() if key not in self._writes}
        if len(only_read) == 1 and not self._writes and not any(reading.locked for reading in only_read.values()):
            return  # a single reading is of one moment
        later = self._caller.read_keys(list(only_read)) if only_read else []
        for (key, reading), again in zip(only_read.items(), later):
            if not reading.holds(again):
                raise Conflict(f"key {key} was written, or is about to be, since it was read")

    def _commit(self) -> None:
        """Commit all places. The first commit decides: the server completes what the session does not reach."""
        try:
            answers = self._caller.settle_all("COMMIT", list(self._places.items()))
        except LeaseEnded as error:
            raise Undecided(f"{error}; the transaction was committed, or was not") from None
        for place, answer in zip(self._places.values(), answers):
            if answer is not None and answer.kind.name != "COMMITTED":
                raise SessionError(
                    f"session {self._caller.session.number}: place {place} is not locked any more, and was not to be "
                    "given up"
                )


class OccCaller(KvCaller):
    """Drives an OccSession over a socket.

    It runs transactions, and does what the store's caller does. A write of a locked key gets LOCKED as its answer.
    """

    session: OccSession

    def read_key(self, key: int) -> Reading:
        return Reading.of(self.read("GET", self._patient, key=key))

    def read_keys(self, keys: Sequence[int]) -> list[Reading]:
        """Read many keys, as many in one message as it has room for. Others may write between two of these reads."""
        if len(keys) == 1:
            return [self.read_key(keys[0])]
        found: list[Reading] = []
        for part in self.parts(keys):
            fields = self.session.operations_of([("GET", key, b"") for key in part])
            answer = self.read("FETCH", self._patient, **fields)
            found += [self._reading(done) for done in answer.operations]
        return found

    def _reading(self, done: Any) -> Reading:
        return self.read_key(done.key) if done.kind.name == "GET" else Reading.of(done)

    def lock(self, place: int, key: int, version: int, value: bytes | None) -> Any:
        """Lock a key and return the answer: see Wish."""
        return self.call(self._next_one().lock(place, key, version, value, self.now_ns()), self._patient)

    def lock_all(self, wishes: Sequence[Wish]) -> list[Any]:
        """Lock keys at once and return the answers. A message of its own asks for each that was left."""
        answers: list[Any] = [None] * len(wishes)
        if len(wishes) > 1:
            answers = self._ask_all([self.session.lock_operation(*wish) for wish in wishes], "LOCK")
        return [answer or self.lock(*wish) for wish, answer in zip(wishes, answers)]

    def ask(self, kind: str, place: int, key: int) -> Any:
        """Commit or abort a place and return the answer. Neither needs the daemon."""
        return self.call(self._next_one().request(kind, self.now_ns(), place=place, key=key))

    def settle_all(self, kind: str, places: Sequence[tuple[int, int]]) -> list[Any]:
        """Commit or abort places, given as (key, place), at once, and return the answers.

        If the lease ends once one of them was settled, the server does the rest, and its answer is None.
        """
        answers: list[Any] = [None] * len(places)
        if len(places) > 1:
            answers = self._ask_all([self.session.place_operation(kind, place, key) for key, place in places], kind)
        for number, (key, place) in enumerate(places):
            if answers[number] is None:
                try:
                    answers[number] = self.ask(kind, place, key)
                except LeaseEnded:
                    if not any(answers):
                        raise
                    break
        return answers

    def _ask_all(self, operations: list[Any], kind: str) -> list[Any]:
        """Ask for operations of this kind at once. The answer to one that was left alone is None."""
        answer = self.call(self._next_one().ask_all(operations, self.now_ns()), self._patient)
        return [None if done.kind.name == kind else done for done in answer.operations]

    def _next_one(self) -> OccSession:
        self._next()
        return self.session

    def transaction(self, body: Callable[[Transaction], Result], attempts_max: int = 100) -> Result:
        """Run `body` in a transaction, commit, and return what `body` returns.

        `body` gets, puts and deletes through the transaction that it is given. It runs again after a conflict, so it
        must have no other effect. Its readings are known to fit together only after the commit. If it raises an
        exception, the transaction ends and writes nothing.

        Raises Conflict after that many attempts, TransactionError if the transaction cannot be written, and Undecided
        if its outcome is unknown.
        """
        limit_seconds = PAUSE_SECONDS_MIN
        attempts = 0
        while True:
            attempts += 1
            transaction = Transaction(self)
            result = body(transaction)
            try:
                transaction.complete()
                return result
            except Conflict as conflict:
                if attempts >= attempts_max:
                    raise Conflict(f"{conflict}; given up after {attempts} attempts") from None
            time.sleep(random.uniform(0, limit_seconds))
            limit_seconds = min(2 * limit_seconds, PAUSE_SECONDS_MAX)
