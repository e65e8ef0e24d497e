"""Shows in the demonstration how long it takes until others get the locks of a client that died."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from spec.lib.live.session_client import lease_ns
from spec.lock.live.client import LockCaller, LockSession

EXCLUSIVE, SHARED = 2**63, 2**63 + 1  # ids that no load asks for


class Scene:
    """Starts before the other phases, so that the lease runs out during them."""

    title = "a client dies holding two locks"
    waiting = "its lease has not ended yet"

    def __init__(self, codec: Any, capacities: Mapping[str, int], connect: Callable[[], socket.socket]) -> None:
        self._codec = codec
        self._capacity = capacities["session"]
        self._connect = connect
        self._random = random.Random(20230)
        self._died_at = 0.0
        self._heir = threading.Thread(target=self._inherit, daemon=True)
        self._waited_seconds: list[float] = []

    def _client(self) -> LockCaller:
        caller = LockCaller(LockSession(self._codec), self._connect())
        caller.open(self._random, self._capacity)
        return caller

    def begin(self) -> None:
        """Acquire two locks as a client that is never heard of again."""
        doomed, other = self._client(), self._client()
        if not (doomed.acquire(EXCLUSIVE, "EXCLUSIVE") and doomed.acquire(SHARED, "SHARED")):
            raise AssertionError("the first client of all was refused a lock")
        self._died_at = time.monotonic()
        if other.acquire(EXCLUSIVE, "SHARED") or other.acquire(SHARED, "EXCLUSIVE"):
            raise AssertionError("two clients were granted locks that exclude each other")
        other.close()
        self._heir.start()

    def _inherit(self) -> None:
        """Ask for the dead client's locks until both are granted."""
        heir = self._client()
        for lock in (EXCLUSIVE, SHARED):
            while not heir.acquire(lock, "EXCLUSIVE"):
                time.sleep(0.05)
            self._waited_seconds.append(time.monotonic() - self._died_at)
        heir.close()

    def end(self, patience_seconds: float = 30) -> str:
        """Wait until the locks are free again, and report when that was."""
        self._heir.join(patience_seconds)
        if len(self._waited_seconds) < 2:
            waited = time.monotonic() - self._died_at
            raise AssertionError(f"locks of a dead client are not free after {waited:.1f} s")
        lease, first = lease_ns(self._codec) / 1e9, self._waited_seconds[0]
        if first < lease:
            raise AssertionError(f"a lock was taken from a client {lease - first:.1f} s before the end of its lease")
        last = self._waited_seconds[-1]
        return f"both were another's {last:.1f} s later; the client could rely on its lease for {lease:.1f} s"
