"""Checks the compiled steps of the drain and of recovery."""

from __future__ import annotations

from codegen import ir
from codegen.analysis.step_facts import StepFacts, Steps
from codegen.errors import Errors, StepSignature
from codegen.layout.resolve import Resolved
from codegen.layout.sections import SectionPlan


def check(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Checks what the runtime relies on: the verdicts of these steps, and the message fields that they read."""
    plan = resolved.drain
    if plan is None:
        return
    place = {ir.EPOCH, plan.lane, plan.number}
    for one in plan.takes:
        last = one is plan.takes[-1]
        _check_verdicts(steps[one.step], ("Reply", "Drop") if last else ("Continue", "Drop"), errors)
        _check_take(resolved, one, steps[one.step], errors)
    for one in (plan.written, plan.synced, *plan.begins):
        _check_verdicts(steps[one.step], ("Continue", "Drop"), errors)
        known = place - {plan.number} if one in plan.begins else place
        _check_known(
            steps[one.step], known, f"which is zero there: the drain sets only {', '.join(sorted(known))}", errors
        )
    if resolved.recovery is not None and resolved.layout.drain is not None:
        step = steps[resolved.recovery.plan.step]
        _check_verdicts(step, ("Continue", "Drop"), errors)
        _check_known(step, set(resolved.layout.drain.entry), "which is not in `drain.entry`, so no file has it", errors)


def _check_verdicts(facts: StepFacts, verdicts: tuple[str, ...], errors: Errors) -> None:
    for leaf in facts.ends:
        if leaf.verdict not in verdicts:
            errors.add(
                StepSignature(
                    leaf.span,
                    f"{facts.step.name} ends with {leaf.verdict} in the drain",
                    f"it must end with {' or '.join(verdicts)} there",
                )
            )


def _check_take(resolved: Resolved, plan: SectionPlan, facts: StepFacts, errors: Errors) -> None:
    step = facts.step
    assert resolved.drain is not None
    tail = resolved.tail.field if resolved.tail else ""
    for leaf in facts.ends:
        if leaf.cell:
            errors.add(
                StepSignature(
                    leaf.cell[0].span,
                    f"{step.name} changes a cell of {plan.table}, which the drain only reads",
                    "return the cell as it is",
                )
            )
        for assign in leaf.message:
            if assign.path[0] == resolved.drain.lane:
                errors.add(
                    StepSignature(
                        assign.span,
                        f"{step.name} changes msg.{resolved.drain.lane}, which names the lane that is drained",
                        "leave it as it is",
                    )
                )
    if tail and tail in facts.message_read:
        errors.add(
            StepSignature(
                step.span,
                f"{step.name} uses the message's {tail}, which the drain does not have",
                "only steps of hooks.user can use it",
            )
        )


def _check_known(facts: StepFacts, known: set[str], why: str, errors: Errors) -> None:
    """Checks that a step reads only the message fields that are set at that point."""
    step = facts.step
    for where in sorted(facts.reads):
        if where[0] == step.message and (len(where) < 2 or where[1] not in known):
            what = f"msg.{where[1]}" if len(where) > 1 else "the whole message"
            errors.add(StepSignature(step.span, f"{step.name} reads {what}, {why}", "read other fields"))
