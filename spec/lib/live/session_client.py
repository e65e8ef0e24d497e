"""Implements a client of the session module (SessionSteps.tla): one session, its requests and its lease.

`Session` is the client's half of the protocol. It neither sends nor waits: datagrams and times go in, datagrams come
out. `Caller` drives it over a socket. A protocol's own client is a Session that knows the protocol's requests. The
codec must be the one that was generated with the server's build.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")

LEASE_MARGIN = 0.05  # share of the lease: this clock may run slower than the server's
TOO_EARLY_SECONDS = 0.1  # between two requests of a client that receives TooEarly
SESSION_ANSWERS = {
    "ASK": ("INVITED", "OTHER_TERMS"),
    "OPEN": ("OPENED", "TAKEN", "UNINVITED", "TOO_EARLY"),
    "RENEW": ("RENEWED",),
    "CLOSE": ("CLOSED",),
}


class SessionError(Exception):
    """The session cannot do what was asked; the message says why."""


class LeaseEnded(SessionError):
    """The server did not answer within the lease, so another client may hold now what the session held."""


class OtherTerms(SessionError):
    """The server was built from another layout, so this client is wrong about its leases and messages."""


class OtherAddress(SessionError):
    """The client's address has changed since it opened the session: open another one.

    The server sends long values only to the address that opened the session.
    """


class NoneFree(SessionError):
    """All session numbers that were tried are taken: all, or nearly all, that this client's address may have."""


class NotServed(SessionError):
    """The kernel refused the request: the request needs the daemon, and the daemon is down.

    The request stays outstanding: an earlier sending may have been executed, and a later one may be.
    """


def lease_ns(codec: Any) -> int:
    """Returns how long the client relies on a session after it sends a request that is answered."""
    return int(codec.LEASE * codec.TICK_NS * (1 - LEASE_MARGIN))


