"""Checks that the constants of the steps and of the layout are the same."""

from __future__ import annotations

from codegen.errors import ConstantUndefined, Errors
from codegen.layout.resolve import Resolved
from codegen.tla.sany import Module


def check(resolved: Resolved, module: Module, errors: Errors) -> None:
    declared = [module.constants[uid] for uid in module.declared]
    names = {constant.name for constant in declared}
    for constant in sorted(declared, key=lambda constant: str(constant.span)):
        if constant.variable:
            continue
        if constant.arity:
            errors.add(
                ConstantUndefined(
                    constant.span,
                    f"CONSTANT {constant.name} is an operator",
                    "define it, or INSTANCE the module WITH one",
                )
            )
        elif constant.name not in resolved.constants:
            errors.add(
                ConstantUndefined(
                    constant.span,
                    f"CONSTANT {constant.name} has no value",
                    "give it one under `constants` in the layout",
                )
            )
    for name in resolved.constants:
        if name not in names and name not in resolved.used:
            span = resolved.source.span("constants", name)
            errors.add(ConstantUndefined(span, f"neither the module nor the layout uses {name}", "remove it"))
