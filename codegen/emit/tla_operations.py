"""Writes the operations of a message in TLA+: as a field of the message, and what a group makes of them."""

from __future__ import annotations

from typing import Any

from codegen.ir import OPERATIONS, Protocol, Record, Sequence, When


def with_operations(protocol: Protocol) -> Record:
    """Returns the message as models have it: its operations are one more field."""
    operations = protocol.operations
    if operations is None:
        return protocol.message
    sequence = Sequence(protocol.operation, operations.max)
    return Record("message", (*protocol.message.fields, (OPERATIONS, sequence)))


def tla_operations(protocol: Protocol) -> dict[str, Any] | None:
    """Describes the operators for operations; None if messages have none."""
    operations = protocol.operations
    if operations is None:
        return None
    numbers = [section.group for section in protocol.xdp]
    groups = [
        {"number": group, "first": numbers.index(group) + 1, "last": numbers.index(group) + numbers.count(group)}
        for group in range(1, len(operations.groups) + 1)
    ]
    whens = [(number, _is(when)) for number, when in enumerate(operations.groups, 1) if when is not None]
    return {
        "groups": groups,
        "whens": whens,
        "of_kind": _is(operations.when),
        "at": copied("msg", operations.fields, "operation"),
        "own": copied("msg", protocol.of_operation(), "from"),
        "done": "[" + ", ".join(f"{name} |-> msg.{name}" for name in operations.fields) + "]",
    }


def _is(when: When) -> str:
    members = ", ".join(f'"{member}"' for member in when.members)
    return f"msg.{when.field} \\in {{{members}}}"


def copied(message: str, names: tuple[str, ...], other: str) -> str:
    """Returns TLA+ text for a message that gets some fields from another record."""
    if not names:
        return message
    head = f"[{message} EXCEPT "
    lines, line = [], head
    for number, name in enumerate(names):
        piece = f"!.{name} = {other}.{name}" + (", " if number < len(names) - 1 else "]")
        if len(line) + len(piece) > 110:
            lines.append(line.rstrip())
            line = " " * (2 + len(head))
        line += piece
    return "\n".join([*lines, line])
