"""Where a step ends."""

from __future__ import annotations

from codegen import ir


def is_called(step: ir.Step, leaf: ir.Leaf, label: str) -> bool:
    """Whether a leaf of a step has that label; of several that have it, all but the first have a number behind it."""
    return leaf.name.partition(".")[0] == label and not leaf.name.startswith(f"{step.name}.")


def leaves(body: ir.Body) -> list[ir.Leaf]:
    """The leaves of a step, in order."""
    match body:
        case ir.Leaf():
            return [body]
        case ir.Bind():
            return leaves(body.body)
    return leaves(body.then) + leaves(body.otherwise)
