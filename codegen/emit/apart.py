"""Fields that a table keeps apart, in a map of their own: how C finds their items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from codegen.c_names import Names, apart_map, field
from codegen.emit.c_values import Place, Text
from codegen.emit.helpers import Helpers, unroll
from codegen.emit.lines import Lines
from codegen.emit.terms import is_path, leaves, location, reads
from codegen.emit.types import c_type
from codegen.ir import Array, Expr, Field, Int, Protocol, Record, Step, TableLayout, Var

APART = "apart"
"""What the parameter with a cell's items is called in C."""


@dataclass(frozen=True)
class ApartField:
    """map: where the items of `member` are, in as many planes as a cell has of them, each of the table's capacity."""

    name: str
    member: str
    map: str
    element_type: str
    size: int
    function: str
    number_macro: str
    pointers: str
    capacity_macro: str
    planes: str


@dataclass(frozen=True)
class Apart:
    """What one table keeps apart. struct: of pointers to the items of a cell, which `find` fills in."""

    table: str
    struct: str
    find: str
    capacity_macro: str
    fields: tuple[ApartField, ...]

    def field(self, name: str) -> ApartField | None:
        return next((entry for entry in self.fields if entry.name == name), None)


def apart_of(names: Names, table: TableLayout) -> Apart | None:
    found = []
    for name in table.apart:
        kind = table.cell.field(name)
        assert isinstance(kind, Array)
        map_name, element = apart_map(table.name, name), c_type(names, kind.element)
        found.append(ApartField(
            name, field(name), map_name, element, kind.size, names.function(table.name, name, "at"), names.macro("table", map_name),
            f"{element} *{field(name)}[{kind.size}]", names.macro("capacity", map_name),
            "the first of every cell, then the second of every cell, and so on" if kind.size > 1 else "that of every cell",
        ))  # fmt: skip
    struct, find = names.function(table.name, APART), names.function(table.name, "find", APART)
    return Apart(table.name, f"struct {struct}", find, names.macro("capacity", table.name), tuple(found)) if found else None


def resident(table: TableLayout) -> Record:
    """The cell as it lies in the table's own map."""
    return Record(table.cell.name, tuple(entry for entry in table.cell.fields if entry[0] not in table.apart))


def table_of(protocol: Protocol, step: Step) -> TableLayout | None:
    """The table of a step on one cell."""
    return next((table for table in protocol.tables if table.cell == step.cell_type), None)


def uses_apart(step: Step, table: TableLayout) -> bool:
    """Whether a step looks at what its cell has apart, or changes it."""
    if any(where[0] == step.cell and len(where) > 1 and where[1] in table.apart for where in reads(step.body)):
        return True
    return any(assign.path[0] in table.apart for leaf in leaves(step.body) for assign in leaf.cell)


class ApartItems:
    """A part of Expressions: what is declared here comes from the others. apart: of the step's cell, None where it has nothing apart."""

    lines: Lines
    bound: dict[str, Place | Text]
    taken: set[str]
    unrolled: set[str]
    fresh: Callable[[str], str]
    scalar: Callable[[Expr], Text]
    helpers: Helpers
    apart: Apart | None = None
    cell: str = ""

    def apart_field(self, expr: Expr) -> ApartField | None:
        """The field that an array is, where it is kept apart."""
        if self.apart is None or not isinstance(expr, Field) or not isinstance(expr.base, Var) or expr.base.name != self.cell:
            return None
        return self.apart.field(expr.name)

    def apart_item(self, entry: ApartField, index: Expr) -> Place:
        """An item; a path's is found once for all uses below."""
        if isinstance(index, Int):
            return Place(f"{APART}->{entry.member}[{index.value - 1}]", pointer=True, shared=True)
        if isinstance(index, Var) and index.name in self.unrolled:
            return Place(f"{APART}->{entry.member}[{self.scalar(index)} - 1]", pointer=True, shared=True)
        assert self.apart is not None
        found = f"{self.helpers.defined(entry.function, accessor(self.apart, entry))}({APART}, {self.scalar(index)})"
        if not is_path(index):
            return Place(found, pointer=True, shared=True)
        key = (entry.name, location(index))
        local = self.lines.local(key)
        if local is None:
            local = self.fresh(f"{entry.name} item")
            self.lines.add(f"{entry.element_type} *{local} = {found};")
            self.lines.add("")
            self.lines.remember(key, local)
        return Place(local, pointer=True, shared=True)


def accessor(apart: Apart, entry: ApartField) -> str:
    """The C function that finds an item by its index."""
    if entry.size == 1:
        body = f"\t(void)index;\n\treturn {APART}->{entry.member}[0];\n"
    else:
        body = (
            f"\tconst __u32 position = stepwise_hide(index - 1);\n\t{entry.element_type} *item = {APART}->{entry.member}[0];\n\n"
            f"{unroll(entry.size)}\tfor (__u32 i = 1; i < {entry.size}; i++)\n\t\tif (position == i)\n"
            f"\t\t\titem = {APART}->{entry.member}[i];\n\tstepwise_join();\n\treturn item;\n"
        )
    return (
        f"/* The item of `{entry.name}` at an index from 1, which is in range: chosen among pointers that are there already. */\n"
        f"static __always_inline {entry.element_type} *{entry.function}(const {apart.struct} *{APART}, __u32 index)\n{{\n{body}}}\n"
    )
