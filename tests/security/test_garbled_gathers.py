"""Sends messages with operations that are garbled in count, length and elements, as a client that has a session.

A malformed datagram and a forged one may change no cell. A well-formed one, whatever its operations ask for, may change
only what the reference changes. Each datagram must be counted once, and as what it is.
STEPWISE_GARBLED_PACKETS: the number of packets for each protocol.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import random
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from harness.data.frames import CLIENT_PORT, UDP_SIZE, Frame
from harness.live import plugin
from harness.live.build import build
from harness.live.counts import CHECKSUM, MALFORMED
from harness.live.server import Server, wait_until
from harness.rig.netns import Rig
from spec.lib.live.session_client import Caller, Session
from spec.lib.live.session_reference import Account
from tests.live.conftest import connected
from tests.security.strangers import OVERRIDES, frame, opened, seen_by_xdp, spoiled_sum, wire

PACKETS = int(os.environ.get("STEPWISE_GARBLED_PACKETS", "10000"))
CLIENTS = 3
BURST = 50  # fewer than a veth has room for
BURSTS = 4  # between two looks at all cells
EXECUTED = 2  # well-formed requests of a client after each look
PAYLOAD_MAX = 1452  # in IPv6
DROPPED, ANSWERED = "Drop", "Reply"
"""Verdicts of the steps, which have a counter for each branch."""

VERDICTS = (DROPPED, ANSWERED)
EITHER = "Drop or Reply"


def gathers(name: str) -> bool:
    return hasattr(importlib.import_module(f"generated.{name}.{name}_codec"), "OPERATIONS_MAX")


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with Rig("garbled") as made:
        yield made


@pytest.fixture(params=filter(gathers, OVERRIDES))
def server(rig: Rig, request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server(rig, build(request.param, OVERRIDES[request.param])) as loaded:
        loaded.clear()
        loaded.start()
        yield loaded


class Messages:
    """Makes messages with operations in the name of clients that have sessions."""

    def __init__(self, server: Server, sessions: list[Session], choose: random.Random) -> None:
        self.codec, self.choose, self.sessions = server.build.codec, choose, sessions
        self.capacity = server.build.capacities["session"]
        self.reference = plugin.reference(server.build.name).Reference(self.codec, server.build.capacities)
        for session in sessions:
            self.reference.accounts[session.number] = Account(session.sequence)
            self.reference.secrets[session.number] = session.secret
        layout = server.build.protocol.operations
        assert layout is not None and layout.when.field == "kind"
        self.kinds = [self.codec.Kind[name] for name in sorted(self.reference.requests | self.reference.reads)]
        self.gathering = [kind for kind in self.codec.Kind if self._has_operations(kind)]
        self.asking = [kind for kind in self.gathering if kind in self.kinds]
        blank, other = self.codec.Message(), self.codec.Message(**{layout.count: 1})
        self.count_at = next(at for at, pair in enumerate(zip(blank.encode(), other.encode())) if len(set(pair)) > 1)
        self.behind_secret = next(at for at in range(self.codec.WIRE_SIZE, 0, -1) if self._secret_ends(at))

    def _has_operations(self, kind: Any) -> bool:
        return bool(self.codec.operation_count(self.codec.Message(kind=kind, count=1)))

    def _secret_ends(self, at: int) -> bool:
        return bool(self.codec.Message(secret=b"\xff" * 8).encode()[at - 1])

    def any_bytes(self, size: int) -> bytes:
        choose = self.choose
        match choose.randrange(3):
            case 0:
                return bytes(size)
            case 1:
                return choose.randbytes(size)
        return bytes(choose.choice((0, 0, 0, 1, 2)) for _ in range(size))

    def operation(self) -> bytes:
        """Any bytes that are an operation, more often than not of a kind that is executed, with a small number."""
        codec, choose = self.codec, self.choose
        while True:
            kind = choose.choice((self.kinds, list(codec.Kind)))
            made = bytes([choose.choice(kind)]) + self.any_bytes(codec.OPERATION_SIZE - 1)
            try:
                codec.Operation.decode(made)
            except codec.Malformed:
                continue
            return made

    def wrong_operation(self) -> bytes:
        codec, choose = self.codec, self.choose
        made = bytearray(self.operation())
        while True:
            made[choose.randrange(len(made)) * choose.randrange(2)] = choose.randrange(256)
            try:
                codec.Operation.decode(bytes(made))
            except codec.Malformed:
                return bytes(made)

    def head(self, message: Any, count: int) -> bytes:
        """A message without its operations, and with any bytes in fields that are neither of the session nor a count.

        Its size is that of a message without a tail.
        """
        codec, made = self.codec, bytearray(message.encode())
        made[self.behind_secret :] = self.any_bytes(len(made) - self.behind_secret)
        made[self.count_at] = count
        try:
            codec.Message.decode(bytes(made))
        except codec.Malformed:
            made[:] = message.encode()
            made[self.count_at] = count
        return bytes(made)

    def message(self) -> Any:
        """The next request of a client, or a read, before it has operations."""
        session = self.choose.choice(self.sessions)
        sequence = (self.reference.accounts[session.number].sequence + 1) % self.codec.SEQUENCE_MODULUS
        kind = self.choose.choice(self.asking)
        return self.codec.Message(kind=kind, client=session.number, sequence=sequence, secret=session.secret)

    def some(self, least: int = 1, most: int = 0) -> list[bytes]:
        return [self.operation() for _ in range(self.choose.randint(least, most or self.codec.OPERATIONS_MAX))]

    def payload(self, message: Any, operations: list[bytes]) -> bytes:
        return self.head(message, len(operations)) + b"".join(operations)


@dataclass(frozen=True)
class Garbled:
    """A frame, and what must count it: MALFORMED, CHECKSUM, or a branch with the verdict DROPPED or EITHER."""

    frame: bytes
    counted: str


Datagram = Callable[[bytes], Frame]
Way = Callable[[Messages, Datagram], Garbled]


def malformed(payload: bytes, datagram: Datagram) -> Garbled:
    return Garbled(datagram(payload).to_bytes(), MALFORMED)


def another_count(made: Messages, datagram: Datagram) -> Garbled:
    """The count alone is wrong: 0, one more or less, the most, one more than that, or any."""
    operations, most = made.some(), made.codec.OPERATIONS_MAX
    payload = bytearray(made.payload(made.message(), operations))
    right = len(operations)
    counts = {0, right - 1, right + 1, most, most + 1, 255, made.choose.randrange(256)} - {right}
    payload[made.count_at] = made.choose.choice(sorted(counts))
    return malformed(bytes(payload), datagram)


def none(made: Messages, datagram: Datagram) -> Garbled:
    """No operation, although the count says that there are some."""
    return malformed(made.head(made.message(), made.choose.choice((1, 2, made.codec.OPERATIONS_MAX, 255))), datagram)


def too_many(made: Messages, datagram: Datagram) -> Garbled:
    most = (PAYLOAD_MAX - made.codec.WIRE_SIZE) // made.codec.OPERATION_SIZE
    operations = made.some(made.codec.OPERATIONS_MAX + 1, min(most, 255))
    return malformed(made.payload(made.message(), operations), datagram)


def shorter(made: Messages, datagram: Datagram) -> Garbled:
    payload = made.payload(made.message(), made.some())
    between = range(made.codec.WIRE_SIZE, len(payload), made.codec.OPERATION_SIZE)
    return malformed(payload[: made.choose.choice((made.choose.randrange(len(payload)), *between))], datagram)


def longer(made: Messages, datagram: Datagram) -> Garbled:
    payload = made.payload(made.message(), made.some())
    room = PAYLOAD_MAX - len(payload)
    more = made.choose.choice((b"".join(made.some()), made.any_bytes(made.choose.randrange(1, 100))))
    return malformed(payload + more[:room], datagram)


def in_padding(made: Messages, datagram: Datagram) -> Garbled:
    """The last operations lie behind the datagram, in the padding of its frame."""
    payload, choose = made.payload(made.message(), made.some()), made.choose
    at = len(payload) - made.codec.OPERATION_SIZE * choose.randint(1, 2)
    at = max(at, made.codec.WIRE_SIZE)
    return Garbled(replace(datagram(payload[:at]), trailer=payload[at:]).to_bytes(), MALFORMED)


def lying_lengths(made: Messages, datagram: Datagram) -> Garbled:
    """The lengths in the headers differ from one another, or from that of the message."""
    whole = datagram(made.payload(made.message(), made.some()))
    right = UDP_SIZE + len(whole.payload)
    wrong = right + made.choose.choice((-1, 1)) * made.choose.choice((1, 8, made.codec.OPERATION_SIZE))
    above = 20 if whole.version == 4 else 0
    lies = made.choose.choice(({"udp_length": wrong}, {"udp_length": wrong, "ip_length": wrong + above}))
    return Garbled(replace(whole, **lies, udp_checksum=made.choose.randrange(1, 1 << 16)).to_bytes(), MALFORMED)


def kind_without(made: Messages, datagram: Datagram) -> Garbled:
    """A message of a kind that has no operations is followed by some."""
    kinds = [kind for kind in made.codec.Kind if kind not in made.gathering]
    message = replace(made.message(), kind=made.choose.choice(kinds))
    operations = made.some()
    payload = bytearray(message.encode() + b"".join(operations))
    payload[made.count_at] = len(operations)
    return malformed(bytes(payload), datagram)


def wrong_element(made: Messages, datagram: Datagram) -> Garbled:
    operations = made.some()
    operations[made.choose.randrange(len(operations))] = made.wrong_operation()
    return malformed(made.payload(made.message(), operations), datagram)


def wrong_head(made: Messages, datagram: Datagram) -> Garbled:
    operations, codec = made.some(), made.codec
    payload = bytearray(made.payload(made.message(), operations))
    while True:
        payload[made.choose.randrange(made.count_at)] = made.choose.randrange(256)
        try:
            codec.Message.decode(bytes(payload))
        except codec.Malformed:
            return malformed(bytes(payload), datagram)


def wrong_sum(made: Messages, datagram: Datagram) -> Garbled:
    return Garbled(spoiled_sum(datagram(made.payload(made.message(), made.some())), made.choose), CHECKSUM)


def forged(made: Messages, message: Any, datagram: Datagram) -> Garbled:
    return Garbled(datagram(made.payload(message, made.some())).to_bytes(), DROPPED)


def another_secret(made: Messages, datagram: Datagram) -> Garbled:
    message = made.message()
    wrong = bytearray(message.secret)
    wrong[made.choose.randrange(8)] ^= made.choose.randrange(1, 256)
    return forged(made, replace(message, secret=made.choose.choice((bytes(8), bytes(wrong)))), datagram)


def another_client(made: Messages, datagram: Datagram) -> Garbled:
    """The number of another client that has a session, or of nobody, whose secret is zero."""
    message = made.message()
    others = sorted(set(range(made.capacity)) - {message.client})
    other, secrets = made.choose.choice(others), made.reference.secrets
    return forged(
        made,
        replace(message, client=other, secret=message.secret if other in secrets else made.any_bytes(8)),
        datagram,
    )


def another_sequence(made: Messages, datagram: Datagram) -> Garbled:
    message = made.message()
    if message.kind.name in made.reference.reads:  # they have no place in the sequence
        return another_secret(made, datagram)
    step = made.choose.choice((1, 2, made.codec.SEQUENCE_MODULUS // 2, made.codec.SEQUENCE_MODULUS - 2))
    return forged(made, replace(message, sequence=(message.sequence + step) % made.codec.SEQUENCE_MODULUS), datagram)


def an_answer(made: Messages, datagram: Datagram) -> Garbled:
    """A message with operations, of a kind that only a server sends."""
    kinds = [kind for kind in made.gathering if kind not in made.asking]
    return forged(made, replace(made.message(), kind=made.choose.choice(kinds)), datagram)


def again(made: Messages, datagram: Datagram) -> Garbled:
    """The last request was answered. It comes again with other operations, of which none may be executed.

    It is answered from memory if the protocol remembers as many outcomes.
    """
    session = made.choose.choice(made.sessions)
    account = made.reference.accounts[session.number]
    requests = [kind for kind in made.asking if kind.name in made.reference.requests]
    message = replace(
        made.message(),
        kind=made.choose.choice(requests),
        client=session.number,
        sequence=account.sequence,
        secret=session.secret,
    )
    return replace(forged(made, message, datagram), counted=EITHER)


SPOILED: tuple[Way, ...] = (
    another_count,
    none,
    too_many,
    shorter,
    longer,
    in_padding,
    lying_lengths,
    kind_without,
    wrong_element,
    wrong_head,
    wrong_sum,
    another_secret,
    another_client,
    another_sequence,
    an_answer,
    again,
)


def execute(server: Server, made: Messages, connection: socket.socket) -> None:
    """Sends well-formed operations of any content. Compares the answer and the cells with the reference."""
    reference, codec = made.reference, made.codec
    request = codec.Message.decode(made.payload(made.message(), made.some(0)))
    reference.observe(server.tables())
    expected = reference.expect(request)
    connection.send(request.encode())
    answer = codec.Message.decode(connection.recv(2048))
    assert answer.kind.name in expected, f"{request} was answered {answer}"
    assert not (wrong := reference.answered(request, answer)), f"{request}: {wrong}"
    assert not (wrong := reference.complaints(server.tables())), f"{request}: {wrong}"


@contextlib.contextmanager
def answers_taken(rig: Rig) -> Iterator[None]:
    """Have a socket for the answers to frames. Without one, the client's kernel would send ICMP errors for them."""
    with rig.client.socket(socket.AF_INET6, socket.SOCK_DGRAM) as taking:
        taking.bind(("::", CLIENT_PORT))
        yield


