"""Implements a client of the lock protocol: acquire, release, and the locks that it believes to hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from spec.lib.live.session_client import Caller, Session, SessionError

Wanted = tuple[int, str | None]
"""A lock, and the mode to acquire it in: SHARED or EXCLUSIVE; None to release it."""


class LockSession(Session):
    """A session and the locks that it believes to hold.

    It starts to believe in a lock when it receives Granted. It stops when it sends Release or Close, or when its own
    lease ends.
    """

    answers: ClassVar[dict[str, tuple[str, ...]]] = {
        "ACQUIRE": ("GRANTED", "REJECTED"),
        "RELEASE": ("RELEASED", "REJECTED"),
        "GATHER": ("GATHERED",),
    }
    operation_fields = ("lock", "mode")

    def __init__(self, codec: Any) -> None:
        super().__init__(codec)
        self._modes: dict[int, list[str]] = {}
        self._to_release: dict[int, int] = {}
        self._given_back: set[int] = set()

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
        self._stop_believing([lock])
        return datagram

    def gather(self, wanted: Sequence[Wanted], now_ns: int) -> bytes:
        """Encode several acquires and releases as one request, of OPERATIONS_MAX at most.

        They are answered one by one, and others may come between them. One that keeps its kind was not executed: ask
        for it alone. Raises SessionError for none, for too many, and for a lock that is named twice.
        """
        locks = [lock for lock, _ in wanted]
        self.check_count(len(locks), "locks")
        if len(set(locks)) < len(locks):
            raise SessionError(f"a lock is named twice in {locks}: one of the two may be left to be asked for alone")
        operations = [self._operation(lock, mode) for lock, mode in wanted]
        datagram = self.request("GATHER", now_ns, count=len(operations), operations=operations)
        self._stop_believing([lock for lock, mode in wanted if mode is None])
        return datagram

    def _operation(self, lock: int, mode: str | None) -> Any:
        kind = self.codec.Kind.RELEASE if mode is None else self.codec.Kind.ACQUIRE
        return self.codec.Operation(kind=kind, mode=self.codec.Mode[mode or "FREE"], lock=lock)

    def _stop_believing(self, locks: Sequence[int]) -> None:
        for lock in locks:
            if self._to_release.get(lock):
                self._to_release[lock] -= 1
            elif self._modes.get(lock):
                self._modes[lock].pop()
            else:
                continue
            self._given_back.add(lock)

    def close(self, now_ns: int) -> bytes:
        self._modes.clear()
        return super().close(now_ns)

    def receive(self, datagram: bytes, now_ns: int) -> Any:
        message = super().receive(datagram, now_ns)
        if message is None or not self.is_alive(now_ns):
            return message
        for done in message.operations or [message]:
            if done.kind.name == "GRANTED":
                self._modes.setdefault(done.lock, []).append(done.mode.name)
            elif done.kind.name in ("REJECTED", "RELEASE") and done.lock in self._given_back:
                self._to_release[done.lock] = self._to_release.get(done.lock, 0) + 1
        self._given_back.clear()
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

    @staticmethod
    def key_of(wanted: Wanted) -> int:
        return wanted[0]

    def ask(self, wanted: Wanted) -> bool:
        """Ask for one lock; return whether it was granted or released."""
        lock, mode = wanted
        return self.release(lock) if mode is None else self.acquire(lock, mode)

    def gather(self, wanted: Sequence[Wanted]) -> list[bool]:
        """Ask for many locks at once, and return of each whether it was granted or released.

        A request takes as many as a message has room for. An operation that the kernel left alone is asked for by
        itself. No lock may be named twice in one request.
        """
        outcomes: list[bool] = []
        for part in self.parts(wanted):
            answer = self.call(self.session.gather(part, self.now_ns()))
            outcomes += [self._outcome(done) for done in answer.operations]
        return outcomes

    def _outcome(self, done: Any) -> bool:
        match done.kind.name:
            case "ACQUIRE":
                return self.acquire(done.lock, done.mode.name)
            case "RELEASE":
                return self.release(done.lock)
        return done.kind.name in ("GRANTED", "RELEASED")

    def renew(self) -> None:
        self.call(self.session.renew(self.now_ns()))
