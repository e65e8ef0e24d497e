"""How the tables of one build hold their cells."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from codegen import c_names, ir
from harness.conform.packing import Member, NotCanonical, Struct, StructCodec, WordCodec, word_bytes
from harness.conform.shapes import Shapes
from harness.conform.values import Patterns, to_tla

WORD_BYTES, LINE_BYTES = 8, 64
GUARDS = {"spin_lock": "bpf_spin_lock", "res_spin_lock": "bpf_res_spin_lock"}


@dataclass(frozen=True)
class Part:
    """A part of a cell: that of cell i is element first + i of a map, all `size` bytes of it."""

    map: str
    first: int
    size: int


@dataclass(frozen=True)
class CellCodec:
    """Bytes of one table's cells: of all parts one after the other.

    parts: of the table's map, then of the maps of what it keeps apart.
    shape: the C struct of a cell; None where a cell is a word. items: what an item apart is in C, in the order of `table.apart`.
    nested: whether there are records within a cell, which cannot be looked up.
    """

    table: ir.TableLayout
    parts: tuple[Part, ...]
    patterns: Patterns
    shape: Struct | None = None
    items: tuple[Member, ...] = ()
    nested: bool = False
    _packed: dict[Any, bytes] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def size(self) -> int:
        """Bytes of all parts."""
        return sum(part.size for part in self.parts)

    def pack(self, cell: dict[str, Any], flip: bool = False) -> bytes:
        """All parts, the guard of a cell that is no word being open."""
        key = (flip, repr(cell)) if self.nested else (flip, *cell.values())
        if key not in self._packed:
            self._packed[key] = self._pack(cell, flip)
        return self._packed[key]

    def _pack(self, cell: dict[str, Any], flip: bool) -> bytes:
        if self.shape is None:
            return word_bytes(WordCodec(self.patterns).pack(self.table.cell, cell, flip)).ljust(self.size, b"\0")
        codec = StructCodec(self.patterns)
        packed = [codec.pack(self._resident(), cell, self.shape, flip)]
        for name, member in zip(self.table.apart, self.items, strict=True):
            kind = self.table.cell.field(name)
            packed += [codec.pack_item(kind.element, item, member, flip) for item in cell[name]]
        return b"".join(packed)

    def unpack(self, element: bytes) -> dict[str, Any]:
        """The cell in all of its parts; NotCanonical where unused items are not zero."""
        if self.shape is None:
            if any(element[WORD_BYTES:]):
                raise NotCanonical(f"the rest of the word's cache line is not zero: {element[WORD_BYTES:].hex()}")
            return WordCodec(self.patterns).unpack(self.table.cell, struct.unpack("<Q", element[:WORD_BYTES])[0])
        codec, at = StructCodec(self.patterns), self.shape.size
        found = codec.unpack(self._resident(), element[:at], self.shape)
        for name, member in zip(self.table.apart, self.items, strict=True):
            kind, items = self.table.cell.field(name), []
            for _ in range(kind.size):
                items.append(codec.unpack_item(kind.element, element[at : at + member.size], member))
                at += member.size
            found[name] = tuple(items)
        return {name: found[name] for name, _ in self.table.cell.fields}

    def _resident(self) -> ir.Record:
        """What is in the table's own map."""
        return ir.Record(self.table.cell.name, tuple(each for each in self.table.cell.fields if each[0] not in self.table.apart))

    def show(self, element: bytes) -> str:
        """The cell for people to read, or why it is none."""
        try:
            return show_record(self.unpack(element))
        except NotCanonical as error:
            return f"{element.hex()}: {error}"


def cell_codecs(protocol: ir.Protocol, shapes: Shapes, patterns: Patterns) -> dict[str, CellCodec]:
    """The codec of every table."""
    names = c_names.Names(protocol.name)
    codecs = {}
    for table in protocol.tables:
        nested = any(has_records(field) for _, field in table.cell.fields)
        if table.atomic == "word":
            codecs[table.name] = CellCodec(table, (Part(table.name, 0, LINE_BYTES if table.own_line else WORD_BYTES),), patterns, nested=nested)
            continue
        shape = shapes.struct(names.tag(table.cell))  # with the guard in it
        items = tuple(shapes.map_value(c_names.apart_map(table.name, name)) for name in table.apart)
        parts = (Part(table.name, 0, shape.size), *_parts_apart(table, items))
        codecs[table.name] = CellCodec(table, parts, patterns, shape, items, nested)
    return codecs


def _parts_apart(table: ir.TableLayout, items: tuple[Member, ...]) -> Iterator[Part]:
    """Planes: the first item of every cell, then the second of every cell."""
    for name, member in zip(table.apart, items, strict=True):
        for plane in range(table.cell.field(name).size):
            yield Part(c_names.apart_map(table.name, name), plane * table.capacity, member.size)


def has_records(kind: ir.Type) -> bool:
    """Whether a value of the type has records in it."""
    return isinstance(kind, ir.Record) or isinstance(kind, (ir.Array, ir.Sequence, ir.Set)) and has_records(kind.element)


def show_record(value: dict[str, Any]) -> str:
    """A record in TLA+ notation."""
    return to_tla(value)