def counted_as(server: Server, before: Counter[str]) -> Counter[str]:
    """Returns what XDP has counted since: as malformed, and by verdict where a step has decided."""
    rose = Counter(seen_by_xdp(server, before))
    found = Counter({name: rose.pop(name, 0) for name in (MALFORMED, CHECKSUM)})
    found.update({verdict: server.counts.ended(rose, verdict) for verdict in VERDICTS})
    found["anything else"] = rose.total() - sum(found[verdict] for verdict in VERDICTS)
    return found


def complaints(found: Counter[str], sent: Counter[str]) -> list[str]:
    """The differences between what was counted and what was sent."""
    over = {name: found[name] - sent[name] for name in (found | sent).keys() - {EITHER}}
    wrong = [f"{name}: {count} more than sent" for name, count in over.items() if count and name not in VERDICTS]
    wrong += [f"{name}: {-count} fewer than sent" for name, count in over.items() if count < 0]
    return wrong if sum(over.values()) == sent[EITHER] else [*wrong, f"{found} of {sent}"]


def test_each_is_counted_and_changes_what_it_may(server: Server) -> None:
    rig, port, choose = server.rig, server.build.protocol.port, random.Random(2027)
    with wire(rig.client) as sending, connected(server) as connection, answers_taken(rig):
        sessions = [opened(server, Caller(Session(server.build.codec), connection), n).session for n in range(CLIENTS)]
        made = Messages(server, sessions, choose)
        begun, sent, kinds = server.counters(), Counter[str](), Counter[str]()
        turns = itertools.cycle(SPOILED)

        def settled() -> bool:
            return sum(seen_by_xdp(server, begun).values()) >= sent.total()

        def burst() -> None:
            for way in itertools.islice(turns, BURST):
                garbled = way(made, lambda payload: frame(rig, payload, port, choose.choice((4, 6))))
                sending.send(garbled.frame)
                sent[garbled.counted] += 1
                kinds[way.__name__] += 1
            wait_until(settled, 20, "XDP to have seen all")

        def at_rest() -> bool:
            return bool(made.reference.observe(server.tables()))

        while sent.total() < PACKETS:
            wait_until(at_rest, 20, "the daemon to have written what was executed")
            tables = server.tables()
            for _ in range(BURSTS):
                burst()
            assert server.tables() == tables, f"after {sent.total()} packets"
            assert complaints(counted_as(server, begun), sent) == [], "each packet once, and as what it is"
            for _ in range(EXECUTED):
                execute(server, made, connection)
                sent[ANSWERED] += 1
        assert len(kinds) == len(SPOILED)
