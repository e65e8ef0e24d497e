"""Holds what the writers of one step share: the lines so far, the names in use, and what the step's variables are in C.

The writers have no state of their own. Each has the context, and the writers that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from codegen.c.names import Names
from codegen.emit.c_text import ATOM, KIND_TYPES, Place, Text, kind_of_interval, kind_of_width
from codegen.emit.helpers import Helpers
from codegen.emit.lines import Lines
from codegen.emit.types import c_type, stack_bytes
from codegen.ir import Bytes, Expr, Interval, Type, UInt, expect
from codegen.ir.locations import is_path, location

ItemKey = tuple[str, int]
"""An item of an array: a key of its index (see index_key), and the array's size."""


@dataclass
class StepContext:
    names: Names
    helpers: Helpers
    taken: set[str]
    """The C names that this function uses."""
    branchless: bool = False
    """Whether conditions become bits if they can."""
    kernel: bool = False
    """Whether the verifier follows the step."""
    lines: Lines = field(default_factory=Lines)
    """The block that is being written."""
    bound: dict[str, Place | Text] = field(default_factory=dict)
    """The C text or object of each variable of the step."""
    ranges: dict[str, Interval] = field(default_factory=dict)
    """Intervals of bound numbers that hold regardless of the conditions at their uses."""
    iterated: set[str] = field(default_factory=set)
    """Variables of loops over ranges and bits, which clang knows."""
    counters: set[str] = field(default_factory=set)
    """Variables of loops whose ends are constants."""
    positions: dict[ItemKey, str] = field(default_factory=dict)
    """Locals with a position."""
    unconditional: int = 0
    """The depth of code that also runs if the conditions around it do not hold."""
    hint: str = ""
    """The name of the next loop's result."""

    def fresh(self, name: str) -> str:
        """Returns a name for a local, which no other local has."""
        plain = candidate = self.names.local(name)
        number = 2
        while candidate in self.taken:
            candidate = f"{plain}_{number}"
            number += 1
        self.taken.add(candidate)
        return candidate

    def result(self, name: str) -> str:
        """Returns the name of the local for a loop's result."""
        name, self.hint = self.hint or name, ""
        return self.fresh(name)

    def structure(self, type_: Type, name: str) -> str:
        """Declares a local for a value that is not a scalar, and returns its name."""
        local = self.fresh(name)
        # A local for opaque bytes exchanges them with others, which are on the stack for that time too.
        values = 2 if isinstance(type_, Bytes) else 1
        self.lines.declare(f"{c_type(self.names, type_)} {local}", values * stack_bytes(type_))
        return local

    def number(self, local: str, interval: Interval, initial: object) -> Text:
        """Declares a local for a number within an interval, and returns it."""
        if interval.low < 0:
            kind = kind_of_interval(interval)
            self.lines.define(f"{KIND_TYPES[kind]} {local}", initial)
            return Text(local, ATOM, kind)
        bits = max(1, interval.high.bit_length())
        self.lines.define(f"{c_type(self.names, UInt(bits))} {local}", initial)
        return Text(local, ATOM, kind_of_width(bits))

    def bind(self, name: str, what: Place | Text) -> None:
        """Says what a variable is in C."""
        self.bound[name] = what

    def object(self, name: str) -> Place:
        """Returns the C object of a variable, which must not be a scalar."""
        return expect(self.bound[name], Place)

    def forget_positions(self) -> None:
        """Forgets locals with positions, whose block has ended."""
        self.taken -= set(self.positions.values())
        self.positions.clear()

    def captured(self, render: Callable[[], Text]) -> tuple[Text, list[str]]:
        """Returns a value and the statements that it needs first, which the caller adds."""
        outer, self.lines = self.lines, self.lines.nested()
        try:
            value = render()
            return value, self.lines.finished()
        finally:
            outer.call(self.lines)
            outer.keep(self.lines.stack)
            self.lines = outer

    @contextmanager
    def whatever_holds(self) -> Iterator[None]:
        """Marks that the code rendered inside also runs if the conditions around it do not hold."""
        self.unconditional += 1
        yield
        self.unconditional -= 1


def index_key(index: Expr) -> str:
    """Returns a key for an index: equal paths have the same key, other expressions have that of their place."""
    return ".".join(location(index) or ()) if is_path(index) else f"at {index.span}"
