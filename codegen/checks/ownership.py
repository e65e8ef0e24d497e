"""Checks how a hook hands on an `owned` cell, which at most one section accesses at a time."""

from __future__ import annotations

from codegen.analysis.step_facts import Steps
from codegen.errors import Errors, LayoutInconsistent
from codegen.layout.resolve import Resolved, position
from codegen.layout.sections import SectionPlan


def check(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Checks that each section that writes an owned cell is followed by a section that swaps a word.

    The swap gives the cell away. It is also a full barrier, so the next owner sees what was written.
    """
    # The program's end gives these cells back to the daemon, so they need no swap.
    rows = resolved.layout.restore.rows if resolved.layout.restore else None
    for hook in resolved.hooks():
        for at, plan in enumerate(hook):
            written = steps[plan.step].changing
            if resolved.tables[plan.table].atomic != "owned" or not written or plan.table == rows:
                continue
            writes = f"{plan.step} writes a cell of {plan.table}, which is `atomic: owned`, and"
            for leaf in written:
                if leaf.verdict != "Continue":
                    errors.add(
                        LayoutInconsistent(
                            leaf.span,
                            f"{writes} ends the hook",
                            "end with Continue, and let a later section write a word: that gives the cell away",
                        )
                    )
            if not any(_swaps(resolved, steps, later, plan.group) for later in hook[at + 1 :]):
                errors.add(
                    LayoutInconsistent(
                        position(resolved, plan),
                        f"{writes} no later section writes a word",
                        "add one: its write gives the cell away",
                    )
                )


def _swaps(resolved: Resolved, steps: Steps, plan: SectionPlan, group: int) -> bool:
    """Whether a section swaps a word for every message, or for every operation of the same group."""
    for_all = plan.when is None and plan.group in (0, group)
    return for_all and resolved.tables[plan.table].atomic == "word" and steps[plan.step].changes_cell
