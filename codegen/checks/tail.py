"""Checks that only the user hook's steps use the tail of the message, which only the daemon has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codegen.analysis.step_facts import StepFacts, Steps
from codegen.errors import Errors, LayoutInconsistent
from codegen.ir import Assign, Field, Span, Step, Var
from codegen.ir.walk import children
from codegen.layout.resolve import Resolved


def check(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Checks that only user steps use the tail, and that none changes it in the leaf that changes a word.

    Programs never see the tail. If a compare-and-swap of a word fails, the step runs again, and the old tail
    would be lost.
    """
    if resolved.tail is None:
        return
    tail = resolved.tail.field
    for plan in {plan.step: plan for plan in resolved.plans()}.values():
        facts = steps[plan.step]
        if not plan.user:
            for span in tail_uses(facts.step, tail):
                errors.add(
                    LayoutInconsistent(
                        span,
                        f"{plan.step} uses the message's {tail}, which no program sees",
                        "only steps of hooks.user can use it",
                    )
                )
        elif resolved.tables[plan.table].atomic == "word":
            for span in written_with_cell(facts, tail):
                errors.add(
                    LayoutInconsistent(
                        span,
                        f"{plan.step} changes the message's {tail} and a word in one branch",
                        "change the tail in a section of another table",
                    )
                )


def tail_uses(step: Step, tail: str) -> Iterator[Span]:
    """Yields the places where a step reads or changes the tail."""

    def visit(node: Any) -> Iterator[Span]:
        match node:
            case Assign() if writes(node, tail):
                yield node.span
            case Field(base=Var(name=name)) if name == step.message:
                if node.name == tail:
                    yield node.span
                return
            case Var(name=name, span=span) if name == step.message:
                yield span
        for child in children(node):
            yield from visit(child)

    return visit(step.body)


def writes(assign: Assign, tail: str) -> bool:
    return assign.path[0] == tail


def written_with_cell(facts: StepFacts, tail: str) -> Iterator[Span]:
    """Yields the changes of the tail in leaves that also change the cell."""
    for leaf in facts.changing:
        yield from (assign.span for assign in leaf.message if writes(assign, tail))
