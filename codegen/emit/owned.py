"""Cells that at any time at most one section has to do with: structs without a guard, which are stepped where
they lie.
"""

from __future__ import annotations

from codegen.emit.guarded import LINE_BYTES, WASTE_DENOMINATOR
from codegen.emit.types import memory_layout
from codegen.ir import TableLayout

ELEMENT_ALIGNMENT = 8
"""The kernel rounds an array's values up to that, and userspace has them as an array of the struct."""


def cell_alignment(table: TableLayout) -> int:
    """Bytes that a cell takes a multiple of: whole cache lines where that costs little, as for guarded cells, or is
    asked for.

    The values of a map that can be mapped begin with a page, so that lines of a cell are lines of the memory.
    """
    size, _ = memory_layout(table.cell)
    whole = -(-size // LINE_BYTES) * LINE_BYTES
    return LINE_BYTES if table.own_line or whole - size <= whole // WASTE_DENOMINATOR else ELEMENT_ALIGNMENT
