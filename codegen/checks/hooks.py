"""Checks the verdicts of a hook's steps, and what they may change."""

from __future__ import annotations

from codegen import ir
from codegen.analysis.step_facts import StepFacts, Steps
from codegen.errors import Errors, LayoutInconsistent, StepSignature
from codegen.layout.resolve import Resolved, position
from codegen.layout.sections import SectionPlan


def check(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Runs the checks of hooks that need compiled steps."""
    check_contended(resolved, steps, errors)
    check_forwards(resolved, steps, errors)
    check_tc(resolved, steps, errors)
    check_user(resolved, steps, errors)
    check_passes(resolved, steps, errors)


def check_contended(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Checks that no section can be dropped as contended after another may have written."""
    for hook in (resolved.xdp, resolved.tc, *(plans for _, plans in resolved.passes())):
        writer: str | None = None
        for plan in hook:
            facts = steps[plan.step]
            word_load = resolved.tables[plan.table].atomic == "word" and not facts.changes_cell
            # operations.py checks those of groups.
            if plan.contended == "drop" and writer and not word_load and not plan.group:
                errors.add(
                    LayoutInconsistent(
                        position(resolved, plan),
                        f"{plan.step} drops the message when contended, but {writer} may already have written a cell",
                        "write `contended: skip`, or `never` if nobody else can write the cell then",
                    )
                )
            if facts.goes_on_changed:
                writer = writer or plan.step


def check_user(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    in_row = isinstance(resolved.layout.hooks.user, list)
    verdicts: tuple[str, ...] = ir.VERDICTS_OF_USER
    instead = "it must end with Reply or Drop"
    if in_row:
        verdicts, instead = ("Continue", *verdicts), "it must end with Continue, Reply or Drop"
    for plan in resolved.user:
        for leaf in steps[plan.step].ends:
            if leaf.verdict not in verdicts:
                errors.add(StepSignature(leaf.span, f"the user step ends with {leaf.verdict}", instead))
            if plan.reads and leaf.cell:
                errors.add(
                    StepSignature(
                        leaf.cell[0].span,
                        f"the user step {plan.step} changes a cell that it only reads",
                        "return the cell as it is",
                    )
                )
        check_again(resolved, plan, steps[plan.step], errors)


def check_again(resolved: Resolved, plan: SectionPlan, facts: StepFacts, errors: Errors) -> None:
    """Checks that the label in `again` only names Drops that change nothing."""
    called = facts.called(plan.again)
    if plan.again and not called:
        labels = sorted(
            {leaf.name for leaf in facts.ends if leaf.verdict == "Drop" and not leaf.name.startswith(f"{plan.step}.")}
        )
        errors.add(
            LayoutInconsistent(
                resolved.source.span(*plan.position[:-1], "again"),
                f"no branch of {plan.step} has the label {plan.again}",
                f"the branches that drop have the labels {', '.join(labels)}"
                if labels
                else f"add the label to a branch that drops: `{plan.again} :: Drop(cell, msg)`",
            )
        )
    for leaf in called:
        if leaf.verdict != "Drop" or leaf.cell:
            what = f"ends with {leaf.verdict}" if leaf.verdict != "Drop" else "changes its cell"
            errors.add(
                StepSignature(
                    leaf.span,
                    f"the daemon runs {plan.step} again after {plan.again}, which {what}",
                    "it must be a Drop that leaves the cell as it is",
                )
            )


def check_passes(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Checks that steps of the sweep and of restore only go on or end: they have no packet to send."""
    for step in dict.fromkeys(plan.step for _, plans in resolved.passes() for plan in plans):
        for leaf in steps[step].ends:
            if leaf.verdict not in ir.VERDICTS_OF_PASSES:
                errors.add(
                    StepSignature(
                        leaf.span,
                        f"the sweep or restore runs {step}, which ends with {leaf.verdict}",
                        "it must end with Continue or Drop: it has no packet to send",
                    )
                )


def check_forwards(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Checks that xdp forwards only if there is a user hook, and that the daemon gets the message as the step left it.

    Without a user hook the daemon has no socket, and the client would get an ICMP error: port unreachable.
    """
    for plan in {plan.step: plan for plan in resolved.xdp}.values():
        for leaf in (leaf for leaf in steps[plan.step].ends if leaf.verdict == "Forward"):
            if not resolved.user:
                errors.add(
                    LayoutInconsistent(
                        leaf.span,
                        f"{plan.step} forwards, but the layout has no hooks.user to serve these messages",
                        "add hooks.user, or end with Drop or Reply",
                    )
                )
            else:
                _check_forwarded(resolved, plan.step, leaf, errors)
    for at, plan in enumerate(resolved.xdp):
        if plan.group:
            continue  # A message with operations is never forwarded.
        _check_passed_on(resolved, steps, plan, resolved.xdp[at + 1 :], errors)


def _check_passed_on(
    resolved: Resolved, steps: Steps, plan: SectionPlan, later: list[SectionPlan], errors: Errors
) -> None:
    """Checks that somebody can see a change that a section passes on, if a later section may forward.

    The packet that xdp forwards is the one that came. So the change is lost if no later section reads it or replies.
    """
    layout, after = resolved.layout, [steps[one.step] for one in later]
    if not any("Forward" in facts.verdicts for facts in after) or any("Reply" in facts.verdicts for facts in after):
        return
    seen = {*layout.handover, *layout.forwards, *layout.local, *(resolved.tables[one.table].index for one in later)}
    seen |= {name for facts in after for name in facts.message_read}
    seen |= {one.when.field for one in later if one.when is not None}
    for leaf in (leaf for leaf in steps[plan.step].ends if leaf.verdict == "Continue"):
        for name, span in {str(assign.path[0]): assign.span for assign in leaf.message}.items():
            if name not in seen:
                forwarder = next(one.step for one in later if "Forward" in steps[one.step].verdicts)
                named = ", ".join((*layout.forwards, name))
                errors.add(
                    StepSignature(
                        span,
                        f"{plan.step} changes {name}, and then {forwarder} forwards the packet as it came, so the "
                        "change is lost",
                        f"write `forwards: [{named}]` in the layout, or leave it as it is",
                    )
                )


def _check_forwarded(resolved: Resolved, step: str, leaf: ir.Leaf, errors: Errors) -> None:
    """Checks that xdp writes each field that a leaf changes into the packet that it forwards."""
    layout = resolved.layout
    passed = {*layout.handover, *layout.forwards}
    for name, span in {str(assign.path[0]): assign.span for assign in leaf.message}.items():
        if name in passed or (resolved.tail is not None and name == resolved.tail.field):
            continue
        if name in layout.local:
            found = f"{step} forwards a message whose {name} it changed, but {name} is local, so the change is lost"
            instead = f"leave {name} as it is, or make it a field of `handover`"
        else:
            found = (
                f"{step} forwards a message whose {name} it changed, but xdp does not write {name} into a packet "
                "that it forwards, so the change is lost"
            )
            instead = f"write `forwards: [{', '.join((*layout.forwards, name))}]` in the layout, or leave it as it is"
        errors.add(StepSignature(span, found, instead))


def check_tc(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Checks that a step that only tc runs does not forward. A step that xdp runs as well may; it is a Drop in tc."""
    shared = {plan.step for plan in resolved.xdp}
    for step in dict.fromkeys(plan.step for plan in resolved.tc if plan.step not in shared):
        for leaf in steps[step].ends:
            if leaf.verdict == "Forward":
                errors.add(
                    StepSignature(
                        leaf.span,
                        f"{step} forwards, but only tc runs it, and tc has nobody to forward to",
                        "end with Drop, Reply or Continue",
                    )
                )
