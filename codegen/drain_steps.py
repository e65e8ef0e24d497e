"""Compiles and checks the steps of the drain and of recovery."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from codegen import ir, sany
from codegen.emit.terms import reads
from codegen.errors import Errors, LayoutInconsistent, StepSignature
from codegen.passes.leaves import leaves
from codegen.passes.subset import Subset
from codegen.resolve import Resolved, position
from codegen.sections import SectionPlan

if TYPE_CHECKING:
    from codegen.front import Loader

Steps = dict[str, ir.Step]


def compile_steps(loader: Loader, module: sany.Module, resolved: Resolved, others: Steps) -> Steps:
    """Compiles every step of the drain and of recovery once.

    A step may work on several tables if their cells have the same fields.
    """
    plans = [
        *(resolved.drain.plans if resolved.drain else ()),
        *([resolved.recovery.plan] if resolved.recovery else []),
    ]
    if resolved.recovery:
        resolved = replace(resolved, tables={**resolved.tables, resolved.recovery.table.name: resolved.recovery.table})
    steps: Steps = {}
    within = Subset(module, loader.errors)
    for plan in plans:
        span = position(resolved, plan)
        operator = module.top.get(plan.step)
        if operator is None:
            loader.errors.add(LayoutInconsistent(span, f"{module.name} has no operator {plan.step}"))
        elif plan.step in others:
            loader.errors.add(
                LayoutInconsistent(
                    span, f"{plan.step} is a step of a hook already", "define another operator that calls it"
                )
            )
        elif len(operator.parameters) != 2:
            loader.errors.add(
                StepSignature(
                    operator.span,
                    f"{plan.step} has {len(operator.parameters)} parameters, and is run by the drain",
                    "a step there is Step(cell, msg): it knows no time, and no processor",
                )
            )
        elif plan.step in steps:
            cell = resolved.tables[plan.table].cell
            if steps[plan.step].cell_type.fields != cell.fields:
                loader.errors.add(
                    LayoutInconsistent(
                        span,
                        f"{plan.step} is a step of cells with other fields already",
                        "give the tables' cells the same fields, or define another operator that calls it",
                    )
                )
        else:
            step = loader.step(module, within, resolved, operator, plan, {name for name, _ in resolved.env.fields})
            if step is not None:
                steps[plan.step] = step
    return steps


def parts(resolved: Resolved, steps: Steps) -> dict[str, Any]:
    """Returns the fields `drain` and `recovery` of ir.Protocol."""
    return {"drain": _drain(resolved, steps), "recovery": _recovery(resolved, steps)}


def _drain(resolved: Resolved, steps: Steps) -> ir.Drain | None:
    plan, model = resolved.drain, resolved.layout.drain
    if plan is None or model is None:
        return None

    def section(one: SectionPlan) -> ir.Section:
        step = steps[one.step]
        return ir.Section(
            one.table,
            step,
            resolved.tables[one.table].index,
            "drop",
            any(leaf.cell for leaf in leaves(step.body)),
            one.reads,
        )

    return ir.Drain(
        plan.each,
        plan.lanes,
        plan.lane,
        plan.number,
        tuple(map(section, plan.takes)),
        section(plan.written),
        section(plan.synced),
        tuple(map(section, plan.begins)),
        tuple(model.entry),
        plan.batch,
        model.segment_bytes,
        model.sync_ms,
    )


def _recovery(resolved: Resolved, steps: Steps) -> ir.Recovery | None:
    plan = resolved.recovery
    return ir.Recovery(plan.key, plan.table.cell, steps[plan.plan.step]) if plan else None


# --- Checks ----------------------------------------------------------------------------------------------------


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
        _check_known(steps[one.step], known, f"which is zero there: it is told {', '.join(sorted(known))}", errors)
    if resolved.recovery is not None and resolved.layout.drain is not None:
        step = steps[resolved.recovery.plan.step]
        _check_verdicts(step, ("Continue", "Drop"), errors)
        _check_known(step, set(resolved.layout.drain.entry), "which is not in `drain.entry`, and so in no file", errors)


def _check_verdicts(step: ir.Step, verdicts: tuple[str, ...], errors: Errors) -> None:
    for leaf in leaves(step.body):
        if leaf.verdict not in verdicts:
            errors.add(
                StepSignature(
                    leaf.span,
                    f"{step.name} says {leaf.verdict} in the drain",
                    f"it ends with {' or '.join(verdicts)} there",
                )
            )


def _check_take(resolved: Resolved, plan: SectionPlan, step: ir.Step, errors: Errors) -> None:
    assert resolved.drain is not None
    tail = resolved.tail.field if resolved.tail else ""
    for leaf in leaves(step.body):
        if leaf.cell:
            errors.add(
                StepSignature(
                    leaf.cell[0].span,
                    f"{step.name} changes a cell of {plan.table}, from which the drain only takes",
                    "return the cell as it is",
                )
            )
        for assign in leaf.message:
            if assign.path[0] == resolved.drain.lane:
                errors.add(
                    StepSignature(
                        assign.span,
                        f"{step.name} changes msg.{resolved.drain.lane}, which says which lane is drained",
                        "leave it",
                    )
                )
    if tail and any(where[:2] == (step.message, tail) for where in reads(step.body)):
        errors.add(
            StepSignature(
                step.span,
                f"{step.name} uses the message's {tail}, which nobody has there",
                "only steps of hooks.user can",
            )
        )


def _check_known(step: ir.Step, known: set[str], why: str, errors: Errors) -> None:
    """Checks that a step reads only the message fields that are set at that point."""
    for where in sorted(reads(step.body)):
        if where[0] == step.message and (len(where) < 2 or where[1] not in known):
            what = f"msg.{where[1]}" if len(where) > 1 else "the whole message"
            errors.add(StepSignature(step.span, f"{step.name} reads {what}, {why}", "read other fields"))
