"""Rewrites loops over sets that are made on the spot into loops over what these sets are made of.

`{f(v) : v \\in {w \\in S : P(w)}}` is one loop over S. No set is built in between, which would take a place on the
stack, and a search for every element. Bits need no set at all: a bit that is set twice is set.
"""

from __future__ import annotations

from dataclasses import replace

from codegen import ir
from codegen.ir import Span
from codegen.ir.build import BOOL, choice, compare, key, logic, negation
from codegen.ir.walk import substitute
from codegen.tla.kinds import element_type, trivial


def into_bits(
    name: str, domain: ir.Expr, value: ir.Expr, predicate: ir.Expr | None, kind: ir.Bits, span: Span
) -> ir.Expr:
    """Makes {value : name \\in domain, predicate} as bits, without a set in between."""

    def over(part: ir.Expr, also: ir.Expr | None = predicate) -> ir.Expr:
        return into_bits(name, part, value, also, kind, span)

    if isinstance(domain.type, ir.Bits) and not isinstance(domain, (ir.Filter, ir.Image)):
        return _loop(name, domain, value, predicate, kind, span)
    match domain:
        case ir.SetOf(elements):
            return _listed(name, elements, value, predicate, kind, span)
        case ir.SetOp("union", left, right):
            return union(over(left), over(right), kind, span)
        case ir.SetOp(op, left, right):
            element = ir.Var(name, element_type(left.type), span)
            within: ir.Expr = ir.In(element, right, BOOL, right.span)
            if op == "minus":
                within = ir.Not(within, BOOL, right.span)
            return over(left, _both(within, predicate, span))
        case ir.If(condition, then, otherwise):
            return choice(condition, over(then), over(otherwise), span)
        case ir.Let(bound, of, body):
            return ir.Let(bound, of, over(body), kind, span)
        case ir.Filter() | ir.Image():
            variable, inner, made, selects = _parts(domain)
            new, chosen = substitute(value, name, made), predicate and substitute(predicate, name, made)
            return into_bits(variable, inner, new, _both(selects, chosen, span), kind, span)
    return _loop(name, domain, value, predicate, kind, span)


def into_set(name: str, domain: ir.Expr, value: ir.Expr, kind: ir.Set, span: Span) -> ir.Expr:
    """Makes {value : name \\in domain} as a set. A domain that is made on the spot is taken apart, and never built."""
    selects: ir.Expr | None = None
    while isinstance(domain, (ir.Filter, ir.Image)):
        variable, inner, made, also = _parts(domain)
        value = substitute(value, name, made)
        selects = _both(also, selects and substitute(selects, name, made), span)
        name, domain = variable, inner
    return ir.Image(name, domain, value, kind, span, selects)


def as_bits(value: ir.Expr, kind: ir.Bits) -> ir.Expr:
    """Makes bits of a set; bounds.py shows that numbers are in range."""
    element = _member(value)
    return into_bits(element.name, value, element, None, kind, value.span)


def as_set(value: ir.Expr, element: ir.Type) -> ir.Expr:
    """Makes a set of bits; bounds.py shows that numbers fit."""
    member = _member(value)
    kind = ir.Set(element, ir.expect(value.type, ir.Bits).most)
    return ir.Image(member.name, value, member, kind, value.span)


def common_bits(left: ir.Expr, right: ir.Expr, within: bool, kind: ir.Bits, span: Span) -> ir.Expr:
    """Makes the part of `left` that is within `right`, or is not, as bits. `right` may have numbers beyond the bits."""
    element = _member(left)
    selects: ir.Expr = ir.In(element, right, BOOL, right.span)
    if not within:
        selects = ir.Not(selects, BOOL, right.span)
    return into_bits(element.name, left, element, selects, kind, span)


def _member(value: ir.Expr) -> ir.Var:
    """Returns a variable for the elements of a set. Its name cannot be one of TLA+, so it captures nothing.

    lower.py makes it unique.
    """
    return ir.Var(f"member~{value.span.line}~{value.span.column}", element_type(value.type), value.span)


def union(left: ir.Expr, right: ir.Expr, kind: ir.Bits, span: Span) -> ir.Expr:
    """Makes a union of bits; literals become one literal, and an empty one is left out."""
    if isinstance(left, ir.SetOf) and isinstance(right, ir.SetOf):
        return ir.SetOf((*left.elements, *right.elements), kind, span)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, ir.SetOf) and not one.elements:
            return other
    return ir.SetOp("union", left, right, kind, span)


