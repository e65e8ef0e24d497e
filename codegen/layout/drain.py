"""Resolves the drain and recovery of a layout, and runs the checks that need no compiled steps."""

from __future__ import annotations

from dataclasses import dataclass

from codegen import ir
from codegen.layout.consistency import has_bytes
from codegen.layout.context import Context
from codegen.layout.sections import SectionPlan, table_and_step
from codegen.layout.source import Place

BATCH_MAX = 65_536
LANES_MAX = 4_096
ENTRY = "entry"
"""Name of recovery's cell, which no table may have."""


@dataclass(frozen=True)
class DrainPlan:
    """A drain before its steps are compiled."""

    each: str
    lanes: int
    lane: str
    number: str
    takes: tuple[SectionPlan, ...]
    written: SectionPlan
    synced: SectionPlan
    begins: tuple[SectionPlan, ...]
    batch: int

    @property
    def plans(self) -> tuple[SectionPlan, ...]:
        return (*self.takes, self.written, self.synced, *self.begins)


@dataclass(frozen=True)
class RecoveryPlan:
    """Recovery before its step is compiled."""

    key: str
    table: ir.TableLayout
    """A stand-in table with recovery's cell, because a step is compiled for a table."""
    plan: SectionPlan


def plan_drain(context: Context, message: ir.Record, tables: dict[str, ir.TableLayout]) -> DrainPlan | None:
    """Resolves the layout's drain; returns None if it has none, or after reporting errors."""
    model = context.layout.drain
    if model is None:
        return None
    if model.each not in tables:
        context.complain(("drain", "each"), f"there is no table {model.each}", f"the tables are {', '.join(tables)}")
        return None
    each = tables[model.each]
    if each.capacity > LANES_MAX:
        context.complain(
            ("drain", "each"),
            f"{model.each} has {each.capacity} cells, and each of them is a lane",
            f"there can be at most {LANES_MAX} lanes",
        )
    number = model.number.removeprefix("msg.")
    check_entry(context, model.entry, message, each.index, number)
    takes = [
        planned(context, text, ("drain", "takes", at), ("word", "owned", "user"), "cell")
        for at, text in enumerate(model.takes)
    ]
    written = planned(context, model.written, ("drain", "written"), ("word",))
    synced = planned(context, model.synced, ("drain", "synced"), ("word",))
    begins = [planned(context, text, ("drain", "begins", at), ("word",)) for at, text in enumerate(model.begins)]
    read, began = [plan for plan in takes if plan is not None], [plan for plan in begins if plan is not None]
    if written is None or synced is None or len(read) < len(takes) or len(began) < len(begins):
        return None
    for plan in (written, synced):
        check_mark(context, plan, tables[plan.table], number)
    for plan in (written, synced, *began):
        check_lane(context, plan, tables[plan.table], each)
    batch = context.bound(model.batch, ("drain", "batch"), 1, BATCH_MAX, 1)
    return DrainPlan(model.each, each.capacity, each.index, number, tuple(read), written, synced, tuple(began), batch)


def planned(
    context: Context, text: dict[str, str], place: Place, atomic: tuple[str, ...], reads: str = ""
) -> SectionPlan | None:
    """Reads a section of the drain; its table must have one of these kinds of `atomic`."""
    named = table_and_step(context, text, place, (), "write {table: Step}")
    if named is None:
        return None
    table, step = named
    model = context.layout.tables[table]
    if model.atomic not in atomic:
        does = "reads" if reads else "steps"
        context.complain(
            (*place, table),
            f"the drain {does} a cell of {table}, which is `atomic: {model.atomic}`",
            f"it must be {' or '.join(atomic)}: the drain and the programs do not wait for each other",
        )
        return None
    return SectionPlan(table, step, "drop", False, (*place, table), True, reads)


