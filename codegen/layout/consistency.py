"""Checks that need no compiled steps: names, indices, the wire, budgets, and keys that need each other."""

from __future__ import annotations

import re

from codegen import ir
from codegen.c.builtin_names import LIBRARY_FUNCTIONS
from codegen.c.names import C_KEYWORDS, upper
from codegen.layout.context import Context
from codegen.layout.schema import Local
from codegen.layout.source import Place
from codegen.layout.versions import version

C_CONSTANTS = (
    "PORT",
    "WIRE_SIZE",
    "TICK_NS",
    "TAIL_OVER",
    "TAIL_MAX",
    "BRANCHES",
    "LEAVES",
    "COUNTERS",
    "COUNTER_NAMES",
    "TERMS",
)
"""Constants of every generated header, without the protocol's prefix."""

MAPS = ("counters", "sweep_state")
"""Maps that the generator adds to those of the layout."""

WIRE_TYPES = (ir.UInt, ir.Bool, ir.Enum, ir.Bytes, ir.Bits)


def check_names(context: Context) -> None:
    layout = context.layout
    places: list[Place] = [(part, name) for part in ("message", "handover", "local") for name in getattr(layout, part)]
    places += [("tables", name) for name in layout.tables]
    places += [("tables", name, "cell", inner) for name, table in layout.tables.items() for inner in table.cell]
    for place in places:
        if place[-1] in C_KEYWORDS:
            context.complain(place, f"{place[-1]} is a word of C", "choose another name")
    for name in layout.types:
        context.at(("types", name), layout.types[name], name, ("types", name))
        if re.fullmatch(r"u\d+|bool", name):
            context.complain(("types", name), f"{name} is a type already", "choose another name")
    for place, macro in (
        *((("constants", name), upper(name)) for name in layout.constants),
        *((place, f"WIRE_{upper(str(place[-1]))}") for place in places if place[0] in ("message", "handover")),
    ):
        if macro in C_CONSTANTS:
            context.complain(place, f"{place[-1]} would be {macro} in C, as another is", "choose another name")
    for name in ("message", "contended", "reads", "again", *MAPS):
        if name in layout.tables:
            context.complain(("tables", name), f"a table cannot be called {name}", "choose another name")
    for called in layout.tables:
        if called in LIBRARY_FUNCTIONS:
            context.complain(
                ("tables", called),
                f"a map is a variable in C, and {called}() is a function of its library, which clang knows without "
                "a declaration",
                f"choose another name, such as {called}s or {called}_cells",
            )


def check_indices(context: Context, message: ir.Record, tables: dict[str, ir.TableLayout]) -> None:
    kinds = dict(message.fields)
    for name, table in tables.items():
        place: Place = ("tables", name, "index")
        if table.index not in kinds:
            context.complain(place, f"the message has no field {table.index}", f"it has {', '.join(kinds)}")
            continue
        kind = kinds[table.index]
        if not isinstance(kind, ir.UInt) or kind.width > 32:
            context.complain(place, f"msg.{table.index} is no index", "it must be u1 to u32")


def check_wire(context: Context, message: ir.Record) -> None:
    order, fields = context.layout.wire.order, context.layout.message
    for at, name in enumerate(order):
        if name not in fields:
            reason = "is local, and" if name in context.layout.local else "is no field of the message, and"
            reason = "is handed over after these, and" if name in context.layout.handover else reason
            context.complain(
                ("wire", "order", at), f"{name} {reason} cannot be on the wire", f"there is {', '.join(fields)}"
            )
        elif name in order[:at]:
            context.complain(("wire", "order", at), f"{name} is on the wire twice", "keep one of them")
    missing = [name for name in fields if name not in order]
    if missing:
        context.complain(
            ("wire", "order"),
            f"the wire lacks {', '.join(missing)}",
            "give every field of `message` its place, or move it to `local`",
        )
    for name, kind in message.fields:
        part = "message" if name in fields else "handover"
        if (name in fields or name in context.layout.handover) and not isinstance(kind, WIRE_TYPES):
            context.complain(
                (part, name), f"{part}.{name} is no uN, bool, enum, bytes or bits", "only those are on the wire"
            )
    if context.layout.handover and context.layout.hooks.user is None:
        context.complain(
            ("handover",), "fields are handed over, but there is no user hook", "make them local, or add hooks.user"
        )


