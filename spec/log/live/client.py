"""Implements a client of the log: append."""

from __future__ import annotations

from dataclasses import dataclass
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


class LogSession(Session):
    """A session of the log: at most one append is outstanding."""

    answers: ClassVar[dict[str, tuple[str, ...]]] = {"APPEND": ("APPENDED", "STORED", "FULL")}

    def append(
        self, level: str, key: int, version: int, value: bytes | None, now_ns: int, transaction: int = 0
    ) -> bytes:
        """Encode an append of a record; without a value, the record deletes the key.

        level: MEMORY, the record outlives the daemon; DISK, it outlives the machine as well.
        version: of the key, from 1. Recovery takes the newest, so no two records of a key may have the same.
        """
        content = value or b""
        if len(content) > self.codec.VALUE_SIZE:
            raise ValueError(
                f"a value of {len(content)} bytes cannot be logged: the longest has {self.codec.VALUE_SIZE}"
            )
        fields = {
            "transaction": transaction,
            "key": key,
            "version": version,
            "deletes": value is None,
            "length": len(content),
        }
        padded = content.ljust(self.codec.VALUE_SIZE, b"\0")
        return self.request("APPEND", now_ns, level=self.codec.Level[level], **fields, value=padded)

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

    def renew(self) -> None:
        """Extend the lease without an append."""
        self.call(self.session.renew(self.now_ns()))
