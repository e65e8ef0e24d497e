"""Rows that are restored, as the daemon fills them."""

from __future__ import annotations

from typing import Any

from codegen.c_names import Names, field
from codegen.emit.steps import element_type
from codegen.ir import Bytes, Enum, HashIndex, Protocol


def restore_context(protocol: Protocol, names: Names) -> dict[str, Any] | None:
    """What user.c.j2 needs of the rows: fields that come with a row, and those that are computed. None where
    none are restored.
    """
    restore = protocol.restore
    if restore is None:
        return None
    table = next(each for each in protocol.tables if each.name == restore.rows)
    computed = computed_fields(protocol)
    fate = table.cell.field(restore.fate)
    assert isinstance(fate, Enum)
    return {
        "table": table.name,
        "number_macro": names.macro("table", table.name),
        "element_type": element_type(names, protocol, table.name),
        "program": f"{protocol.name}_restore",
        "fields": [
            {"name": name, "member": field(name), "kind": "BYTES" if isinstance(type_, Bytes) else "INTEGER"}
            for name, type_ in table.cell.fields
            if name != restore.fate and name not in {each.field for each in computed}
        ],
        "computed": [
            {"member": field(each.field), "function": names.function("hash", each.field), "source": field(each.source)}
            for each in computed
        ],
        "fate": field(restore.fate),
        "fates": fate.members,
        "done": " | ".join(f"1u << {fate.members.index(member)}" for member in restore.done),
    }


def computed_fields(protocol: Protocol) -> list[HashIndex]:
    """Fields of a row that are named like a local that is a hash of another of its fields."""
    assert protocol.restore is not None
    table = next(each for each in protocol.tables if each.name == protocol.restore.rows)
    own = {name for name, _ in table.cell.fields}
    return [each for each in protocol.hashes if each.field in own and each.source in own]
