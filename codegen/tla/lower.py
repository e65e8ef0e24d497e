"""Lowers a step's term to a tree of decisions with a leaf at every end.

A leaf lists the fields of the cell and the message that differ from the step's parameters. Updates
of updates and whole record literals give the same list. A choice inside of the cell or the message
becomes a decision. LETs sink to their uses, so a branch computes only values that it needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from codegen import ir
from codegen.errors import Errors, ResultMalformed, Stop
from codegen.ir import Span
from codegen.ir.build import choice, key, selected
from codegen.ir.walk import BINDING, EXPRESSIONS, evaluations, rebuild, substitute
from codegen.tla.infer import Typer
from codegen.tla.kinds import Ambiguous, Later, Scope, bare, postponed, trivial
from codegen.tla.terms import Term

Done = TypeVar("Done")
Fallback = TypeVar("Fallback")
Sides = tuple[ir.Expr, ir.Expr]
"""The cell and the message of a result."""

RESULT = ("verdict", "cell", "msg")


@dataclass(frozen=True)
class Site:
    """The place of a leaf in the user's text: the outermost call that ends there."""

    operator: str
    span: Span
    label: str | None = None
    """The leaf's label, if it has one."""


class Lowering:
    """Lowers one step."""

    def __init__(self, name: str, cell: ir.Var, message: ir.Var, scope: Scope, errors: Errors):
        self.name = name
        self.cell = cell
        self.message = message
        self.scope = scope
        self.errors = errors
        self.typer = Typer()

    def run(self, term: Term) -> ir.Body:
        body = self.body(term, self.scope, None)
        return named(body, self.name)

    def attempt(self, work: Callable[[], Done], fallback: Fallback) -> Done | Fallback:
        """Collects an error and goes on, so that one run shows all errors of a step."""
        try:
            return work()
        except Stop as stop:
            self.errors.add(stop.error)
            return fallback

    # --- The tree -----------------------------------------------------------------------------------------

    def body(self, term: Term, scope: Scope, site: Site | None) -> ir.Body:
        nothing = ir.Leaf("", "Drop", (), (), term.operator, term.span)
        match term.operation:
            case "call":
                return self.body(term.arguments[0], scope, site or Site(term.operator, term.span))
            case "label":
                inner = term.arguments[0]
                return self.body(inner, scope, Site(term.operator, inner.span, term.name))
            case "let":
                return self.attempt(lambda: self.let(term, scope, site), nothing)
            case "if":
                return self.decide(term, scope, site)
            case "var" if (later := postponed(term, scope)) is not None:
                return self.body(later.term, later.scope, site or Site(term.operator, term.span))
            case "record":
                where = site or Site(term.operator, term.span)
                return self.attempt(lambda: self.leaf(term, scope, where), nothing)
        self.errors.add(
            ResultMalformed(
                term.span,
                f"{self.name} must end in a result",
                "end with Continue, Reply, Forward or Drop of a cell and a message",
            )
        )
        return nothing

    def let(self, term: Term, scope: Scope, site: Site | None) -> ir.Body:
        name = term.name
        value_term, body_term = term.arguments
        try:
            value = self.typer.infer(value_term, scope)
        except Ambiguous:
            return self.body(body_term, {**scope, name: Later(value_term, scope)}, site)
        if trivial(value) or isinstance(value.type, (ir.Record, ir.Table)):
            return self.body(body_term, {**scope, name: value}, site)
        variable = ir.Var(name, value.type, value.span)
        return sunk(name, value, self.body(body_term, {**scope, name: variable}, site), term.span)

    def decide(self, term: Term, scope: Scope, site: Site | None) -> ir.Body:
        condition_term, then_term, otherwise_term = term.arguments
        kind = ir.Bool()
        condition = self.attempt(lambda: self.typer.check(condition_term, kind, scope), ir.Var("?", kind, term.span))
        label = Site(term.operator, term.span, site.label) if site and site.label else None
        branches = {}
        for value, branch in ((True, then_term), (False, otherwise_term)):
            # Type a branch even if a constant rules it out, so that a switch does not hide errors.
            inner = replace(label, operator=branch.operator, span=branch.span) if label else None
            branches[value] = self.body(branch, scope, inner)
        if isinstance(condition, ir.Literal):
            return branches[condition.value is True]
        return ir.Decide(condition, branches[True], branches[False], term.operator, term.span)

    # --- Leaves ---------------------------------------------------------------------------------------------

    def leaf(self, term: Term, scope: Scope, site: Site) -> ir.Body:
        if set(term.names) != set(RESULT):
            raise Stop(
                ResultMalformed(
                    term.span,
                    f"{self.name} ends in a record with {', '.join(term.names)}",
                    "a result has verdict, cell and msg: use Continue, Reply, Forward or Drop",
                )
            )
        parts = dict(zip(term.names, term.arguments))
        cell = self.typer.check(parts["cell"], self.cell.type, scope)
        message = self.typer.check(parts["msg"], self.message.type, scope)
        return self.verdict(parts["verdict"], cell, message, scope, site)

    def verdict(self, term: Term, cell: ir.Expr, message: ir.Expr, scope: Scope, site: Site) -> ir.Body:
        """Lowers a verdict. A verdict chosen by IF becomes a decision too."""
        verdict = bare(term, scope)
        if verdict.operation == "if":
            condition = self.typer.check(verdict.arguments[0], ir.Bool(), scope)
            then, otherwise = (self.verdict(branch, cell, message, scope, site) for branch in verdict.arguments[1:])
            if isinstance(condition, ir.Literal):
                return then if condition.value else otherwise
            return ir.Decide(condition, then, otherwise, site.operator, verdict.span)
        if verdict.operation != "string" or verdict.name not in ir.VERDICTS:
            raise Stop(
                ResultMalformed(
                    verdict.span, "this is not a verdict", f"write {', '.join(ir.VERDICTS[:-1])} or {ir.VERDICTS[-1]}"
                )
            )
        return self.split(verdict.name, (cell, message), site, {})

    def split(self, verdict: str, sides: Sides, site: Site, known: dict[Any, bool]) -> ir.Body:
        """Turns choices and LETs around the cell and the message into decisions and binds."""
        for at, side in enumerate(sides):
            if isinstance(side, ir.Let):
                body = self.split(verdict, with_side(sides, at, side.body), site, known)
                return sunk(side.name, side.value, body, side.span)
            if isinstance(side, ir.Update) and isinstance(side.base, (ir.If, ir.Let)):
                return self.split(verdict, with_side(sides, at, outward(side)), site, known)
            if isinstance(side, ir.If):
                condition = key(side.condition)
                on, off = (with_side(sides, at, branch) for branch in (side.then, side.otherwise))
                if condition in known:
                    return self.split(verdict, on if known[condition] else off, site, known)
                then = self.split(verdict, on, site, {**known, condition: True})
                otherwise = self.split(verdict, off, site, {**known, condition: False})
                return ir.Decide(side.condition, then, otherwise, site.operator, side.span)
        cell, message = (self.assigns(side, target) for side, target in zip(sides, (self.cell, self.message)))
        return ir.Leaf(site.label or "", verdict, cell, message, site.operator, site.span)

    def assigns(self, value: ir.Expr, target: ir.Var) -> tuple[ir.Assign, ...]:
        """Returns the fields that differ from the parameter, as assignments."""
        if key(value) == key(target):
            return ()
        if isinstance(value, ir.RecordOf):
            updates = tuple(((name,), of) for name, of in value.fields)
            return simultaneous(ir.Update(target, updates, target.type, value.span), target)
        if isinstance(value, ir.Update) and key(value.base) == key(target):
            return simultaneous(value, target)
        if isinstance(value, ir.Update) and isinstance(value.base, ir.RecordOf):
            return self.assigns(outward(value), target)
        if isinstance(value.type, ir.Table):
            raise Stop(ResultMalformed(value.span, "a user step cannot change its table", "return the table as it is"))
        # The record is unrelated to the parameter, so assign every field.
        return tuple(
            ir.Assign((name,), selected(value, name, kind, value.span), value.span)
            for name, kind in ir.expect(value.type, ir.Record).fields
        )


