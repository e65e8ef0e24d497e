"""A client of transactions over the store: what the store's client does, and several keys read and written as if at one
moment.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from spec.kv.client import KvCaller, KvSession, value_of
from spec.lib.session_client import LeaseEnded, SessionError

Result = TypeVar("Result")

PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.0005, 0.05
"""Between two attempts: a random time below a limit that doubles from the one to the other."""


class TransactionError(SessionError):
    """A transaction was aborted and nothing of it was written; the message says why."""


class Conflict(TransactionError):
    """Another transaction, or a write of the store, came in between: begun anew, it may succeed."""


class Undecided(LeaseEnded):
    """The lease ended while the first commit was under way: all of the transaction was written, or nothing."""


class OccSession(KvSession):
    """A session of transactions: the store's, with locks. One write, lock, commit or abort is outstanding at a time."""

    answers: ClassVar[dict[str, tuple[str, ...]]] = {
        **{kind: (*kinds, "LOCKED") for kind, kinds in KvSession.answers.items()},
        "LOCK": ("GRANTED", "CONFLICT", "TOO_LONG", "NO_ROOM", "REFUSED"),
        "COMMIT": ("COMMITTED", "REFUSED"),
        "ABORT": ("ABORTED", "REFUSED"),
    }
    # an answer to a lock says those of the entry that is there
    one_way = frozenset({"tail", "version", "length", "value"})

    def lock(self, place: int, key: int, version: int, value: bytes | None, now_ns: int) -> bytes:
        """Lock a key that has this version, 0 where it is not to exist, and say what is to be written; None: it is to
        be deleted.
        """
        written = self._stored(b"" if value is None else value)
        return self.request("LOCK", now_ns, place=place, key=key, version=version, deletes=value is None, **written)

    def commit(self, place: int, key: int, now_ns: int) -> bytes:
        return self.request("COMMIT", now_ns, place=place, key=key)

    def abort(self, place: int, key: int, now_ns: int) -> bytes:
        return self.request("ABORT", now_ns, place=place, key=key)


@dataclass(frozen=True)
class Reading:
    """What a get of a key was answered with.

    value: None where the key is not there.
    version: of the entry; where there is none, the greatest that was ever deleted from the key's bucket.
    locked: some transaction is about to write it.
    """

    value: bytes | None
    version: int
    locked: bool

    @classmethod
    def of(cls, answer: Any) -> Reading:
        return cls(value_of(answer) if answer.kind.name == "VALUE" else None, answer.version, answer.locked)

    @property
    def lock_version(self) -> int:
        """That a lock has to name."""
        return 0 if self.value is None else self.version

    def holds(self, later: Reading) -> bool:
        """Whether nothing was written from this reading to a later one, and nothing is about to be."""
        return not later.locked and (later.value is None) == (self.value is None) and later.version == self.version


class Transaction:
    """One attempt: what it has read, and what it is to write. See `OccCaller.transaction`."""

    def __init__(self, caller: OccCaller) -> None:
        self._caller = caller
        self._readings: dict[int, Reading] = {}
        self._writes: dict[int, bytes | None] = {}
        self._places: dict[int, int] = {}

    def get(self, key: int) -> bytes | None:
        """The value that the transaction sees, its own writes included; None where the key is not there."""
        if key in self._writes:
            return self._writes[key]
        if key not in self._readings:
            self._readings[key] = self._caller.read_key(key)
        return self._readings[key].value

    def put(self, key: int, value: bytes) -> None:
        """Write the key, whether it is there or not; in the end."""
        self._write(key, value)

    def delete(self, key: int) -> None:
        """Delete the key if it is there; in the end."""
        self._write(key, None)

    def _write(self, key: int, value: bytes | None) -> None:
        count_max = self._caller.session.codec.INTENTS
        if key not in self._writes and len(self._writes) == count_max:
            raise TransactionError(f"a transaction writes {count_max} keys at most, and key {key} is one more")
        self._writes[key] = value

    # --- What the caller does with it ---------------------------------------------------------

    def complete(self) -> None:
        """Lock what is written, read again what was only read, and commit. Raises TransactionError where it is not to
        be.
        """
        try:
            for place, (key, value) in enumerate(self._writes.items()):
                self._lock(place, key, value)
            self._validate()
        except BaseException:
            self.abort()
            raise
        self._commit()

    def abort(self) -> None:
        """Take back what was locked, or may have been. Where the lease has ended, the server does it."""
        if not self._caller.session.is_alive(self._caller.now_ns()):
            return
        with contextlib.suppress(LeaseEnded):
            for key, place in self._places.items():
                self._caller.ask("ABORT", place, key)

    def _lock(self, place: int, key: int, value: bytes | None) -> None:
        """Without a reading any version is right: that which a conflict tells is tried once."""
        self._places[key] = place
        reading = self._readings.get(key)
        version = 0 if reading is None else reading.lock_version
        answer = self._caller.lock(place, key, version, value)
        if answer.kind.name == "CONFLICT" and reading is None and answer.version != version:
            answer = self._caller.lock(place, key, answer.version, value)
        if answer.kind.name != "GRANTED":
            del self._places[key]
        match answer.kind.name:
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
            return  # one reading is of one moment
        for key, reading in only_read.items():
            if not reading.holds(self._caller.read_key(key)):
                raise Conflict(f"key {key} was written, or is about to be, since it was read")

    def _commit(self) -> None:
        """The first commit decides: what the session does not get to afterwards, the server does."""
        for number, (key, place) in enumerate(self._places.items()):
            try:
                answer = self._caller.ask("COMMIT", place, key)
            except LeaseEnded as error:
                if number > 0:
                    return
                raise Undecided(f"{error}; the transaction was committed, or was not") from None
            if answer.kind.name != "COMMITTED":
                raise SessionError(
                    f"session {self._caller.session.number}: place {place} is not locked any more, and was not to be "
                    "given up"
                )


class OccCaller(KvCaller):
    """An OccSession over a socket. Besides transactions it does what the store's caller does; of a key that is locked,
    a write is told LOCKED.
    """

    session: OccSession

    def read_key(self, key: int) -> Reading:
        return Reading.of(self.read("GET", self._patient, key=key))

    def lock(self, place: int, key: int, version: int, value: bytes | None) -> Any:
        """The answer to a lock: see OccSession.lock."""
        return self.call(self._next().lock(place, key, version, value, self.now_ns()), self._patient)

    def ask(self, kind: str, place: int, key: int) -> Any:
        """The answer to a commit or an abort; neither needs the daemon."""
        return self.call(self._next().request(kind, self.now_ns(), place=place, key=key))

    def transaction(self, body: Callable[[Transaction], Result], attempts_max: int = 100) -> Result:
        """Run `body`, which gets, puts and deletes through the transaction that it is given, and commit; returns what
        it returns.

        After a conflict it is run anew, so it must have no other effect. That what it reads fits together is only known
        when it has ended. What it raises ends the transaction, of which nothing is written.

        Raises Conflict after so many attempts, TransactionError where it cannot be written, Undecided where nobody can
        say.
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
