"""Cells that at any time at most one section has to do with: what a hook must be like to hand one on."""

from __future__ import annotations

from codegen import ir
from codegen.errors import Errors, LayoutInconsistent
from codegen.passes.leaves import leaves
from codegen.resolve import Resolved, position
from codegen.sections import SectionPlan


def check(resolved: Resolved, steps: dict[str, ir.Step], errors: Errors) -> None:
    """Who has a cell next must see what was written: the swap of a word says that it is given away, and is a
    full barrier.
    """
    # which the daemon has again when the program has ended
    rows = resolved.layout.restore.rows if resolved.layout.restore else None
    for hook in resolved.hooks():
        for at, plan in enumerate(hook):
            written = [leaf for leaf in leaves(steps[plan.step].body) if leaf.cell]
            if resolved.tables[plan.table].atomic != "owned" or not written or plan.table == rows:
                continue
            writes = f"{plan.step} writes a cell of {plan.table}, which is `atomic: owned`, and"
            for leaf in written:
                if leaf.verdict != "Continue":
                    errors.add(
                        LayoutInconsistent(
                            leaf.span,
                            f"{writes} ends the hook",
                            "Continue, to a section that writes a word: by that the cell is given away",
                        )
                    )
            if not any(_swaps(resolved, steps, later) for later in hook[at + 1 :]):
                errors.add(
                    LayoutInconsistent(
                        position(resolved, plan),
                        f"{writes} no section behind it writes a word",
                        "add one: by that the cell is given away",
                    )
                )


def _swaps(resolved: Resolved, steps: dict[str, ir.Step], plan: SectionPlan) -> bool:
    return (
        plan.when is None
        and resolved.tables[plan.table].atomic == "word"
        and any(leaf.cell for leaf in leaves(steps[plan.step].body))
    )
