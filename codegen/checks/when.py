"""Checks sections with `when`: their step must be idle for all other messages.

The compiled hook leaves such a section out. The model runs its step, so the step must change nothing there.
"""

from __future__ import annotations

from collections.abc import Iterator

from codegen import ir
from codegen.analysis.conditions import assume
from codegen.analysis.facts import Facts
from codegen.errors import Errors, LayoutInconsistent
from codegen.layout.resolve import Resolved, position


def check(resolved: Resolved, steps: dict[str, ir.Step], errors: Errors) -> None:
    """Checks that a step only says Continue, with nothing changed, to a message that its section is not for."""
    for plan in resolved.plans():
        if plan.when is None:
            continue
        for leaf in busy(steps[plan.step], resolved.message, plan.when):
            does = (
                "changes the cell"
                if leaf.cell
                else "changes the message"
                if leaf.message
                else f"ends with {leaf.verdict}"
            )
            errors.add(
                LayoutInconsistent(
                    position(resolved, plan),
                    f"{plan.step} {does} at {leaf.span} for messages whose {plan.when.field} is not listed in `when`",
                    "list them, or let the step end with Continue(cell, msg) for them",
                )
            )


def busy(step: ir.Step, message: ir.Record, when: ir.When) -> Iterator[ir.Leaf]:
    """Returns the leaves that are not idle and that messages outside of `when` may reach."""
    kind = ir.expect(message.field(when.field), ir.Enum)
    asked = ir.Field(ir.Var(step.message, message, step.span), when.field, kind, step.span)
    yield from _busy(step.body, Facts().with_members(asked, frozenset(kind.members) - set(when.members)))


def _busy(body: ir.Body, facts: Facts) -> Iterator[ir.Leaf]:
    if facts.dead:
        return
    match body:
        case ir.Leaf():
            if body.verdict != "Continue" or body.cell or body.message:
                yield body
        case ir.Bind():
            yield from _busy(body.body, facts.with_let(body.name, body.value))
        case _:
            yield from _busy(body.then, assume(body.condition, True, facts))
            yield from _busy(body.otherwise, assume(body.condition, False, facts))
