"""Removes the arms of a choice that facts about the whole exclude. Compilers warn about their constants."""

from __future__ import annotations

from dataclasses import replace

from codegen import ir
from codegen.analysis.conditions import interval
from codegen.analysis.facts import intersect
from codegen.ir import Interval

NUMBERS = (ir.Var, ir.Field, ir.Index, ir.Arith, ir.If, ir.Let, ir.Count, ir.Cardinality)
"""Expressions that have the interval of a number. A search is not among them: its interval leaves out its `none`."""


def without_excluded(number: ir.Expr, known: Interval) -> ir.Expr:
    """Returns a number that is known to lie in an interval, without the arms whose values lie elsewhere."""
    match number:
        case ir.If(then=then, otherwise=otherwise):
            possible = [_bounded(arm, known) for arm in (then, otherwise) if intersect(interval(arm), known)]
            if len(possible) == 1 and intersect(interval(possible[0]), known) == interval(possible[0]):
                return without_excluded(possible[0], known)
            then, otherwise = without_excluded(then, known), without_excluded(otherwise, known)
            return _bounded(replace(number, then=then, otherwise=otherwise), known)
        case ir.Let(body=body):
            return _bounded(replace(number, body=without_excluded(body, known)), known)
    return number


def _bounded(number: ir.Expr, known: Interval) -> ir.Expr:
    within = intersect(interval(number), known)
    if within is None or not isinstance(number, NUMBERS):
        return number
    return replace(number, interval=within)
