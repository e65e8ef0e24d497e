"""Runs all checks that need compiled steps."""

from __future__ import annotations

from codegen.analysis.step_facts import Steps
from codegen.checks import c_names, cost, drain, forwarded, hooks, index_bounds, operations, ownership, tail
from codegen.errors import Errors
from codegen.layout.resolve import Resolved


def check_steps(resolved: Resolved, steps: Steps, daemon_steps: Steps, errors: Errors) -> None:
    """Checks the steps of the hooks, and those of the drain and of recovery."""
    for check in (
        hooks.check,
        ownership.check,
        index_bounds.check,
        cost.check,
        tail.check,
        forwarded.check,
        operations.check,
    ):
        check(resolved, steps, errors)
    c_names.check(resolved, {**steps, **daemon_steps}, errors)
    drain.check(resolved, daemon_steps, errors)