def check_ahead(context: Context) -> None:
    """Checks the table with `ahead`: xdp must step it, and know a packet's index on arrival."""
    layout = context.layout
    tables = [name for name, table in layout.tables.items() if table.ahead]
    stepped = {table for section in layout.hooks.xdp for table in section if table in layout.tables}
    for at, name in enumerate(tables):
        place: Place = ("tables", name, "ahead")
        index = layout.tables[name].index.removeprefix("msg.")
        local = layout.local.get(index)
        if at:
            context.complain(
                place,
                f"cells of {tables[0]} are read ahead already",
                "choose the table whose cells are in the caches least often",
            )
        elif name not in stepped:
            context.complain(
                place, f"hooks.xdp has no section on {name}", "remove `ahead`, or choose a table that it steps"
            )
        elif index in layout.handover or (index in layout.local and not (isinstance(local, Local) and local.source)):
            context.complain(
                place,
                f"msg.{index} is not known when a packet comes",
                "its cells cannot be read ahead: remove `ahead`",
            )
        elif layout.hooks.user is None:
            context.complain(
                place,
                "cells are read ahead, but there is no user hook",
                "remove it: it is the daemon that tells XDP which interfaces can",
            )


def check_restore(context: Context, tables: dict[str, ir.TableLayout]) -> None:
    """Checks that the table of rows is `owned`, so that the daemon can fill its cells, and that a row has a fate."""
    restore = context.layout.restore
    if restore is None or restore.rows not in context.layout.tables:
        return
    table = context.layout.tables[restore.rows]
    if table.atomic != "owned":
        context.complain(
            ("tables", restore.rows, "atomic"),
            f"rows are restored from {restore.rows}, which is `atomic: {table.atomic}`",
            "say `atomic: owned`: the daemon fills its cells, and nobody else has to do with them",
        )
    fate = dict(tables[restore.rows].cell.fields).get(restore.fate.field)
    if not isinstance(fate, ir.Enum):
        context.complain(
            ("restore", "fate", "field"),
            f"{restore.fate.field} is no enum of the cells of {restore.rows}",
            "add one that says what became of a row",
        )
        return
    for at, member in enumerate(restore.fate.done):
        if member not in fate.members[1:]:
            context.complain(
                ("restore", "fate", "done", at),
                f"{member} is no fate of a row",
                f"it is one of {', '.join(fate.members[1:])}; {fate.members[0]} is that of a row that "
                "nothing has become of",
            )


def check_budgets(context: Context) -> None:
    layout = context.layout
    ahead = any(table.ahead for table in layout.tables.values())
    for program, there in (
        ("ahead", ahead),
        ("tc", bool(layout.hooks.tc)),
        ("sweep", layout.sweep is not None),
        ("restore", layout.restore is not None),
    ):
        budget = getattr(layout.budget, program)
        if there and budget is None:
            context.complain(("budget",), f"the {program} program has no budget", "give it insns, states and stack")
        if not there and budget is not None:
            context.complain(("budget", program), f"a budget for {program}, which there is not", "remove it")


def check_older(context: Context) -> None:
    older = context.layout.older
    if older is None:
        return
    if older.since is not None and version(older.since) >= version(older.before):
        found = f"no kernel is before {older.before} and not before {older.since}"
        context.complain(("older", "since"), found, "make `since` the older of the two")
    for name in older.tables:
        table = context.layout.tables.get(name)
        # An override may already have made it a spin_lock.
        if table is not None and table.atomic in ("res_spin_lock", "spin_lock"):
            continue
        found = "there is no such table" if table is None else f"it is `atomic: {table.atomic}`, which every kernel has"
        context.complain(
            ("older", "tables", name),
            f"{name} needs nothing else on older kernels: {found}",
            "name the tables that are `atomic: res_spin_lock`",
        )
