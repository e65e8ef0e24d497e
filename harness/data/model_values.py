"""Values of the layout's types: in TLA+, in Python, and as bits of real data.

A *model value* is a value that TLC computes with: int, bool, str (an enum's member), frozenset, tuple (array or
sequence) or dict (record). TLC's integers are 32-bit, so the model has small integers for opaque bytes and wide
integers. `Patterns` maps the small integers, one to one, to the real values.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from codegen import ir
from codegen.emit.identity import terms
from harness.data.hash_seed import PLAIN, Seed
from harness.data.wide_integers import computed

TLC_INT_MAX = 2**31 - 1
MASK_64 = 2**64 - 1
HASHED_MAX = 4096  # numbers are not chosen to reach the cells of a larger table


@dataclass(frozen=True)
class Reference:
    """Stands for the value of a message's field, in a cell that must fit the message."""

    field: str


def resolved(value: Any, message: dict[str, Any]) -> Any:
    """Replaces the references in a value by the message's values."""
    match value:
        case Reference():
            return message[value.field]
        case tuple():
            return tuple(resolved(item, message) for item in value)
        case frozenset():
            return frozenset(resolved(item, message) for item in value)
        case dict():
            return {name: resolved(item, message) for name, item in value.items()}
    return value


def refers(value: Any) -> bool:
    """Whether the value contains a reference."""
    if isinstance(value, (tuple, frozenset)):
        return any(map(refers, value))
    return isinstance(value, Reference) or (isinstance(value, dict) and any(map(refers, value.values())))


def tail_size(tail: ir.TailLayout, message: dict[str, Any]) -> int:
    """Bytes that may follow a message, by its length field; 0 if none may."""
    length = message[tail.length]
    return length if tail.over < length <= tail.max else 0


def mix64(value: int) -> int:
    """The first part of a layout's `hash()`: MurmurHash3's 64-bit finalizer without its last multiplication."""
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & MASK_64
    return value ^ value >> 33


def hash_index(value: int, capacity: int, lower: bool = False, seed: Seed = PLAIN) -> int:
    """The index that a layout's `hash(field, capacity)` gives. lower: whether to use the other multiplier."""
    mixed = mix64(value ^ seed.salt) * (seed.lower if lower else seed.upper) & MASK_64
    return (mixed >> 32) * capacity >> 32


def to_tla(value: Any) -> str:
    """A model value as TLA+ text; a reference names a field of the record `msg`."""
    if isinstance(value, Reference):
        return f"msg.{value.field}"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(to_tla(item) for item in sorted(value, key=repr)) + "}"
    if isinstance(value, (tuple, list)):
        return "<<" + ", ".join(to_tla(item) for item in value) + ">>"
    if isinstance(value, dict):
        return "[" + ", ".join(f"{name} |-> {to_tla(item)}" for name, item in value.items()) + "]"
    raise TypeError(f"cannot write {value!r} in TLA+")


def layout_text(kind: ir.Type) -> str:
    """A type as a layout writes it."""
    match kind:
        case ir.UInt():
            return f"u{kind.width}"
        case ir.Bool():
            return "bool"
        case ir.Enum():
            return "{enum: [" + ", ".join(kind.members) + "]}"
        case ir.Bytes():
            return f"{{bytes: {kind.size}}}"
        case ir.Bits(source=ir.Set() as source):
            return layout_text(source)
        case ir.Bits():
            return f"{{bits: {kind.size}}}"
        case ir.Set():
            return f"{{set: {layout_text(kind.element)}, max: {kind.max}}}"
        case ir.Sequence():
            return f"{{sequence: {layout_text(kind.element)}, max: {kind.max}}}"
        case ir.Array():
            return f"{{array: {layout_text(kind.element)}, size: {kind.size}}}"
        case ir.Record():
            return "{record: {" + ", ".join(f"{name}: {layout_text(field)}" for name, field in kind.fields) + "}}"
    raise TypeError(f"cannot write {kind} as in a layout")


def zero(kind: ir.Type) -> Any:
    """The model value that all-zero memory stands for."""
    match kind:
        case ir.UInt() | ir.Bytes():
            return 0
        case ir.Bool():
            return False
        case ir.Enum():
            return kind.members[0]
        case ir.Set() | ir.Bits():
            return frozenset()
        case ir.Sequence():
            return ()
        case ir.Array():
            return (zero(kind.element),) * kind.size
        case ir.Record():
            return {name: zero(field) for name, field in kind.fields}
    raise TypeError(f"{kind} has no zero")


