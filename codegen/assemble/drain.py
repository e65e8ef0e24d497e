"""Compiles the steps of the drain and of recovery, and puts them together."""

from __future__ import annotations

from dataclasses import replace

from codegen import ir
from codegen.analysis.step_facts import Steps
from codegen.assemble.protocol import section, sections
from codegen.assemble.steps import StepCompiler
from codegen.errors import LayoutInconsistent, StepSignature
from codegen.layout.resolve import Resolved, position


def compile_daemon_steps(compiler: StepCompiler, others: dict[str, ir.Step]) -> dict[str, ir.Step]:
    """Compiles every step of the drain and of recovery once.

    A step may work on several tables if their cells have the same fields.
    """
    module, resolved, errors = compiler.module, compiler.resolved, compiler.errors
    plans = [
        *(resolved.drain.plans if resolved.drain else ()),
        *([resolved.recovery.plan] if resolved.recovery else []),
    ]
    if resolved.recovery:
        resolved = replace(resolved, tables={**resolved.tables, resolved.recovery.table.name: resolved.recovery.table})
        compiler = replace(compiler, resolved=resolved)
    steps: dict[str, ir.Step] = {}
    for plan in plans:
        span = position(resolved, plan)
        operator = module.top.get(plan.step)
        if operator is None:
            errors.add(LayoutInconsistent(span, f"{module.name} has no operator {plan.step}"))
        elif plan.step in others:
            errors.add(
                LayoutInconsistent(
                    span, f"{plan.step} is already a step of a hook", "define another operator that calls it"
                )
            )
        elif len(operator.parameters) != 2:
            errors.add(
                StepSignature(
                    operator.span,
                    f"{plan.step} has {len(operator.parameters)} parameters, and the drain runs it",
                    "write Step(cell, msg): the drain gives a step no env",
                )
            )
        elif plan.step in steps:
            cell = resolved.tables[plan.table].cell
            if ir.expect(steps[plan.step].cell_type, ir.Record).fields != cell.fields:
                errors.add(
                    LayoutInconsistent(
                        span,
                        f"{plan.step} is already a step of cells with other fields",
                        "give the tables' cells the same fields, or define another operator that calls it",
                    )
                )
        else:
            step = compiler.step(operator, plan, {name for name, _ in resolved.env.fields})
            if step is not None:
                steps[plan.step] = step
    return steps


def with_drain(protocol: ir.Protocol, resolved: Resolved, steps: Steps) -> ir.Protocol:
    """Returns the protocol with its drain and its recovery."""
    return replace(protocol, drain=_drain(resolved, steps), recovery=_recovery(resolved, steps))


def _drain(resolved: Resolved, steps: Steps) -> ir.Drain | None:
    plan, model = resolved.drain, resolved.layout.drain
    if plan is None or model is None:
        return None
    return ir.Drain(
        plan.each,
        plan.lanes,
        plan.lane,
        plan.number,
        sections(plan.takes, resolved, steps),
        section(plan.written, resolved, steps),
        section(plan.synced, resolved, steps),
        sections(plan.begins, resolved, steps),
        tuple(model.entry),
        plan.batch,
        model.segment_bytes,
        model.sync_ms,
    )


def _recovery(resolved: Resolved, steps: Steps) -> ir.Recovery | None:
    plan = resolved.recovery
    return ir.Recovery(plan.key, plan.table.cell, steps[plan.plan.step].step) if plan else None
