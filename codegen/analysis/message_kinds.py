"""Infers which members each enum field of the message may have when a section runs.

A step is compiled for these members only. Branches that no message reaches are neither in the program nor in
conformance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import groupby

from codegen import ir
from codegen.analysis.conditions import assume
from codegen.analysis.facts import Facts
from codegen.analysis.lookups import left_out
from codegen.analysis.step_facts import Steps
from codegen.layout.resolve import Resolved
from codegen.layout.sections import SectionPlan
from codegen.layout.source import Place

Members = dict[str, frozenset[str]]
"""Possible members of each field. If no message is possible, every field has the empty set."""


@dataclass(frozen=True)
class End:
    """A leaf that a message may reach."""

    leaf: ir.Leaf
    message: Members
    """The possible members after the leaf's changes."""


@dataclass(frozen=True)
class Turn:
    """One section of a hook, with the messages that it runs for and the leaves that they may reach."""

    plan: SectionPlan
    comes: Members
    ends: tuple[End, ...]


def anything(resolved: Resolved) -> Members:
    """Returns all members of each enum field."""
    return {name: frozenset(kind.members) for name, kind in resolved.message.fields if isinstance(kind, ir.Enum)}


def arriving(resolved: Resolved, steps: Steps) -> dict[str, Facts]:
    """Returns, by step name, facts about the messages that the step gets in any of its sections.

    The first section of a hook gets any message.
    """
    found: dict[str, Members] = {}
    for hook in resolved.hooks():
        for turn in turns(resolved, steps, hook, anything(resolved)):
            found[turn.plan.step] = _either(found.get(turn.plan.step, turn.comes), turn.comes)
    return {name: _facts(steps[name].step, resolved.message, members) for name, members in found.items()}


def turns(resolved: Resolved, steps: Steps, hook: list[SectionPlan], members: Members) -> Iterator[Turn]:
    """Yields the sections of a hook in order, for a message that arrives with these members."""
    absent = dict(zip((plan.position for plan in hook), left_out(resolved, steps, hook)))
    operations, arriving = resolved.operations, members
    for group, plans in groupby(hook, key=lambda plan: plan.group):
        if group:
            assert operations is not None
            if arriving[operations.when.field] & frozenset(operations.when.members):
                found, members = _group(resolved, steps, list(plans), members, absent)
                yield from found
            continue
        for plan in plans:
            turn = _turn(resolved, steps, plan, members)
            yield turn
            members = _goes_on(turn, members, absent[plan.position])


def _turn(resolved: Resolved, steps: Steps, plan: SectionPlan, members: Members) -> Turn:
    comes = _narrowed(members, plan.when, inside=True)
    return Turn(plan, comes, tuple(_ends(steps[plan.step].step, resolved.message, comes)))


def _goes_on(turn: Turn, members: Members, absent: bool) -> Members:
    """Returns the messages that go on behind a section, of those that came to it.

    absent: whether the section may be left out for lack of a cell.
    """
    plan = turn.plan
    goes = [end.message for end in turn.ends if end.leaf.verdict == "Continue"]
    if plan.contended == "skip" or absent:
        goes.append(turn.comes)
    if plan.when is not None:
        goes.append(_narrowed(members, plan.when, inside=False))
    return reduce(_either, goes, _nothing(members))


def _group(
    resolved: Resolved, steps: Steps, plans: list[SectionPlan], members: Members, absent: dict[Place, bool]
) -> tuple[list[Turn], Members]:
    """Returns the sections of a group, for any of its operations, and the messages that go on behind the group.

    The next operation finds the changes of the one before, so this goes on until nothing is added.
    """
    operations = ir.expect(resolved.operations, ir.OperationsLayout)
    own = [name for name in resolved.of_operation() if name in members]
    entering = _narrowed(members, operations.groups[plans[0].group - 1], inside=True)
    if not any(entering.values()):
        return [_turn(resolved, steps, plan, entering) for plan in plans], members
    while True:
        now = {**entering, **{name: anything(resolved)[name] for name in own}}
        found = []
        for plan in plans:
            found.append(_turn(resolved, steps, plan, now))
            now = _goes_on(found[-1], now, absent[plan.position])
        after = _either(entering, {**now, **{name: entering[name] for name in own}})
        if after == entering:
            return found, _either(members, after)
        entering = after


def _narrowed(members: Members, when: ir.When | None, inside: bool) -> Members:
    """Returns the messages that a section is for (inside), or all others."""
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
    """Yields the leaves that a message with these members may reach."""

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
    """Returns the members that an enum expression may have; none if the expression is unreachable."""
    if facts.dead:
        return frozenset()
    match value:
        case ir.Literal():
            return frozenset({ir.expect(value.value, str)})
        case ir.If(condition, then, otherwise):
            return possible(then, assume(condition, True, facts)) | possible(otherwise, assume(condition, False, facts))
        case ir.Let(name, bound, body):
            return possible(body, facts.with_let(name, bound))
        case ir.Var(name) if name in facts.values:
            return possible(facts.values[name], facts)
    return facts.members.get(facts.key(value), frozenset(ir.expect(value.type, ir.Enum).members))
