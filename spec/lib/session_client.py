"""A client of the session module (SessionSteps.tla): one session, its requests, and its lease.

`Session` is the client's half of the protocol and neither sends nor waits: datagrams and times go in,
datagrams come out. `Caller` drives it over a socket. A protocol's own client is a Session that knows the
protocol's requests. The codec is the generated one, of the build that the server runs.
"""

from __future__ import annotations

import random
import socket
import time
from typing import Any

LEASE_MARGIN = 0.05  # of the lease: this clock may run slower than the server's
SESSION_ANSWERS = {"OPEN": ("OPENED", "TAKEN"), "RENEW": ("RENEWED",), "CLOSE": ("CLOSED",)}


class SessionError(Exception):
    """The session cannot do what was asked; the message says why."""


class LeaseEnded(SessionError):
    """The server did not answer within the lease: what the session held may be anybody's now."""


def lease_ns(codec: Any) -> int:
    """How long the client relies on a session, from the sending of a request that was answered."""
    return int(codec.LEASE * codec.TICK_NS * (1 - LEASE_MARGIN))


class Session:
    """The client's half of one session.

    number: the session's, once `open` was called.
    is_open: it was opened, and was neither closed nor lost; `is_alive` also looks at the clock.
    lease_end_ns: until when the client may rely on it, without another answer.
    """

    answers: dict[str, tuple[str, ...]] = {}
    """The protocol's own requests, and the kinds that answer each."""

    def __init__(self, codec: Any) -> None:
        self.codec = codec
        self.number = 0
        self.secret = bytes(8)
        self.sequence = 0
        self.is_open = False
        self.lease_end_ns = 0
        self._lease_ns = lease_ns(codec)
        self._outstanding: Any = None
        self._first_sent_ns = 0

    @property
    def is_waiting(self) -> bool:
        """Whether a request is outstanding."""
        return self._outstanding is not None

    @property
    def outstanding_kind(self) -> str | None:
        return None if self._outstanding is None else self._outstanding.kind.name

    def is_alive(self, now_ns: int) -> bool:
        """Whether what the server granted still counts. Once it does not, it never will again."""
        if self.is_open and now_ns >= self.lease_end_ns:
            self.is_open = False
        return self.is_open

    def open(self, number: int, sequence: int, now_ns: int) -> bytes:
        """Ask for a session of that number. The answer may be Taken: then ask for another.

        Both numbers are to be random: the sequence tells this session from earlier ones of its number.
        """
        if self.is_open:
            raise SessionError(f"session {self.number} is open already")
        self.number, self.secret, self.sequence = number, bytes(8), sequence
        return self._send("OPEN", now_ns, {})

    def renew(self, now_ns: int) -> bytes:
        """Extend the lease without asking for anything."""
        return self.request("RENEW", now_ns)

    def close(self, now_ns: int) -> bytes:
        """End the session: the client stops relying on it here and now, the server takes back what it held."""
        datagram = self.request("CLOSE", now_ns)
        self.is_open = False
        return datagram

    def request(self, kind: str, now_ns: int, **fields: Any) -> bytes:
        """A new request, with the next sequence number."""
        if not self.is_alive(now_ns):
            raise LeaseEnded(f"session {self.number} is not open, or its lease has ended")
        if self.is_waiting:
            raise SessionError(f"session {self.number} still waits for the answer to {self.outstanding_kind}")
        self.sequence = (self.sequence + 1) % self.codec.SEQUENCE_MODULUS
        return self._send(kind, now_ns, fields)

    def again(self) -> bytes:
        """The outstanding request once more: the same bytes, so the server executes it at most once."""
        return self._outstanding.encode()

    def receive(self, datagram: bytes, now_ns: int) -> Any:
        """The message, if it answers the outstanding request; otherwise None, and nothing changes."""
        try:
            message = self.codec.Message.decode(datagram)
        except self.codec.Malformed:
            return None
        if not self._is_answer(message):
            return None
        asked, self._outstanding = self._outstanding, None
        if asked.kind.name == "OPEN":
            self.is_open, self.secret = message.kind.name == "OPENED", message.secret
            if not self.is_open:
                return message
        elif asked.kind.name == "CLOSE" or not self.is_alive(now_ns):
            return message
        # The server's lease began when the request was executed: at the first sending or later.
        self.lease_end_ns = self._first_sent_ns + self._lease_ns
        self.is_alive(now_ns)
        return message

    def _send(self, kind: str, now_ns: int, fields: dict[str, Any]) -> bytes:
        self._outstanding = self.codec.Message(
            kind=self.codec.Kind[kind], client=self.number, sequence=self.sequence, secret=self.secret, **fields
        )
        self._asked_fields = tuple(fields)
        self._first_sent_ns = now_ns
        return self.again()

    def _is_answer(self, message: Any) -> bool:
        asked = self._outstanding
        if asked is None or message.client != asked.client or message.sequence != asked.sequence:
            return False
        kinds = SESSION_ANSWERS.get(asked.kind.name) or self.answers[asked.kind.name]
        if message.kind.name not in kinds or (message.kind.name != "OPENED" and message.secret != asked.secret):
            return False
        return all(getattr(message, name) == getattr(asked, name) for name in self._asked_fields)


class Caller:
    """A Session over a UDP socket: sends, waits, and sends again until there is an answer or the lease ended."""

    def __init__(self, session: Session, connection: socket.socket, retry_seconds: float = 0.02) -> None:
        self.session = session
        self.retry_count = 0
        self._connection = connection
        self._retry_seconds = retry_seconds

    def open(self, choose: random.Random, capacity: int, patience_seconds: float = 5) -> None:
        """Open a session of any number below the capacity; as long as one is taken, try another."""
        give_up_ns = time.monotonic_ns() + int(patience_seconds * 1e9)
        while not self.session.is_open:
            sequence = choose.randrange(self.session.codec.SEQUENCE_MODULUS)
            datagram = self.session.open(choose.randrange(capacity), sequence, time.monotonic_ns())
            self._exchange(datagram, give_up_ns)

    @staticmethod
    def now_ns() -> int:
        """The clock of leases."""
        return time.monotonic_ns()

    def call(self, datagram: bytes) -> Any:
        """Send a request of the session and return its answer; LeaseEnded when none came in time."""
        return self._exchange(datagram, self.session.lease_end_ns)

    def _exchange(self, datagram: bytes, give_up_ns: int) -> Any:
        wait_seconds = self._retry_seconds
        while True:
            try:
                self._connection.send(datagram)
                answer = self._await_answer(min(time.monotonic_ns() + int(wait_seconds * 1e9), give_up_ns))
            except ConnectionRefusedError:  # an earlier one was refused: nobody serves the rare path just now
                answer = None
                time.sleep(self._retry_seconds)
            if answer is not None:
                return answer
            if time.monotonic_ns() >= give_up_ns:
                kind = self.session.outstanding_kind
                raise LeaseEnded(f"session {self.session.number}: no answer to {kind} within the lease")
            self.retry_count += 1
            wait_seconds = min(wait_seconds * 2, 0.5)

    def _await_answer(self, until_ns: int) -> Any:
        while (left_ns := until_ns - time.monotonic_ns()) > 0:
            self._connection.settimeout(left_ns / 1e9)
            try:
                datagram = self._connection.recv(2048)
            except TimeoutError:
                return None
            answer = self.session.receive(datagram, time.monotonic_ns())
            if answer is not None:
                return answer
        return None
