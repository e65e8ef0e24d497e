"""Names what writers ask of the two writers that stand above them: expressions are in each other, and so are writers.

`Scalars` makes all other writers of a step, so they cannot import it. `Values` makes those of places, locals and loops.
"""

from __future__ import annotations

from typing import Protocol

from codegen.emit.c_text import Place, Text
from codegen.ir import Expr, If, Type
from codegen.ir.locations import Location


class ScalarWriter(Protocol):
    """Scalars, in scalars.py."""

    def scalar(self, expr: Expr) -> Text:
        """Returns a C expression for a scalar, after adding the statements that it needs."""

    def condition_of(self, expr: If) -> str:
        """Returns the condition of a choice between two values; it reports the choice to coverage."""


class ValueWriter(Protocol):
    """Values, in values.py."""

    def into(self, target: Place, type_: Type, expr: Expr, at: Location | None = None) -> None:
        """Adds statements that give `target` the value of `expr`."""
