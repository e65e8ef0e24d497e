"""Lays out `owned` cells, which at most one section accesses at a time: structs without a guard, stepped in place."""

from __future__ import annotations

from codegen.emit.cell_layout import LINE_BYTES, WASTE_DENOMINATOR
from codegen.emit.types import memory_layout
from codegen.ir import TableLayout

ELEMENT_ALIGNMENT = 8
"""The kernel rounds up the size of an array's values to this, and userspace maps them as an array of the struct."""


def cell_alignment(table: TableLayout) -> int:
    """Returns the alignment of a cell: a cache line if the layout asks for it or it wastes little, else 8 bytes.

    The values of a map with BPF_F_MMAPABLE start at a page, so an aligned cell starts at a cache line.
    """
    size, _ = memory_layout(table.cell)
    whole = -(-size // LINE_BYTES) * LINE_BYTES
    return LINE_BYTES if table.own_line or whole - size <= whole // WASTE_DENOMINATOR else ELEMENT_ALIGNMENT
