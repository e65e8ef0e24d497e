"""Sessions for a protocol's bench.py: opened in a server's tables, or as clients open them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

SESSION_IDLE = 1  # a session's word: state Idle in its lowest bits, sequence number 0


def open_in_tables(tables: Callable[[str], Any], clients: Sequence[int]) -> list[tuple[int, int]]:
    """Open sessions by writing the server's tables; returns the number and the secret of each."""
    opened = []
    for client in clients:
        secret = random.randbytes(8)
        tables("credential").update(client, secret)
        tables("session").update(client, SESSION_IDLE.to_bytes(8, "little"))
        opened.append((client, int.from_bytes(secret, "little")))
    return opened


def open_by_messages(exchange: Callable[[bytes], bytes], clients: Sequence[int], codec: Any) -> list[tuple[int, int]]:
    """Open sessions as a client does; `exchange` sends a datagram and waits for the answer. They begin with sequence number 0."""
    opened = []
    for client in clients:
        answer = codec.Message.decode(exchange(codec.Message(kind=codec.Kind.OPEN, client=client).encode()))
        if answer.kind != codec.Kind.OPENED:
            raise RuntimeError(f"session {client} cannot be opened: the server answers {answer.kind.name}")
        opened.append((client, int.from_bytes(answer.secret, "little")))
    return opened
