"""Implements a client of the lock protocol: acquire, release, and the locks that it believes to hold."""

from __future__ import annotations

from typing import Any, ClassVar

from spec.lib.live.session_client import Caller, Session


class LockSession(Session):
    """A session and the locks that it believes to hold.

    It starts to believe in a lock when it receives Granted. It stops when it sends Release or Close, or when its own
    lease ends.
    """

    answers: ClassVar[dict[str, tuple[str, ...]]] = {
        "ACQUIRE": ("GRANTED", "REJECTED"),
        "RELEASE": ("RELEASED", "REJECTED"),
    }

    def __init__(self, codec: Any) -> None:
        super().__init__(codec)
        self._modes: dict[int, list[str]] = {}
        self._to_release: dict[int, int] = {}
        self._gives_back = False

    def beliefs(self, now_ns: int) -> dict[int, str]:
        """The locks that the session believes to hold, with the mode of each."""
        if not self.is_alive(now_ns):
            self._modes.clear()
        return {lock: "EXCLUSIVE" if "EXCLUSIVE" in modes else "SHARED" for lock, modes in self._modes.items() if modes}

    def share_count(self, lock: int) -> int:
        """How often the session was granted the lock without a release since."""
        return len(self._modes.get(lock, ()))

    def acquire(self, lock: int, mode: str, now_ns: int) -> bytes:
        """Encode an acquire of a lock, in mode SHARED or EXCLUSIVE."""
        return self.request("ACQUIRE", now_ns, lock=lock, mode=self.codec.Mode[mode])

    def release(self, lock: int, now_ns: int) -> bytes:
        """Encode a release: of the lock's last grant, or of one that an earlier release failed to give back."""
        datagram = self.request("RELEASE", now_ns, lock=lock)
        self._gives_back = True
        if self._to_release.get(lock):
            self._to_release[lock] -= 1
        elif self._modes.get(lock):
            self._modes[lock].pop()
        else:
            self._gives_back = False
        return datagram

    def close(self, now_ns: int) -> bytes:
        self._modes.clear()
        return super().close(now_ns)

    def receive(self, datagram: bytes, now_ns: int) -> Any:
        asked = self.outstanding_kind
        message = super().receive(datagram, now_ns)
        if message is None or not self.is_alive(now_ns):
            return message
        if message.kind.name == "GRANTED":
            self._modes.setdefault(message.lock, []).append(message.mode.name)
        elif message.kind.name == "REJECTED" and asked == "RELEASE" and self._gives_back:
            self._to_release[message.lock] = self._to_release.get(message.lock, 0) + 1
        return message


def conflicts(beliefs: list[dict[int, str]]) -> list[str]:
    """Describe the conflicts: beliefs of different clients that exclude each other. There must never be any."""
    found = []
    for one, first in enumerate(beliefs):
        for other, second in enumerate(beliefs[:one]):
            for lock in first.keys() & second.keys():
                if "EXCLUSIVE" in (first[lock], second[lock]):
                    found.append(f"lock {lock}: client {other} believes {second[lock]}, client {one} {first[lock]}")
    return found


class LockCaller(Caller):
    """Drives a LockSession over a socket."""

    session: LockSession

    def acquire(self, lock: int, mode: str) -> bool:
        """Ask for the lock; return whether it was granted."""
        return self.call(self.session.acquire(lock, mode, self.now_ns())).kind.name == "GRANTED"

    def release(self, lock: int) -> bool:
        """Release the lock; return whether it was released.

        A release is rejected under too much contention. It may be asked for again.
        """
        return self.call(self.session.release(lock, self.now_ns())).kind.name == "RELEASED"

    def renew(self) -> None:
        self.call(self.session.renew(self.now_ns()))