def with_side(sides: Sides, at: int, side: ir.Expr) -> Sides:
    cell, message = sides
    return (side, message) if at == 0 else (cell, side)


def outward(update: ir.Update) -> ir.Expr:
    """Moves an update into the branches of its base, so that it applies to names and literals only."""
    base = update.base
    if isinstance(base, ir.Let):
        return replace(base, body=outward(replace(update, base=base.body)))
    if isinstance(base, ir.If):
        then, otherwise = (outward(replace(update, base=branch)) for branch in (base.then, base.otherwise))
        return choice(base.condition, then, otherwise, update.span)
    if isinstance(base, ir.Update):
        return outward(replace(base, updates=base.updates + update.updates))
    if isinstance(base, ir.RecordOf):
        fields = dict(base.fields)
        for path, value in update.updates:
            name = ir.expect(path[0], str)
            old = fields[name]
            fields[name] = value if len(path) == 1 else ir.Update(old, ((path[1:], value),), old.type, update.span)
        return replace(base, fields=tuple(fields.items()))
    return update


def simultaneous(update: ir.Update, target: ir.Var) -> tuple[ir.Assign, ...]:
    """Turns the updates of a leaf into assignments that read the old values.

    They may happen in any order. Only if two may change the same place (an element, by two indices), the later one
    wins. An assignment of a field's own value is left out, unless another assignment may have changed the field before.
    """
    update = replace(
        update, updates=tuple(one for path, value in update.updates for one in in_place(target, path, value))
    )
    assigns: list[ir.Assign] = []
    for path, value in update.updates:
        if key(value) != key(at_path(target, path, value)) or any(not apart(before.path, path) for before in assigns):
            assigns.append(ir.Assign(path, value, value.span))
    return tuple(assigns)


