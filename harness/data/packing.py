"""Cells and messages as bytes, from the layout's types alone.

This follows docs/reference/layout.md and is independent of the emitter, so that a cell that the emitted C packs
differently shows as a mismatch.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from codegen import ir
from codegen.c import names as c_names
from harness.data.model_values import Patterns, tail_size


class NotCanonical(Exception):
    """Bytes that no value packs to; the message says why."""


def bits_for(largest: int) -> int:
    """The number of bits that hold 0..largest."""
    return largest.bit_length()


def word_bits(kind: ir.Type) -> int:
    """Width of a type inside a cell of one word."""
    match kind:
        case ir.UInt():
            return kind.width
        case ir.Bool():
            return 1
        case ir.Enum():
            return max(1, bits_for(len(kind.members) - 1))
        case ir.Bytes():
            return 8 * kind.size
        case ir.Bits():
            return kind.size
        case ir.Set() | ir.Sequence():
            return bits_for(kind.max) + kind.max * word_bits(kind.element)
        case ir.Array():
            return kind.size * word_bits(kind.element)
        case ir.Record():
            return sum(word_bits(field) for _, field in kind.fields)
    raise TypeError(f"a word cannot hold {kind}")


def ordered(items: Iterable[Any], flip: bool) -> list[Any]:
    """Returns a set's items in one of two orders, because a step must not depend on the order."""
    return sorted(items, key=repr, reverse=flip)


@dataclass(frozen=True)
class WordCodec:
    """Packs values from the least significant bit, in the order of their fields."""

    patterns: Patterns

    def pack(self, kind: ir.Type, value: Any, flip: bool = False) -> int:
        """Returns the value as an integer of word_bits(kind) bits. flip: use the other order of sets' items."""
        match kind:
            case ir.UInt() | ir.Bytes():
                return self.patterns.real(kind, value)
            case ir.Bool():
                return int(value)
            case ir.Enum():
                return kind.members.index(value)
            case ir.Bits():
                return sum(1 << kind.elements.index(item) for item in value)
            case ir.Record():
                return self._join([(field, value[name]) for name, field in kind.fields], flip)
            case ir.Array():
                return self._join([(kind.element, item) for item in value], flip)
            case ir.Set() | ir.Sequence():
                items = ordered(value, flip) if isinstance(kind, ir.Set) else value
                return len(items) | self._join([(kind.element, item) for item in items], flip) << bits_for(kind.max)
        raise TypeError(f"cannot pack {kind}")

    def _join(self, parts: list[tuple[ir.Type, Any]], flip: bool) -> int:
        word, shift = 0, 0
        for kind, value in parts:
            word |= self.pack(kind, value, flip) << shift
            shift += word_bits(kind)
        return word

    def unpack(self, kind: ir.Type, word: int) -> Any:
        """Returns the value of an integer; raises NotCanonical if pack() never gives that integer."""
        width = word_bits(kind)
        if word >> width:
            raise NotCanonical(f"the type has {width} bits, but higher bits are set: {word >> width:#x}")
        match kind:
            case ir.UInt() | ir.Bytes():
                return self.patterns.model(kind, word)
            case ir.Bool():
                return bool(word)
            case ir.Enum():
                if word >= len(kind.members):
                    raise NotCanonical(f"{kind.name} has no member {word}")
                return kind.members[word]
            case ir.Bits():
                return frozenset(item for at, item in enumerate(kind.elements) if word >> at & 1)
            case ir.Record():
                values = self._split([field for _, field in kind.fields], word)
                return dict(zip((name for name, _ in kind.fields), values))
            case ir.Array():
                return tuple(self._split([kind.element] * kind.size, word))
            case ir.Set() | ir.Sequence():
                return self._unpack_items(kind, word)
        raise TypeError(f"cannot unpack {kind}")

    def _unpack_items(self, kind: ir.Set | ir.Sequence, word: int) -> Any:
        count_bits, item_bits = bits_for(kind.max), word_bits(kind.element)
        count = word & ((1 << count_bits) - 1)
        if count > kind.max:
            raise NotCanonical(f"{count} items in a set of at most {kind.max}")
        rest = word >> count_bits
        if rest >> count * item_bits:
            raise NotCanonical(f"unused items after the {count} in use are not zero: {rest >> count * item_bits:#x}")
        return collect(kind, self._split([kind.element] * count, rest))

    def _split(self, kinds: list[ir.Type], word: int) -> list[Any]:
        values = []
        for kind in kinds:
            width = word_bits(kind)
            values.append(self.unpack(kind, word & ((1 << width) - 1)))
            word >>= width
        if word:
            raise NotCanonical(f"bits after the last field are set: {word:#x}")
        return values