class Session:
    """The client's half of one session.

    number: the session's number, once `ask` was called.
    is_invited: the server sent a number and a token, with which the client may `open` a session.
    is_open: the session was opened, and was neither closed nor lost; `is_alive` also checks the clock.
    lease_end_ns: the client may rely on the session until then, without another answer.
    """

    answers: ClassVar[dict[str, tuple[str, ...]]] = {}
    """The protocol's own requests, and the kinds that answer each."""

    read_answers: ClassVar[dict[str, tuple[str, ...]]] = {}
    """The protocol's own reads, and the kinds that answer each.

    Reads are numbered separately from requests, and any number of them may be outstanding.
    """

    one_way: frozenset[str] = frozenset()
    """Fields that an answer need not repeat."""

    operation_fields: tuple[str, ...] = ()
    """Fields of an operation that its outcome repeats, where a request may have several operations."""

    def __init__(self, codec: Any) -> None:
        self.codec = codec
        self.number = 0
        self.secret = bytes(8)
        self.sequence = 0
        self.is_open = False
        self.is_invited = False
        self.lease_end_ns = 0
        self._lease_ns = lease_ns(codec)
        self._outstanding: Any = None
        self._asked_fields: tuple[str, ...] = ()
        self._first_sent_ns = 0
        self._given_up: list[Any] = []
        self._read_number = 0
        self._reads: dict[int, tuple[Any, tuple[str, ...]]] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether a request is outstanding."""
        return self._outstanding is not None

    @property
    def outstanding_kind(self) -> str | None:
        return None if self._outstanding is None else self._outstanding.kind.name

    def is_alive(self, now_ns: int) -> bool:
        """Whether the client may still rely on what the server granted. Once false, it stays false."""
        if self.is_open and now_ns >= self.lease_end_ns:
            self.is_open = False
        return self.is_open

    @property
    def is_opening(self) -> bool:
        """Whether the outstanding request asks for an invitation or for a session."""
        return self.outstanding_kind in ("ASK", "OPEN")

    def ask(self, number: int, sequence: int, now_ns: int) -> bytes:
        """Ask for an invitation to a session of this number, or of one near it that this client's address may have.

        Both numbers must be random. In place of a secret the request carries the terms by which the client understands
        what it is granted.
        """
        if self.is_open:
            raise SessionError(f"session {self.number} is open already")
        self.number, self.secret, self.sequence = number, self.codec.TERMS, sequence
        return self._send("ASK", now_ns, {})

    def open(self, sequence: int, now_ns: int) -> bytes:
        """Open the session that the server has invited to, starting after a random sequence number.

        The sequence number tells this session from earlier ones of the same number. If the answer is Taken or
        Uninvited, ask again for another session. If it is TooEarly, open this one after a while.
        """
        if self.is_open:
            raise SessionError(f"session {self.number} is open already")
        if not self.is_invited:
            raise SessionError("the server has not invited this client to a session: ask first")
        self.sequence = sequence
        self._given_up.clear()
        self._reads.clear()
        self._read_number = sequence  # any will do
        return self._send("OPEN", now_ns, {})

    def renew(self, now_ns: int) -> bytes:
        """Extend the lease without asking for anything."""
        return self.request("RENEW", now_ns)

    def close(self, now_ns: int) -> bytes:
        """Close the session: the client stops relying on it at once, and the server takes back what it held."""
        datagram = self.request("CLOSE", now_ns)
        self.is_open = False
        return datagram

    def request(self, kind: str, now_ns: int, **fields: Any) -> bytes:
        """Encode a new request, with the next sequence number."""
        if not self.is_alive(now_ns):
            raise LeaseEnded(f"session {self.number} is not open, or its lease has ended")
        if self.is_waiting:
            raise SessionError(f"session {self.number} still waits for the answer to {self.outstanding_kind}")
        self.sequence = (self.sequence + 1) % self.codec.SEQUENCE_MODULUS
        return self._send(kind, now_ns, fields)

    def again(self) -> bytes:
        """Return the outstanding request once more: the same bytes, so the server executes it at most once."""
        return self._outstanding.encode()

    def give_up(self) -> None:
        """Stop waiting for the outstanding request. Whether it is executed is unknown until a later one is answered."""
        if not self.codec.EXECUTES_AGAIN:
            raise SessionError(
                f"session {self.number} cannot give up {self.outstanding_kind}: the server accepts no other request "
                "before it"
            )
        if not self.is_open:
            raise SessionError(f"session {self.number} is not open: nothing comes after {self.outstanding_kind}")
        self._given_up.append(self._outstanding)
        self._outstanding = None

    @property
    def given_up(self) -> list[bytes]:
        """Requests that were given up and may never have reached the server.

        The server takes requests in the order of their numbers. If the outstanding request is not answered, send these
        before it.
        """
        return [message.encode() for message in self._given_up]

    def read(self, kind: str, now_ns: int, **fields: Any) -> tuple[int, bytes]:
        """Encode a new read; return its number and the datagram, which is to be sent until there is an answer.

        A read does not extend the lease.
        """
        if not self.is_alive(now_ns):
            raise LeaseEnded(f"session {self.number} is not open, or its lease has ended")
        self._read_number = (self._read_number + 1) % self.codec.SEQUENCE_MODULUS
        message = self._message(kind, self._read_number, fields)
        self._reads[self._read_number] = message, tuple(name for name in fields if name != "operations")
        return self._read_number, message.encode()

    def forget(self, number: int) -> None:
        """Stop waiting for a read."""
        self._reads.pop(number, None)

    @property
    def outstanding_reads(self) -> dict[int, bytes]:
        """The reads that have no answer yet, by number."""
        return {number: message.encode() for number, (message, _) in self._reads.items()}

    def receive(self, datagram: bytes, now_ns: int) -> Any:
        """Return the message if it answers an outstanding request or read; otherwise None, and nothing changes."""
        try:
            message = self.codec.Message.decode(datagram)
        except self.codec.Malformed:
            return None
        if self._answers_read(message):
            self.forget(message.sequence)
            if message.kind.name == "UNINVITED":
                self.is_open = False
                raise OtherAddress(
                    f"session {self.number} was opened from another address than this client has now: open another one"
                )
            return message
        if not self._is_answer(message):
            return None
        asked, self._outstanding = self._outstanding, None
        self._given_up.clear()
        if asked.kind.name == "ASK":
            if message.kind.name == "OTHER_TERMS":
                raise OtherTerms(self._other_terms())
            self.is_invited, self.number, self.secret = True, message.client, message.secret
            return message
        if asked.kind.name == "OPEN":
            self.is_open, self.is_invited = message.kind.name == "OPENED", message.kind.name == "TOO_EARLY"
            if not self.is_open:
                return message
            self.secret = message.secret
        elif asked.kind.name == "CLOSE" or not self.is_alive(now_ns):
            return message
        # The server's lease started when it executed the request: at the first sending or later.
        self.lease_end_ns = self._first_sent_ns + self._lease_ns
        self.is_alive(now_ns)
        return message

    def _other_terms(self) -> str:
        return (
            f"session {self.number} cannot be opened: the server was built from another layout: its lease, its moduli "
            "or its messages are not those "
            f"of this client's codec, whose terms are {self.codec.TERMS.hex()}; take the codec that was generated with "
            "the server"
        )

    def _send(self, kind: str, now_ns: int, fields: dict[str, Any]) -> bytes:
        self._outstanding = self._message(kind, self.sequence, fields)
        self._asked_fields = tuple(name for name in fields if name not in {*self.one_way, "operations"})
        self._first_sent_ns = now_ns
        return self.again()

    def _message(self, kind: str, sequence: int, fields: dict[str, Any]) -> Any:
        identity = {"client": self.number, "sequence": sequence, "secret": self.secret}
        return self.codec.Message(kind=self.codec.Kind[kind], **identity, **fields)

    def _answers_read(self, message: Any) -> bool:
        asked, fields = self._reads.get(message.sequence, (None, ()))
        if asked is None or message.kind.name not in (*self.read_answers[asked.kind.name], "UNINVITED"):
            return False
        same = all(getattr(message, name) == getattr(asked, name) for name in ("client", "secret", *fields))
        return same and (message.kind.name == "UNINVITED" or self._has_outcomes(asked, message))

    def _is_answer(self, message: Any) -> bool:
        asked = self._outstanding
        if asked is None or message.sequence != asked.sequence:
            return False
        kinds = SESSION_ANSWERS.get(asked.kind.name) or self.answers[asked.kind.name]
        if message.kind.name not in kinds or (message.client != asked.client and message.kind.name != "INVITED"):
            return False
        if message.kind.name not in ("INVITED", "OPENED") and message.secret != asked.secret:
            return False
        if not all(getattr(message, name) == getattr(asked, name) for name in self._asked_fields):
            return False
        return self._has_outcomes(asked, message)

    def check_count(self, count: int, what: str) -> None:
        """Raise SessionError if no message has so many operations. what: a name for them."""
        if not 0 < count <= self.codec.OPERATIONS_MAX:
            raise SessionError(f"{count} {what} cannot be gathered: give 1 to {self.codec.OPERATIONS_MAX}")

    def _has_outcomes(self, asked: Any, message: Any) -> bool:
        """True if an answer has an outcome for each operation of a request, or the protocol has no operations."""
        wanted, done = getattr(asked, "operations", ()), getattr(message, "operations", ())
        return len(wanted) == len(done) and all(map(self._is_outcome, wanted, done))

    def _is_outcome(self, wanted: Any, done: Any) -> bool:
        """True if an operation of an answer belongs to that of a request. Its kind stays if it was not executed."""
        kind = getattr(wanted, "kind", None)
        if kind is not None:
            kinds = self.answers.get(kind.name) or self.read_answers[kind.name]
            if done.kind.name not in (kind.name, *kinds):
                return False
        return all(getattr(done, name) == getattr(wanted, name) for name in self.operation_fields)


class Caller:
    """Drives a Session over a UDP socket: sends, waits, and sends again until there is an answer or the lease ends.

    settled: the answer to a request that nobody waited for any more, if one came.
    message_count, retry_count: messages that were sent, without repetitions; and the repetitions.
    """

    def __init__(self, session: Session, connection: socket.socket, retry_seconds: float = 0.02) -> None:
        self.session = session
        self.settled: Any = None
        self.message_count = 0
        self.retry_count = 0
        self._connection = connection
        self._retry_seconds = retry_seconds

    def parts(self, wanted: Sequence[T]) -> list[Sequence[T]]:
        """Split operations into as many as a message has room for."""
        most = self.session.codec.OPERATIONS_MAX
        return [wanted[first : first + most] for first in range(0, len(wanted), most)]

    def open(self, choose: random.Random, capacity: int, patience_seconds: float = 5) -> None:
        """Open a session below the capacity that the server invites to; while it is taken, try another.

        New tables grant nothing for the length of a lease. The wait for that comes on top of the patience, because each
        TooEarly shows that the server is there. Raises NoneFree if the patience runs out while numbers are taken.
        """
        give_up_ns = time.monotonic_ns() + int(patience_seconds * 1e9)
        while not self.session.is_open:
            if time.monotonic_ns() >= give_up_ns:
                raise NoneFree(
                    "no session is free for this client's address: all numbers that the server offered in "
                    f"{patience_seconds} s are taken"
                )
            sequence = choose.randrange(self.session.codec.SEQUENCE_MODULUS)
            if self.session.is_invited:
                datagram = self.session.open(sequence, time.monotonic_ns())
            else:
                datagram = self.session.ask(choose.randrange(capacity), sequence, time.monotonic_ns())
            answer = self._exchange(datagram, lambda _: True, give_up_ns).kind.name
            if answer == "TOO_EARLY":
                time.sleep(TOO_EARLY_SECONDS)
                give_up_ns += int(TOO_EARLY_SECONDS * 1e9)
            elif answer in ("TAKEN", "UNINVITED"):
                time.sleep(self._retry_seconds)

    @staticmethod
    def now_ns() -> int:
        """Reads the clock that leases are measured with."""
        return time.monotonic_ns()

    def call(self, datagram: bytes, patiently: bool = True) -> Any:
        """Send the outstanding request of the session and return its answer; raise LeaseEnded if none comes in time.

        patiently: keep trying while the daemon is down; otherwise raise NotServed.
        """
        sequence, end_ns = self.session.sequence, self.session.lease_end_ns
        return self._exchange(
            datagram,
            lambda answer: not self._is_read(answer) and answer.sequence == sequence,
            end_ns,
            patiently,
            self.session.given_up,
        )

    def close(self) -> None:
        """Close the session, and wait for the answer.

        A sweep that came before a repeated Close has ended the session, and nobody answers. So the end of the lease is
        as good as an answer. Raises LeaseEnded if the lease has ended before.
        """
        datagram = self.session.close(self.now_ns())
        with contextlib.suppress(LeaseEnded):
            self.call(datagram)

    def read(self, kind: str, patiently: bool = True, **fields: Any) -> Any:
        """Send a new read and return its answer, like `call`."""
        number, datagram = self.session.read(kind, self.now_ns(), **fields)
        end_ns = self.session.lease_end_ns
        try:
            return self._exchange(
                datagram, lambda answer: self._is_read(answer) and answer.sequence == number, end_ns, patiently
            )
        finally:
            self.session.forget(number)

    def _is_read(self, message: Any) -> bool:
        return any(message.kind.name in kinds for kinds in self.session.read_answers.values())

    def _exchange(
        self,
        datagram: bytes,
        wanted: Callable[[Any], bool],
        give_up_ns: int,
        patiently: bool = True,
        before: Sequence[bytes] = (),
    ) -> Any:
        """Send until a wanted answer arrives. Every second sending puts `before` first.

        A refusal of such a sending may refer to `before`, so only a sending of the datagram alone raises NotServed.
        """
        wait_seconds = self._retry_seconds
        sendings = itertools.cycle([[datagram], [*before, datagram]] if before else [[datagram]])
        self.message_count += 1
        self._connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # clears a refusal of an earlier datagram
        while True:
            sending = next(sendings)
            try:
                for each in sending:
                    self._connection.send(each)
                answer = self._await_answer(wanted, min(time.monotonic_ns() + int(wait_seconds * 1e9), give_up_ns))
            except ConnectionRefusedError:
                if not patiently and sending == [datagram]:
                    raise NotServed(
                        f"session {self.session.number}: no daemon runs, and the kernel has no answer"
                    ) from None
                answer = None
                time.sleep(self._retry_seconds)
            if answer is not None:
                return answer
            if time.monotonic_ns() >= give_up_ns:
                raise LeaseEnded(f"session {self.session.number}: no answer within the lease")
            self.retry_count += 1
            wait_seconds = min(wait_seconds * 2, 0.5)

    def _await_answer(self, wanted: Callable[[Any], bool], until_ns: int) -> Any:
        while (left_ns := until_ns - time.monotonic_ns()) > 0:
            self._connection.settimeout(left_ns / 1e9)
            try:
                datagram = self._connection.recv(2048)
            except TimeoutError:
                return None
            answer = self.session.receive(datagram, time.monotonic_ns())
            if answer is not None and wanted(answer):
                return answer
            if answer is not None:
                self.settled = answer
        return None
