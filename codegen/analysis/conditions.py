"""Derives facts from conditions, and bounds the sizes and elements of sets and sequences."""

from __future__ import annotations

from dataclasses import replace

from codegen import ir
from codegen.analysis.facts import EVERYTHING, INFINITY, Facts, intersect, plus, scaled, uint_interval
from codegen.ir import Interval
from codegen.ir.build import BOOL, INTEGER
from codegen.ir.measure import hull
from codegen.tla.kinds import element_type, size_max


def interval(expression: ir.Expr) -> Interval:
    """Returns the interval of an integer expression that has been visited."""
    if isinstance(expression, ir.Int):
        return Interval(expression.value, expression.value)
    found = getattr(expression, "interval", None)
    return found or uint_interval(expression.type)


# --- Elements ---------------------------------------------------------------------------------------------------


def element_interval(value: ir.Expr, facts: Facts) -> Interval:
    """Returns the interval of the elements of a set or a sequence of integers."""
    match value:
        case ir.Var(name) if name in facts.values:
            return element_interval(facts.values[name], facts)
        case ir.SetOf(elements) | ir.SequenceOf(elements):
            if not elements:
                return Interval(0, 0)
            result = interval(elements[0])
            for element in elements[1:]:
                result = hull(result, interval(element))
            return result
        case ir.SetOp("union", left, right):
            return hull(element_interval(left, facts), element_interval(right, facts))
        case ir.SetOp("intersect", left, right):
            found = element_interval(left, facts), element_interval(right, facts)
            return intersect(*found) or found[0]
        case ir.SetOp("minus", left, _):
            return element_interval(left, facts)
        case ir.Image():
            return interval(value.value)
        case ir.Append(sequence, element):
            return hull(element_interval(sequence, facts), interval(element))
        case ir.Tail(sequence):
            return element_interval(sequence, facts)
        case ir.If(_, then, otherwise):
            return hull(element_interval(then, facts), element_interval(otherwise, facts))
        case ir.Let(_, _, body):
            return element_interval(body, facts)
        case ir.Filter(interval=Interval() as selected):
            return selected
        case ir.Filter(_, ir.Range() as domain):
            return Interval(interval(domain.low).low, interval(domain.high).high)
        case ir.Filter(_, domain):
            return element_interval(domain, facts)
    if isinstance(value.type, ir.Bits):
        return Interval(0, value.type.size - 1)
    return uint_interval(element_type(value.type))


# --- How many elements -----------------------------------------------------------------------------------


def size_interval(value: ir.Expr, facts: Facts) -> Interval:
    """Returns the interval of the size of a set or a sequence."""
    natural = natural_size(value, facts)
    if isinstance(value.type, (ir.Set, ir.Bits)) and isinstance(element_type(value.type), ir.UInt):
        # A set has no more numbers than their interval holds.
        found = element_interval(value, facts)
        most = found.high - found.low + 1
        natural = Interval(min(natural.low, most), min(natural.high, most))
    if isinstance(value, ir.Filter):
        count = ir.Count(value.variable, value.domain, value.predicate, INTEGER, value.span, EVERYTHING)
        natural = facts.interval(count, natural)
    return facts.interval(size_of(value), natural)


def natural_size(value: ir.Expr, facts: Facts) -> Interval:
    match value:
        case ir.Var(name) if name in facts.values:
            return natural_size(facts.values[name], facts)
        case ir.SetOf(elements):
            distinct = {facts.key(element) for element in elements}
            constant = all(isinstance(element, (ir.Int, ir.Literal)) for element in elements)
            return Interval(len(distinct) if constant else min(1, len(distinct)), len(distinct))
        case ir.SequenceOf(elements):
            return Interval(len(elements), len(elements))
        case ir.SetOp("union", left, right):
            return union_size(left, right, facts)
        case ir.SetOp("intersect", left, right):
            return Interval(0, min(size_interval(left, facts).high, size_interval(right, facts).high))
        case ir.SetOp("minus", left, right):
            return minus_size(left, right, facts)
        case ir.Filter(_, domain):
            return Interval(0, domain.bound if isinstance(domain, ir.Range) else size_interval(domain, facts).high)
        case ir.Image(_, domain):
            if isinstance(domain, ir.Range):
                return Interval(0, domain.bound)
            if value.predicate is not None and isinstance(domain.type, (ir.Set, ir.Bits)):
                domain = ir.Filter(value.variable, domain, value.predicate, domain.type, value.span)
            over = size_interval(domain, facts)
            return Interval(min(1, over.low) if value.predicate is None else 0, over.high)
        case ir.Append(sequence):
            return plus(size_interval(sequence, facts), Interval(1, 1))
        case ir.Tail(sequence):
            over = plus(size_interval(sequence, facts), Interval(-1, -1))
            return Interval(max(0, over.low), max(0, over.high))
        case ir.If(condition, then, otherwise):
            return hull(
                size_interval(then, assume(condition, True, facts)),
                size_interval(otherwise, assume(condition, False, facts)),
            )
        case ir.Let(name, bound, body):
            return size_interval(body, facts.with_let(name, bound))
    return Interval(0, size_max(value.type))


