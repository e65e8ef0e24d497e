"""Checks that the verifier can follow each program of the kernel to its end, as far as an estimate can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codegen import ir
from codegen.analysis.cost import Cost, cost, iterations, total
from codegen.analysis.step_facts import Steps
from codegen.errors import Errors, LoopUnbounded
from codegen.layout.resolve import Resolved
from codegen.layout.sections import SectionPlan

INSTRUCTIONS_MAX = 1_000_000
"""The verifier's limit for a program (BPF_COMPLEXITY_LIMIT_INSNS in the kernel's include/linux/bpf.h)."""

WAITING_MAX = 8_192
"""Branches whose other sides may wait (BPF_COMPLEXITY_LIMIT_JMP_SEQ in the kernel's kernel/bpf/verifier.c)."""


def check(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Refuses programs whose steps cost more than the verifier follows, at the dearest loop."""
    for program, plans in _programs(resolved):
        costs = {plan.step: cost(steps[plan.step].step.body) for plan in plans}
        whole = total(costs.values())
        problem = _problem(whole)
        if whole.dearest is not None and problem:
            step = next(name for name, each in costs.items() if each.dearest is whole.dearest)
            errors.add(_refusal(program, step, whole.dearest, problem))


def _programs(resolved: Resolved) -> Iterator[tuple[str, Sequence[SectionPlan]]]:
    """Yields the programs of the kernel. Each pass of a sweep is followed on its own."""
    yield from (("xdp", resolved.xdp), ("tc", resolved.tc))
    yield from (("the sweep", plans) for _, plans in resolved.passes())


def _problem(whole: Cost) -> str:
    """Returns why the verifier would give up; empty if it would not."""
    if whole.branches > WAITING_MAX:
        return f"it would have {whole.branches:,} branches wait, but keeps at most {WAITING_MAX:,}"
    if whole.instructions > INSTRUCTIONS_MAX:
        return (
            f"it would follow about {round(whole.instructions, -5):,} instructions, "
            f"{round(whole.dearest_instructions, -5):,} of them here, "
            f"but gives up after {INSTRUCTIONS_MAX:,}"
        )
    return ""


def _refusal(program: str, step: str, loop: ir.Loop, problem: str) -> LoopUnbounded:
    rounds = iterations(loop.domain)
    return LoopUnbounded(
        loop.span,
        f"{step} makes {program} too long for the verifier with this loop, of up to {rounds} iterations: {problem}",
        "give the sets or arrays of nested loops smaller bounds, or split the work over several messages",
    )
