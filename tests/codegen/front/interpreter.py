"""Evaluates the intermediate representation in Python, and checks its claims about itself.

Numbers are int, enums str, sets frozenset, sequences, arrays and tables tuple, records dict. Every number must lie in
its interval, every index in range, every collection within its room.
"""

from __future__ import annotations

import copy
from typing import Any

from codegen import ir

ARITHMETIC = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
COMPARE = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
}
SETS = {"union": frozenset.__or__, "intersect": frozenset.__and__, "minus": frozenset.__sub__}


def evaluate(node: ir.Expr, names: dict[str, Any]) -> Any:
    value = raw(node, names)
    interval = getattr(node, "interval", None)
    if interval is not None:
        for number in value if isinstance(value, frozenset) else [value]:
            assert interval.low <= number <= interval.high, f"{number} is not in {interval} at {node.span}"
    if isinstance(node.type, (ir.Set, ir.Sequence)) and not isinstance(node, ir.Range):
        assert len(value) <= node.type.max, f"{len(value)} elements, room for {node.type.max} at {node.span}"
    return value


def raw(node: ir.Expr, names: dict[str, Any]) -> Any:
    def of(inner: ir.Expr, **bound: Any) -> Any:
        return evaluate(inner, {**names, **bound})

    match node:
        case ir.Int(value) | ir.Literal(value):
            return value
        case ir.Var(name):
            return names[name]
        case ir.Field(base, name):
            return of(base)[name]
        case ir.Index(base, index):
            start = 0 if isinstance(base.type, ir.Table) else 1
            return element(of(base), of(index) - start, node)
        case ir.Arith(op, left, right):
            result = ARITHMETIC[op](of(left), of(right))
            assert -(2**63) <= result < 2**63
            return result
        case ir.Compare(op, left, right):
            return COMPARE[op](of(left), of(right))
        case ir.Not(operand):
            return not of(operand)
        case ir.Logic("and", operands):
            return all(of(operand) for operand in operands)
        case ir.Logic("or", operands):
            return any(of(operand) for operand in operands)
        case ir.If(condition, then, otherwise):
            return of(then) if of(condition) else of(otherwise)
        case ir.Let(name, value, body):
            return of(body, **{name: of(value)})
        case ir.SetOf(elements):
            return frozenset(of(item) for item in elements)
        case ir.SequenceOf(elements):
            return tuple(of(item) for item in elements)
        case ir.SetOp(op, left, right):
            return SETS[op](of(left), of(right))
        case ir.In(item, within):
            return of(item) in of(within)
        case ir.Subset(left, right):
            return of(left) <= of(right)
        case ir.Cardinality(operand):
            return len(of(operand))
        case ir.Range(low, high, bound):
            found = range(of(low), of(high) + 1)
            assert len(found) <= bound, f"{len(found)} iterations of at most {bound} at {node.span}"
            return found
        case ir.Append(sequence, item):
            return (*of(sequence), of(item))
        case ir.Tail(sequence):
            assert of(sequence)
            return of(sequence)[1:]
        case ir.RecordOf(fields):
            return {name: of(value) for name, value in fields}
        case ir.Update(base, updates):
            result = copy.deepcopy(of(base))
            for path, value in updates:
                result = put(result, path, of(value), names)
            return result
    return loop(node, names)


def loop(node: ir.Expr, names: dict[str, Any]) -> Any:
    def body(inner: ir.Expr, item: Any) -> Any:
        return evaluate(inner, {**names, node.variable: item})

    if isinstance(node, ir.ArrayOf):
        return tuple(body(node.value, item) for item in range(1, node.type.size + 1))
    domain = evaluate(node.domain, names)
    match node:
        case ir.Filter():
            return frozenset(item for item in domain if body(node.predicate, item))
        case ir.Image():
            return frozenset(
                body(node.value, item) for item in domain if node.predicate is None or body(node.predicate, item)
            )
        case ir.Quantifier("exists"):
            return any([body(node.predicate, item) for item in domain])
        case ir.Quantifier("forall"):
            return all([body(node.predicate, item) for item in domain])
        case ir.Count():
            return sum(body(node.predicate, item) for item in domain)
        case ir.First():
            found = next((item for item in domain if body(node.predicate, item)), None)
            assert found is not None or node.none is not None
            return found if found is not None else evaluate(node.none, names)
    raise AssertionError(f"nothing evaluates {node}")


def element(items: tuple, at: int, node: ir.Expr) -> Any:
    assert 0 <= at < len(items), f"index {at} into {len(items)} at {node.span}"
    return items[at]


def put(value: Any, path: ir.Path, new: Any, names: dict[str, Any]) -> Any:
    """`value` with the place at `path` replaced."""
    if not path:
        return new
    place, rest = path[0], path[1:]
    if isinstance(place, str):
        return {**value, place: put(value[place], rest, new, names)}
    at = evaluate(place, names) - 1
    element(value, at, place)
    return (*value[:at], put(value[at], rest, new, names), *value[at + 1 :])


def run(step: ir.Step, cell: Any, message: dict, env: dict) -> tuple[str, str, Any, dict]:
    """Verdict, leaf's name, new cell and new message."""
    names = {step.cell: cell, step.message: message}
    if step.env is not None:
        names[step.env] = env
    body = step.body
    while not isinstance(body, ir.Leaf):
        if isinstance(body, ir.Bind):
            names[body.name] = evaluate(body.value, names)
            body = body.body
        else:
            body = body.then if evaluate(body.condition, names) else body.otherwise
    results = []
    for before, assigns, kind in ((cell, body.cell, step.cell_type), (message, body.message, None)):
        values = [(assign.path, evaluate(assign.value, names)) for assign in assigns]
        after = before
        # A leaf's assignments are simultaneous but for those to one field, of which the later wins: any order of the
        # fields must do, so this takes the other one.
        for head in reversed(list(dict.fromkeys(path[0] for path, _ in values))):
            for path, value in values:
                if path[0] == head:
                    after = put(after, path, value, names)
        if isinstance(kind, ir.Record):
            fits(after, kind)
        results.append(after)
    return body.verdict, body.name, results[0], results[1]


def fits(value: Any, kind: ir.Type) -> None:
    """A value must be one of its type."""
    match kind:
        case ir.UInt(width):
            assert 0 <= value < 2**width, f"{value} in u{width}"
        case ir.Enum(_, members):
            assert value in members
        case ir.Set(inner, size) | ir.Sequence(inner, size):
            assert len(value) <= size
            for item in value:
                fits(item, inner)
        case ir.Bits():
            assert value <= set(kind.elements)
        case ir.Array(inner, size):
            assert len(value) == size
            for item in value:
                fits(item, inner)
        case ir.Record(_, fields):
            assert set(value) == {name for name, _ in fields}
            for name, inner in fields:
                fits(value[name], inner)
