"""Defines terms, the result of inlining a step: they have no user operators any more, and no types yet."""

from __future__ import annotations

from dataclasses import dataclass

from codegen import ir
from codegen.ir import Span


@dataclass(frozen=True)
class Term:
    """An operation on terms.

    Some operations use `value` and `arguments` in their own way:

        let     value is the name; arguments are its value and the body
        binder  value is the variable; arguments are the domain and the body
        except  value is None; arguments are the base, the new value and the path
                (a `string` term is a field, everything else an index)
    """

    operation: str
    """`int string bool var let label call if record field apply except`, or an operator of the table in subset.py."""
    arguments: tuple[Term, ...]
    value: int | bool | str | tuple[str, ...] | None
    """The number, string, name or names of the operation."""
    operator: str
    """The user's operator whose text contains the term."""
    span: Span
    constant: str = ""
    """The layout's constant that a number is; empty for a number of the text."""

    @property
    def name(self) -> str:
        """Returns the value of an operation on one name, or of a string."""
        return ir.expect(self.value, str)

    @property
    def number(self) -> int:
        return ir.expect(self.value, int)

    @property
    def truth(self) -> bool:
        return ir.expect(self.value, bool)

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the names of a record's fields, in the order of its arguments."""
        return ir.expect(self.value, tuple)


BINDERS = frozenset({"exists", "forall", "choose", "filter", "image", "function"})


def same(left: Term, right: Term, renamed: dict[str, str] | None = None) -> bool:
    """Whether two terms have the same text, except for the names that they bind."""
    renamed = renamed or {}
    if left.operation == "call":
        return same(left.arguments[0], right, renamed)
    if right.operation == "call":
        return same(left, right.arguments[0], renamed)
    if left.operation != right.operation or len(left.arguments) != len(right.arguments):
        return False
    if left.operation == "var":
        return renamed.get(left.name, left.name) == right.name
    if left.operation == "let" or left.operation in BINDERS:
        inner = {**renamed, left.name: right.name}
        return same(left.arguments[0], right.arguments[0], renamed) and same(
            left.arguments[1], right.arguments[1], inner
        )
    if left.value != right.value:
        return False
    return all(same(one, other, renamed) for one, other in zip(left.arguments, right.arguments))


def occurs(name: str, term: Term) -> bool:
    """Whether the variable `name` occurs in the term; names are unique, so nothing hides it."""
    if term.operation == "var":
        return term.value == name
    return any(occurs(name, argument) for argument in term.arguments)