def is_opaque(kind: ir.Type) -> bool:
    """Whether the model has small integers where the program has patterns."""
    return isinstance(kind, ir.Bytes) or (isinstance(kind, ir.UInt) and kind.width > 32)


def steps_of(protocol: ir.Protocol) -> list[ir.Step]:
    """Every step once, in the order of the hooks."""
    sections = [*protocol.xdp, *protocol.tc, *protocol.user]
    for sweep_pass in protocol.sweep:
        sections += sweep_pass.sections
    return list({section.step.name: section.step for section in sections}.values())


TERMS_NUMBER = 1
"""The number that stands for env.terms among values of 8 bytes; the program has it as a constant."""


class Patterns:
    """The one-to-one map between the model's small integers and real bytes and wide integers.

    0 is zero, since blank cells and messages are zero. Among values of 8 bytes, number 1 is env.terms, if the layout
    has it. Integers that steps compute with stand for themselves (wide_integers.py).

    Numbers 1 and 2 of another wide integer stand for 1 and its greatest value, unless an index is hashed from such
    integers. In that case number n stands for a value whose hash is n modulo the capacity, so that a domain reaches
    every cell. If a second index is hashed with the other multiplier, its hash is n divided by the first capacity,
    modulo the second one. So a domain reaches every pair. Only the first of several indexes with one multiplier
    counts, because they depend on one another. All other numbers stand for random values, from a fixed seed.
    """

    SEED = 20230

    def __init__(self, protocol: ir.Protocol) -> None:
        self.computed = computed(protocol, steps_of(protocol))
        self._hashes: dict[ir.Type, list[ir.HashIndex]] = {}
        for hashed in protocol.hashes:
            known = self._hashes.setdefault(protocol.message.field(hashed.source), [])
            if hashed.capacity <= HASHED_MAX and hashed.lower not in [each.lower for each in known]:
                known.append(hashed)
        self._forward: dict[tuple[ir.Type, int], int] = {}
        self._backward: dict[tuple[ir.Type, int], int] = {}
        if (kind := dict(protocol.env.fields).get(ir.TERMS)) is not None:
            value = int.from_bytes(terms(protocol), "little")
            self._forward[kind, TERMS_NUMBER], self._backward[kind, value] = value, TERMS_NUMBER

    def real(self, kind: ir.Type, number: int) -> int:
        """Returns the integer that `number` stands for, of at most 64 bits (8 * size for bytes, first byte lowest)."""
        if number == 0 or (isinstance(kind, ir.UInt) and (kind in self.computed or not is_opaque(kind))):
            return number
        key = (kind, number)
        if key not in self._forward:
            value = self._choose(kind, number)
            self._forward[key] = value
            self._backward[kind, value] = number
        return self._forward[key]

    def model(self, kind: ir.Type, value: int) -> int | str:
        """Returns the number that stands for `value`; its hexadecimal digits if there is none."""
        if value == 0 or (isinstance(kind, ir.UInt) and (kind in self.computed or not is_opaque(kind))):
            return value
        return self._backward.get((kind, value), hex(value))

    def known(self, kind: ir.Type) -> Iterator[tuple[int, int]]:
        """The numbers of a type that were used so far, with the values that they stand for."""
        return ((number, value) for (other, number), value in self._forward.items() if other == kind)

    def _choose(self, kind: ir.Type, number: int) -> int:
        width = kind.width if isinstance(kind, ir.UInt) else 8 * ir.expect(kind, ir.Bytes).size
        generator = random.Random(f"{self.SEED} {kind} {number}")
        taken = {value for other, value in self._backward if other == kind}
        if kind not in self._hashes and isinstance(kind, ir.UInt) and number <= 2:
            return (1, 2**width - 1)[number - 1]
        while True:
            value = generator.getrandbits(width)
            reserved = value == 0 or value in taken or value in (1, 2**width - 1)
            if not reserved and self._reached(kind, value, number):
                return value

    def _reached(self, kind: ir.Type, value: int, number: int) -> bool:
        for hashed in self._hashes.get(kind, ()):
            if hash_index(value, hashed.capacity, hashed.lower) != number % hashed.capacity:
                return False
            number //= hashed.capacity
        return True
