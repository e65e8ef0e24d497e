"""Makes the template contexts of <p>.h and <p>_steps.h: types, words, numbers and steps."""

from __future__ import annotations

from typing import Any

from codegen.c.names import Names, field
from codegen.emit.branch_numbers import Leaves
from codegen.emit.c_text import integer
from codegen.emit.cell_alignment import ELEMENT_ALIGNMENT, cell_alignment
from codegen.emit.cell_layout import Guarded
from codegen.emit.helpers import Helpers
from codegen.emit.hooks import GUARDED
from codegen.emit.identity import terms
from codegen.emit.steps import StepWriter, is_lined, value_type
from codegen.emit.types import (
    Vector,
    bytes_alignment,
    c_type,
    declaration,
    declared_types,
    made_types,
    operation_fields,
    packet_fields,
    unsigned,
    word_fields,
)
from codegen.ir import TERMS, Bytes, Enum, Protocol, Record, Table, TailLayout, Type, expect
from codegen.ir.measure import is_vector

PLAIN = {"alias": "", "tail": "", "attribute": ""}
"""Defaults for a struct: most have no pointer type, no pointer member and no attribute."""


def header_context(protocol: Protocol, names: Names, numbers: Leaves) -> dict[str, Any]:
    cells = [table.cell for table in protocol.tables]
    recovered = [protocol.recovery.cell] if protocol.recovery else []
    roots = (*cells, *recovered, protocol.message, protocol.environment, *made_types(protocol))
    types = list(declared_types(roots))
    wire = packet_fields(protocol)
    guarded = {table.cell: Guarded.of(table) for table in protocol.tables if table.atomic in GUARDED}
    defines = [
        (names.macro("port"), protocol.port),
        (names.macro("wire_size"), wire[-1].offset + wire[-1].size),
        *((names.macro("wire", each.name), f"{each.offset} /* {_plural(each.size, 'byte')} */") for each in wire),
        *((names.macro("capacity", table.name), table.capacity) for table in protocol.tables),
        *((names.macro(name), integer(value)) for name, value in protocol.constants if type(value) is int),
        *([(names.macro("tick_ns"), protocol.tick_ns)] if protocol.tick_ns else []),
        *(
            [(names.macro(TERMS), f"{int.from_bytes(terms(protocol), 'little'):#018x}ULL")]
            if TERMS in dict(protocol.env.fields)
            else []
        ),
        *(
            [(names.macro("tail_over"), protocol.tail.over), (names.macro("tail_max"), protocol.tail.max)]
            if protocol.tail
            else []
        ),
        *_operation_defines(protocol, names),
    ]
    return {
        "guarded": [guard.checked(names) for guard in guarded.values()],
        "defines": defines,
        "enums": [
            {"tag": names.tag(each), "members": [names.member(each, member) for member in each.members]}
            for each in types
            if isinstance(each, Enum)
        ],
        "structs": [
            {**PLAIN, **_declared(protocol, names, each, guarded)} for each in types if not isinstance(each, Enum)
        ],
        "words": [_word(names, cell) for cell in _word_cells(protocol)],
        "leaves": [(macro, f"{leaf.verdict}, {_where(leaf.span)}") for macro, _, leaf in numbers.ordered],
        "counters": numbers.counters,
        "counter_checks": [
            (counter.macro, "TC" if counter.name.startswith("tc.") else "XDP", counter.leaf)
            for counter in numbers.counters
            if counter.leaf
        ],
        "xdp_base": 0,
        "tc_base": next(
            (f"({each.macro} - {each.leaf})" for each in numbers.counters if each.leaf and each.name.startswith("tc.")),
            numbers.tc_base,
        ),
        "choices": [(branch.macro, _where(branch.span)) for branch in numbers.branches[len(numbers.ordered) :]],
    }


def _operation_defines(protocol: Protocol, names: Names) -> list[tuple[str, Any]]:
    fields = operation_fields(protocol)
    if protocol.operations is None:
        return []
    return [
        (names.macro("operations_max"), protocol.operations.max),
        (names.macro("operation_size"), fields[-1].offset + fields[-1].size),
        *(
            (names.macro("operation", each.name), f"{each.offset} /* {_plural(each.size, 'byte')} */")
            for each in fields
        ),
    ]


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("s" if number != 1 else "")


def _where(span: Any) -> str:
    return f"{span.file.rsplit('/', 1)[-1]}:{span.line}"


def _word_cells(protocol: Protocol) -> list[Record]:
    found: dict[str, Record] = {}
    for table in protocol.tables:
        if table.atomic == "word":
            found.setdefault(table.cell.name, table.cell)
    return list(found.values())


