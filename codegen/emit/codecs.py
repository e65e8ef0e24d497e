"""Makes the template contexts of <p>_codec.h, <p>_codec.py, <P>Hooks.tla and wire.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codegen.c.names import Names, field, python_field, upper
from codegen.emit.identity import terms
from codegen.emit.tla_operations import copied, tla_operations, with_operations
from codegen.emit.tla_types import TlaTypes
from codegen.emit.types import (
    GeneratorError,
    WireField,
    bytes_alignment,
    c_type,
    declared_types,
    handover_place,
    memory_layout,
    operation_fields,
    packet_fields,
)
from codegen.ir import (
    TERMS,
    Bits,
    Bool,
    Bytes,
    Enum,
    Protocol,
    Section,
    Type,
    UInt,
    expect,
)
from codegen.ir.measure import is_scalar


def codec_context(protocol: Protocol, names: Names, message_in_map: bool) -> dict[str, Any]:
    fields = packet_fields(protocol)
    wire, handover = fields[: len(protocol.wire)], fields[len(protocol.wire) :]
    late = handed_over_hashes(protocol)
    return {
        "header": names.file(".h"),
        "message": names.tag(protocol.message),
        "wire_size": fields[-1].offset + fields[-1].size,
        "message_map": message_in_map,
        "cleared": _cleared(protocol) if message_in_map else [],
        "fields": [_c_field(names, each) for each in wire],
        "handover": [_c_field(names, each) for each in handover],
        "handover_size": handover_place(protocol)[1],
        "forwarded": [_c_field(names, each) for each in wire if each.name in protocol.forwards],
        "tail": tail_macros(protocol, names),
        "operations": _c_operations(protocol, names),
        "hashes": [_c_hash(protocol, names, each) for each in protocol.hashes],
        "handed_over_hashes": [_c_hash(protocol, names, each) for each in protocol.hashes if each.field in late],
        "valid": _valid(names, wire),
        "handover_valid": _valid(names, handover),
    }


def _c_operations(protocol: Protocol, names: Names) -> dict[str, Any] | None:
    """Describes the codec of operations: which messages have them, their number, and the fields of one."""
    operations = protocol.operations
    if operations is None:
        return None
    fields, own = operation_fields(protocol), protocol.of_operation()
    fixed = {each.name: each for each in packet_fields(protocol)}
    kind, count = fixed[operations.when.field], fixed[operations.count]
    enum = expect(kind.type, Enum)
    return {
        "kind_type": c_type(names, enum),
        "kind": _c_field(names, kind)["read"],
        "kinds": " || ".join(f"kind == {names.member(enum, member)}" for member in operations.when.members),
        "count": _c_field(names, count)["read"],
        "fields": [_c_field(names, each, "operation") for each in fields],
        "valid": _valid(names, fields, "operation"),
        "hashes": [_c_hash(protocol, names, each) for each in protocol.hashes if each.field in own],
    }


def _cleared(protocol: Protocol) -> list[str]:
    """Returns statements that clear the fields which no packet has, one by one.

    The message is too large for an initializer: clang would call memset(), which BPF does not have.
    """
    found = []
    for name, type_ in protocol.message.fields:
        if name in protocol.wire or (protocol.tail is not None and name == protocol.tail.field):
            continue
        member = f"message->{field(name)}"
        size, alignment = memory_layout(type_)
        found.append(
            f"{member} = 0" if is_scalar(type_) else f"stepwise_clear((unsigned char *)&{member}, {size}, {alignment})"
        )
    return found


def tail_macros(protocol: Protocol, names: Names) -> dict[str, Any] | None:
    """Returns the C names for a tail: where the payload has its length, its bounds, its member and its type."""
    tail = protocol.tail
    if tail is None:
        return None
    length = next(each for each in packet_fields(protocol) if each.name == tail.length)
    return {
        "length": names.macro("wire", tail.length),
        "length_size": length.size,
        "over": names.macro("tail_over"),
        "max": names.macro("tail_max"),
        "field": field(tail.field),
        "type": names.function("message", tail.field),
    }


def handed_over_hashes(protocol: Protocol) -> set[str]:
    """Returns the local fields that are computed from handover fields, directly or through another local field."""
    found: set[str] = set()
    for each in protocol.hashes:
        if each.source in protocol.handover or each.source in found:
            found.add(each.field)
    return found


def _c_field(names: Names, each: WireField, part: str = "wire") -> dict[str, Any]:
    """Describes the codec of a field; `part` starts the name of the macro that has its offset."""
    offset, member = names.macro(part, each.name), field(each.name)
    copied = not is_scalar(each.type)
    kind = "_bytes" if isinstance(each.type, Bytes) else ""
    read = f"stepwise_read{kind}(payload + {offset}, {each.size})"
    if isinstance(each.type, Enum):
        read = f"({c_type(names, each.type)}){read}"
    elif isinstance(each.type, Bool):
        read = f"payload[{offset}] == 1"
    write = f"stepwise_write{kind}(payload + {offset}, {each.size}, message->{member})"
    if copied:
        read = f"stepwise_copy(message->{member}.bytes, payload + {offset}, {each.size}, {bytes_alignment(each.size)})"
        write = f"stepwise_copy(payload + {offset}, message->{member}.bytes, {each.size}, {bytes_alignment(each.size)})"
    return {
        "member": member,
        "offset": offset,
        "size": each.size,
        "copied": copied,
        "is_bool": isinstance(each.type, Bool),
        "read": read,
        "write": write,
    }


def _valid(names: Names, wire: tuple[WireField, ...], part: str = "wire") -> str:
    """Returns the C condition that every field is within its type, with as few branches as possible."""
    parts, beyond = [], []
    for each in wire:
        member = f"message->{field(each.name)}"
        if each.limit is None:
            continue
        if isinstance(each.type, Enum):
            parts.append(f"{member} <= {names.member(each.type, each.type.members[-1])}")
        elif isinstance(each.type, Bool):
            parts.append(f"payload[{names.macro(part, each.name)}] <= 1")
        else:
            beyond.append(f"{member} >> {each.limit.bit_length()}")
    if beyond:
        parts.append(f"!({' | '.join(beyond)})")
    return " &&\n\t       ".join(parts) or "true"


def _c_hash(protocol: Protocol, names: Names, each: Any) -> dict[str, Any]:
    type_ = protocol.message.field(each.source)
    if isinstance(type_, Bytes) and type_.size > 8:
        raise GeneratorError(f"a hash of {each.source}: only up to 8 bytes are supported")
    return {
        "function": names.function("hash", each.field),
        "member": field(each.field),
        "source": field(each.source),
        "parameter": f"{c_type(names, type_)} {field(each.source)}",
        "argument": field(each.source),
        "capacity": each.capacity,
        "hash": "stepwise_hash_lower" if each.lower else "stepwise_hash",
    }


# --- Python ----------------------------------------------------------------------------------------


def python_context(protocol: Protocol) -> dict[str, Any]:
    wire = packet_fields(protocol)
    enums = [each for each in declared_types((protocol.message,)) if isinstance(each, Enum)]
    used = [each for each in enums if any(field_.type == each for field_ in wire)]
    return {
        "port": protocol.port,
        "wire_size": wire[-1].offset + wire[-1].size,
        "constants": [
            *((upper(name), _python_constant(value)) for name, value in protocol.constants),
            *([("TICK_NS", _python_constant(protocol.tick_ns))] if protocol.tick_ns else []),
            *(
                [(upper(TERMS), f'bytes.fromhex("{terms(protocol).hex()}")')]
                if TERMS in dict(protocol.env.fields)
                else []
            ),
        ],
        "enums": [
            {"name": enum_class(protocol, each), "members": [upper(member) for member in each.members]} for each in used
        ],
        "fields": [_python_field(protocol, each) for each in wire],
        "hashes": [_python_hash(protocol, each) for each in protocol.hashes],
        "tail": _plain_tail(protocol, python_field),
        "operations": _python_operations(protocol),
    }


def _python_operations(protocol: Protocol) -> dict[str, Any] | None:
    operations = protocol.operations
    if operations is None:
        return None
    fields = operation_fields(protocol)
    kind = expect(protocol.message.field(operations.when.field), Enum)
    members = [f"{enum_class(protocol, kind)}.{upper(member)}" for member in operations.when.members]
    return {
        "kind": python_field(operations.when.field),
        "kinds": f"({', '.join(members)},)",
        "count": python_field(operations.count),
        "max": operations.max,
        "size": fields[-1].offset + fields[-1].size,
        "fields": [_python_field(protocol, each, "operation") for each in fields],
    }


def _plain_tail(protocol: Protocol, named: Callable[[str], str]) -> dict[str, Any] | None:
    tail = protocol.tail
    return (
        None
        if tail is None
        else {"member": named(tail.field), "length": named(tail.length), "over": tail.over, "max": tail.max}
    )


def enum_class(protocol: Protocol, enum: Enum) -> str:
    """Maps an enum's name to that of its Python class: `message.kind` to `Kind`, `session.state` to `SessionState`."""
    owner, _, name = enum.name.rpartition(".")
    parts = [name] if owner in ("message", protocol.name) else [*owner.split("."), name]
    return "".join(part[:1].upper() + part[1:] for part in parts if part)


