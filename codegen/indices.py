"""Indices of cells that are looked up when it is too late to give up: after a state was changed, or where a cell has an owner."""

from __future__ import annotations

from codegen import ir
from codegen.errors import Errors, LayoutInconsistent
from codegen.passes.leaves import leaves
from codegen.resolve import Resolved, position
from codegen.sections import SectionPlan


def check(resolved: Resolved, steps: dict[str, ir.Step], errors: Errors) -> None:
    """Every value of such an index must be that of a cell.

    Out of range, a section would be left out, which the hook has only said that it can live with where it is `contended: skip`.
    """
    for hook in resolved.hooks():
        written: set[str] = set()
        writer = ""
        for plan in hook:
            step, table = steps[plan.step], resolved.tables[plan.table]
            late = not plan.user and (table.index in written or plan.daemon or plan.when is not None) and plan.contended != "skip"
            if not plan.swept and (table.atomic == "owned" or writer and late) and not _within(resolved, table, plan, written):
                reason = "which is `atomic: owned`" if table.atomic == "owned" else f"which is looked up after {writer} may have changed a cell"
                errors.add(_beyond(resolved, table, plan, reason))
            written |= {str(assign.path[0]) for leaf in leaves(step.body) for assign in leaf.message}
            if any(leaf.cell and leaf.verdict == "Continue" for leaf in leaves(step.body)):
                writer = writer or plan.step


def _within(resolved: Resolved, table: ir.TableLayout, plan: SectionPlan, written: set[str]) -> bool:
    """By its type, or because it is hashed from a field when a packet comes. A sweep has no packet."""
    hashed = [] if plan.daemon and not plan.user or table.index in written else resolved.hashes
    kind = resolved.message.field(table.index)
    return 2**kind.width <= table.capacity or any(each.field == table.index and each.capacity <= table.capacity for each in hashed)


def _beyond(resolved: Resolved, table: ir.TableLayout, plan: SectionPlan, reason: str) -> LayoutInconsistent:
    width = resolved.message.field(table.index).width
    fitting = table.capacity.bit_length() - 1
    instead = f"make its type u{fitting}, or the capacity {2**width}" if fitting else f"make the capacity {2**width}"
    return LayoutInconsistent(
        position(resolved, plan), f"msg.{table.index} is u{width}, and may be beyond the {table.capacity} cells of {table.name}, {reason}", instead,
    )  # fmt: skip
