"""Puts a protocol together from its layout and its compiled steps."""

from __future__ import annotations

from collections.abc import Iterable

from codegen import ir
from codegen.analysis.step_facts import Steps
from codegen.layout.resolve import Resolved
from codegen.layout.schema import Budgets
from codegen.layout.sections import SectionPlan


def section(plan: SectionPlan, resolved: Resolved, steps: Steps) -> ir.Section:
    facts = steps[plan.step]
    index = None if plan.swept else resolved.tables[plan.table].index
    again = tuple(leaf.name for leaf in facts.called(plan.again))
    return ir.Section(
        plan.table,
        facts.step,
        index,
        plan.contended,
        facts.changes_cell,
        plan.reads,
        again,
        plan.when,
        plan.group,
    )


def sections(plans: Iterable[SectionPlan], resolved: Resolved, steps: Steps) -> tuple[ir.Section, ...]:
    return tuple(section(plan, resolved, steps) for plan in plans)


def assemble(resolved: Resolved, declared: frozenset[str], steps: Steps, sources: tuple[str, ...]) -> ir.Protocol:
    """declared: names of the constants that the steps' modules declare."""
    written = resolved.layout
    budgets = [(program, getattr(written.budget, program)) for program in Budgets.model_fields]
    return ir.Protocol(
        name=written.protocol,
        module=written.module,
        constants=tuple(resolved.constants.items()),
        declared=declared,
        message=resolved.message,
        wire=tuple(written.wire.order),
        handover=tuple(written.handover),
        port=written.wire.port,
        hashes=resolved.hashes,
        env=resolved.env,
        tick_ns=written.env.now.tick_ns if written.env.now else None,
        young_ticks=0 if resolved.age_until is None else resolved.age_until + 1,
        token=resolved.token,
        promiscuous=written.promiscuous,
        tables=tuple(resolved.tables.values()),
        xdp=sections(resolved.xdp, resolved, steps),
        tc=sections(resolved.tc, resolved, steps),
        user=sections(resolved.user, resolved, steps),
        user_row=isinstance(written.hooks.user, list),
        forwards=tuple(written.forwards),
        tail=resolved.tail,
        operations=resolved.operations,
        sweep_period_ms=written.sweep.period_ms if written.sweep else 0,
        sweep=(
            *(
                ir.Pass(each, sections(plans, resolved, steps), f"sweep_{number}")
                for number, (each, plans) in enumerate(resolved.sweep, 1)
            ),
            *(
                ir.Pass(each, sections(plans, resolved, steps), "restore")
                for each, plans in resolved.passes()[len(resolved.sweep) :]
            ),
        ),
        restore=ir.Restore(written.restore.rows, written.restore.fate.field, tuple(written.restore.fate.done))
        if written.restore
        else None,
        budgets=tuple(
            (program, ir.Budget(budget.insns, budget.states, budget.stack)) for program, budget in budgets if budget
        ),
        sources=sources,
    )