def _declared(protocol: Protocol, names: Names, type_: Type, guarded: dict[Record, Guarded]) -> dict[str, Any]:
    if not isinstance(type_, Record):
        return _struct(names, type_)
    if type_ == protocol.message and protocol.tail is not None:
        return _tailed(names, type_, protocol.tail)
    unguarded = next(
        (table for table in protocol.tables if table.cell == type_ and table.atomic in ("user", "owned")), None
    )
    if unguarded is not None:
        # Userspace maps the elements as an array, so the struct needs the kernel's distance between elements.
        alignment = ELEMENT_ALIGNMENT if unguarded.atomic == "user" else cell_alignment(unguarded)
        return {**_struct(names, type_), "attribute": f" __attribute__((aligned({alignment})))"}
    return _struct(names, type_, guarded.get(type_))


def _tailed(names: Names, message: Record, tail: TailLayout) -> dict[str, Any]:
    """Describes a message with a tail. The struct has only a pointer to the tail, which stays in the packet."""
    fixed = Record(message.name, tuple(each for each in message.fields if each[0] != tail.field))
    alias = names.function("message", tail.field)
    return {
        **_struct(names, fixed),
        "alias": f"typedef {c_type(names, message.field(tail.field))} {alias} __attribute__((aligned(1)))",
        "tail": f"{alias} *{field(tail.field)}",
    }


def _struct(names: Names, type_: Type, guarded: Guarded | None = None) -> dict[str, Any]:
    if is_vector(type_):
        return _vector_struct(names, type_)
    if isinstance(type_, Bytes):
        alignment = bytes_alignment(type_.size)
        aligned = f" __attribute__((aligned({alignment})))" if alignment > 1 else ""
        return {"tag": names.tag(type_), "comment": "", "members": [f"__u8 bytes[{type_.size}]{aligned}"]}
    members = [declaration(names, inner, field(name)) for name, inner in expect(type_, Record).fields]
    if guarded is not None:
        return {"tag": names.tag(type_), "comment": guarded.comment, "members": guarded.members(members)}
    return {"tag": names.tag(type_), "comment": "", "members": members}


def _vector_struct(names: Names, type_: Type) -> dict[str, Any]:
    vector = Vector.of(type_)
    what = {"Set": "A set", "Sequence": "A sequence", "Array": "An array"}[type(type_).__name__]
    if vector.packed:
        comment = f"{what}, {_plural(vector.item_bits, 'bit')} an item, the first lowest; unused bits are zero."
        members = [f"{unsigned(vector.size * vector.item_bits)} items"]
    else:
        comment = f"{what}; unused items are zero." if vector.counted else ""
        members = [f"{c_type(names, vector.element)} items[{vector.size}]"]
    if vector.counted:
        members.append(f"{unsigned(vector.count_bits)} count")
    return {"tag": names.tag(type_), "comment": comment, "members": members}


def _word(names: Names, cell: Record) -> dict[str, Any]:
    pack, unpack, layout = [], [], []
    for bits in word_fields(cell):
        pack.append(f"(__u64)cell->{bits.path}" + (f" << {bits.offset}" if bits.offset else ""))
        shifted = f"word >> {bits.offset}" if bits.offset else "word"
        if bits.width < 64:
            mask = (1 << bits.width) - 1
            shifted = f"{shifted} & {mask:#x}"
        if isinstance(bits.type, Enum):
            shifted = f"({c_type(names, bits.type)})({shifted})"
        unpack.append((bits.path, shifted))
        layout.append(f"{bits.path} {bits.width}")
    return {
        "function": names.tag(cell),
        "pack": pack,
        "unpack": unpack,
        "layout": "bits from the lowest, " + ", ".join(layout),
    }


def steps_context(protocol: Protocol, names: Names, numbers: Leaves, quoting: bool = False) -> dict[str, Any]:
    helpers = Helpers(names)
    steps = {name: StepWriter(protocol, names, helpers, facts, quoting).text() for name, facts in numbers.steps.items()}
    apart_from_kernel = (
        {section.step.name for section in protocol.user} if protocol.user_row or protocol.tail else set()
    )
    apart_from_kernel |= {step.name for step in protocol.daemon_steps}
    scanned: list[dict[str, str]] = []
    for facts in numbers.steps.values():
        cell = facts.step.cell_type
        if isinstance(cell, Table) and cell.name not in [entry["name"] for entry in scanned]:
            scanned.append(_scanned(protocol, names, cell))
    return {
        "helpers": helpers.text(),
        "steps": [text for name, text in steps.items() if name not in apart_from_kernel],
        "user_steps": [text for name, text in steps.items() if name in apart_from_kernel],
        "scanned": scanned,
        "header": names.file(".h"),
        "quoting": quoting,
    }


def _scanned(protocol: Protocol, names: Names, table: Table) -> dict[str, str]:
    layout = next(each for each in protocol.tables if each.name == table.name)
    function = names.tag(table.cell)
    member = ".word" if is_lined(protocol, table.name) else ""
    read = f"{function}_unpack(*(const volatile __u64 *)&table[index]{member})"
    if layout.atomic != "word":
        read = "table[index].cell"
    return {
        "name": table.name,
        "cell": function,
        "at": names.function(table.name, "at"),
        "value_type": value_type(names, protocol, table.name),
        "read": read,
    }
