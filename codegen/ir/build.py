"""Builds and compares typed expressions: constructors that fold constants, and keys."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from codegen import ir
from codegen.ir import Span
from codegen.ir.walk import BINDING, EXPRESSIONS, walk

BOOL = ir.Bool()
INTEGER = ir.UInt(64)
"""Type of a number that is not a field: constants, results of arithmetic, counts and indices."""

IGNORED = ("span", "interval", "type", "bound", "constant")
TELLING: dict[type, tuple[str, ...]] = {
    kind: tuple(item.name for item in fields(kind) if item.name not in IGNORED and item.name != "variable")
    for kind in EXPRESSIONS
}
"""The fields of a kind of expression that must be equal for two of them to mean the same."""


def key(expression: Any, names: dict[str, Any] | None = None, depth: int = 0) -> Any:
    """Returns a hashable description, equal for expressions that mean the same, wherever they are.

    names: the keys of the values of LETs, and the depths at which other names are bound.
    """
    names = names or {}
    if isinstance(expression, tuple):
        return tuple(key(item, names, depth) for item in expression)
    if isinstance(expression, ir.Var):
        return names.get(expression.name, ("var", expression.name))
    if isinstance(expression, ir.Let):
        value = key(expression.value, names, depth)
        return key(expression.body, {**names, expression.name: value}, depth)
    kind = type(expression)
    if kind not in TELLING:
        return expression
    inner = names
    if isinstance(expression, BINDING):
        inner = {**names, expression.variable: ("bound", depth)}
    parts: list[Any] = [kind.__name__]
    for name in TELLING[kind]:
        if name in ("domain", "none") or inner is names:
            parts.append(key(getattr(expression, name), names, depth))
        else:
            parts.append(key(getattr(expression, name), inner, depth + 1))
    return tuple(parts)


# --- Constructors ----------------------------------------------------------------------------------------


def integer(value: int, span: Span, constant: str = "") -> ir.Int:
    return ir.Int(value, INTEGER, span, constant)


def truth(value: bool, span: Span) -> ir.Literal:
    return ir.Literal(value, BOOL, span)


def is_truth(expression: ir.Expr, value: bool) -> bool:
    return isinstance(expression, ir.Literal) and expression.value is value


def negation(operand: ir.Expr, span: Span) -> ir.Expr:
    if isinstance(operand, ir.Not):
        return operand.operand
    if isinstance(operand, ir.Literal):
        return truth(not operand.value, span)
    return ir.Not(operand, BOOL, span)


def logic(op: str, operands: list[ir.Expr], span: Span) -> ir.Expr:
    """Makes `and` or `or`, flattened, without the operands that cannot change the result.

    An operand that TLC may be unable to evaluate stays: the generator has still to show that it can.
    """
    neutral = op == "and"
    kept: list[ir.Expr] = []
    for operand in operands:
        if is_truth(operand, neutral):
            continue
        kept += operand.operands if isinstance(operand, ir.Logic) and operand.op == op else (operand,)
        if is_truth(operand, not neutral):
            break
    if not kept:
        return truth(neutral, span)
    if is_truth(kept[-1], not neutral):
        while len(kept) > 1 and not may_fail(kept[-2]):
            del kept[-2]
    return kept[0] if len(kept) == 1 else ir.Logic(op, tuple(kept), BOOL, span)


def may_fail(expression: ir.Expr) -> bool:
    """Whether TLC may be unable to evaluate the expression for some values of its fields."""
    return any(map(_may_fail_itself, walk(expression)))


def _may_fail_itself(node: Any) -> bool:
    match node:
        case ir.Index():
            return not (isinstance(node.base.type, ir.Array) and isinstance(node.index, ir.Int))
        case ir.Arith(op="div" | "%", right=right):
            return not isinstance(right, ir.Int)
        case ir.First():
            return node.none is None
    return isinstance(node, ir.Tail)


COMPARISONS = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "=": int.__eq__}


def compare(op: str, left: ir.Expr, right: ir.Expr, span: Span) -> ir.Expr:
    if isinstance(left, ir.Int) and isinstance(right, ir.Int):
        return truth(COMPARISONS[op](left.value, right.value), span)
    if op == "=":
        if isinstance(left, ir.Literal) and isinstance(right, ir.Literal):
            return truth(left.value == right.value, span)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, ir.Literal) and isinstance(one.type, ir.Bool):
                return other if one.value else negation(other, span)
    return ir.Compare(op, left, right, BOOL, span)


ARITHMETIC = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "div": int.__floordiv__, "%": int.__mod__}
UNKNOWN = ir.Interval(-(2**63), 2**64 - 1)


def arithmetic(op: str, left: ir.Expr, right: ir.Expr, span: Span) -> ir.Expr:
    """Makes an Arith, and folds constants, but no division by a constant that is not positive: bounds.py refuses it."""
    if isinstance(left, ir.Int) and isinstance(right, ir.Int) and (op not in ("div", "%") or right.value > 0):
        return integer(ARITHMETIC[op](left.value, right.value), span)
    return ir.Arith(op, left, right, INTEGER, span, UNKNOWN)


def choice(condition: ir.Expr, then: ir.Expr, otherwise: ir.Expr, span: Span) -> ir.Expr:
    """Makes an If. It is folded if the condition is constant, and becomes logic if it chooses between Booleans."""
    if isinstance(condition, ir.Literal):
        return then if condition.value else otherwise
    if isinstance(then.type, ir.Bool):
        if isinstance(then, ir.Literal):
            return logic(
                "or" if then.value else "and", [condition if then.value else negation(condition, span), otherwise], span
            )
        if isinstance(otherwise, ir.Literal):
            first = negation(condition, span) if otherwise.value else condition
            return logic("or" if otherwise.value else "and", [first, then], span)
    return ir.If(condition, then, otherwise, wider(then.type, otherwise.type), span)


def wider(one: ir.Type, other: ir.Type) -> ir.Type:
    """Returns a type that holds the values of two types that agree."""
    if isinstance(one, ir.UInt) and isinstance(other, ir.UInt):
        return one if one.width >= other.width else other
    if isinstance(one, ir.Set) and isinstance(other, ir.Set):
        return ir.Set(wider(one.element, other.element), max(one.max, other.max))
    if isinstance(one, ir.Sequence) and isinstance(other, ir.Sequence):
        return ir.Sequence(wider(one.element, other.element), max(one.max, other.max))
    return one


def made(value: ir.Expr) -> bool:
    """Whether a set or a sequence is made here, and is not stored already."""
    return not isinstance(value, (ir.Var, ir.Field, ir.Index))


def retyped(value: ir.Expr, kind: ir.Set | ir.Sequence) -> ir.Expr:
    """Gives a set or a sequence that is made here another type."""
    match value:
        case ir.SetOf() | ir.SetOp() | ir.Filter() | ir.Image():
            return replace(value, type=ir.expect(kind, ir.Set))
        case ir.SequenceOf() | ir.Append() | ir.Tail():
            return replace(value, type=ir.expect(kind, ir.Sequence))
        case ir.If() | ir.Let() | ir.Update():
            return replace(value, type=kind)
    raise TypeError(f"only what makes a set or a sequence can get another type, not {value}")


def selected(base: ir.Expr, place: str | ir.Expr, kind: ir.Type, span: Span) -> ir.Expr:
    """Makes `base.place` or `base[place]`. If an update or a literal gives the value, it returns that value."""
    if isinstance(base, ir.RecordOf):
        return dict(base.fields)[ir.expect(place, str)]
    if isinstance(base, ir.If):
        then, otherwise = (selected(branch, place, kind, span) for branch in (base.then, base.otherwise))
        return choice(base.condition, then, otherwise, span)
    if isinstance(base, ir.Let):
        return replace(base, body=selected(base.body, place, kind, span), type=kind)
    if isinstance(base, ir.Update):
        return selected_of_update(base, place, kind, span)
    if isinstance(place, str):
        return ir.Field(base, place, kind, span)
    return ir.Index(base, place, kind, span)


def selected_of_update(base: ir.Update, place: str | ir.Expr, kind: ir.Type, span: Span) -> ir.Expr:
    """Selects from an update. The last change of the place wins; equal indices may show only at run time."""
    *earlier, (path, value) = base.updates
    before = replace(base, updates=tuple(earlier)) if earlier else base.base
    rest = selected(before, place, kind, span)
    first = path[0]
    new = value if len(path) == 1 else updated(rest, path[1:], value, kind, span)
    if isinstance(place, str) or isinstance(first, str):
        return new if first == place else rest
    if key(first) == key(place):
        return new
    if isinstance(first, ir.Int) and isinstance(place, ir.Int):
        return rest
    return choice(compare("=", place, first, span), new, rest, span)


def updated(base: ir.Expr, path: ir.Path, value: ir.Expr, kind: ir.Type, span: Span) -> ir.Expr:
    """Makes [base EXCEPT !.path = value], as one list of updates over a base that is not an update itself."""
    if isinstance(base, ir.RecordOf) and len(path) == 1:
        return replace(base, fields=tuple((name, value if name == path[0] else old) for name, old in base.fields))
    if isinstance(base, ir.Update):
        kept = tuple(update for update in base.updates if not _covers(path, update[0]))
        return replace(base, updates=(*kept, (path, value)), span=span)
    return ir.Update(base, ((path, value),), kind, span)


def lost(base: ir.Expr, path: ir.Path, value: ir.Expr) -> ir.Expr | None:
    """Returns what an update of a path drops, if TLC may be unable to evaluate it; None if it drops no such value."""
    match base:
        case ir.RecordOf(fields=fields):
            before = [old for name, old in fields if path == (name,)]
        case ir.Update(updates=updates):
            before = [old for where, old in updates if _covers(path, where)]
        case _:
            return None
    used = {key(node) for node in walk(value) if isinstance(node, EXPRESSIONS)}
    return next((old for old in before if may_fail(old) and key(old) not in used), None)


def _covers(path: ir.Path, other: ir.Path) -> bool:
    return bool(key(other[: len(path)]) == key(path))
