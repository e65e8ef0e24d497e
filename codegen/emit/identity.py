"""Computes hashes that must agree: for builds that use the same tables, and for a client and its server."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from codegen.emit.branch_numbers import Leaves
from codegen.emit.cell_layout import Guarded
from codegen.emit.hooks import GUARDED
from codegen.emit.types import packet_fields
from codegen.ir import Protocol

MEMORY = 2
"""Version of the memory layout of values. Raise it with every change, because later builds read pinned maps."""

HASH = 2
"""Version of the hash of indices (runtime/bpf/stepwise_hash.h). Raise it with every change, for the same reason."""


def layout_id(protocol: Protocol, numbers: Leaves) -> int:
    """Returns a hash of everything that pinned maps depend on.

    It covers the cells and their memory layout, capacities, atomicity and counters. It covers the meaning of a
    cell's content: constants, the clock, and the cell of a key. It also covers other objects that are pinned
    beside the tables.
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
    """Whether a step asks who sent a message. Then a key is pinned beside the tables."""
    return any(name in ("peer", "token") for name, _ in protocol.env.fields)


def terms(protocol: Protocol) -> bytes:
    """Returns env.terms, a hash of everything that a client relies on: the message, constants, and a tick's length.

    Two builds with the same terms understand each other's messages, and neither ends a lease before the other's
    clients do.
    """
    described = ["terms", protocol.name, list(map(repr, packet_fields(protocol))), repr(protocol.tail)]
    if protocol.operations is not None:
        described.append(repr(protocol.operations))
    return _digest([*described, _meaning(protocol)])


def _meaning(protocol: Protocol) -> list[Any]:
    """Returns the constants and the clock, which give a cell's content its meaning."""
    clock = [repr(type_) for name, type_ in protocol.env.fields if name == "now"]
    return [sorted(map(list, protocol.constants)), protocol.tick_ns, clock]


def _digest(described: list[Any]) -> bytes:
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).digest()[:8]
