"""Resolves the operations of a message: which messages have them, how many, and with which fields."""

from __future__ import annotations

from codegen import ir
from codegen.layout.consistency import PAYLOAD_BYTES_MAX, wire_bytes
from codegen.layout.context import Context
from codegen.layout.schema import GroupModel, OperationsModel
from codegen.layout.sections import Sections
from codegen.layout.source import Place

OPERATIONS_MAX = 64
"""The most operations that a message may have. Their datagram must fit into a frame as well."""


def resolve_operations(context: Context, message: ir.Record) -> ir.OperationsLayout | None:
    """Returns the operations of a layout; None if it has none, or after reporting an error."""
    model, before = context.layout.operations, len(context.errors.found)
    groups = [(at, one) for at, one in enumerate(context.layout.hooks.xdp) if isinstance(one, GroupModel)]
    if model is None:
        for at, _ in groups:
            context.complain(
                ("hooks", "xdp", at),
                "a group runs for each operation, but messages have no operations",
                "add `operations`, or list the sections without a group",
            )
        return None
    if not groups:
        context.complain(
            ("operations",),
            "messages have operations, but no group of hooks.xdp runs for them",
            "add a group: {each: operation, sections: [...]}; or remove `operations`",
        )
    for part in ("message", "handover", "local"):
        if ir.OPERATIONS in getattr(context.layout, part):
            context.complain((part, ir.OPERATIONS), "a message's operations have this name", "choose another name")
    sections = Sections(context)
    when = sections.when(model.when, ("operations", "when"), message, maybe_all=True)
    whens = tuple(
        sections.when(one.when, ("hooks", "xdp", at, "when"), message) if one.when is not None else None
        for at, one in groups
    )
    most = context.bound(model.max, ("operations", "max"), 1, OPERATIONS_MAX, 1)
    _check_count(context, model, message, most)
    _check_fields(context, model)
    if len(context.errors.found) > before or when is None:
        return None
    _check_size(context, model, message, most)
    return ir.OperationsLayout(when, model.count, most, tuple(model.fields), whens)


def _check_count(context: Context, model: OperationsModel, message: ir.Record, most: int) -> None:
    place: Place = ("operations", "count")
    if model.count not in context.layout.message:
        context.complain(place, f"`message` has no field {model.count}", f"it has {', '.join(context.layout.message)}")
        return
    kind = message.field(model.count)
    if not context.types_refused and not (isinstance(kind, ir.UInt) and most < 2**kind.width):
        context.complain(
            place, f"message.{model.count} cannot count operations", f"its type must be uN, and hold {most}"
        )


def _check_fields(context: Context, model: OperationsModel) -> None:
    for at, name in enumerate(model.fields):
        place: Place = ("operations", "fields", at)
        if name not in context.layout.message:
            context.complain(place, f"`message` has no field {name}", f"it has {', '.join(context.layout.message)}")
        elif name in model.fields[:at]:
            context.complain(place, f"an operation has {name} twice", "keep one of them")
        elif name == model.count:
            context.complain(place, f"{name} counts the operations, so an operation has none of it", "remove it")


def _check_size(context: Context, model: OperationsModel, message: ir.Record, most: int) -> None:
    """Checks that a message with all its operations fits into a frame."""
    fixed = sum(wire_bytes(message.field(name)) for name in (*context.layout.message, *context.layout.handover))
    each = sum(wire_bytes(message.field(name)) for name in model.fields)
    if fixed + most * each > PAYLOAD_BYTES_MAX:
        context.complain(
            ("operations", "max"),
            f"a message with {most} operations has {fixed + most * each} bytes, but a packet has room for "
            f"{PAYLOAD_BYTES_MAX}",
            f"at most {max(0, PAYLOAD_BYTES_MAX - fixed) // each} operations of {each} bytes fit",
        )
