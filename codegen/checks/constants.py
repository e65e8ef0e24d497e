"""Checks that the constants of the steps and of the layout are the same, and that they satisfy every ASSUME."""

from __future__ import annotations

from collections.abc import Iterator

from codegen import ir
from codegen.errors import AssumptionFalse, ConstantUndefined, Errors, Stop
from codegen.ir.build import BOOL
from codegen.layout.resolve import Resolved
from codegen.tla.infer import Typer
from codegen.tla.inline import Inliner
from codegen.tla.kinds import Ambiguous
from codegen.tla.sany import Apply, Module, Node


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
        if name not in names and name in module.top:
            # TLC would put the value in the place of the operator, and nobody would hear of it.
            span = resolved.source.span("constants", name)
            where = module.top[name].span
            errors.add(
                ConstantUndefined(
                    span, f"{name} is an operator as well, at {where}", "give the constant or the operator another name"
                )
            )
    check_assumptions(resolved, module, errors)


def check_assumptions(resolved: Resolved, module: Module, errors: Errors) -> None:
    """Checks the ASSUMEs whose value follows from the constants. TLC checks the others, in the models."""
    for node in module.assumptions:
        try:
            value = Typer().check(Inliner(module, resolved.constants).closed(node), BOOL, {})
        except (Stop, Ambiguous):
            continue  # It needs more than the subset of TLA+ that compiles.
        if isinstance(value, ir.Literal) and value.value is False:
            names = [name for name in dict.fromkeys(constants_in(node)) if name in resolved.constants]
            values = ", ".join(f"{name} = {resolved.constants[name]}" for name in names)
            errors.add(
                AssumptionFalse(node.span, f"this ASSUME is false with {values}", "change the layout's constants")
            )


def constants_in(node: Node) -> Iterator[str]:
    """Yields the names of the constants in an expression."""
    if isinstance(node, Apply):
        if node.operator.kind == "constant":
            yield node.operator.name
        for operand in node.operands:
            yield from constants_in(operand)
