"""Serves a reference alone over plain UDP, so that clients can be tested without a kernel.

It loses, repeats and delays packets, from a seed.
"""

from __future__ import annotations

import copy
import random
import socket
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from spec.lib.live.session_client import Caller, Session
from spec.lib.live.session_reference import SessionReference

CallerKind = TypeVar("CallerKind", bound=Caller)

CAPACITIES = {"session": 64, "credential": 64, "answer": 64, "bucket": 8, "page": 4, "shelf": 512, "tail": 512}
"""Capacities of a small store."""


class OfEightBuckets:
    """The codec of a store so small that deletions of one key move the versions of others."""

    def __init__(self, codec: Any) -> None:
        self._codec = codec

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codec, name)

    @staticmethod
    def hash_slot(key: int) -> int:
        return key % CAPACITIES["bucket"]

    @staticmethod
    def hash_home(slot: int) -> int:
        return slot % CAPACITIES["page"]


class PlainServer(threading.Thread):
    """Serves until closed. `faults` is the share of packets that meet one."""

    def __init__(
        self,
        reference: SessionReference,
        faults: float = 0.0,
        seed: int = 1,
        address: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        super().__init__(daemon=True)
        self.codec = reference.codec
        self.reference = reference
        self.executed = 0
        self._faults = faults
        self._random = random.Random(seed)
        self._late: list[tuple[bytes, Any]] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(address)
        self._socket.settimeout(0.05)
        self._running = True

    @property
    def address(self) -> tuple[str, int]:
        return self._socket.getsockname()

    def opened(
        self, made_by: Callable[..., CallerKind], session: Session, choose: random.Random, **options: Any
    ) -> CallerKind:
        """Returns a caller over a socket of its own, with an open session. options: the caller's own."""
        connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        connection.connect(self.address)
        caller = made_by(session, connection, retry_seconds=0.005, **options)
        caller.open(choose, self.reference.capacities["session"])
        return caller

    def __enter__(self) -> PlainServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._running = False
        self.join()
        self._socket.close()

    def run(self) -> None:
        while self._running:
            try:
                datagram, address = self._socket.recvfrom(2048)
            except TimeoutError:
                continue
            for payload, sender in self._meet_faults(datagram, address):
                self._serve(payload, sender)

    def _meet_faults(self, datagram: bytes, address: Any) -> list[tuple[bytes, Any]]:
        """The packets that arrive now: this one, none, this one twice, or an older one as well."""
        if self._random.random() >= self._faults:
            return [(datagram, address)]
        fault = self._random.choice(["lose", "repeat", "delay"])
        if fault == "repeat":
            return [(datagram, address)] * 2
        if fault == "delay":
            self._late.append((datagram, address))
            return [self._late.pop(self._random.randrange(len(self._late)))]
        return []

    def _serve(self, payload: bytes, sender: Any) -> None:
        message = self.codec.Message.decode(payload)
        outcomes = self.reference.expect(message)
        if not outcomes:
            return
        answer = copy.copy(message)
        answer.kind = self.codec.Kind[min(outcomes)]
        if answer.kind.name in ("INVITED", "OPENED"):
            answer.secret = self._random.randbytes(8)
        self.complete(answer)
        wrong = self.reference.answered(message, answer)
        assert not wrong, wrong
        self.executed += 1
        if self.reference.is_fading(message.client):  # closed: no daemon sweeps here
            del self.reference.accounts[message.client]
            self.reference.revoke(message.client)
        if self._random.random() >= self._faults:
            self._socket.sendto(answer.encode(), sender)

    def complete(self, answer: Any) -> None:
        """Put into an answer what it says beside its kind."""
