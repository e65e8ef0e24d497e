"""Lays out guarded cells, which are not words: the guard and padding in their C struct."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.c.names import Names
from codegen.emit.types import memory_layout, struct_layout
from codegen.ir import Record, TableLayout

LINE_BYTES = 64
BEFORE_GUARD_BYTES = 8
"""An array's values follow the kernel's struct bpf_array, which ends 8 bytes before the end of a cache line."""

GUARD_BYTES = 4
WASTE_DENOMINATOR = 8
"""Cells are padded to whole cache lines if the padding is at most one part in so many of them."""


@dataclass(frozen=True)
class Guarded:
    """The layout of a cell with its guard, a spin_lock or res_spin_lock."""

    cell: Record
    atomic: str
    lined: bool
    """Whether a cell fills whole cache lines, with its guard at the start of one.

    Then the first fields are loaded with the guard, and the next cell's guard is in another line.
    """
    tail: int
    """Bytes of padding after the fields."""
    size: int

    @classmethod
    def of(cls, table: TableLayout) -> Guarded:
        fields = [memory_layout(inner) for _, inner in table.cell.fields]
        plain, _alignment = struct_layout([(GUARD_BYTES, GUARD_BYTES), *fields])
        behind, _ = struct_layout([(GUARD_BYTES, GUARD_BYTES), *fields], BEFORE_GUARD_BYTES)
        whole = -(-behind // LINE_BYTES) * LINE_BYTES
        if whole - plain > whole // WASTE_DENOMINATOR:
            return cls(table.cell, table.atomic, False, 0, plain)
        end = struct_end([(GUARD_BYTES, GUARD_BYTES), *fields], BEFORE_GUARD_BYTES)
        return cls(table.cell, table.atomic, True, whole - end if whole > behind else 0, whole)

    @property
    def comment(self) -> str:
        if not self.lined:
            return "A cell and its guard."
        return (
            "A cell and its guard, in whole cache lines. The values of an array start 8 bytes before a line does, so "
            "the\n"
            " * guard and what comes first after it share one."
        )

    def members(self, fields: list[str]) -> list[str]:
        before = [f"__u8 before_guard[{BEFORE_GUARD_BYTES}]"] if self.lined else []
        after = [f"__u8 after_fields[{self.tail}]"] if self.tail else []
        return [*before, f"struct bpf_{self.atomic} {self.atomic}", *fields, *after]

    def checked(self, names: Names) -> dict[str, object]:
        """Returns the figures for the header's assertions."""
        return {
            "tag": names.tag(self.cell),
            "size": self.size,
            "guard": self.atomic,
            "at": BEFORE_GUARD_BYTES if self.lined else 0,
        }


def struct_end(members: list[tuple[int, int]], start: int) -> int:
    """Returns the end of the last member of a struct."""
    end = start
    for size, alignment in members:
        end = -(-end // alignment) * alignment + size
    return end
