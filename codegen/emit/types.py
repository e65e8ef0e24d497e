"""Maps types of the IR to C: the memory layout of values, and the packing of a cell into a word.

A set, a sequence or an array of scalars is *packed* if its items fit 64 bits together. Its items are
then in one integer, the first in the lowest bits. So steps run on registers, and inserting or indexing
is a shift instead of a chain of branches. Others are C arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from codegen.c.names import Names, field, type_label
from codegen.ir import (
    Append,
    Array,
    Bits,
    Bool,
    Bytes,
    Enum,
    Filter,
    Image,
    In,
    Protocol,
    Record,
    Sequence,
    SequenceOf,
    Set,
    SetOf,
    SetOp,
    Tail,
    Type,
    UInt,
)
from codegen.ir.measure import WORD_BITS, is_packed, is_scalar, is_vector, width_bits, width_bytes
from codegen.ir.walk import children

SLOT_BYTES = 8
"""The bytes of a number on a program's stack."""


class GeneratorError(Exception):
    """An emitter cannot render a part of the IR. It is a bug of a pass, not of the user."""


@dataclass(frozen=True)
class Vector:
    """A set, a sequence or an array: items of one type, and maybe a count of them."""

    type: Type
    element: Type
    size: int
    counted: bool

    @classmethod
    def of(cls, type_: Type) -> Vector:
        match type_:
            case Set(element, size) | Sequence(element, size):
                return cls(type_, element, size, True)
            case Array(element, size):
                return cls(type_, element, size, False)
        raise GeneratorError(f"{type_} has no items")

    @property
    def item_bits(self) -> int:
        return width_bits(self.element)

    @property
    def packed(self) -> bool:
        return is_packed(self.element, self.size)

    @property
    def count_bits(self) -> int:
        return self.size.bit_length() if self.counted else 0


def unsigned(bits: int) -> str:
    """Returns the smallest C type that holds an unsigned integer of `bits` bits."""
    for candidate in (8, 16, 32, 64):
        if bits <= candidate:
            return f"__u{candidate}"
    raise GeneratorError(f"no C integer has {bits} bits")


def bytes_alignment(size: int) -> int:
    """Returns the alignment of opaque bytes that are not a scalar: the unit in which they are copied."""
    return next(alignment for alignment in (8, 4, 2, 1) if size % alignment == 0)


def memory_layout(type_: Type) -> tuple[int, int]:
    """Returns the size and alignment of a value in C, in bytes."""
    match type_:
        case Bool():
            return 1, 1
        case Bytes(size) if not is_scalar(type_):
            return size, bytes_alignment(size)
        case Record(_, fields):
            return struct_layout([memory_layout(inner) for _, inner in fields])
    if is_vector(type_):
        vector = Vector.of(type_)
        if vector.packed:
            members = [_integer_layout(vector.size * vector.item_bits)]
        else:
            size, alignment = memory_layout(vector.element)
            members = [(size * vector.size, alignment)]
        return struct_layout(members + ([_integer_layout(vector.count_bits)] if vector.counted else []))
    return _integer_layout(width_bits(type_))


def stack_bytes(type_: Type) -> int:
    """Returns about how many bytes of a program's stack a value takes, whose parts clang keeps apart.

    A number that is in no register takes a whole slot, and so does each part of opaque bytes that is copied at once.
    """
    if isinstance(type_, Record):
        return sum(stack_bytes(inner) for _, inner in type_.fields)
    if is_vector(type_) and not Vector.of(type_).packed:
        vector = Vector.of(type_)
        return vector.size * stack_bytes(vector.element) + (SLOT_BYTES if vector.counted else 0)
    if is_vector(type_):
        return 2 * SLOT_BYTES
    if is_scalar(type_):
        return SLOT_BYTES
    size, alignment = memory_layout(type_)
    return SLOT_BYTES * size // alignment


def _integer_layout(bits: int) -> tuple[int, int]:
    size = int(unsigned(bits).removeprefix("__u")) // 8
    return size, size


