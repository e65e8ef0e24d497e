"""Finds where a value is: in the cell, in the message, in a local, or behind a function that finds an item."""

from __future__ import annotations

from codegen.c.names import ENVIRONMENT, field
from codegen.emit.c_text import Place
from codegen.emit.step_context import StepContext, index_key
from codegen.emit.types import Vector
from codegen.emit.writers import ScalarWriter, ValueWriter
from codegen.ir import TERMS, Array, Expr, Field, Index, Int, Record, Sequence, Set, Table, Type, Var
from codegen.ir.measure import is_scalar


class Places:
    """Writes places. It asks `scalars` for indices, and `values` for what is not stored yet."""

    def __init__(self, context: StepContext, scalars: ScalarWriter, values: ValueWriter):
        self.context = context
        self.names = context.names
        self.helpers = context.helpers
        self.scalars = scalars
        self.values = values

    def place(self, expr: Expr) -> Place:
        """Returns the place of a compound value. A value that is not stored is computed into a local first."""
        match expr:
            case Var(name=name):
                bound = self.context.bound[name]
                return bound if isinstance(bound, Place) else Place(bound.text)
            case Field() if (constant := self.environment_constant(expr)) is not None:
                return Place(constant)
            case Field(base=base, name=name) if not self.elsewhere(expr):
                return self.place(base).member(field(name))
            case Index(base=base) if isinstance(base.type, Table):
                table = self.place(base).text
                return Place(f"{self.names.function(base.type.name, 'at')}({table}, {self.scalars.scalar(expr.index)})")
            case Index(base=base) if not is_scalar(expr.type):
                found = self.place(base)
                if isinstance(expr.index, Int):
                    return found.item(str(expr.index.value - 1))
                if found.shared:
                    return found.item(self.position(base.type, expr.index))
                at = self.helpers.at(base.type)
                return Place(f"{at}({self.place(base).address}, {self.scalars.scalar(expr.index)})", True)
        local = self.context.structure(expr.type, _label(expr))
        self.values.into(Place(local), expr.type, expr)
        return Place(local)

    def environment_constant(self, expr: Field) -> str | None:
        """Returns the macro for a field of env that is the same in every run; None for another field."""
        is_terms = expr.name == TERMS and isinstance(expr.base, Var) and self.place(expr.base).text == ENVIRONMENT
        return self.names.macro(TERMS) if is_terms else None

    def elsewhere(self, expr: Expr) -> bool:
        """Whether it is a field whose bytes are elsewhere, maybe unaligned. Such bytes can only be copied."""
        if not isinstance(expr, Field) or not isinstance(expr.base, Var):
            return False
        bound = self.context.bound[expr.base.name]
        return isinstance(bound, Place) and bound.elsewhere == field(expr.name)

    def position(self, type_: Type, index: Expr) -> str:
        """Returns the C index of an array's item, in a form that the verifier sees to be in range."""
        if isinstance(index, Int):
            return str(index.value - 1)
        if isinstance(index, Var) and index.name in self.context.counters:
            return f"{self.scalars.scalar(index)} - 1"
        known = self.context.positions.get((index_key(index), Vector.of(type_).size))
        if known is not None:
            return known
        return f"stepwise_position({self.scalars.scalar(index)}, {Vector.of(type_).size})"

    def argument(self, expr: Expr) -> str:
        """Returns a value as a function's argument: a scalar itself, or the address of another value."""
        return self.scalars.scalar(expr).text if is_scalar(expr.type) else self.place(expr).address


def _label(expr: Expr) -> str:
    return {Set: "set", Sequence: "sequence", Array: "array", Record: "record"}.get(type(expr.type), "value")
