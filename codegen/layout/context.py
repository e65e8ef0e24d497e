"""Holds what every part of the resolver needs: the layout, its constants and types, and the place of each error."""

from __future__ import annotations

import re
from typing import Any

from codegen import ir
from codegen.c.names import upper
from codegen.errors import Errors, LayoutInconsistent, TypeRefused, meant
from codegen.ir.measure import WORD_BITS, compacted
from codegen.layout.schema import (
    ArrayType,
    BitsType,
    BytesType,
    EnumType,
    Layout,
    Local,
    RecordType,
    SequenceType,
    SetType,
    TypeText,
)
from codegen.layout.source import Place, Source


def constant_of(bound: int | str) -> str:
    """Returns the name of the constant that a bound names; empty for a number."""
    return bound if isinstance(bound, str) else ""


class Context:
    """A layout while its names are resolved. Types are resolved once."""

    def __init__(self, layout: Layout, source: Source, errors: Errors):
        self.layout = layout
        self.source = source
        self.errors = errors
        self.resolved: dict[Place, ir.Type] = {}
        self.resolving: list[Place] = []
        self.used: set[str] = set()
        self.constants: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in layout.constants.items()
        }

    def complain(self, place: Place, found: str, instead: str = "") -> None:
        self.errors.add(LayoutInconsistent(self.source.span(*place), found, instead))

    def refuse(self, place: Place, found: str, instead: str) -> None:
        """Reports a type or a bound that cannot be. A stand-in takes its place."""
        self.errors.add(TypeRefused(self.source.span(*place), found, instead))

    @property
    def types_refused(self) -> bool:
        """Whether a type is unknown, so that what depends on types cannot be checked."""
        return any(isinstance(error, TypeRefused) for error in self.errors.found)

    def bound(self, bound: int | str, place: Place, low: int, high: int, fallback: int) -> int:
        """Returns a number, or a constant's value, within low..high; `fallback` after reporting an error."""
        if isinstance(bound, str):
            self.used.add(bound)
            value = self.constants.get(bound)
            if not isinstance(value, int) or isinstance(value, bool):
                reason = "is not a constant of the layout" if value is None else "is not a number"
                self.refuse(place, f"{bound} {reason}", "write a number, or the name of a constant whose value is one")
                return fallback
        else:
            value = bound
        if not low <= value <= high:
            shown = f"{bound} = {value}" if isinstance(bound, str) else f"{value}"
            self.refuse(place, f"{'.'.join(map(str, place))} is {shown}", f"it must lie in {low}..{high}")
            return fallback
        return value

    def type(self, text: TypeText, place: Place, name: str) -> ir.Type:
        """Returns the type at `place`; an enum or a record there gets the name `name`."""
        match text:
            case str():
                return self.named_type(text, place)
            case EnumType(enum=members):
                for at, member in enumerate(members):
                    if member in members[:at]:
                        self.complain((*place, "enum", at), f"enum {name} has {member} twice", "keep one of them")
                    elif upper(member) in map(upper, members[:at]):
                        found = f"enum {name} has members that are both {upper(member)} in C"
                        self.complain((*place, "enum", at), found, "rename one of them")
                return ir.Enum(name, tuple(dict.fromkeys(members)))
            case BytesType(bytes=size):
                return ir.Bytes(self.bound(size, (*place, "bytes"), 1, 1024, 1))
            case SetType(set=element, max=size):
                kind = self.type(element, (*place, "set"), f"{name}_element")
                if not isinstance(kind, (ir.UInt, ir.Enum, ir.Bool, ir.Bytes)):
                    self.complain(
                        (*place, "set"),
                        "a set cannot hold sets, arrays or records",
                        "its elements must be uN, enum, bool or bytes",
                    )
                return compacted(ir.Set(kind, self.bound(size, (*place, "max"), 1, 4096, 1), constant_of(size)))
            case BitsType(bits=size):
                return ir.Bits(self.bound(size, (*place, "bits"), 1, WORD_BITS, 1), constant_of(size))
            case ArrayType(array=element, size=size):
                kind = self.type(element, (*place, "array"), f"{name}_element")
                return ir.Array(kind, self.bound(size, (*place, "size"), 1, 4096, 1), constant_of(size))
            case SequenceType(sequence=element, max=size):
                kind = self.type(element, (*place, "sequence"), f"{name}_element")
                return ir.Sequence(kind, self.bound(size, (*place, "max"), 1, 4096, 1), constant_of(size))
        assert isinstance(text, RecordType)
        fields = [
            (inner, self.type(kind, (*place, "record", inner), f"{name}.{inner}"))
            for inner, kind in text.record.items()
        ]
        return ir.Record(name.replace(".", "_"), tuple(fields))

    def named_type(self, text: str, place: Place) -> ir.Type:
        if text == "bool":
            return ir.Bool()
        if match := re.fullmatch(r"u(\d+)", text):
            width = int(match[1])
            if not 1 <= width <= 64:
                self.refuse(place, f"{text} has {width} bits", "choose from u1 to u64")
                return ir.UInt(64)
            return ir.UInt(width)
        target = self.target(text)
        if target is None:
            known = [*self.layout.types, "bool"]
            self.refuse(
                place,
                f"there is no type {text}{meant(text, known)}",
                "write uN, bool, a name from `types`, table.field or message.field",
            )
            return ir.UInt(64)
        return self.at(*target, place)

    def target(self, text: str) -> tuple[Place, TypeText, str] | None:
        """Returns the target of a reference: its place, its text, and the name for an enum there."""
        head, *rest = text.split(".")
        layout = self.layout
        if not rest:
            return (("types", head), layout.types[head], head) if head in layout.types else None
        if len(rest) != 1:
            return None
        name = rest[0]
        if head == "message":
            if name in layout.message:
                return ("message", name), layout.message[name], f"message.{name}"
            if name in layout.local:
                return self.local_target(name)
            return None
        if head in layout.tables and name in layout.tables[head].cell:
            return ("tables", head, "cell", name), layout.tables[head].cell[name], f"{head}.{name}"
        return None

    def local_target(self, name: str) -> tuple[Place, TypeText, str]:
        text = self.layout.local[name]
        if isinstance(text, Local):
            return ("local", name, "type"), text.type, f"message.{name}"
        return ("local", name), text, f"message.{name}"

    def at(self, place: Place, text: TypeText, name: str, asked: Place) -> ir.Type:
        """Returns the type of a field or a name, and resolves it only once."""
        if place in self.resolved:
            return self.resolved[place]
        if place in self.resolving:
            self.complain(asked, f"the type {'.'.join(map(str, place))} refers to itself")
            return ir.UInt(64)
        self.resolving.append(place)
        self.resolved[place] = self.type(text, place, name)
        self.resolving.pop()
        return self.resolved[place]
