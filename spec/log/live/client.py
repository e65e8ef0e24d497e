"""Implements a client of the log: append, one record or several, and ask what is on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from spec.lib.live.session_client import Caller, Session


@dataclass(frozen=True)
class Place:
    """A record's place. The numbers of a log are 1, 2, 3 and so on, within an epoch."""

    epoch: int
    log: int
    number: int

    @classmethod
    def of(cls, answer: Any) -> Place | None:
        """The place in the answer to an append; None if there was no room."""
        return None if answer.kind.name == "FULL" else cls(answer.epoch, answer.log, answer.number)


@dataclass(frozen=True)
class Content:
    """A record to be appended with others. Without a value, it deletes the key; see `LogSession.append`."""

    key: int
    version: int
    value: bytes | None
    transaction: int = 0


class LogSession(Session):
    """A session of the log: at most one append, of one record or several, is outstanding."""

    answers: ClassVar[dict[str, tuple[str, ...]]] = {
        "APPEND": ("APPENDED", "STORED", "FULL"),
        "GATHER": ("GATHERED", "FULL"),
    }
    read_answers: ClassVar[dict[str, tuple[str, ...]]] = {"SYNC": ("SYNCED", "UNKNOWN")}
    operation_fields = ("transaction", "key", "version", "deletes", "length", "value")

    def append(
        self, level: str, key: int, version: int, value: bytes | None, now_ns: int, transaction: int = 0
    ) -> bytes:
        """Encode an append of a record; without a value, the record deletes the key.

        level: MEMORY, the record outlives the daemon; DISK, it outlives the machine as well.
        version: of the key, from 1. Recovery takes the newest, so no two records of a key may have the same.
        """
        fields = self._fields(Content(key, version, value, transaction))
        return self.request("APPEND", now_ns, level=self.codec.Level[level], **fields)

    def gather(self, records: Sequence[Content], now_ns: int) -> bytes:
        """Encode an append of several records as one request: all are appended to memory, or none.

        They get numbers one after the other, and the answer has the place of the last. Raises SessionError for none,
        and for more than OPERATIONS_MAX.
        """
        self.check_count(len(records), "records")
        operations = [self.codec.Operation(**self._fields(record)) for record in records]
        return self.request("GATHER", now_ns, count=len(operations), operations=operations)

    def sync(self, place: Place, now_ns: int) -> tuple[int, bytes]:
        """Encode the question whether a record is on the disk, with all before it in its log.

        Returns its number and the datagram. The answer comes when it is. Unknown says that the place is of another
        epoch: the machine has lost its memory.
        """
        return self.read("SYNC", now_ns, **asdict(place))

    def _fields(self, record: Content) -> dict[str, Any]:
        content = record.value or b""
        if len(content) > self.codec.VALUE_SIZE:
            raise ValueError(
                f"a value of {len(content)} bytes cannot be logged: the longest has {self.codec.VALUE_SIZE}"
            )
        return {
            "transaction": record.transaction,
            "key": record.key,
            "version": record.version,
            "deletes": record.value is None,
            "length": len(content),
            "value": content.ljust(self.codec.VALUE_SIZE, b"\0"),
        }

    def _is_answer(self, message: Any) -> bool:
        if not super()._is_answer(message):
            return False
        # Stored answers only appends to disk, and nothing less answers those.
        asked, is_on_disk = self._outstanding, message.kind.name == "STORED"
        return message.kind.name not in ("APPENDED", "STORED") or is_on_disk == (asked.level.name == "DISK")


class LogCaller(Caller):
    """Drives a LogSession over a socket.

    While the daemon is down, appends to memory are answered as usual until the buffer is full; an append to disk waits
    for the daemon. The server takes no other request before that one.
    """

    session: LogSession

    def append(self, level: str, key: int, version: int, value: bytes | None, transaction: int = 0) -> Place | None:
        """Return the record's place once the log keeps the record as `level` says.

        Returns None if there was no room: nothing was appended, and the caller may ask again.
        """
        return Place.of(self.call(self.session.append(level, key, version, value, self.now_ns(), transaction)))

    @staticmethod
    def key_of(record: Content) -> int:
        return record.key

    def ask(self, record: Content) -> Place | None:
        """Append one record to memory, and return its place."""
        return self.append("MEMORY", record.key, record.version, record.value, record.transaction)

    def gather(self, records: Sequence[Content]) -> list[Place | None]:
        """Append many records to memory, as many at once as a message has room for; return the place of each.

        All records of one message are appended, or none: None says that there was no room.
        """
        places: list[Place | None] = []
        for part in self.parts(records):
            last = Place.of(self.call(self.session.gather(part, self.now_ns())))
            before = range(len(part) - 1, -1, -1)
            places += [last and replace(last, number=last.number - behind) for behind in before]
        return places

    def sync(self, place: Place) -> bool:
        """Wait until a record is on the disk, with all before it in its log.

        Returns False if nobody knows what became of it: the machine has lost its memory since.
        """
        return bool(self.read("SYNC", **asdict(place)).kind.name == "SYNCED")

    def renew(self) -> None:
        """Extend the lease without an append."""
        self.call(self.session.renew(self.now_ns()))