def in_place(target: ir.Var, path: ir.Path, value: ir.Expr) -> list[tuple[ir.Path, ir.Expr]]:
    """Splits a change of a field into changes of its parts, so that nothing is copied.

    It does so if the new value is a record, or an update of the field's old value.
    """
    if isinstance(value, ir.Update) and key(value.base) == key(at_path(target, path, value)):
        return [one for below, new in value.updates for one in in_place(target, path + below, new)]
    if isinstance(value.type, ir.Record) and isinstance(value, (ir.RecordOf, ir.If, ir.Update)):
        fields = [((*path, name), selected(value, name, kind, value.span)) for name, kind in value.type.fields]
        return [one for below, new in fields for one in in_place(target, below, new)]
    return [(path, value)]


def apart(one: ir.Path, other: ir.Path) -> bool:
    """Whether two paths always lead to different places."""
    for left, right in zip(one, other):
        if isinstance(left, str) and left != right:
            return True
        if isinstance(left, ir.Int) and isinstance(right, ir.Int) and left.value != right.value:
            return True
    return False


def at_path(target: ir.Var, path: ir.Path, value: ir.Expr) -> ir.Expr:
    """Returns the old value at the path."""
    old: ir.Expr = target
    for place in path:
        if isinstance(place, str):
            old = ir.Field(old, place, value.type, value.span)
        else:
            old = ir.Index(old, place, value.type, value.span)
    return old


# --- Placing LETs --------------------------------------------------------------------------------------------


def sunk(name: str, value: ir.Expr, body: ir.Body, span: Span) -> ir.Body:
    """Binds `name` in `body` as far down as its uses allow. If there is only one use, the value replaces it."""
    match body:
        case ir.Leaf():
            uses = evaluations(body.cell, name) + evaluations(body.message, name)
            if uses == 1:
                return replace(
                    body, cell=substitute(body.cell, name, value), message=substitute(body.message, name, value)
                )
            return ir.Bind(name, value, body, span) if uses else body
        case ir.Bind():
            if evaluations(body.value, name) and uses_below(name, body.body):
                return ir.Bind(name, value, body, span)
            if evaluations(body.value, name):
                within = placed(name, value, body.value)
                return replace(body, value=within) if within is not None else ir.Bind(name, value, body, span)
            return replace(body, body=sunk(name, value, body.body, span))
    in_condition = evaluations(body.condition, name)
    then, otherwise = uses_below(name, body.then), uses_below(name, body.otherwise)
    if not in_condition and not (then and otherwise):
        if then:
            return replace(body, then=sunk(name, value, body.then, span))
        return replace(body, otherwise=sunk(name, value, body.otherwise, span))
    if in_condition and not then and not otherwise:
        within = placed(name, value, body.condition)
        if within is not None:
            return replace(body, condition=within)
    return ir.Bind(name, value, body, span)


