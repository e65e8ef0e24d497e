"""Implements a client of the store: get, insert, update, delete, one at a time or several in one message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from spec.lib.live.session_client import Caller, Session

Wanted = tuple[str, int, bytes]
"""An operation of several: GET, INSERT, UPDATE or DELETE; its key; and the value, which is empty if it writes none."""

VERSIONED = frozenset({"INSERTED", "UPDATED", "DELETED", "EXISTS"})
"""The answers to writes that carry a version."""


@dataclass(frozen=True)
class Entry:
    """The version and value that the store has under a key."""

    version: int
    value: bytes


@dataclass(frozen=True)
class Outcome:
    """The result of a write.

    kind, in the codec's capitals: INSERTED, UPDATED or DELETED; or EXISTS, ABSENT, NO_ROOM or TOO_LONG if nothing
    changed.
    version: the version written, the one deleted, or the one that exists; otherwise None.
    """

    kind: str
    version: int | None

    @classmethod
    def of(cls, answer: Any) -> Outcome:
        kind = answer.kind.name
        return cls(kind, answer.version if kind in VERSIONED else None)

    @property
    def is_done(self) -> bool:
        """Whether the write changed the store."""
        return self.kind in ("INSERTED", "UPDATED", "DELETED")


class StoreSession(Session):
    """A session of a store: at most one write is outstanding, and any number of gets. A message has one operation."""

    answers: ClassVar[dict[str, tuple[str, ...]]] = {
        "INSERT": ("INSERTED", "EXISTS", "NO_ROOM", "TOO_LONG"),
        "UPDATE": ("UPDATED", "ABSENT", "NO_ROOM", "TOO_LONG"),
        "DELETE": ("DELETED", "ABSENT"),
    }
    read_answers: ClassVar[dict[str, tuple[str, ...]]] = {"GET": ("VALUE", "MISSING")}
    one_way = frozenset({"tail"})

    def get(self, key: int, now_ns: int) -> tuple[int, bytes]:
        """Encode a get; return its number and datagram."""
        return self.read("GET", now_ns, key=key)

    def insert(self, key: int, value: bytes, now_ns: int) -> bytes:
        return self.request("INSERT", now_ns, key=key, **self._stored(value))

    def update(self, key: int, value: bytes, now_ns: int) -> bytes:
        return self.request("UPDATE", now_ns, key=key, **self._stored(value))

    def delete(self, key: int, now_ns: int) -> bytes:
        return self.request("DELETE", now_ns, key=key)

    def _stored(self, value: bytes) -> dict[str, Any]:
        """The fields of a value. A value that is too long goes out as its length alone: the store checks that first."""
        size = len(value)
        in_slot, in_tail = value if size <= self.codec.SLOT_SIZE else b"", value if self.codec.tail_size(size) else b""
        return {"length": size, "value": in_slot.ljust(self.codec.SLOT_SIZE, b"\0"), "tail": in_tail}

    def _answers_read(self, message: Any) -> bool:
        is_whole = message.kind.name != "VALUE" or len(message.tail) == self.codec.tail_size(message.length)
        return is_whole and super()._answers_read(message)


class KvSession(StoreSession):
    """A session of the key-value store, whose messages may also have several operations."""

    answers: ClassVar[dict[str, tuple[str, ...]]] = {**StoreSession.answers, "GATHER": ("GATHERED",)}
    read_answers: ClassVar[dict[str, tuple[str, ...]]] = {**StoreSession.read_answers, "FETCH": ("FETCHED",)}
    operation_fields = ("key",)

    def fetch(self, keys: Sequence[int], now_ns: int) -> tuple[int, bytes]:
        """Encode a get of several keys; return its number and datagram.

        They are answered one by one. One that stays a GET was left alone: ask for it by itself. Raises SessionError for
        none, and for more than OPERATIONS_MAX.
        """
        return self.read("FETCH", now_ns, **self.operations_of([("GET", key, b"") for key in keys]))

    def gather(self, wanted: Sequence[Wanted], now_ns: int) -> bytes:
        """Encode several operations as one request, which is executed at most once, in their order.

        They are answered one by one, and others may come between them. One that keeps its kind was not executed, or is
        a get of a request that was answered before: ask for it by itself. Raises SessionError for none, and for more
        than OPERATIONS_MAX.
        """
        return self.request("GATHER", now_ns, **self.operations_of(wanted))

    def operations_of(self, wanted: Sequence[Wanted]) -> dict[str, Any]:
        """The fields of a message with these operations. Raises SessionError for none, and for too many."""
        return self.several([self.operation(*each) for each in wanted])

    def several(self, operations: list[Any]) -> dict[str, Any]:
        """The same for operations that are encoded already."""
        self.check_count(len(operations), "operations")
        return {"count": len(operations), "operations": operations}

    def operation(self, kind: str, key: int, value: bytes) -> Any:
        """An operation. A long value goes out as its length alone, which the kernel leaves alone."""
        stored = self._stored(value)
        return self.codec.Operation(kind=self.codec.Kind[kind], key=key, length=stored["length"], value=stored["value"])


def value_of(message: Any) -> bytes:
    """The whole value that a message carries, or an operation, which has no tail."""
    return getattr(message, "tail", b"") or message.value[: message.length]


def entry_of(answer: Any) -> Entry | None:
    """The entry in the answer to a get; None if the key is not there."""
    return Entry(answer.version, value_of(answer)) if answer.kind.name == "VALUE" else None


class StoreCaller(Caller):
    """Drives a StoreSession over a socket. Values may have any length: the store rejects those that are too long.

    While the daemon is down, a call raises NotServed at once if the kernel alone has no answer; a `patient` caller
    waits for the daemon instead. A write without an answer may have been executed, or may be later. `again` waits for
    its answer; the next write gives it up.
    """

    session: StoreSession

    def __init__(self, *arguments: Any, patient: bool = False, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._patient = patient

    def get(self, key: int) -> Entry | None:
        """Return the entry of a key, if there is one."""
        return entry_of(self.read("GET", self._patient, key=key))

    def insert(self, key: int, value: bytes) -> Outcome:
        """Write the value only if the key is not there."""
        return self._write(self._next().insert(key, value, self.now_ns()))

    def update(self, key: int, value: bytes) -> Outcome:
        """Write the value only if the key is there."""
        return self._write(self._next().update(key, value, self.now_ns()))

    def delete(self, key: int) -> Outcome:
        return self._write(self._next().delete(key, self.now_ns()))

    def again(self) -> Outcome:
        """Wait for the answer to the unanswered write; it may have arrived already."""
        if not self.session.is_waiting and self.settled is not None:
            answer, self.settled = self.settled, None
            return Outcome.of(answer)
        return self._write(self.session.again())

    def renew(self) -> None:
        """Extend the lease. A write does that too, a get does not."""
        self._next()
        self.call(self.session.renew(self.now_ns()))

    def close(self) -> None:
        self._next()
        super().close()

    def _next(self) -> StoreSession:
        if self.session.is_waiting:
            self.session.give_up()
        return self.session

    def _write(self, datagram: bytes) -> Outcome:
        return Outcome.of(self.call(datagram, self._patient))


class KvCaller(StoreCaller):
    """Drives a KvSession over a socket."""

    session: KvSession

    @staticmethod
    def key_of(wanted: Wanted) -> int:
        return wanted[1]

    def ask(self, wanted: Wanted) -> Outcome | Entry | None:
        """Execute one operation, and return its outcome."""
        kind, key, value = wanted
        match kind:
            case "GET":
                return self.get(key)
            case "INSERT":
                return self.insert(key, value)
            case "UPDATE":
                return self.update(key, value)
        return self.delete(key)

    def fetch(self, keys: Sequence[int]) -> list[Entry | None]:
        """Return the entries of many keys, as many in one message as it has room for."""
        found: list[Entry | None] = []
        for part in self.parts(keys):
            fields = self.session.operations_of([("GET", key, b"") for key in part])
            answer = self.read("FETCH", self._patient, **fields)
            found += [self._entry(done) for done in answer.operations]
        return found

    def gather(self, wanted: Sequence[Wanted]) -> list[Outcome | Entry | None]:
        """Execute many operations, as many in one message as it has room for; return the outcome of each.

        One that the kernel leaves alone is asked for by itself, after the others of its message. If all are gets, they
        are a read, which does not extend the lease.
        """
        if all(kind == "GET" for kind, _, _ in wanted):
            return list(self.fetch([key for _, key, _ in wanted]))
        outcomes: list[Outcome | Entry | None] = []
        for part in self.parts(wanted):
            self._next()
            answer = self.call(self.session.gather(part, self.now_ns()), self._patient)
            outcomes += [self._outcome(done, asked) for done, asked in zip(answer.operations, part)]
        return outcomes

    def _entry(self, done: Any) -> Entry | None:
        if done.kind.name == "GET":
            return self.get(done.key)
        return entry_of(done)

    def _outcome(self, done: Any, asked: Wanted) -> Outcome | Entry | None:
        kind = asked[0]
        if kind == "GET":
            return self._entry(done)
        if done.kind.name != kind:
            return Outcome.of(done)
        return self.ask(asked)