def union_size(left: ir.Expr, right: ir.Expr, facts: Facts) -> Interval:
    """Bounds the size of a union: at most the sum of both, less the elements that are known to be in both."""
    found = [size_interval(left, facts), size_interval(right, facts)]
    high = found[0].high + found[1].high
    for one, other, size in ((left, right, found[0]), (right, left, found[1])):
        if isinstance(other, ir.SetOf):
            new = {facts.key(item) for item in other.elements if not facts.truth(ir.In(item, one, BOOL, item.span))}
            high = min(high, size.high + len(new))
        if facts.truth(ir.Subset(other, one, BOOL, other.span)):
            high = min(high, size.high)
    return Interval(max(found[0].low, found[1].low), high)


def minus_size(left: ir.Expr, right: ir.Expr, facts: Facts) -> Interval:
    over, less = size_interval(left, facts), size_interval(right, facts)
    high = over.high
    if isinstance(right, ir.SetOf):
        present = any(facts.truth(ir.In(item, left, BOOL, item.span)) for item in right.elements)
        high -= 1 if present else 0
    return Interval(max(0, over.low - less.high), max(0, high))


# --- Conditions ---------------------------------------------------------------------------------------------------


def assume(condition: ir.Expr, value: bool, facts: Facts) -> Facts:
    """Adds the facts that follow if the (visited) condition has the outcome `value`."""
    facts = facts.with_truth(condition, value)
    match condition:
        case ir.Literal():
            return facts if condition.value is value else replace(facts, dead=True)
        case ir.Not(operand):
            return assume(operand, not value, facts)
        case ir.Logic(op, operands):
            return assume_logic(op, operands, value, facts)
        case ir.Compare(op, left, right):
            if isinstance(left.type, ir.UInt):
                return assume_order(op, left, right, value, facts)
            return assume_equal(left, right, value, facts)
        case ir.In(element, within):
            return assume_membership(element, within, value, facts)
        case ir.Subset(left, right):
            if value:
                return facts.with_number(size_of(left), Interval(0, size_interval(right, facts).high))
            return facts.with_number(size_of(left), Interval(1, INFINITY))
        case ir.Quantifier(op, _, domain) if (op == "exists") is value:
            return assume_not_empty(domain, facts)
        case ir.Let(name, bound, body):
            return assume(body, value, facts.with_let(name, bound))
        case ir.Var(name) if name in facts.values:
            return assume(facts.values[name], value, facts)
    return facts


def assume_logic(op: str, operands: tuple[ir.Expr, ...], value: bool, facts: Facts) -> Facts:
    """Adds facts about operands: either all have the outcome `value`, or one is the first to have it."""
    if (op == "and") is value:
        for operand in operands:
            facts = assume(operand, value, facts)
        return facts
    joined: Facts | None = None
    before = facts
    for operand in operands:
        here = assume(operand, value, before)
        joined = here if joined is None else joined.joined(here)
        before = assume(operand, not value, before)
    return joined or facts


def assume_equal(left: ir.Expr, right: ir.Expr, value: bool, facts: Facts) -> Facts:
    for one, other in ((left, right), (right, left)):
        if isinstance(one.type, ir.Enum) and isinstance(other, ir.Literal):
            member = frozenset({ir.expect(other.value, str)})
            return facts.with_members(one, member if value else frozenset(one.type.members) - member)
        if not isinstance(one.type, (ir.Set, ir.Bits, ir.Sequence)):
            continue
        size = size_interval(other, facts)
        if value:
            facts = facts.with_number(size_of(one), size)
            for element in other.elements if isinstance(other, ir.SetOf) else ():
                facts = facts.with_truth(ir.In(element, one, BOOL, element.span), True)
        elif size.high == 0:
            facts = facts.with_number(size_of(one), Interval(1, INFINITY))
    return facts


