"""Finds the leaves of a step."""

from __future__ import annotations

from codegen import ir


def is_called(step: ir.Step, leaf: ir.Leaf, label: str) -> bool:
    """Whether a leaf has that label. If several leaves have it, a number follows it in all but the first."""
    return leaf.name.partition(".")[0] == label and not leaf.name.startswith(f"{step.name}.")


def leaves(body: ir.Body) -> list[ir.Leaf]:
    """Returns the leaves of a step, in order."""
    match body:
        case ir.Leaf():
            return [body]
        case ir.Bind():
            return leaves(body.body)
    return leaves(body.then) + leaves(body.otherwise)
