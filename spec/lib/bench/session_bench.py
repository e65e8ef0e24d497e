"""Opens sessions for a protocol's bench.py: in a server's tables, or by messages as clients do."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

SESSION_IDLE = 1  # a session's word: state Idle in its lowest bits, sequence number 0

ATTEMPTS_MAX = 100


def _state(client: int, secret: bytes) -> list[int]:
    """The state of a slot whose session is open and has asked for nothing yet."""
    return [client, int.from_bytes(secret, "little"), 0, 0, 0]


def open_in_tables(tables: Callable[[str], Any], clients: Sequence[int], codec: Any) -> list[list[int]]:
    """Open sessions by writing the server's tables; returns the slots' states."""
    states = []
    for client in clients:
        secret = random.randbytes(8)
        tables("credential").update(client, secret)
        tables("session").update(client, SESSION_IDLE.to_bytes(8, "little"))
        states.append(_state(client, secret))
    return states


def open_by_messages(exchange: Callable[[bytes], bytes], clients: Sequence[int], codec: Any) -> list[list[int]]:
    """Open sessions as a client does; returns the slots' states.

    `exchange` sends a datagram and waits for the answer. The sessions start with sequence number 0.
    """
    return [_opened(exchange, client, codec) for client in clients]


def _opened(exchange: Callable[[bytes], bytes], number: int, codec: Any) -> list[int]:
    """Open a session of a number near this one; if it is taken, of any that the server invites to."""
    for _ in range(ATTEMPTS_MAX):
        invitation = codec.Message.decode(
            exchange(codec.Message(kind=codec.Kind.ASK, client=number, sequence=1, secret=codec.TERMS).encode())
        )
        if invitation.kind != codec.Kind.INVITED:
            raise RuntimeError(
                f"no session can be opened: the server answers a request for one with {invitation.kind.name}"
            )
        request = codec.Message(kind=codec.Kind.OPEN, client=invitation.client, secret=invitation.secret)
        answer = codec.Message.decode(exchange(request.encode()))
        if answer.kind == codec.Kind.OPENED:
            return _state(answer.client, answer.secret)
        if answer.kind != codec.Kind.TAKEN:
            raise RuntimeError(f"session {answer.client} cannot be opened: the server answers {answer.kind.name}")
        number = random.randrange(codec.SESSIONS)
    raise RuntimeError(f"no session can be opened: {ATTEMPTS_MAX} numbers in a row are taken")
