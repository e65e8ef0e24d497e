"""Checks indices whose lookup must not fail: after a section changed a cell, or of an `owned` table."""

from __future__ import annotations

from codegen import ir
from codegen.analysis.lookups import lookups
from codegen.analysis.step_facts import Steps
from codegen.errors import Errors, LayoutInconsistent
from codegen.layout.resolve import Resolved, position
from codegen.layout.sections import SectionPlan


def check(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Checks that every value of such an index has a cell.

    Otherwise a section could be left out, which only `contended: skip` allows.
    """
    for hook in resolved.hooks():
        writers: list[SectionPlan] = []
        for plan, late, within in lookups(resolved, steps, hook):
            table = resolved.tables[plan.table]
            sure = late and plan.contended != "skip"
            # In a group the operation before has run all sections, later ones as well.
            before = [*writers, *_writers(steps, hook, plan.group)] if plan.group else writers
            if not plan.swept and (table.atomic == "owned" or (before and sure)) and not within:
                reason = (
                    "which is `atomic: owned`"
                    if table.atomic == "owned"
                    else f"whose lookup comes after {before[0].step} may have changed a cell"
                )
                errors.add(_beyond(resolved, table, plan, reason))
            if steps[plan.step].goes_on_changed:
                writers.append(plan)


def _writers(steps: Steps, hook: list[SectionPlan], group: int) -> list[SectionPlan]:
    return [plan for plan in hook if plan.group == group and steps[plan.step].goes_on_changed]


def _beyond(resolved: Resolved, table: ir.TableLayout, plan: SectionPlan, reason: str) -> LayoutInconsistent:
    width = ir.expect(resolved.message.field(table.index), ir.UInt).width
    fitting = table.capacity.bit_length() - 1
    instead = f"make its type u{fitting}, or the capacity {2**width}" if fitting else f"make the capacity {2**width}"
    return LayoutInconsistent(
        position(resolved, plan),
        f"msg.{table.index} is u{width}, and may be beyond the {table.capacity} cells of {table.name}, {reason}",
        instead,
    )