def collect(kind: ir.Set | ir.Sequence, items: list[Any]) -> Any:
    """The items as a value of a set or sequence type."""
    if isinstance(kind, ir.Sequence):
        return tuple(items)
    if len(set(items)) != len(items):
        raise NotCanonical(f"the set has an item twice: {items}")
    return frozenset(items)


def wire_size(kind: ir.Type) -> int:
    """Bytes of a field on the wire."""
    match kind:
        case ir.UInt():
            return (kind.width + 7) // 8
        case ir.Bool():
            return 1
        case ir.Enum():
            return 1 if len(kind.members) <= 256 else 2
        case ir.Bytes():
            return kind.size
        case ir.Bits():
            return (kind.size + 7) // 8
    raise TypeError(f"the wire cannot carry {kind}")


def packet_fields(protocol: ir.Protocol) -> tuple[str, ...]:
    """The fields of a message in a packet, in their order."""
    return (*protocol.wire, *protocol.handover)


def fields_size(protocol: ir.Protocol, names: tuple[str, ...]) -> int:
    """Bytes of some fields in a packet."""
    return sum(wire_size(protocol.message.field(name)) for name in names)


def message_size(protocol: ir.Protocol) -> int:
    """Bytes of every message of the protocol on the wire."""
    return fields_size(protocol, packet_fields(protocol))


def byte_order(kind: ir.Type) -> Literal["little", "big"]:
    """The byte order of a field on the wire; the first of opaque bytes is the lowest."""
    return "little" if isinstance(kind, ir.Bytes) else "big"


def payload_tail(protocol: ir.Protocol, payload: bytes) -> int:
    """Bytes that must follow a client's message."""
    if protocol.tail is None:
        return 0
    length = payload_number(protocol, payload, protocol.tail.length)
    return tail_size(protocol.tail, {protocol.tail.length: length})


def payload_number(protocol: ir.Protocol, payload: bytes, name: str) -> int:
    """Returns what a field of a payload holds, as an integer."""
    order = packet_fields(protocol)
    at = fields_size(protocol, order[: order.index(name)])
    return int.from_bytes(payload[at : at + wire_size(protocol.message.field(name))], "big")


def payload_operations(protocol: ir.Protocol, payload: bytes) -> int:
    """Returns how many operations must follow a client's message; 0 if its kind has none."""
    if not _has_operations(protocol, payload):
        return 0
    return payload_number(protocol, payload, ir.expect(protocol.operations, ir.OperationsLayout).count)


def _has_operations(protocol: ir.Protocol, payload: bytes) -> bool:
    """Returns true if messages of this kind have operations, however many this one has."""
    operations = protocol.operations
    if operations is None:
        return False
    members = ir.expect(protocol.message.field(operations.when.field), ir.Enum).members
    kind = payload_number(protocol, payload, operations.when.field)
    return kind < len(members) and members[kind] in operations.when.members


def payload_rest(protocol: ir.Protocol, payload: bytes) -> int:
    """Returns how many bytes must follow the fixed part of a client's message: its tail, or its operations.

    It is more than any datagram has if there are more operations than a message can have.
    """
    if not _has_operations(protocol, payload):
        return payload_tail(protocol, payload)
    operations = ir.expect(protocol.operations, ir.OperationsLayout)
    count = payload_operations(protocol, payload)
    return count * fields_size(protocol, operations.fields) if count <= operations.max else 1 << 16