def struct_layout(members: list[tuple[int, int]], start: int = 0) -> tuple[int, int]:
    """Returns the size and alignment of a struct, given those of its members, which follow `start` bytes."""
    end, alignment = start, 1
    for size, own in members:
        end = -(-end // own) * own + size
        alignment = max(alignment, own)
    return -(-end // alignment) * alignment, alignment


def c_type(names: Names, type_: Type) -> str:
    match type_:
        case UInt(width):
            return unsigned(width)
        case Bool():
            return "bool"
        case Enum():
            return f"enum {names.tag(type_)}"
        case Bits(size):
            return unsigned(size)
        case Bytes(size) if size <= 8:
            return unsigned(8 * size)
    return f"struct {names.tag(type_)}"


def declaration(names: Names, type_: Type, name: str) -> str:
    return f"{c_type(names, type_)} {name}"


def inner_types(type_: Type) -> tuple[Type, ...]:
    match type_:
        case Bits(enum=Enum() as enum):
            return (enum,)
        case Set(element, _) | Sequence(element, _) | Array(element, _):
            return (element,)
        case Record(_, fields):
            return tuple(inner for _, inner in fields)
    return ()


def declared_types(roots: tuple[Type, ...]) -> Iterator[Type]:
    """Yields every enum and struct that the roots need, each once, and each after those that it needs."""
    seen: set[Type] = set()

    def visit(type_: Type) -> Iterator[Type]:
        if type_ in seen:
            return
        seen.add(type_)
        for inner in inner_types(type_):
            yield from visit(inner)
        if isinstance(type_, Enum) or not is_scalar(type_):
            yield type_

    for root in roots:
        yield from visit(root)


def made_types(protocol: Protocol) -> Iterator[Type]:
    """Yields the types of the sets and sequences that steps make, in the order of the steps.

    They include types of intermediate values, which no field has.
    """
    sections = [
        *protocol.xdp,
        *protocol.tc,
        *(section for one in protocol.sweep for section in one.sections),
        *protocol.user,
    ]
    steps = [*(section.step for section in sections), *protocol.daemon_steps]

    def visit(node: Any) -> Iterator[Type]:
        if isinstance(node, (SetOf, SetOp, Image, Filter, SequenceOf, Append, Tail)) and is_vector(node.type):
            yield node.type
        # C needs no set for a literal that is compared element by element, inserted or removed.
        match node:
            case In(element=element, set=SetOf(elements=elements)):
                below = [element, *elements]
            case SetOp(left=left, right=SetOf(elements=(only,))) if node.op != "intersect":
                below = [left, only]
            case _:
                below = list(children(node))
        for inner in below:
            yield from visit(inner)

    for step in steps:
        yield from visit(step.body)


@dataclass(frozen=True)
class BitField:
    """The place of one scalar (or of the items of a packed vector) in a word."""

    path: str
    offset: int
    width: int
    type: Type | None
    """None for the items of a packed vector and for a count."""


def word_fields(cell: Record) -> tuple[BitField, ...]:
    """Returns the fields of a cell in its word, from the lowest bits up."""
    found: list[BitField] = []
    offset = 0

    def add(path: str, width: int, type_: Type | None) -> None:
        nonlocal offset
        found.append(BitField(path, offset, width, type_))
        offset += width

    def visit(path: str, type_: Type) -> None:
        if isinstance(type_, Record):
            for name, inner in type_.fields:
                visit(f"{path}.{field(name)}" if path else field(name), inner)
        elif is_vector(type_):
            vector = Vector.of(type_)
            if vector.counted:
                add(f"{path}.count", vector.count_bits, None)
            if vector.packed:
                add(f"{path}.items", vector.size * vector.item_bits, None)
            else:
                for position in range(vector.size):
                    visit(f"{path}.items[{position}]", vector.element)
        else:
            add(path, width_bits(type_), type_)

    visit("", cell)
    if offset > WORD_BITS:
        raise GeneratorError(f"{type_label(cell)} takes {offset} bits and cannot be a word")
    return tuple(found)


@dataclass(frozen=True)
class WireField:
    """One field of the message on the wire; `offset` and `size` are in bytes."""

    name: str
    type: Type
    offset: int
    size: int

    @property
    def limit(self) -> int | None:
        """Returns the largest value that decodes; None if every value does."""
        match self.type:
            case Enum(_, members):
                largest = len(members) - 1
            case Bool():
                largest = 1
            case UInt(width):
                largest = (1 << width) - 1
            case Bits(size):
                largest = (1 << size) - 1
            case _:
                return None
        return None if largest == (1 << 8 * self.size) - 1 else largest


def packet_fields(protocol: Protocol) -> tuple[WireField, ...]:
    """Returns all fields of the payload: first those of the wire, then those of the handover."""
    return wire_fields(protocol.message, (*protocol.wire, *protocol.handover))


def operation_fields(protocol: Protocol) -> tuple[WireField, ...]:
    """Returns the fields of an operation, with their offsets into it; none if messages have no operations."""
    return wire_fields(protocol.message, protocol.operations.fields) if protocol.operations else ()


def handover_place(protocol: Protocol) -> tuple[str, int]:
    """Returns the first field of the handover and the bytes of all its fields, which are adjacent.

    Returns "" and 0 without a handover.
    """
    found = packet_fields(protocol)[len(protocol.wire) :]
    return (found[0].name, sum(each.size for each in found)) if found else ("", 0)


def wire_fields(message: Record, order: tuple[str, ...]) -> tuple[WireField, ...]:
    found: list[WireField] = []
    offset = 0
    for name in order:
        type_ = message.field(name)
        if not (is_scalar(type_) or isinstance(type_, Bytes)):
            raise GeneratorError(f"field {name} of the wire must be a scalar, not {type_}")
        size = width_bytes(type_)
        found.append(WireField(name, type_, offset, size))
        offset += size
    return tuple(found)
