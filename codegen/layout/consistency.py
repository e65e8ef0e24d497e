"""Checks that need no compiled steps: indices, the wire, budgets, and keys that need each other."""

from __future__ import annotations

from codegen import ir
from codegen.ir.measure import width_bytes
from codegen.layout.context import Context
from codegen.layout.schema import GroupModel, Local
from codegen.layout.source import Place
from codegen.layout.versions import version

PAYLOAD_BYTES_MAX = 1500 - 40 - 8
"""The room in a frame of Ethernet, with IPv6 and UDP. A longer message would arrive in fragments, as foreign."""

WIRE_TYPES = (ir.UInt, ir.Bool, ir.Enum, ir.Bytes, ir.Bits)


def has_bytes(kind: ir.Type) -> bool:
    """Whether a type has a form in messages and files. A set has none, however it is kept in a cell."""
    return isinstance(kind, WIRE_TYPES) and not (isinstance(kind, ir.Bits) and kind.source is not None)


def wire_bytes(kind: ir.Type) -> int:
    """Returns the bytes of a field on the wire; 0 for a type that has no form there."""
    return width_bytes(kind) if isinstance(kind, WIRE_TYPES) else 0


def check_indices(context: Context, message: ir.Record, tables: dict[str, ir.TableLayout]) -> None:
    kinds = dict(message.fields)
    for name, table in tables.items():
        place: Place = ("tables", name, "index")
        if table.index not in kinds:
            context.complain(place, f"the message has no field {table.index}", f"it has {', '.join(kinds)}")
            continue
        kind = kinds[table.index]
        if (not isinstance(kind, ir.UInt) or kind.width > 32) and not context.types_refused:
            context.complain(place, f"msg.{table.index} cannot be an index", "its type must be u1 to u32")


def check_wire(context: Context, message: ir.Record) -> None:
    order, fields = context.layout.wire.order, context.layout.message
    for at, name in enumerate(order):
        if name not in fields:
            reason = "is local, so it" if name in context.layout.local else "is not a field of the message, so it"
            reason = "is a handover field, which follows these, so it" if name in context.layout.handover else reason
            context.complain(
                ("wire", "order", at), f"{name} {reason} cannot be on the wire", f"the fields are {', '.join(fields)}"
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
        if (name in fields or name in context.layout.handover) and not has_bytes(kind):
            context.complain(
                (part, name), f"{part}.{name} cannot be on the wire", "its type must be uN, bool, enum, bytes or bits"
            )
    tail = context.layout.tail.field if context.layout.tail else None
    bodies = [kind for name, kind in message.fields if name not in context.layout.local and name != tail]
    size = sum(map(wire_bytes, bodies))
    if size > PAYLOAD_BYTES_MAX:
        context.complain(
            ("message",),
            f"a message has {size} bytes on the wire, but a packet has room for {PAYLOAD_BYTES_MAX}",
            "make its fields smaller, or send long values in several messages",
        )
    if context.layout.handover and context.layout.hooks.user is None:
        context.complain(
            ("handover",), "there are handover fields, but no user hook", "make them local, or add hooks.user"
        )


def check_ahead(context: Context) -> None:
    """Checks the table with `ahead`: xdp must step it, and know a packet's index on arrival."""
    layout = context.layout
    tables = [name for name, table in layout.tables.items() if table.ahead]
    sections = [one for one in layout.hooks.xdp if not isinstance(one, GroupModel)]
    stepped = {table for section in sections for table in section if table in layout.tables}
    for at, name in enumerate(tables):
        place: Place = ("tables", name, "ahead")
        index = layout.tables[name].index.removeprefix("msg.")
        local = layout.local.get(index)
        if at:
            context.complain(
                place,
                f"cells of {tables[0]} are already read ahead",
                "keep `ahead` on the table whose cells are least often in the caches",
            )
        elif name not in stepped:
            context.complain(
                place, f"hooks.xdp has no section on {name}", "remove `ahead`, or move it to a table that xdp steps"
            )
        elif index in layout.handover or (index in layout.local and not (isinstance(local, Local) and local.source)):
            context.complain(
                place,
                f"msg.{index} is not yet known when a packet arrives",
                "its cells cannot be read ahead: remove `ahead`",
            )
        elif layout.hooks.user is None:
            context.complain(
                place,
                "cells are read ahead, but there is no user hook",
                "remove `ahead`: only the daemon can say which interfaces support it",
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
            "write `atomic: owned`: only the daemon accesses its cells",
        )
    fate = dict(tables[restore.rows].cell.fields).get(restore.fate.field)
    if not isinstance(fate, ir.Enum):
        context.complain(
            ("restore", "fate", "field"),
            f"the cells of {restore.rows} have no enum field {restore.fate.field}",
            "add one, whose members are the outcomes of a row",
        )
        return
    for at, member in enumerate(restore.fate.done):
        if member not in fate.members[1:]:
            context.complain(
                ("restore", "fate", "done", at),
                f"{member} cannot be an outcome of a row",
                f"choose from {', '.join(fate.members[1:])}; the first member, {fate.members[0]}, "
                "means that the row is pending",
            )


def check_budgets(context: Context) -> None:
    layout = context.layout
    ahead = any(table.ahead for table in layout.tables.values())
    for program, there in (
        ("gathered", layout.operations is not None),
        ("ahead", ahead),
        ("tc", bool(layout.hooks.tc)),
        ("sweep", layout.sweep is not None),
        ("restore", layout.restore is not None),
    ):
        budget = getattr(layout.budget, program)
        if there and budget is None:
            context.complain(("budget",), f"the {program} program has no budget", "give it insns, states and stack")
        if not there and budget is not None:
            context.complain(("budget", program), f"there is a budget for {program}, but no such program", "remove it")


def check_older(context: Context) -> None:
    older = context.layout.older
    if older is None:
        return
    if older.since is not None and version(older.since) >= version(older.before):
        found = f"no kernel is older than {older.before} and not older than {older.since}"
        context.complain(("older", "since"), found, "`since` must be older than `before`")
    for name in older.tables:
        table = context.layout.tables.get(name)
        # An override may already have made it a spin_lock.
        if table is not None and table.atomic in ("res_spin_lock", "spin_lock"):
            continue
        found = "there is no such table" if table is None else f"it is `atomic: {table.atomic}`, which every kernel has"
        context.complain(
            ("older", "tables", name),
            f"{name} needs no variant for older kernels: {found}",
            "list only tables with `atomic: res_spin_lock`",
        )
