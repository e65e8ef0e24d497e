"""Checks loops of the kernel's steps that the verifier would follow once for each size of the set that they make.

Up to 32 iterations are unrolled, and cost some ten thousand instructions. In a longer loop, the verifier compares the
sizes that it has seen, and gives up after a million instructions.
"""

from __future__ import annotations

from codegen import ir
from codegen.analysis.step_facts import Steps
from codegen.errors import Errors, LoopUnbounded
from codegen.ir.measure import UNROLL_MAX
from codegen.ir.walk import walk
from codegen.layout.resolve import Resolved


def check(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Refuses sets that are made of more items than a loop of the kernel can go over."""
    plans = [*resolved.xdp, *resolved.tc, *(plan for _, plans in resolved.passes() for plan in plans)]
    for step in dict.fromkeys(plan.step for plan in plans):
        for node in walk(steps[step].step.body):
            if isinstance(node, (ir.Filter, ir.Image)) and isinstance(node.type, ir.Set):
                items = getattr(node.domain.type, "max", 0)
                if items > UNROLL_MAX:
                    errors.add(
                        LoopUnbounded(
                            node.span,
                            f"this set is made in a loop over up to {items} elements, for which the verifier would "
                            "follow more than a million instructions",
                            f"give the set a `max` of at most {UNROLL_MAX}, or the type `bits`, or only count or "
                            "quantify over it",
                        )
                    )