def placed(name: str, value: ir.Expr, expression: ir.Expr) -> ir.Expr | None:
    """Binds `name` within an expression; returns None if it cannot.

    The value replaces a single use. Otherwise a Let goes around the operands that use the name.
    """
    if evaluations(expression, name) == 1:
        return substitute(expression, name, value)
    if isinstance(expression, ir.Logic):
        using = [at for at, operand in enumerate(expression.operands) if evaluations(operand, name)]
        first, last = using[0], using[-1] + 1
        if first == 0:
            return None
        part = expression.operands[first:last]
        whole = part[0] if len(part) == 1 else replace(expression, operands=part)
        bound = ir.Let(name, value, whole, whole.type, value.span)
        return replace(expression, operands=(*expression.operands[:first], bound, *expression.operands[last:]))
    return None


def uses_below(name: str, body: ir.Body) -> int:
    match body:
        case ir.Leaf():
            return evaluations(body.cell, name) + evaluations(body.message, name)
        case ir.Bind():
            return evaluations(body.value, name) + uses_below(name, body.body)
    return evaluations(body.condition, name) + uses_below(name, body.then) + uses_below(name, body.otherwise)


# --- Names -----------------------------------------------------------------------------------------------------


def named(body: ir.Body, step: str) -> ir.Body:
    """Gives every leaf its name: its label, else the step's name and a number.

    If several leaves have the same label, a number follows it from the second on.
    """
    used: Counter[str] = Counter()
    number = 0

    def walk(node: ir.Body) -> ir.Body:
        nonlocal number
        match node:
            case ir.Leaf():
                number += 1
                if not node.name:
                    return replace(node, name=f"{step}.{number}")
                used[node.name] += 1
                again = used[node.name]
                return replace(node, name=node.name if again == 1 else f"{node.name}.{again}")
            case ir.Bind():
                return replace(node, body=walk(node.body))
        then = walk(node.then)
        return replace(node, then=then, otherwise=walk(node.otherwise))

    return walk(body)


def unique(body: ir.Body, taken: set[str]) -> ir.Body:
    """Renames bound names so that all are unique; a number follows a name that is taken.

    Inlining has numbered names already, but some of them are gone, and an expression that was copied
    binds its names twice.
    """

    def fresh(name: str) -> str:
        stem = name.partition("~")[0]
        new, at = stem, 2
        while new in taken:
            new, at = f"{stem}_{at}", at + 1
        taken.add(new)
        return new

    def expression(node: Any, names: dict[str, str]) -> Any:
        if isinstance(node, ir.Var):
            return replace(node, name=names.get(node.name, node.name))
        if isinstance(node, ir.Let):
            value, new = expression(node.value, names), fresh(node.name)
            return replace(node, name=new, value=value, body=expression(node.body, {**names, node.name: new}))
        if isinstance(node, BINDING):
            new = fresh(node.variable)
            inner = {**names, node.variable: new}
            outer = {
                at: expression(getattr(node, at), names)
                for at in ("domain", "none")
                if isinstance(getattr(node, at, None), EXPRESSIONS)
            }
            below = {at: expression(getattr(node, at), inner) for at in ("predicate", "value") if hasattr(node, at)}
            return replace(node, variable=new, **outer, **below)
        return rebuild(node, lambda child: expression(child, names))

    def walk(node: ir.Body, names: dict[str, str]) -> ir.Body:
        match node:
            case ir.Leaf():
                cell, message = (
                    tuple(replace(a, path=expression(a.path, names), value=expression(a.value, names)) for a in side)
                    for side in (node.cell, node.message)
                )
                return replace(node, cell=cell, message=message)
            case ir.Bind():
                value, new = expression(node.value, names), fresh(node.name)
                return replace(node, name=new, value=value, body=walk(node.body, {**names, node.name: new}))
        condition = expression(node.condition, names)
        then = walk(node.then, names)
        return replace(node, condition=condition, then=then, otherwise=walk(node.otherwise, names))

    return walk(body, {})