def assume_membership(element: ir.Expr, within: ir.Expr, value: bool, facts: Facts) -> Facts:
    if isinstance(within, ir.SetOf):
        literals = [item.value for item in within.elements if isinstance(item, ir.Literal)]
        if len(literals) == len(within.elements):
            if not isinstance(element.type, ir.Enum):
                return facts
            listed = frozenset(ir.expect(literal, str) for literal in literals)
            return facts.with_members(element, listed if value else frozenset(element.type.members) - listed)
    if not value:
        return facts
    if isinstance(element.type, ir.UInt):
        facts = facts.with_number(element, element_interval(within, facts))
    return facts.with_number(size_of(within), Interval(1, INFINITY))


def assume_order(op: str, left: ir.Expr, right: ir.Expr, value: bool, facts: Facts) -> Facts:
    """Adds the facts of a comparison of numbers: it bounds their difference, and so each of them."""
    span = left.span
    difference = ir.Arith("-", left, right, INTEGER, span, EVERYTHING)
    allowed = {
        ("<", True): Interval(-INFINITY, -1),
        ("<=", True): Interval(-INFINITY, 0),
        (">", True): Interval(1, INFINITY),
        (">=", True): Interval(0, INFINITY),
        ("<", False): Interval(0, INFINITY),
        ("<=", False): Interval(1, INFINITY),
        (">", False): Interval(-INFINITY, 0),
        (">=", False): Interval(-INFINITY, -1),
        ("=", True): Interval(0, 0),
    }.get((op, value))
    for side in (left, right):
        facts = facts.with_number(side, interval(side))
    if allowed is not None:
        facts = facts.with_number(difference, allowed)
        return assume_found(right, assume_found(left, facts))
    # Unequal numbers: this excludes only a zero at an end of the difference's interval.
    found = facts.interval(difference, plus(interval(left), scaled(interval(right), -1)))
    if found.low == found.high == 0:
        return replace(facts, dead=True)
    if found.low == 0:
        facts = facts.with_number(difference, Interval(1, INFINITY))
    elif found.high == 0:
        facts = facts.with_number(difference, Interval(-INFINITY, -1))
    for one, other in ((left, right), (right, left)):
        search = facts.search(one)
        if search is not None and search.none is not None and facts.key(search.none) == facts.key(other):
            facts = facts.with_truth(found_by(search), True)
    return assume_found(right, assume_found(left, facts))


def assume_found(number: ir.Expr, facts: Facts) -> Facts:
    """Adds that a search found something, or did not, if the known interval of its result tells."""
    search = facts.search(number)
    if search is None or search.none is None:
        return facts
    known = facts.interval(number, interval(number))
    if intersect(known, interval(search.none)) is None:
        return facts.with_truth(found_by(search), True)
    if intersect(known, within_domain(search)) is None:
        return facts.with_truth(found_by(search), False)
    return facts


def found_by(search: ir.First) -> ir.Expr:
    """Returns the condition that a search finds something."""
    return ir.Quantifier("exists", search.variable, search.domain, search.predicate, BOOL, search.span)


def within_domain(search: ir.First) -> Interval:
    """Returns the interval of what a search finds."""
    low, high = interval(search.domain.low).low, interval(search.domain.high).high
    return Interval(low, max(low, high))


def search_interval(search: ir.First, facts: Facts) -> Interval:
    """Returns the interval of a search's result."""
    found = within_domain(search)
    if search.none is None:
        return found
    sure = facts.truth(found_by(search))
    if interval(search.domain.low).low > interval(search.domain.high).high or sure is False:
        return interval(search.none)
    return found if sure else hull(found, interval(search.none))


def assume_not_empty(domain: ir.Expr, facts: Facts) -> Facts:
    if isinstance(domain, ir.Range):
        size = ir.Arith("-", domain.high, domain.low, INTEGER, domain.span, EVERYTHING)
        return facts.with_number(size, Interval(0, INFINITY))
    return facts.with_number(size_of(domain), Interval(1, INFINITY))


def size_of(value: ir.Expr) -> ir.Expr:
    """Returns the size of a set or a sequence as an expression, so that there can be facts about it."""
    return ir.Cardinality(value, INTEGER, value.span, EVERYTHING)
