"""The lock protocol in `just bench`: sizes, workloads, how sessions are opened, and what is promised.

What a slot asks for is in bench.h. The numbers in a slot's state are in the order that bench.h names.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

# The table of the speed figures: 36 million cells for 24 million lock ids.
OVERRIDE = {"tables": {"lock": {"capacity": 36_000_000}}}

SHARED_OF_256 = 205  # 80 %

# Lock ids; of those, each slot's own (0: all are everybody's); shared acquires of 256.
WORKLOADS = {
    "uniform": [24_000_000, 0, SHARED_OF_256],
    # Four locks a slot: their cells and pages stay in the caches, and no cell fills up (there is no daemon here).
    "hot": [24_000_000, 4, SHARED_OF_256],
}

OUTCOMES = ("granted", "rejected", "released", "other")
EXPECTED_OUTCOMES = ("granted", "rejected", "released")

# Issue 2: share of the reflector's rate, nanoseconds over it, times kernel UDP. One core.
TARGETS = {
    "uniform": {"of_reflector_min": 0.63, "over_reflector_ns_max": 95, "times_kernel_udp_min": 25},
    "hot": {"over_reflector_ns_max": 30},
}

SESSION_IDLE = 1  # a session's word: state Idle in its lowest bits, sequence number 0


def _state(client: int, secret: bytes) -> list[int]:
    """Of a slot whose session is open and has asked for nothing yet."""
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
    """Open sessions as a client does; `exchange` sends a datagram and waits for the answer."""
    states = []
    for client in clients:
        answer = codec.Message.decode(exchange(codec.Message(kind=codec.Kind.OPEN, client=client).encode()))
        if answer.kind != codec.Kind.OPENED:
            raise RuntimeError(f"session {client} cannot be opened: the server answers {answer.kind.name}")
        states.append(_state(client, answer.secret))
    return states
