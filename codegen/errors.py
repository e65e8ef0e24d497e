"""Errors of a specification or a layout, with one class for each kind.

Every error says where it is, what was found there and what compiles instead. A pass reports
into an `Errors` list and goes on, so that one run shows everything that is wrong.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from codegen.ir import Interval, Span


@dataclass(frozen=True)
class SpecError:
    """Base of all errors."""

    span: Span
    found: str
    """The text or construct at that place."""
    instead: str = ""
    """A remedy: what would compile."""

    def __str__(self) -> str:
        return f"{self.span}: error: {self.found}" + (f"; {self.instead}" if self.instead else "")


# --- Reading -----------------------------------------------------------------------------------


class SyntaxRefused(SpecError):
    """A module that SANY, the TLA+ tools' parser, refused."""


class FileMissing(SpecError):
    """A missing file that the layout or a module names."""


class LayoutInvalid(SpecError):
    """A layout that does not match the schema."""


class LayoutInconsistent(SpecError):
    """A layout that contradicts itself, or names something that does not exist."""


class TypeRefused(LayoutInconsistent):
    """A type or a bound that cannot be. Nothing that depends on it is reported."""


# --- The compilable subset -----------------------------------------------------------------------


class NotCompilable(SpecError):
    """A construct of TLA+ outside the compilable subset."""


class Recursive(SpecError):
    """A recursive operator or function. Nothing bounds its depth."""


class NotConstantLevel(SpecError):
    """A step that reads a variable, a primed variable or a temporal formula."""


class ConstantUndefined(SpecError):
    """A CONSTANT without a value in the layout, or a value that nothing uses."""


class AssumptionFalse(SpecError):
    """An ASSUME that the layout's constants violate."""


class StepSignature(SpecError):
    """An operator that is not `Step(cell, msg)` or `Step(cell, msg, env)`."""


class ResultMalformed(SpecError):
    """A step that ends in something that is not a result."""


# --- Types ----------------------------------------------------------------------------------------


class TypeMismatch(SpecError):
    """An expression whose type differs from the type that its place needs."""


class TypeUnknown(SpecError):
    """An expression whose type does not follow from its surroundings."""


class NoSuchField(SpecError):
    """A field that the record does not have."""


class NoSuchMember(SpecError):
    """A string that is not a member of the enum it is compared or assigned to."""


# --- Bounds ---------------------------------------------------------------------------------------


class MayNotFit(SpecError):
    """A value that may not fit the field that it is stored in."""


class MayOverflow(SpecError):
    """An intermediate result that may not fit a signed 64-bit integer."""


class NoRoom(SpecError):
    """A set or a sequence that may get more elements than its type holds."""


class IndexOutOfRange(SpecError):
    """An index that may lie outside the array, the sequence or the table."""


class DivisorNotPositive(SpecError):
    """A divisor that may be zero or negative."""


class DividendNegative(SpecError):
    """A dividend that may be negative. TLA+ and C round such a quotient differently."""


class SignsMixed(SpecError):
    """A comparison of a value that may be negative with one that may not fit a signed 64-bit integer."""


class LoopUnbounded(SpecError):
    """A loop with too many iterations."""


class StackTooSmall(SpecError):
    """A step of the kernel that needs more than the stack has."""


class NoneChosen(SpecError):
    """A CHOOSE that may have nothing to choose from."""


def interval_text(interval: Interval) -> str:
    """Returns an interval as a message shows it."""
    return f"{interval.low}..{interval.high}"


def meant(name: str, known: Iterable[str]) -> str:
    """Returns a question that names the known word most like a wrong one; nothing if none is like it."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f" (did you mean {close[0]}?)" if close else ""


class SpecErrors(Exception):
    """All errors of a run, in the order of their files and lines."""

    def __init__(self, errors: list[SpecError]):
        unique = dict.fromkeys(errors)
        self.errors = sorted(unique, key=lambda error: (error.span.file, error.span.line, error.span.column))
        super().__init__("\n".join(str(error) for error in self.errors))


class Stop(Exception):
    """Carries one error out of an expression to the place that collects it."""

    def __init__(self, error: SpecError):
        self.error = error
        super().__init__(str(error))


class Errors:
    """The errors of a run so far."""

    def __init__(self) -> None:
        self.found: list[SpecError] = []

    def add(self, error: SpecError) -> None:
        self.found.append(error)

    def raise_if_any(self) -> None:
        if self.found:
            raise SpecErrors(self.found)
