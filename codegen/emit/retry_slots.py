"""Places the fields of a retry on the stack so that the verifier knows none of their values."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.emit.types import SLOT_BYTES, struct_layout


@dataclass(frozen=True)
class Member:
    """A field of the message or of the environment."""

    name: str
    type: str
    bytes: int
    kept: str = ""
    """Its name among the inputs and outputs of a retry."""


def hidden_slots(members: list[Member]) -> tuple[tuple[Member, ...], ...]:
    """Groups members into slots of the stack so that the verifier does not know their values.

    It knows nothing of a member that does not start at a slot's first byte. A member of more than four bytes shares
    its slots with no other.
    """
    slots: list[list[Member]] = []
    for member in sorted(members, key=lambda each: -each.bytes):
        room = (slot for slot in slots if _slot_bytes([*slot, member]) <= SLOT_BYTES)
        slot = next(room, None)
        if slot is None:
            slots.append([member])
        else:
            slot.insert(0, member)
    return tuple(tuple(slot) for slot in slots)


def _slot_bytes(members: list[Member]) -> int:
    """Returns the bytes that members need in a slot, small ones first. No member has the slot's first byte."""
    sizes = sorted(each.bytes for each in members)
    return struct_layout([(size, size) for size in sizes], start=1)[0]
