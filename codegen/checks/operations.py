"""Checks the steps of groups, which run for each operation of a message."""

from __future__ import annotations

from codegen.analysis.step_facts import StepFacts, Steps
from codegen.errors import Errors, LayoutInconsistent, StepSignature
from codegen.layout.resolve import Resolved, position
from codegen.layout.sections import SectionPlan


def check(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Checks that no operation can end the message's run, and that the number of operations stays as it came."""
    operations = resolved.operations
    if operations is None:
        return
    for plan in resolved.xdp:
        if plan.group:
            _check_goes_on(resolved, plan, steps[plan.step], errors)
    for step in dict.fromkeys(plan.step for plan in resolved.plans()):
        _check_count(steps[step], operations.count, errors)


def _check_goes_on(resolved: Resolved, plan: SectionPlan, facts: StepFacts, errors: Errors) -> None:
    for leaf in facts.ends:
        if leaf.verdict != "Continue":
            errors.add(
                StepSignature(
                    leaf.span,
                    f"{plan.step} runs for each operation of a message, and ends with {leaf.verdict}",
                    "it must end with Continue: put the outcome into a field of the message",
                )
            )
    word_load = resolved.tables[plan.table].atomic == "word" and not facts.changes_cell
    if plan.contended == "drop" and not word_load:
        errors.add(
            LayoutInconsistent(
                position(resolved, plan),
                f"{plan.step} drops the message when contended, but it runs for each operation of a message",
                "write `contended: skip`, or `never` if nobody else can write the cell then",
            )
        )


def _check_count(facts: StepFacts, count: str, errors: Errors) -> None:
    for leaf in facts.ends:
        for assign in leaf.message:
            if assign.path[0] == count:
                errors.add(
                    StepSignature(
                        assign.span,
                        f"{facts.step.name} changes {count}, which counts the operations of the message",
                        "leave it as it is: an answer has the operations of its request",
                    )
                )