def check_entry(context: Context, entry: list[str], message: ir.Record, lane: str, number: str) -> None:
    """Checks that an entry's fields can be in a file, and include the record's epoch, lane and number."""
    kinds = dict(message.fields)
    for at, name in enumerate(entry):
        place: Place = ("drain", "entry", at)
        if name not in kinds:
            context.complain(place, f"the message has no field {name}", f"it has {', '.join(kinds)}")
        elif not has_bytes(kinds[name]) or (context.layout.tail and context.layout.tail.field == name):
            context.complain(
                place, f"message.{name} cannot be in a file", "its type must be uN, bool, enum, bytes or bits"
            )
        elif name in entry[:at]:
            context.complain(place, f"the entry has {name} twice", "keep one of them")
    for name, what in (
        (ir.EPOCH, "the epoch of the numbers"),
        (lane, "the lane"),
        (number, "the record's number"),
    ):
        if name not in entry:
            context.complain(("drain", "entry"), f"the entry lacks {name}, which is {what}", "add it")
        elif name in kinds and not isinstance(kinds[name], ir.UInt):
            context.complain(
                ("drain", "entry", entry.index(name)),
                f"message.{name} is {what}, so it must be a number",
                "make its type uN",
            )


def check_mark(context: Context, plan: SectionPlan, table: ir.TableLayout, number: str) -> None:
    """Checks the fields of a mark: at its start, the daemon reads there how far the drain has come."""
    fields = dict(table.cell.fields)
    for name in (ir.EPOCH, number):
        if not isinstance(fields.get(name), ir.UInt):
            context.complain(
                plan.position,
                f"a cell of {plan.table} has no uN field {name}, where the daemon reads how far the drain has come",
                "add it",
            )


def check_lane(context: Context, plan: SectionPlan, table: ir.TableLayout, each: ir.TableLayout) -> None:
    """Checks that each lane has its own mark."""
    if table.index != each.index:
        context.complain(
            plan.position,
            f"msg.{table.index} indexes {plan.table}, but msg.{each.index} indexes the lanes",
            "index both with the same field",
        )
    elif table.capacity < each.capacity:
        context.complain(
            plan.position,
            f"{plan.table} has {table.capacity} cells for the {each.capacity} lanes of {each.name}",
            f"make its capacity {each.capacity}",
        )


def plan_recovery(context: Context, message: ir.Record) -> RecoveryPlan | None:
    """Resolves the layout's recovery; returns None if it has none, or without a drain."""
    model, drain = context.layout.recover, context.layout.drain
    if model is None:
        return None
    if drain is None:
        context.complain(("recover",), "there is `recover`, but no `drain`", "add `drain`, or remove `recover`")
        return None
    if ENTRY in context.layout.tables:
        context.complain(
            ("tables", ENTRY),
            f"a table cannot be called {ENTRY} in a layout with `recover`, whose own cells have this name",
            "choose another name",
        )
    key = model.key.removeprefix("msg.")
    if key not in drain.entry:
        context.complain(("recover", "key"), f"msg.{key} is not in `drain.entry`", f"that has {', '.join(drain.entry)}")
    elif not isinstance(dict(message.fields).get(key), ir.UInt):
        context.complain(("recover", "key"), f"msg.{key} cannot be the key", "its type must be uN")
    fields = []
    for name, text in model.cell.items():
        place: Place = ("recover", "cell", name)
        kind = context.at(place, text, f"{ENTRY}.{name}", place)
        if not has_bytes(kind):
            context.complain(place, f"{name} cannot be in a row", "its type must be uN, bool, enum, bytes or bits")
        if name == key:
            context.complain(place, f"{name} is already the name of the row's key", "choose another name")
        fields.append((name, kind))
    table = ir.TableLayout(ENTRY, ir.Record(f"{ENTRY}_cell", tuple(fields)), "array", 1, key, "user")
    return RecoveryPlan(key, table, SectionPlan(ENTRY, model.step, "drop", False, ("recover", "step"), True))
