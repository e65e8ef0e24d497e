"""Makes the template context of <p>_drain.h: how records get from the tables to files, and from files to rows."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from codegen.c.names import Names, field
from codegen.emit.steps import element_type, is_lined, value_type
from codegen.emit.types import WireField, bytes_alignment, c_type, wire_fields
from codegen.ir import EPOCH, Bool, Bytes, Drain, Enum, Protocol, Record, Recovery, Section, TableLayout, Type, UInt
from codegen.ir.measure import is_scalar, width_bits, width_bytes

LOCALS = {"tables", "message", "element", "before", "after", "outcome", "place"}


def drain_context(protocol: Protocol, names: Names) -> dict[str, Any]:
    drain = protocol.drain
    assert drain is not None
    entry = wire_fields(protocol.message, drain.entry)
    return {
        "message": names.tag(protocol.message),
        "entry": [
            _bytes_of(each, names.macro("entry_at", each.name), f"message->{field(each.name)}", names) for each in entry
        ],
        "entry_size": entry[-1].offset + entry[-1].size,
        "entry_id": _identity([protocol.name, "entry", drain.lanes, *_described(entry)]),
        "enums": _enums(names, (*entry, *(_row_fields(protocol, protocol.recovery) if protocol.recovery else ()))),
        "lanes": drain.lanes,
        "lane": _place_field(protocol, names, drain.lane),
        "epoch": _place_field(protocol, names, EPOCH),
        "number": _place_field(protocol, names, drain.number),
        "tables": _tables(protocol, names, drain),
        "takes": [_section(protocol, names, section, "of") for section in drain.takes],
        "marks": [
            {"name": names.function("drain_written"), **_section(protocol, names, drain.written, "on")},
            {"name": names.function("drain_synced"), **_section(protocol, names, drain.synced, "on")},
        ],
        "begins": [_section(protocol, names, section, "on") for section in drain.begins],
        "swaps": _swaps(protocol, names, drain),
        "batch": drain.batch,
        "segment_bytes": drain.segment_bytes,
        "sync_ms": drain.sync_ms,
        "recovery": _recovery(protocol, names, protocol.recovery) if protocol.recovery else None,
    }


def _identity(described: list[Any]) -> str:
    digest = hashlib.sha256(json.dumps(described).encode()).digest()
    return f"{int.from_bytes(digest[:8], 'little'):#x}"


def _described(fields: tuple[WireField, ...]) -> list[list[Any]]:
    return [[each.name, repr(each.type), each.offset] for each in fields]


def _bytes_of(each: WireField, macro: str, member: str, names: Names) -> dict[str, Any]:
    """Returns the C statements that write a value to bytes and read it back."""
    numeric = not isinstance(each.type, Bytes)
    if is_scalar(each.type):
        put = f"stepwise_put{'' if numeric else '_bytes'}(%s + {macro}, {each.size}, {member})"
        get = f"stepwise_get{'' if numeric else '_bytes'}(%s + {macro}, {each.size})"
        if isinstance(each.type, (Enum, Bool)):
            get = f"({c_type(names, each.type)}){get}"
        get = f"{member} = {get}"
    else:
        put = f"stepwise_copy(%s + {macro}, {member}.bytes, {each.size}, {bytes_alignment(each.size)})"
        get = f"stepwise_copy({member}.bytes, %s + {macro}, {each.size}, {bytes_alignment(each.size)})"
    shown = {Bool: "BOOL", Bytes: "BYTES"}.get(type(each.type), "NUMBER")
    return {
        "name": each.name,
        "macro": macro,
        "offset": each.offset,
        "size": each.size,
        "write": put,
        "read": get,
        "shown": shown,
        "members": f"{names.tag(each.type)}_members" if isinstance(each.type, Enum) else "",
    }


def _enums(names: Names, fields: tuple[WireField, ...]) -> list[dict[str, Any]]:
    found = {each.type: None for each in fields if isinstance(each.type, Enum)}
    return [{"array": f"{names.tag(each)}_members", "members": each.members} for each in found]


def _place_field(protocol: Protocol, names: Names, name: str) -> dict[str, Any]:
    """Describes a field of the message that is part of a record's place: epoch, lane or number."""
    type_ = protocol.message.field(name)
    return {
        "member": field(name),
        "macro": names.macro("entry_at", name),
        "size": width_bytes(type_),
        "type": c_type(names, type_),
        "max": f"{(1 << width_bits(type_)) - 1:#x}",
    }