def operation(op: str, left: ir.Expr, right: ir.Expr, kind: ir.Set | ir.Bits, span: Span) -> ir.Expr:
    """Makes a set operation; a union of literals is a literal."""
    if op == "union" and isinstance(left, ir.SetOf) and isinstance(right, ir.SetOf):
        elements = {key(element): element for element in left.elements + right.elements}
        return ir.SetOf(tuple(elements.values()), kind, span)
    return ir.SetOp(op, left, right, kind, span)


def quantified(quantifier: ir.Quantifier) -> ir.Expr:
    """Makes a quantifier over a literal, a filter or an image one over what it is made of."""
    domain, span = quantifier.domain, quantifier.span
    if isinstance(domain, ir.SetOf):
        tests = [substitute(quantifier.predicate, quantifier.variable, element) for element in domain.elements]
        return logic("or" if quantifier.op == "exists" else "and", tests, span)
    if not isinstance(domain, (ir.Filter, ir.Image)):
        return quantifier
    variable, inner, made, selects = _parts(domain)
    predicate = substitute(quantifier.predicate, quantifier.variable, made)
    if selects is not None and quantifier.op == "exists":
        predicate = logic("and", [selects, predicate], span)
    elif selects is not None:
        predicate = logic("or", [ir.Not(selects, BOOL, span), predicate], span)
    return quantified(replace(quantifier, variable=variable, domain=inner, predicate=predicate))


def member(element: ir.Expr, within: ir.Expr, span: Span) -> ir.Expr:
    """Makes `element \\in within`. A set that is made on the spot is taken apart, if that repeats nothing."""
    match within:
        case ir.Image():
            found = compare("=", within.value, element, span)
            if within.predicate is not None:
                found = logic("and", [within.predicate, found], span)
            return quantified(ir.Quantifier("exists", within.variable, within.domain, found, BOOL, span))
        case ir.Filter(variable=variable, domain=domain, predicate=predicate) if trivial(element):
            return logic("and", [member(element, domain, span), substitute(predicate, variable, element)], span)
        case ir.SetOp(op, left, right) if trivial(element):
            one, other = member(element, left, span), member(element, right, span)
            if op == "minus":
                other = negation(other, span)
            return logic("or" if op == "union" else "and", [one, other], span)
    return ir.In(element, within, BOOL, span)


def _loop(name: str, domain: ir.Expr, value: ir.Expr, predicate: ir.Expr | None, kind: ir.Bits, span: Span) -> ir.Expr:
    """Makes the one loop over a domain that is stored, or is a range or bits."""
    if isinstance(value, ir.Var) and value.name == name:
        if predicate is not None:
            return ir.Filter(name, domain, predicate, kind, span)
        if domain.type == kind:
            return domain
    return ir.Image(name, domain, value, kind, span, predicate)


def _listed(
    name: str, elements: tuple[ir.Expr, ...], value: ir.Expr, predicate: ir.Expr | None, kind: ir.Bits, span: Span
) -> ir.Expr:
    """Makes a literal: one bit for each element, under the predicate if there is one."""
    bits: ir.Expr = ir.SetOf((), kind, span)
    for element in elements:
        one: ir.Expr = ir.SetOf((substitute(value, name, element),), kind, span)
        if predicate is not None:
            one = choice(substitute(predicate, name, element), one, ir.SetOf((), kind, span), span)
        bits = union(bits, one, kind, span)
    return bits


def _parts(loop: ir.Filter | ir.Image) -> tuple[str, ir.Expr, ir.Expr, ir.Expr | None]:
    """Returns the variable of a loop, its domain, the value that it makes of an element, and its predicate."""
    if isinstance(loop, ir.Image):
        return loop.variable, loop.domain, loop.value, loop.predicate
    element = ir.Var(loop.variable, element_type(loop.domain.type), loop.span)
    return loop.variable, loop.domain, element, loop.predicate


def _both(first: ir.Expr | None, second: ir.Expr | None, span: Span) -> ir.Expr | None:
    if first is None or second is None:
        return second if first is None else first
    return logic("and", [first, second], span)
