"""Makes the template context for restoring rows, whose cells the daemon fills."""

from __future__ import annotations

from typing import Any

from codegen.c.names import Names, field
from codegen.emit.steps import element_type
from codegen.ir import Bytes, Enum, HashIndex, Protocol


def restore_context(protocol: Protocol, names: Names) -> dict[str, Any] | None:
    """Returns the fields of a row that user.c.j2 needs: those in the file, and those that the daemon computes.

    Returns None if the layout has no `restore`.
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
    """Returns the hashes that compute a row's field from another of its fields; a `local` of that name defines them."""
    assert protocol.restore is not None
    table = next(each for each in protocol.tables if each.name == protocol.restore.rows)
    own = {name for name, _ in table.cell.fields}
    return [each for each in protocol.hashes if each.field in own and each.source in own]