def _section(protocol: Protocol, names: Names, section: Section, joined: str) -> dict[str, Any]:
    table = next(each for each in protocol.tables if each.name == section.table)
    assert isinstance(section.step.cell_type, Record)
    index = f"message->{field(table.index)}"
    return {
        "function": names.function(section.step.name, joined, table.name),
        "step": names.step(section.step),
        "step_name": section.step.name,
        "table": table.name,
        "is_word": table.atomic == "word",
        "cell": names.local(section.step.cell, LOCALS),
        "cell_struct": f"struct {names.tag(section.step.cell_type)}",
        "cell_function": names.tag(section.step.cell_type),
        "element": f"{_at(names, table)}(tables, {index})",
        "beyond": _beyond(protocol, names, table, index),
        "own_struct": f"struct {names.tag(table.cell)}",
        "own_function": names.tag(table.cell),
        "lane_element": f"{_at(names, table)}(tables, lane)",
    }


def _at(names: Names, table: TableLayout) -> str:
    """Returns the name of the function that gives the address of a cell."""
    return names.function(table.name, "in", "drain")


def _tables(protocol: Protocol, names: Names, drain: Drain) -> list[dict[str, str]]:
    """Describes the tables that the drain accesses, and how to find their cells."""
    used = {section.table for section in drain.sections}
    found = []
    for table in (each for each in protocol.tables if each.name in used):
        memory = f"({value_type(names, protocol, table.name)} *)tables->memory[{names.macro('table', table.name)}]"
        element = f"&({memory})[index].word" if is_lined(protocol, table.name) else f"{memory} + index"
        found.append(
            {"function": _at(names, table), "type": element_type(names, protocol, table.name), "element": element}
        )
    return found


def _beyond(protocol: Protocol, names: Names, table: TableLayout, index: str) -> str:
    """Returns the condition that an index has no cell; empty if the index's type rules that out."""
    kind = protocol.message.field(table.index)
    assert isinstance(kind, UInt)
    return "" if 2**kind.width <= table.capacity else f"{index} >= {names.macro('capacity', table.name)}"


def _swaps(protocol: Protocol, names: Names, drain: Drain) -> list[dict[str, Any]]:
    """Returns the sections that swap a word, each once."""
    found: dict[str, dict[str, Any]] = {}
    for section in (drain.written, drain.synced, *drain.begins):
        described = _section(protocol, names, section, "on")
        found.setdefault(described["function"], described)
    return list(found.values())


# --- Recovery ---------------------------------------------------------------------------------------------------------


def _row_fields(protocol: Protocol, recovery: Recovery) -> tuple[WireField, ...]:
    row = Record("row", ((recovery.key, protocol.message.field(recovery.key)), *recovery.cell.fields))
    return wire_fields(row, tuple(name for name, _ in row.fields))


def _recovery(protocol: Protocol, names: Names, recovery: Recovery) -> dict[str, Any]:
    row = _row_fields(protocol, recovery)
    key: Type = protocol.message.field(recovery.key)
    return {
        "step": names.step(recovery.step),
        "step_name": recovery.step.name,
        "struct": f"struct {names.tag(recovery.cell)}",
        "key": {
            "macro": names.macro("entry_at", recovery.key),
            "size": width_bytes(key),
            "row_macro": names.macro("row_at", recovery.key),
        },
        "row": [_bytes_of(each, names.macro("row_at", each.name), f"from->{field(each.name)}", names) for each in row],
        "row_size": row[-1].offset + row[-1].size,
    }