class WireCodec:
    """Encodes some fields of messages for packets."""

    def __init__(self, protocol: ir.Protocol, patterns: Patterns, names: tuple[str, ...]) -> None:
        self._codec = WordCodec(patterns)
        kinds = [(name, protocol.message.field(name)) for name in names]
        # Each value of a field is encoded once, because a domain has few of them.
        self._plan: list[tuple[str, ir.Type, dict[Any, bytes]]] = [(name, kind, {}) for name, kind in kinds]

    def encode(self, message: dict[str, Any]) -> bytes:
        """Encodes the fields of a message."""
        parts = []
        for name, kind, known in self._plan:
            value = message[name]
            encoded = known.get(value)
            if encoded is None:
                encoded = known[value] = self._codec.pack(kind, value).to_bytes(wire_size(kind), byte_order(kind))
            parts.append(encoded)
        return b"".join(parts)


def wire_noise(kind: ir.Type, generator: random.Random) -> bytes:
    """A random valid value of a field on the wire, seldom zero."""
    match kind:
        case ir.Bool():
            number = 1
        case ir.Enum():
            number = generator.randrange(len(kind.members))
        case _:
            number = generator.getrandbits(word_bits(kind))
    return number.to_bytes(wire_size(kind), byte_order(kind))


def wire_message(protocol: ir.Protocol, payload: bytes, patterns: Patterns) -> dict[str, Any]:
    """Decodes the fields of a payload, for people to read."""
    codec = WordCodec(patterns)
    message, offset = {}, 0
    for name in packet_fields(protocol):
        kind = protocol.message.field(name)
        raw = payload[offset : offset + wire_size(kind)]
        offset += len(raw)
        try:
            message[name] = codec.unpack(kind, int.from_bytes(raw, byte_order(kind)))
        except NotCanonical:
            message[name] = f"0x{raw.hex()}, which is not one of its values"
    if protocol.tail is not None:
        message[protocol.tail.field] = f"{len(payload) - offset} bytes: {payload[offset:].hex()}"
    elif len(payload) > offset:
        message[ir.OPERATIONS] = payload[offset:].hex()
    return message


@dataclass(frozen=True)
class Member:
    """A member of a C struct at an offset: a struct, an array of elements, or a scalar of `size` bytes."""

    offset: int
    size: int
    struct: Struct | None = None
    elements: tuple[int, Member] | None = None


@dataclass(frozen=True)
class Struct:
    """A C struct as the compiler laid it out (from BTF)."""

    name: str
    size: int
    members: dict[str, Member]


