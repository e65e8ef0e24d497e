"""Writes the types of a layout in TLA+: as sets, as conditions for what a set cannot say, and their initial values.

Bytes and wide integers are WIDE, which is Nat: TLC's integers have 32 bits. A model may put another set in its place.
Sizes that the layout gives by a constant are written with the constant's name, because a model may give it a smaller
value.
"""

from __future__ import annotations

from dataclasses import dataclass

from codegen.emit.types import GeneratorError
from codegen.ir import Array, Bits, Bool, Bytes, Enum, Record, Sequence, Set, Type, UInt

TLC_BITS = 31
"""Bits of the greatest integer of TLC."""

WIDE = "Wide"

LINE_MAX = 110


@dataclass(frozen=True)
class TlaTypes:
    """Writes types for modules that declare the constants `declared`."""

    declared: frozenset[str]

    def bound(self, type_: Set | Bits | Array | Sequence) -> str:
        """Returns the type's size as TLA+ text: a constant that the modules have, else a number."""
        if type_.bound in self.declared:
            return type_.bound
        return str(type_.size if isinstance(type_, (Bits, Array)) else type_.max)

    def text(self, type_: Type) -> str:
        """Returns the set of all values of a type. Sets and sequences in it may have any size: see `fits`."""
        match type_:
            case UInt(width):
                return f"0..{(1 << width) - 1}" if width <= TLC_BITS else WIDE
            case Bytes():
                return WIDE
            case Bool():
                return "BOOLEAN"
            case Enum(_, members):
                return "{" + ", ".join(f'"{member}"' for member in members) + "}"
            case Set(element) | Bits(source=Set(element)):
                return f"SUBSET {_operand(self.text(element))}"
            case Bits():
                size = self.bound(type_)
                return f"SUBSET (0..{int(size) - 1})" if size.isdigit() else f"SUBSET (0..({size} - 1))"
            case Sequence(element):
                return f"Seq({self.text(element)})"
            case Array(element):
                return f"[1..{self.bound(type_)} -> {self.text(element)}]"
            case Record(_, fields):
                return "[" + ", ".join(f"{name} : {self.text(inner)}" for name, inner in fields) + "]"
        raise GeneratorError(f"{type_} is not a set of TLA+")

    def zero(self, type_: Type) -> str:
        """Returns the initial value of a type."""
        match type_:
            case UInt() | Bytes():
                return "0"
            case Bool():
                return "FALSE"
            case Enum(_, members):
                return f'"{members[0]}"'
            case Set() | Bits():
                return "{}"
            case Sequence():
                return "<<>>"
            case Array(element):
                return f"[i \\in 1..{self.bound(type_)} |-> {self.zero(element)}]"
            case Record(_, fields):
                return "[" + ", ".join(f"{name} |-> {self.zero(inner)}" for name, inner in fields) + "]"
        raise GeneratorError(f"{type_} has no initial value")

    def record(self, record: Record, head: str) -> str:
        """Returns the set of a record's values, wrapped to several lines. The first line begins with `head`."""
        pieces = self.text(record).split(", ")
        lines, line = [], head + pieces[0]
        for piece in pieces[1:]:
            line += ","
            if len(line) + len(" " + piece + ",") > LINE_MAX:
                lines.append(line)
                line = " " * len(head)
            line += " " + piece
        return "\n".join([*lines, line])

    def fits(self, type_: Type, value: str) -> list[str]:
        """Returns the conditions that the sets and sequences in a value are not too big. value: TLA+ text."""
        match type_:
            case Set():
                return [f"Cardinality({value}) <= {self.bound(type_)}"]
            case Bits(source=Set() as source):
                return self.fits(source, value)
            case Sequence():
                return [f"Len({value}) <= {self.bound(type_)}", *self._each(type_, value)]
            case Array():
                return self._each(type_, value)
            case Record(_, fields):
                return [condition for name, inner in fields for condition in self.fits(inner, f"{value}.{name}")]
        return []

    def _each(self, type_: Array | Sequence, value: str) -> list[str]:
        element = f"{value}[i{value.count('[')}]"
        index = element.rpartition("[")[2][:-1]
        return [f"(\\A {index} \\in DOMAIN {value} : {condition})" for condition in self.fits(type_.element, element)]


def _operand(text: str) -> str:
    return text if text[0] in "{[" or text.isidentifier() else f"({text})"
