"""Declares locals: for the names that a step binds, and for values that are needed more than once."""

from __future__ import annotations

from codegen.emit.c_text import ATOM, KIND_TYPES, Place, Text, kind_of_interval
from codegen.emit.step_context import StepContext
from codegen.emit.types import c_type
from codegen.emit.writers import ScalarWriter, ValueWriter
from codegen.ir import Bits, Count, Expr, First, Quantifier, SetOf, Type, UInt
from codegen.ir.locations import is_path
from codegen.ir.measure import held_interval, is_scalar
from codegen.ir.walk import substitute


class Locals:
    """Writes declarations. It asks `scalars` and `values` for what the locals hold."""

    def __init__(self, context: StepContext, scalars: ScalarWriter, values: ValueWriter):
        self.context = context
        self.names = context.names
        self.scalars = scalars
        self.values = values

    def declare(self, type_: Type, name: str, value: Expr) -> Place:
        """Declares a local that holds a value."""
        if isinstance(value, (Quantifier, First, Count)) and not isinstance(value.domain, SetOf):
            self.context.hint = name  # The loop's result is itself the local.
            return Place(self.scalars.scalar(value).text)
        if is_scalar(type_):
            local = self.context.fresh(name)
            text = self.scalars.scalar(value)
            self.context.lines.define(f"{self.type_of(value)} {local}", text, const=True)
        else:
            local = self.context.structure(type_, name)
            self.values.into(Place(local), type_, value)
        return Place(local)

    def type_of(self, value: Expr) -> str:
        """Returns the C type of a local for a scalar, wide enough for its interval."""
        if isinstance(value.type, UInt):
            interval = held_interval(value)
            if interval.low < 0:
                return KIND_TYPES[kind_of_interval(interval)]
            return c_type(self.names, UInt(max(1, interval.high.bit_length())))
        return c_type(self.names, value.type)

    def let(self, name: str, value: Expr, body: Expr) -> Expr:
        """Binds the name in C, and returns the body, which the caller renders."""
        if is_path(value):
            replaced: Expr = substitute(body, name, value)
            return replaced
        self.bind(name, value)
        return body

    def bind(self, name: str, value: Expr, c_name: str = "") -> None:
        place = self.declare(value.type, c_name or name, value)
        if not is_scalar(value.type):
            self.context.bind(name, place)
            return
        interval = self.context.ranges[name] = held_interval(value)
        kind = kind_of_interval(interval) if isinstance(value.type, (UInt, Bits)) else ""
        self.context.bind(name, Text(place.text, ATOM, kind))
