"""The bytes of the cells in one build's tables."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

from codegen import ir
from codegen.c import names as c_names
from harness.data.btf import Shapes
from harness.data.model_values import Patterns, to_tla
from harness.data.packing import NotCanonical, Struct, StructCodec, WordCodec, word_bytes

WORD_BYTES, LINE_BYTES = 8, 64
GUARDS = {"spin_lock": "bpf_spin_lock", "res_spin_lock": "bpf_res_spin_lock"}
LAYOUT = "layout"
FORMS = (LAYOUT, *GUARDS)
"""Forms of atomicity: that of each table in the layout, or the same for all tables."""


@dataclass(frozen=True)
class CellCodec:
    """Converts one table's cells to the elements of its map, each of `size` bytes, and back.

    shape: the C struct of a cell; None if a cell is a word.
    nested: whether a cell contains records, which are not hashable.
    """

    table: ir.TableLayout
    size: int
    patterns: Patterns
    shape: Struct | None = None
    nested: bool = False
    _packed: dict[Any, bytes] = field(default_factory=dict, compare=False, repr=False)

    def pack(self, cell: dict[str, Any], flip: bool = False) -> bytes:
        """Returns the element of a cell. A guard in it is unlocked."""
        key = (flip, repr(cell)) if self.nested else (flip, *cell.values())
        if key not in self._packed:
            self._packed[key] = self._pack(cell, flip)
        return self._packed[key]

    def _pack(self, cell: dict[str, Any], flip: bool) -> bytes:
        if self.shape is None:
            return word_bytes(WordCodec(self.patterns).pack(self.table.cell, cell, flip)).ljust(self.size, b"\0")
        return StructCodec(self.patterns).pack(self.table.cell, cell, self.shape, flip)

    def unpack(self, element: bytes) -> dict[str, Any]:
        """Returns the cell in an element; raises NotCanonical if unused items are not zero."""
        if self.shape is None:
            if any(element[WORD_BYTES:]):
                raise NotCanonical(f"the rest of the word's cache line is not zero: {element[WORD_BYTES:].hex()}")
            word = struct.unpack("<Q", element[:WORD_BYTES])[0]
            cell: dict[str, Any] = WordCodec(self.patterns).unpack(self.table.cell, word)
            return cell
        return StructCodec(self.patterns).unpack(self.table.cell, element, self.shape)

    def show(self, element: bytes) -> str:
        """Returns the cell for people to read, or the reason why the element does not hold one."""
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
            codecs[table.name] = CellCodec(table, LINE_BYTES if table.own_line else WORD_BYTES, patterns, nested=nested)
            continue
        shape = shapes.struct(names.tag(table.cell))  # includes the guard
        codecs[table.name] = CellCodec(table, shape.size, patterns, shape, nested)
    return codecs


def has_records(kind: ir.Type) -> bool:
    """Whether a value of the type contains records."""
    return isinstance(kind, ir.Record) or (
        isinstance(kind, (ir.Array, ir.Sequence, ir.Set)) and has_records(kind.element)
    )


def show_record(value: dict[str, Any]) -> str:
    """A record in TLA+ notation."""
    return to_tla(value)