def _python_constant(value: Any) -> str:
    return repr(value) if not isinstance(value, int) or isinstance(value, bool) else f"{value:_}"


def _python_field(protocol: Protocol, each: WireField, whole: str = "message") -> dict[str, Any]:
    """Describes a field of a Python class, and of its codec; `whole` is the local that has the decoded object."""
    name = python_field(each.name)
    checks = {"encode_check": "", "decode_check": "", "allowed": ""}
    part = f"payload[{each.offset}:{each.offset + each.size}]"
    number = f'int.from_bytes({part}, "big")'
    encode = f'self.{name}.to_bytes({each.size}, "big")'
    match each.type:
        case Enum():
            kind = enum_class(protocol, each.type)
            default, decode = f"{kind}(0)", f"{name}={kind}({number})"
            encode = f'{kind}(self.{name}).to_bytes({each.size}, "big")'
            annotation = kind
        case Bytes(size):
            annotation, default, decode = "bytes", f"bytes({size})", f"{name}=bytes({part})"
            encode = f"self.{name}"
            checks |= {"encode_check": f"len(self.{name}) == {size}", "allowed": f"{size} bytes"}
        case Bool():
            annotation, default, decode = "bool", "False", f"{name}=bool(({{0: False, 1: True}}).get({number}))"
            checks |= {"decode_check": f"payload[{each.offset}] <= 1", "allowed": "0 or 1"}
        case _:
            limit = each.limit if each.limit is not None else (1 << 8 * each.size) - 1
            annotation, default, decode = "int", "0", f"{name}={number}"
            checks |= {"encode_check": f"0 <= self.{name} <= {limit}", "allowed": f"0..{limit}"}
            if each.limit is not None:
                checks["decode_check"] = f"{whole}.{name} <= {limit}"
    return {"member": name, "type": annotation, "default": default, "encode": encode, "decode": decode, **checks}


