"""What messages are when a section's turn comes: of each field that is an enum, the members that it may have then.

A step is compiled for these alone: what no message comes to is not in the program, and conformance does not ask for it.
"""

from __future__ import annotations

from codegen import ir
from codegen.passes.conditions import assume
from codegen.passes.facts import Facts
from codegen.resolve import Resolved
from codegen.sections import SectionPlan

Members = dict[str, frozenset[str]]
"""By the field, what it may be."""


def arriving(resolved: Resolved, steps: dict[str, ir.Step]) -> dict[str, Facts]:
    """By the name of each step, what is known of its message: whatever section it is of. The first one of a hook gets anything."""
    anything = {name: frozenset(kind.members) for name, kind in resolved.message.fields if isinstance(kind, ir.Enum)}
    found: dict[str, Members] = {}
    for hook in resolved.hooks():
        members = anything
        for plan in hook:
            comes = _comes(members, plan)
            found[plan.step] = _either(found.get(plan.step, comes), comes)
            goes = _goes(steps[plan.step], resolved.message, comes)
            passes_by = [members] if plan.contended == "skip" or plan.when is not None else []
            members = goes
            for other in passes_by:
                members = _either(members, other)
    return {name: _facts(steps[name], resolved.message, members) for name, members in found.items()}


def _comes(members: Members, plan: SectionPlan) -> Members:
    """What the section is run for."""
    if plan.when is None:
        return members
    return {**members, plan.when.field: members[plan.when.field] & frozenset(plan.when.members)}


def _either(one: Members, other: Members) -> Members:
    return {name: one[name] | other[name] for name in one}


def _field(step: ir.Step, message: ir.Record, name: str) -> ir.Field:
    return ir.Field(ir.Var(step.message, message, step.span), name, message.field(name), step.span)


def _facts(step: ir.Step, message: ir.Record, members: Members) -> Facts:
    facts = Facts()
    for name, possible in members.items():
        facts = facts.with_members(_field(step, message, name), possible)
    return facts


def _goes(step: ir.Step, message: ir.Record, members: Members) -> Members:
    """What goes on to the next section."""
    result = {name: frozenset() for name in members}

    def walk(body: ir.Body, facts: Facts) -> None:
        nonlocal result
        if facts.dead:
            return
        match body:
            case ir.Leaf():
                if body.verdict == "Continue":
                    assigned = {assign.path[0]: assign.value for assign in body.message if len(assign.path) == 1}
                    result = _either(result, {name: possible(assigned.get(name, _field(step, message, name)), facts) for name in members})
            case ir.Bind():
                walk(body.body, facts.with_let(body.name, body.value))
            case _:
                walk(body.then, assume(body.condition, True, facts))
                walk(body.otherwise, assume(body.condition, False, facts))

    walk(step.body, _facts(step, message, members))
    return result


def possible(value: ir.Expr, facts: Facts) -> frozenset[str]:
    """What an expression that is a member of an enum may be."""
    match value:
        case ir.Literal():
            return frozenset({value.value})
        case ir.If(condition, then, otherwise):
            return possible(then, assume(condition, True, facts)) | possible(otherwise, assume(condition, False, facts))
        case ir.Let(name, bound, body):
            return possible(body, facts.with_let(name, bound))
        case ir.Var(name) if name in facts.values:
            return possible(facts.values[name], facts)
    return facts.members.get(facts.key(value), frozenset(value.type.members))
