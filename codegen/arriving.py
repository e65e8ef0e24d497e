"""What messages are when a section's turn comes: of each field that is an enum, the members that it may have then.

A step is compiled for these alone: what no message comes to is not in the program, and conformance does not ask for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from codegen import ir
from codegen.indices import left_out
from codegen.passes.conditions import assume
from codegen.passes.facts import Facts
from codegen.resolve import Resolved
from codegen.sections import SectionPlan

Members = dict[str, frozenset[str]]
"""By the field, what it may be. Where a field may be nothing, there is no message, and no field may be anything."""


@dataclass(frozen=True)
class End:
    """A leaf that a message may come to. message: what it may be then, with what the leaf changes."""

    leaf: ir.Leaf
    message: Members


@dataclass(frozen=True)
class Turn:
    """One section of a hook, with the messages that it is run for, and how it may end."""

    plan: SectionPlan
    comes: Members
    ends: tuple[End, ...]


def anything(resolved: Resolved) -> Members:
    """What any message may be."""
    return {name: frozenset(kind.members) for name, kind in resolved.message.fields if isinstance(kind, ir.Enum)}


def arriving(resolved: Resolved, steps: dict[str, ir.Step]) -> dict[str, Facts]:
    """By the name of each step, what is known of its message: whatever section it is of. The first one of a
    hook gets anything.
    """
    found: dict[str, Members] = {}
    for hook in resolved.hooks():
        for turn in turns(resolved, steps, hook, anything(resolved)):
            found[turn.plan.step] = _either(found.get(turn.plan.step, turn.comes), turn.comes)
    return {name: _facts(steps[name], resolved.message, members) for name, members in found.items()}


def turns(resolved: Resolved, steps: dict[str, ir.Step], hook: list[SectionPlan], members: Members) -> Iterator[Turn]:
    """The sections of a hook, one after the other, for a message that has these members when it comes."""
    for plan, absent in zip(hook, left_out(resolved, steps, hook)):
        comes = _narrowed(members, plan.when, inside=True)
        ends = tuple(_ends(steps[plan.step], resolved.message, comes))
        yield Turn(plan, comes, ends)
        goes = [end.message for end in ends if end.leaf.verdict == "Continue"]
        if plan.contended == "skip" or absent:
            goes.append(comes)
        if plan.when is not None:
            goes.append(_narrowed(members, plan.when, inside=False))
        members = _nothing(members)
        for one in goes:
            members = _either(members, one)


def _narrowed(members: Members, when: ir.When | None, inside: bool) -> Members:
    """The messages that a section is for, or those that it is not for."""
    if when is None:
        return members
    listed = frozenset(when.members)
    left = members[when.field] & listed if inside else members[when.field] - listed
    return {**members, when.field: left} if left else _nothing(members)


def _nothing(members: Members) -> Members:
    return {name: frozenset() for name in members}


def _either(one: Members, other: Members) -> Members:
    return {name: one[name] | other[name] for name in one}


def _field(step: ir.Step, message: ir.Record, name: str) -> ir.Field:
    return ir.Field(ir.Var(step.message, message, step.span), name, message.field(name), step.span)


def _facts(step: ir.Step, message: ir.Record, members: Members) -> Facts:
    facts = Facts()
    for name, possible in members.items():
        facts = facts.with_members(_field(step, message, name), possible)
    return facts


def _ends(step: ir.Step, message: ir.Record, members: Members) -> Iterator[End]:
    """The leaves that a message with these members may come to."""

    def walk(body: ir.Body, facts: Facts) -> Iterator[End]:
        if facts.dead:
            return
        match body:
            case ir.Leaf():
                assigned = {assign.path[0]: assign.value for assign in body.message if len(assign.path) == 1}
                yield End(
                    body, {name: possible(assigned.get(name, _field(step, message, name)), facts) for name in members}
                )
            case ir.Bind():
                yield from walk(body.body, facts.with_let(body.name, body.value))
            case _:
                yield from walk(body.then, assume(body.condition, True, facts))
                yield from walk(body.otherwise, assume(body.condition, False, facts))

    yield from walk(step.body, _facts(step, message, members))


def possible(value: ir.Expr, facts: Facts) -> frozenset[str]:
    """What an expression that is a member of an enum may be. Nothing, where nothing gets to it."""
    if facts.dead:
        return frozenset()
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
