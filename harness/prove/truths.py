"""Builds truth values of Z3, and simplifies them while it does. See terms.py, which has the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

import z3

Truth: TypeAlias = z3.BoolRef

TRUE = z3.BoolVal(True)
FALSE = z3.BoolVal(False)


def negated(truth: Truth) -> Truth:
    if z3.is_true(truth):
        return FALSE
    if z3.is_false(truth):
        return TRUE
    return cast(Truth, truth.arg(0)) if z3.is_not(truth) else z3.Not(truth)


def all_of(truths: Sequence[Truth]) -> Truth:
    """Conjunction."""
    found: dict[int, Truth] = {}
    for each in truths:
        if z3.is_false(each):
            return FALSE
        if not z3.is_true(each):
            found.setdefault(each.get_id(), each)
    if any(negated(each).get_id() in found for each in found.values() if z3.is_not(each)):
        return FALSE
    return TRUE if not found else next(iter(found.values())) if len(found) == 1 else z3.And(*found.values())


def any_of(truths: Sequence[Truth]) -> Truth:
    """Disjunction."""
    found: dict[int, Truth] = {}
    for each in truths:
        if z3.is_true(each):
            return TRUE
        if not z3.is_false(each):
            found.setdefault(each.get_id(), each)
    if any(negated(each).get_id() in found for each in found.values() if z3.is_not(each)):
        return TRUE
    return FALSE if not found else next(iter(found.values())) if len(found) == 1 else z3.Or(*found.values())


def implied(condition: Truth, conclusion: Truth) -> Truth:
    return any_of([negated(condition), conclusion])


def same_truth(left: Truth, right: Truth) -> Truth:
    if left.eq(right):
        return TRUE
    for one, other in ((left, right), (right, left)):
        if z3.is_true(one):
            return other
        if z3.is_false(one):
            return negated(other)
    return left == right


def truth_if(condition: Truth, then: Truth, otherwise: Truth) -> Truth:
    """IF of truth values."""
    if z3.is_true(condition) or then.eq(otherwise):
        return then
    if z3.is_false(condition):
        return otherwise
    if z3.is_true(then):
        return any_of([condition, otherwise])
    if z3.is_false(then):
        return all_of([negated(condition), otherwise])
    if z3.is_true(otherwise):
        return any_of([negated(condition), then])
    if z3.is_false(otherwise):
        return all_of([condition, then])
    return z3.If(condition, then, otherwise)