def _python_hash(protocol: Protocol, each: Any) -> dict[str, Any]:
    source = python_field(each.source)
    opaque = isinstance(protocol.message.field(each.source), Bytes)
    argument = f'int.from_bytes({source}, "little")' if opaque else source
    return {
        "function": f"hash_{python_field(each.field)}",
        "member": python_field(each.field),
        "source": source,
        "type": "bytes" if opaque else "int",
        "capacity": each.capacity,
        "argument": argument,
        "multiplier": "seed.lower" if each.lower else "seed.upper",
    }


# --- TLA+ --------------------------------------------------------------------------------------------


def tla_context(protocol: Protocol, names: Names) -> dict[str, Any]:
    title = f" MODULE {names.hooks_module()} "
    dashes = 78 - len(title)
    hooks = [("Xdp", protocol.xdp), ("Tc", protocol.tc)]
    passes = [
        {"each": one.each, "sections": [_tla_section(section) for section in one.sections]} for one in protocol.sweep
    ]
    restored = passes.pop() if protocol.restore else None
    typed, message = TlaTypes(protocol.declared), with_operations(protocol)
    return {
        "rule_top": "-" * (dashes // 2) + title + "-" * (dashes - dashes // 2),
        "rule_bottom": "=" * 78,
        "module": protocol.module,
        "hooks": [
            {"name": name, "sections": [_tla_section(section) for section in sections]}
            for name, sections in hooks
            if sections
        ],
        "runs": [
            (name, prefix)
            for name, prefix, sections in (
                ("XDP", "Xdp", protocol.xdp),
                ("TC", "Tc", protocol.tc),
                ("User", "User", protocol.user),
            )
            if sections
        ],
        "rare_path": [_tla_section(section) for section in protocol.user],
        "handed_over": copied("message", protocol.handover, "from"),
        "passed_on": copied("HandedOver(packet, message)", protocol.forwards, "message"),
        "passes": passes,
        "restored": restored,
        "sweep_steps": [
            f"pass = {number} /\\ at = {at} -> {_tla_call(section)}"
            for number, one in enumerate(protocol.sweep, 1)
            for at, section in enumerate(one.sections, 1)
        ],
        **_tla_drain(protocol, typed),
        "tables": [
            {
                "name": table.name,
                "index": table.index,
                "initial": typed.zero(table.cell),
                "type": typed.record(table.cell, f"  {table.name} |-> "),
            }
            for table in protocol.tables
        ],
        "blank_message": _wrapped([f"{name} |-> {typed.zero(type_)}" for name, type_ in message.fields]),
        "operations": tla_operations(protocol),
        "cells_fit": [
            (table.name, " /\\ ".join(conditions))
            for table in protocol.tables
            if (conditions := typed.fits(table.cell, "cell"))
        ],
        "message_type": typed.record(message, "  "),
        "message_fits": typed.fits(message, "msg"),
    }


def _tla_drain(protocol: Protocol, typed: TlaTypes) -> dict[str, Any]:
    """Returns the drain's sections, and the initial cell of recovery."""
    drain, recovery = protocol.drain, protocol.recovery
    sections = (
        {}
        if drain is None
        else {
            "takes": [_tla_section(section) for section in drain.takes],
            "written": _tla_section(drain.written),
            "synced": _tla_section(drain.synced),
            "begins": [_tla_section(section) for section in drain.begins],
        }
    )
    return {"drain": sections, "recovered": typed.zero(recovery.cell) if recovery else ""}


def _tla_section(section: Section) -> dict[str, str]:
    return {
        "table": section.table,
        "step": section.step.name,
        "contended": section.contended,
        "call": _tla_call(section),
        "reads": section.reads or "none",
    }


def _tla_call(section: Section) -> str:
    return f"{section.step.name}(cell, msg{', env' if section.step.env is not None else ''})"


def _wrapped(pieces: list[str]) -> str:
    """Joins the fields of a record, wrapped to several lines."""
    lines, line = [], "  ["
    for number, piece in enumerate(pieces, 1):
        text = piece + (", " if number < len(pieces) else "]")
        if len(line) + len(text) > 116:
            lines.append(line.rstrip())
            line = "   "
        line += text
    return "\n".join([*lines, line])


# --- Documentation --------------------------------------------------------------------------------------


def wire_context(protocol: Protocol) -> dict[str, Any]:
    wire = packet_fields(protocol)
    handed_over = set(protocol.handover)
    enums = {each.type: None for each in wire if isinstance(each.type, Enum)}
    return {
        "port": protocol.port,
        "wire_size": wire[-1].offset + wire[-1].size,
        "fields": [_wire_row(each) for each in wire if each.name not in handed_over],
        "handover": [_wire_row(each) for each in wire if each.name in handed_over],
        "enums": [{"name": each.name, "members": each.members} for each in enums],
        "tail": _plain_tail(protocol, str),
        "operations": _wire_operations(protocol),
    }


def _wire_operations(protocol: Protocol) -> dict[str, Any] | None:
    operations = protocol.operations
    if operations is None:
        return None
    return {
        "kind": operations.when.field,
        "kinds": " or ".join(operations.when.members),
        "count": operations.count,
        "max": operations.max,
        "fields": [_wire_row(each) for each in operation_fields(protocol)],
    }


def _wire_row(each: WireField) -> dict[str, Any]:
    return {
        "offset": each.offset,
        "size": each.size,
        "name": each.name,
        "type": _wire_type(each.type),
        "range": _wire_values(each),
    }


def _wire_type(type_: Type) -> str:
    match type_:
        case UInt(width):
            return f"u{width}"
        case Bool():
            return "bool"
        case Bits(size):
            return f"bits: {size}"
        case Bytes(size):
            return f"bytes: {size}"
    return "enum"


def _wire_values(each: WireField) -> str:
    match each.type:
        case Enum(name, members):
            return f"0..{len(members) - 1}, see `{name}`"
        case Bool():
            return "0 or 1"
        case Bits(size):
            return f"one bit for each of 0..{size - 1}"
        case Bytes():
            return "opaque"
    limit = each.limit if each.limit is not None else (1 << 8 * each.size) - 1
    return f"0..{limit:,}".replace(",", " ")
