"""Hashes by which those who must agree find out that they do not: builds on the same tables, and a client and
its server.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from codegen.emit.guarded import Guarded
from codegen.emit.hooks import GUARDED
from codegen.emit.leaves import Leaves
from codegen.emit.types import packet_fields
from codegen.ir import Protocol

MEMORY = 2
"""How values lie in memory: raised whenever they come to lie otherwise, since maps that are pinned are read again."""

HASH = 2
"""How indices are hashed (runtime/bpf/stepwise_hash.h): raised likewise."""


def layout_id(protocol: Protocol, numbers: Leaves) -> int:
    """A hash of everything that pinned maps depend on.

    That is cells and how they lie in memory, capacities, atomicity and counters; what a cell's content means:
    constants, the clock that its times are of, and which cell a key is in; and what is pinned beside the
    tables.
    """
    described = [
        MEMORY,
        HASH,
        protocol.name,
        [counter.name for counter in numbers.counters],
        _meaning(protocol),
        list(map(repr, protocol.hashes)),
    ]
    if tells_peers(protocol):
        described.append("a key beside the tables")
    for table in protocol.tables:
        guard = [Guarded.of(table).size, Guarded.of(table).lined] if table.atomic in GUARDED else []
        lines = ["own_line"] if table.own_line else []
        described.append([table.name, repr(table.cell), table.map, table.capacity, table.atomic, *guard, *lines])
    return int.from_bytes(_digest(described), "little")


def tells_peers(protocol: Protocol) -> bool:
    """Whether a step asks who sent a message, which takes the key beside the tables."""
    return any(name in ("peer", "token") for name, _ in protocol.env.fields)


def terms(protocol: Protocol) -> bytes:
    """env.terms, a hash of everything that a client relies on: the message and its kinds, constants, and the length of
    a tick.

    Of two builds whose terms are the same, either understands the other's messages, and none ends a lease
    before the other's clients do.
    """
    return _digest(
        ["terms", protocol.name, list(map(repr, packet_fields(protocol))), repr(protocol.tail), _meaning(protocol)]
    )


def _meaning(protocol: Protocol) -> list[Any]:
    """Constants and the clock."""
    clock = [repr(type_) for name, type_ in protocol.env.fields if name == "now"]
    return [sorted(map(list, protocol.constants)), protocol.tick_ns, clock]


def _digest(described: list[Any]) -> bytes:
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).digest()[:8]
