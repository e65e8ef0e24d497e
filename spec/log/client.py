"""A client of the log: append."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from spec.lib.session_client import Caller, Session


@dataclass(frozen=True)
class Place:
    """Where a record is. Numbers of a log are 1, 2, 3 and so on, within an epoch."""

    epoch: int
    log: int
    number: int

    @classmethod
    def of(cls, answer: Any) -> Place | None:
        """What an answer to an append says; None where there was no room."""
        return None if answer.kind.name == "FULL" else cls(answer.epoch, answer.log, answer.number)


class LogSession(Session):
    """A session of the log: one append is outstanding at a time."""

    answers: ClassVar[dict[str, tuple[str, ...]]] = {"APPEND": ("APPENDED", "STORED", "FULL")}

    def append(
        self, level: str, key: int, version: int, value: bytes | None, now_ns: int, transaction: int = 0
    ) -> bytes:
        """A record, to be kept as `level` says: MEMORY, it outlives the daemon; DISK, the machine as well. No value:
        the key is deleted.

        version: of the key, from 1. Recovery takes the newest, so no two records of a key may have the same.
        """
        content = value or b""
        if len(content) > self.codec.VALUE_SIZE:
            raise ValueError(
                f"a value of {len(content)} bytes cannot be logged: there is room for {self.codec.VALUE_SIZE}"
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
        # Stored is for those who asked for it, and less will not do for them.
        asked, is_on_disk = self._outstanding, message.kind.name == "STORED"
        return message.kind.name not in ("APPENDED", "STORED") or is_on_disk == (asked.level.name == "DISK")


class LogCaller(Caller):
    """A LogSession over a socket.

    While the daemon is down, an append to memory is answered as ever, until the buffer is full; one to disk waits for
    the daemon. The server takes no other request before it.
    """

    session: LogSession

    def append(self, level: str, key: int, version: int, value: bytes | None, transaction: int = 0) -> Place | None:
        """Its place, when the log has it as `level` says. None where there was no room: nothing was appended, and it
        may be asked for again.
        """
        return Place.of(self.call(self.session.append(level, key, version, value, self.now_ns(), transaction)))

    def renew(self) -> None:
        """Extend the lease without an append."""
        self.call(self.session.renew(self.now_ns()))

    def close(self) -> None:
        self.call(self.session.close(self.now_ns()))
