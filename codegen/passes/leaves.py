"""Where a step ends."""

from __future__ import annotations

from codegen import ir


def leaves(body: ir.Body) -> list[ir.Leaf]:
    """The leaves of a step, in order."""
    match body:
        case ir.Leaf():
            return [body]
        case ir.Bind():
            return leaves(body.body)
    return leaves(body.then) + leaves(body.otherwise)
