"""Compiles the steps that a layout names: subset, inlining, types, lowering, bounds."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace

from codegen import ir
from codegen.analysis.bounds import Bounds
from codegen.analysis.facts import Facts
from codegen.analysis.message_kinds import arriving
from codegen.analysis.step_facts import Steps
from codegen.errors import Errors, LayoutInconsistent, NotCompilable, StepSignature, Stop, meant
from codegen.ir import Interval
from codegen.layout.resolve import Resolved, position
from codegen.layout.sections import SectionPlan
from codegen.tla.inline import Inliner
from codegen.tla.kinds import Scope
from codegen.tla.lower import Lowering, unique
from codegen.tla.sany import Module, Operator
from codegen.tla.subset import Subset


@dataclass
class StepCompiler:
    """Compiles operators of one module, each for one table."""

    module: Module
    resolved: Resolved
    errors: Errors
    within: Subset = field(init=False)

    def __post_init__(self) -> None:
        self.within = Subset(self.module, self.errors)

    def step(self, operator: Operator, plan: SectionPlan, hidden: set[str]) -> ir.Step | None:
        """Compiles one step; `hidden` lists the fields of env that it must not read."""
        if len(operator.parameters) not in (2, 3) or any(operator.arities):
            self.errors.add(
                StepSignature(
                    operator.span,
                    f"{plan.step} has {len(operator.parameters)} parameters",
                    "write Step(cell, msg) or Step(cell, msg, env)",
                )
            )
            return None
        if not self.within.check(operator):
            return None
        try:
            names, term = Inliner(self.module, self.resolved.constants).step(operator)
        except Stop as stop:
            self.errors.add(stop.error)
            return None
        table = self.resolved.tables[plan.table]
        cell_type = ir.Table(table.name, table.cell, table.capacity) if plan.reads == "table" else table.cell
        env_type = ir.Record("env", tuple(field for field in self.resolved.env.fields if field[0] not in hidden))
        kinds = (cell_type, self.resolved.message, env_type)
        parameters = [ir.Var(name, kind, operator.span) for name, kind in zip(names, kinds)]
        before = len(self.errors.found)
        scope: Scope = {parameter.name: parameter for parameter in parameters}
        body = Lowering(plan.step, parameters[0], parameters[1], scope, self.errors).run(term)
        if len(self.errors.found) > before:
            return None
        body = unique(body, set(names))
        body = Bounds(self.errors, kernel=not plan.user).body(
            body, (parameters[0], parameters[1]), given(parameters, table, plan.user, self.resolved.operations)
        )
        env = names[2] if len(names) == 3 else None
        return ir.Step(plan.step, names[0], names[1], env, cell_type, body, operator.span)


LEVELS_MAX = 6_000
"""Levels of calls in Python, some for each part of an EXCEPT and each LET."""


def compile_steps(compiler: StepCompiler) -> dict[str, ir.Step]:
    """Compiles every step that a section names, once."""
    steps: dict[str, ir.Step] = {}
    tables: dict[str, tuple[str, bool]] = {}
    resolved, module, errors = compiler.resolved, compiler.module, compiler.errors
    anywhere = {plan.step for plan in resolved.plans() if plan.daemon}
    alone = {plan.step for plan in resolved.plans() if not plan.group}
    for plan in resolved.plans():
        span = position(resolved, plan)
        if plan.step in tables:
            if tables[plan.step] != (plan.table, plan.user):
                errors.add(
                    LayoutInconsistent(
                        span,
                        f"{plan.step} is already a step of {tables[plan.step][0]}",
                        "a step works on one table: define another operator that calls it",
                    )
                )
            continue
        tables[plan.step] = (plan.table, plan.user)
        operator = module.top.get(plan.step)
        if operator is None:
            close = meant(plan.step, module.top)
            errors.add(LayoutInconsistent(span, f"{module.name} has no operator {plan.step}{close}"))
            continue
        hidden = {"index"} if plan.user else set(ir.USER_ONLY)
        hidden |= {"cpu"} if plan.step in anywhere else set()
        hidden |= {ir.POSITION} if plan.step in alone else set()
        sys.setrecursionlimit(max(LEVELS_MAX, sys.getrecursionlimit()))
        try:
            step = compiler.step(operator, plan, hidden)
        except RecursionError:
            remedy = "split the step into several sections"
            errors.add(NotCompilable(operator.span, f"{plan.step} has too many levels of EXCEPT, LET and IF", remedy))
            continue
        if step is not None:
            steps[plan.step] = step
    return steps


def given(parameters: list[ir.Var], table: ir.TableLayout, user: bool, operations: ir.OperationsLayout | None) -> Facts:
    """Returns facts about a step's parameters.

    env.index is an index of the section's table, and env.position is the number of an operation.
    """
    facts = Facts()
    if len(parameters) == 3 and not user:
        env = parameters[2]
        index = ir.Field(env, "index", ir.UInt(32), env.span)
        facts.note_range(index, Interval(0, table.capacity - 1))
        fields = dict(ir.expect(env.type, ir.Record).fields)
        if operations is not None and ir.POSITION in fields:
            position = ir.Field(env, ir.POSITION, fields[ir.POSITION], env.span)
            facts.note_range(position, Interval(0, operations.max - 1))
    return facts


def fitted(resolved: Resolved, steps: Steps) -> dict[str, ir.Step]:
    """Returns the steps without the branches that no message reaches.

    A step that no message reaches at all stays as it is, so that the checks see its branches.
    """
    done = {}
    for name, facts in arriving(resolved, steps).items():
        if facts.dead:
            done[name] = steps[name].step
            continue
        step, plan = steps[name].step, next(plan for plan in resolved.plans() if plan.step == name)
        table = resolved.tables[plan.table]
        message = ir.Var(step.message, resolved.message, step.span)
        env = [ir.Var(step.env, resolved.env, step.span)] if step.env else []
        cell = ir.Var(step.cell, step.cell_type, step.span)
        known = given([cell, message, *env], table, plan.user, resolved.operations)
        known = replace(known, members=facts.members)
        done[name] = replace(
            step,
            body=Bounds(Errors(), kernel=not plan.user).body(step.body, (cell, message), known),
        )
    return done
