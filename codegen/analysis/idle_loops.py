"""Replaces loops whose bodies do not use their variables."""

from __future__ import annotations

from codegen import ir
from codegen.analysis.conditions import size_of
from codegen.ir.build import choice, compare, integer, logic, negation


def without_variable(loop: ir.Loop, inside: ir.Expr) -> ir.Expr | None:
    """Replaces a loop whose body does not use its variable by a short expression; returns None if that cannot be."""
    span = loop.span
    if isinstance(loop.domain, ir.Range):
        some = compare(">=", loop.domain.high, loop.domain.low, span)
    else:
        some = compare(">", size_of(loop.domain), integer(0, span), span)
    match loop:
        case ir.Quantifier("exists"):
            return logic("and", [some, inside], span)
        case ir.Quantifier("forall"):
            return logic("or", [negation(some, span), inside], span)
        case ir.First(none=none) if none is not None:
            return choice(logic("and", [some, inside], span), loop.domain.low, none, span)
        case ir.Count() if not isinstance(loop.domain, ir.Range):
            return choice(inside, size_of(loop.domain), integer(0, span), span)
        case ir.Filter() if loop.domain.type == loop.type and not isinstance(loop.domain, ir.Range):
            return choice(inside, loop.domain, ir.SetOf((), loop.type, span), span)
        case ir.Image():
            return choice(some, ir.SetOf((inside,), loop.type, span), ir.SetOf((), loop.type, span), span)
    return None
