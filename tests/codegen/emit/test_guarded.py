"""Checks the memory layout of a cell under a lock.

The generator and the compiler must agree on it, and it must not waste cache lines.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen import ir
from codegen.c.names import Names
from codegen.emit.cell_layout import BEFORE_GUARD_BYTES, LINE_BYTES, Guarded
from codegen.emit.header import _struct
from codegen.emit.types import declared_types, memory_layout
from codegen.ir.measure import is_scalar
from tests.codegen.compiling import compile_native

NAMES = Names("sample")
ENTRY = ir.Record("entry", (("version", ir.UInt(32)), ("length", ir.UInt(16)), ("value", ir.Bytes(40))))
MARK = ir.Enum("mark", ("A", "B", "C", "D"))
CELLS = {
    "whole lines": {
        "epoch": ir.UInt(32),
        "filter": ir.Bits(64),
        "keys": ir.Array(ir.UInt(64), 4),
        "floor": ir.UInt(32),
        "marks": ir.Array(MARK, 4),
        "entries": ir.Array(ENTRY, 4),
    },
    "small": {"count": ir.UInt(8), "open": ir.Bool()},
    "nearly a line": {"numbers": ir.Array(ir.UInt(64), 6)},
    "just over a line": {"numbers": ir.Array(ir.UInt(64), 8)},
    "odd": {
        "note": ir.Bytes(13),
        "mark": MARK,
        "members": ir.Set(ir.UInt(14), 9),
        "queue": ir.Sequence(ir.UInt(40), 3),
    },
    "large": {"entries": ir.Array(ENTRY, 16), "last": ir.Bytes(6)},
}


def table(name: str) -> ir.TableLayout:
    return ir.TableLayout("cell", ir.Record("cell_cell", tuple(CELLS[name].items())), "array", 8, "at", "spin_lock")


def test_a_cell_of_whole_lines_wastes_nothing() -> None:
    guard = Guarded.of(table("whole lines"))
    assert (guard.lined, guard.size, guard.tail) == (True, 256, 0)


@pytest.mark.parametrize("name", CELLS)
def test_lines_are_taken_where_they_cost_little(name: str) -> None:
    guard = Guarded.of(table(name))
    plain = Guarded(guard.cell, guard.atomic, False, 0, 0)
    size = memory_layout(ir.Record("plain", (("lock", ir.UInt(32)), *plain.cell.fields)))[0]
    if guard.lined:
        assert guard.size % LINE_BYTES == 0 and guard.size - size <= guard.size // 8
    else:
        whole = -(-(size + BEFORE_GUARD_BYTES) // LINE_BYTES) * LINE_BYTES
        assert guard.size == size and whole - size > whole // 8


@pytest.mark.parametrize("name", CELLS)
def test_the_compiler_agrees(name: str, tmp_path: Path) -> None:
    guard = Guarded.of(table(name))
    cell = guard.cell
    lines = ["#include <stddef.h>", '#include "bpf/stepwise_c.h"', '#include "bpf/stepwise_spin.h"']
    for each in declared_types((cell,)):
        if isinstance(each, ir.Enum):
            lines.append(
                f"enum {NAMES.tag(each)} {{ {', '.join(NAMES.member(each, member) for member in each.members)} }} "
                "__attribute__((packed));"
            )
            lines.append(
                f'_Static_assert(sizeof(enum {NAMES.tag(each)}) == {memory_layout(each)[0]}, "size of an enum");'
            )
            continue
        struct = _struct(NAMES, each, guard if each == cell else None)
        lines.append(f"struct {struct['tag']} {{ {' '.join(member + ';' for member in struct['members'])} }};")
        if each != cell:
            lines.append(f'_Static_assert(sizeof(struct {struct["tag"]}) == {memory_layout(each)[0]}, "size");')
            lines.append(f'_Static_assert(_Alignof(struct {struct["tag"]}) == {memory_layout(each)[1]}, "alignment");')
    at = BEFORE_GUARD_BYTES if guard.lined else 0
    lines.append(f'_Static_assert(sizeof(struct {NAMES.tag(cell)}) == {guard.size}, "size");')
    lines.append(f'_Static_assert(offsetof(struct {NAMES.tag(cell)}, spin_lock) == {at}, "place of the lock");')
    (tmp_path / "run.c").write_text("\n".join([*lines, "int main(void)", "{", "\treturn 0;", "}", ""]))
    compile_native(tmp_path, "-Wno-unused-function")


def test_scalars_have_the_size_of_their_integer() -> None:
    many = ir.Enum("p.many", tuple(f"Number{number}" for number in range(257)))
    for kind, size in (
        (ir.UInt(14), 2),
        (ir.Bool(), 1),
        (MARK, 1),
        (many, 2),
        (ir.Bytes(8), 8),
        (ir.Bytes(3), 4),
        (ir.Bits(33), 8),
    ):
        assert is_scalar(kind) and memory_layout(kind)[0] == size