@dataclass(frozen=True)
class StructCodec:
    """Packs values into C structs.

    Members have the names of the layout's fields. Sets and sequences are structs of `items` and `count`. Arrays are
    such structs without a count, or only the items. The items are a C array, or one integer that holds all of them, the
    first lowest.
    """

    patterns: Patterns

    def pack(self, kind: ir.Record, value: dict[str, Any], shape: Struct, flip: bool = False) -> bytes:
        """Returns the bytes of the struct, with zero padding."""
        memory = bytearray(shape.size)
        self._store(kind, value, Member(0, shape.size, struct=shape), memory, 0, flip)
        return bytes(memory)

    def _store(self, kind: ir.Type, value: Any, member: Member, memory: bytearray, base: int, flip: bool) -> None:
        base += member.offset
        match kind:
            case ir.Record():
                for name, field in kind.fields:
                    self._store(field, value[name], members_of(member)[c_names.field(name)], memory, base, flip)
            case ir.Set() | ir.Sequence() | ir.Array():
                items = ordered(value, flip) if isinstance(kind, ir.Set) else list(value)
                if "count" in parts_of(member):
                    put_integer(memory, base, parts_of(member)["count"], len(items))
                self._store_items(kind.element, items, parts_of(member)["items"], memory, base, flip)
            case _:
                put_integer(memory, base - member.offset, member, WordCodec(self.patterns).pack(kind, value))

    def _store_items(
        self, kind: ir.Type, items: list[Any], slots: Member, memory: bytearray, base: int, flip: bool
    ) -> None:
        if slots.elements is None:
            word, codec = 0, WordCodec(self.patterns)
            for position, item in enumerate(items):
                word |= codec.pack(kind, item, flip) << position * word_bits(kind)
            put_integer(memory, base, slots, word)
            return
        _, element = slots.elements
        for position, item in enumerate(items):
            self._store(kind, item, element, memory, base + slots.offset + position * element.size, flip)

    def unpack(self, kind: ir.Record, memory: bytes, shape: Struct) -> dict[str, Any]:
        """Returns the value in a struct; raises NotCanonical if unused items are not zero."""
        record: dict[str, Any] = self._load(kind, Member(0, shape.size, struct=shape), memory, 0)
        return record

    def _load(self, kind: ir.Type, member: Member, memory: bytes, base: int) -> Any:
        start = base + member.offset
        match kind:
            case ir.Record():
                members = members_of(member)
                return {
                    name: self._load(field, members[c_names.field(name)], memory, start) for name, field in kind.fields
                }
            case ir.Array():
                return tuple(self._items(kind.element, kind.size, kind.size, parts_of(member)["items"], memory, start))
            case ir.Set() | ir.Sequence():
                count = get_integer(memory, start, parts_of(member)["count"])
                if count > kind.max:
                    raise NotCanonical(f"{count} items in a set of at most {kind.max}")
                return collect(
                    kind, self._items(kind.element, count, kind.max, parts_of(member)["items"], memory, start)
                )
        return WordCodec(self.patterns).unpack(kind, get_integer(memory, base, member))

    def _items(self, kind: ir.Type, count: int, most: int, slots: Member, memory: bytes, base: int) -> list[Any]:
        if slots.elements is None:
            word, width, codec = get_integer(memory, base, slots), word_bits(kind), WordCodec(self.patterns)
            if word >> count * width:
                raise NotCanonical(f"unused items after the {count} in use are not zero: {word >> count * width:#x}")
            return [codec.unpack(kind, word >> position * width & (1 << width) - 1) for position in range(count)]
        _, element = slots.elements
        start = base + slots.offset
        unused = memory[start + count * element.size : start + most * element.size]
        if any(unused):
            raise NotCanonical(f"unused items after the {count} in use are not zero: {unused.hex()}")
        return [self._load(kind, element, memory, start + position * element.size) for position in range(count)]


def members_of(member: Member) -> dict[str, Member]:
    """The members of a record's struct."""
    return ir.expect(member.struct, Struct).members


def parts_of(member: Member) -> dict[str, Member]:
    """The members of the struct of a set, sequence or array; an array may also be a C array."""
    return member.struct.members if member.struct else {"items": replace(member, offset=0)}


def put_integer(memory: bytearray, base: int, member: Member, value: int) -> None:
    """Stores an integer in a scalar member of the struct at `base`."""
    start = base + member.offset
    memory[start : start + member.size] = value.to_bytes(member.size, "little")


def get_integer(memory: bytes, base: int, member: Member) -> int:
    """Reads the integer in a scalar member of the struct at `base`."""
    start = base + member.offset
    return int.from_bytes(memory[start : start + member.size], "little")


def word_bytes(word: int) -> bytes:
    """A cell of one word as the map holds it."""
    return struct.pack("<Q", word)


def decodes(protocol: ir.Protocol, payload: bytes, handed_over: bool = False) -> bool:
    """Whether every field of a payload, and of the operations in it, is a value of its type.

    handed_over: whether to check the handed-over fields as well.
    """
    names = packet_fields(protocol) if handed_over else protocol.wire
    if not _are_values(protocol, names, payload):
        return False
    operations, start = protocol.operations, message_size(protocol)
    if operations is None:
        return True
    size, count = fields_size(protocol, operations.fields), payload_operations(protocol, payload)
    parts = (payload[at : at + size] for at in range(start, start + count * size, size))
    return count <= operations.max and all(_are_values(protocol, operations.fields, part) for part in parts)


def _are_values(protocol: ir.Protocol, names: tuple[str, ...], payload: bytes) -> bool:
    offset = 0
    for name in names:
        kind = protocol.message.field(name)
        size = wire_size(kind)
        number = int.from_bytes(payload[offset : offset + size], "big")
        offset += size
        match kind:
            case ir.UInt() | ir.Bits() if number >> word_bits(kind):
                return False
            case ir.Bool() if number > 1:
                return False
            case ir.Enum() if number >= len(kind.members):
                return False
    return True
