"""The front end turns a protocol's folder (TLA+ steps and layout) into an `ir.Protocol`.

    read the layout -> resolve its names -> parse the steps -> check the subset -> inline -> type
    and lower -> bound

Every pass reports its errors and goes on if it can, so that one run shows all errors.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from codegen import drain_steps, forwarded, idle, indices, ir, layout, owned, resolve, sany
from codegen.arriving import arriving
from codegen.errors import (
    ConstantUndefined,
    Errors,
    FileMissing,
    LayoutInconsistent,
    SpecError,
    SpecErrors,
    StepSignature,
    Stop,
)
from codegen.ir import Interval, Span
from codegen.passes.bounds import Bounds
from codegen.passes.facts import Facts
from codegen.passes.inline import Inliner
from codegen.passes.leaves import is_called, leaves
from codegen.passes.lower import Lowering, unique
from codegen.passes.subset import Subset
from codegen.passes.tail import tail_uses, written_with_cell
from codegen.resolve import Resolved
from codegen.sections import SectionPlan

REPOSITORY = Path(__file__).resolve().parent.parent
LIBRARY = REPOSITORY / "spec" / "lib"


def load(spec_dir: Path, override: dict | layout.Source | None = None, name: str | None = None) -> ir.Protocol:
    """Compiles the protocol in `spec_dir`. Raises SpecErrors with all errors.

    override: merged over the layout, for example {"constants": {"MaxHolders": 2}}. Errors in a Source have a place.
    name: the required name of the protocol, if any. The folders of generated/ and build/ have the names of spec/'s.
    """
    spec_dir = spec_dir.resolve()
    folders = list(dict.fromkeys([*used_folders(spec_dir), spec_dir.parent / "lib", LIBRARY]))
    display = display_names(spec_dir, folders)
    errors = Errors()
    try:
        protocol = Loader(spec_dir, folders, display, errors, override, name).run()
        errors.raise_if_any()
    except SpecErrors as found:
        raise SpecErrors([real_place(error, display) for error in found.errors]) from None
    assert protocol is not None
    return protocol


def used_folders(spec_dir: Path) -> list[Path]:
    """Returns the folders of the layouts in `use`, because a protocol's steps may extend modules there."""
    return [folder for folder in layout.used_folders(spec_dir / "layout.yaml") if folder != spec_dir]


def display_names(spec_dir: Path, folders: list[Path]) -> sany.Display:
    """Names the files of a copy, outside of the repository or in its build/, like those of the protocol itself.

    So the C of a changed copy differs from the original's only because of the change.
    """
    outside: dict[Path, str] = {}
    for folder in [spec_dir, *folders]:
        if not folder.is_relative_to(REPOSITORY) or folder.is_relative_to(REPOSITORY / "build"):
            outside[folder] = f"spec/{folder.name}"
    return sany.Display(REPOSITORY, outside)


def real_place(error: SpecError, display: sany.Display) -> SpecError:
    """Returns an error with the path of the file that the user can open."""
    for folder, name in display.outside.items():
        if error.span.file.startswith(f"{name}/"):
            path = folder / error.span.file.removeprefix(f"{name}/")
            if path.is_file():
                return replace(error, span=replace(error.span, file=os.path.relpath(path)))
    return error


class Loader:
    """One run of the front end."""

    def __init__(
        self,
        spec_dir: Path,
        folders: list[Path],
        display: sany.Display,
        errors: Errors,
        override: dict | layout.Source | None,
        name: str | None,
    ):
        self.spec_dir = spec_dir
        self.folders = folders
        self.display = display
        self.errors = errors
        self.override = override
        self.name = name

    def run(self) -> ir.Protocol | None:
        path = self.spec_dir / "layout.yaml"
        if not path.is_file():
            here = Span(self.display.name(path), 1, 1)
            self.errors.add(
                FileMissing(
                    here, f"{self.spec_dir.name} has no layout.yaml", "every protocol has one: see docs/layout.md"
                )
            )
            return None
        read = layout.read(path, self.folders, self.override, self.display, self.errors)
        if read is None:
            return None
        written, source = read
        if self.name not in (None, written.protocol):
            self.errors.add(
                LayoutInconsistent(
                    source.span("protocol"),
                    f"the protocol is called {written.protocol}, its folder {self.name}",
                    f"write `protocol: {self.name}`, or rename the folder",
                )
            )
        resolved = resolve.resolve(written, source, self.errors)
        module = self.parse(resolved)
        if module is None:
            return None
        self.check_constants(module, resolved)
        steps = self.compile(module, resolved)
        if not self.errors.found:
            idle.check(resolved, steps, self.errors)
            steps = self.fitted(resolved, steps)
        drained = drain_steps.compile_steps(self, module, resolved, steps)
        if self.errors.found:
            return None
        protocol = replace(self.protocol(module, resolved, steps), **drain_steps.parts(resolved, drained))
        self.check_sections(resolved, steps)
        drain_steps.check(resolved, drained, self.errors)
        return protocol

    # --- The module -------------------------------------------------------------------------------------------

    def parse(self, resolved: Resolved) -> sany.Module | None:
        name = resolved.layout.module
        path = self.spec_dir / f"{name}.tla"
        if not path.is_file():
            span = resolved.source.span("module")
            self.errors.add(FileMissing(span, f"there is no {name}.tla beside the layout", "name the steps module"))
            return None
        for standard in sorted(sany.STANDARD_MODULES):
            for folder in [self.spec_dir, *self.folders]:
                if (folder / f"{standard}.tla").is_file():
                    span = Span(self.display.name(folder / f"{standard}.tla"), 1, 1)
                    self.errors.add(FileMissing(span, f"{standard} is a standard module", "rename this one"))
                    return None
        return sany.read(path, self.folders, self.display, self.errors)

    def check_constants(self, module: sany.Module, resolved: Resolved) -> None:
        declared = [module.constants[uid] for uid in module.declared]
        names = {constant.name for constant in declared}
        for constant in sorted(declared, key=lambda constant: str(constant.span)):
            if constant.variable:
                continue
            if constant.arity:
                self.errors.add(
                    ConstantUndefined(
                        constant.span,
                        f"CONSTANT {constant.name} is an operator",
                        "define it, or INSTANCE the module WITH one",
                    )
                )
            elif constant.name not in resolved.constants:
                self.errors.add(
                    ConstantUndefined(
                        constant.span,
                        f"CONSTANT {constant.name} has no value",
                        "give it one under `constants` in the layout",
                    )
                )
        for name in resolved.constants:
            if name not in names and name not in resolved.used:
                span = resolved.source.span("constants", name)
                self.errors.add(
                    ConstantUndefined(span, f"neither the module nor the layout has a use for {name}", "remove it")
                )

    # --- Steps ------------------------------------------------------------------------------------------------

    def compile(self, module: sany.Module, resolved: Resolved) -> dict[str, ir.Step]:
        """Compiles every step that a section names, once."""
        steps: dict[str, ir.Step] = {}
        tables: dict[str, tuple[str, bool]] = {}
        within = Subset(module, self.errors)
        anywhere = {plan.step for plan in resolved.plans() if plan.daemon}
        for plan in resolved.plans():
            span = resolve.position(resolved, plan)
            if plan.step in tables:
                if tables[plan.step] != (plan.table, plan.user):
                    self.errors.add(
                        LayoutInconsistent(
                            span,
                            f"{plan.step} is a step of {tables[plan.step][0]} already",
                            "a step works on one table: define another operator that calls it",
                        )
                    )
                continue
            tables[plan.step] = (plan.table, plan.user)
            operator = module.top.get(plan.step)
            if operator is None:
                self.errors.add(LayoutInconsistent(span, f"{module.name} has no operator {plan.step}"))
                continue
            hidden = {"index"} if plan.user else set(ir.USER_ONLY)
            hidden |= {"cpu"} if plan.step in anywhere else set()
            step = self.step(module, within, resolved, operator, plan, hidden)
            if step is not None:
                steps[plan.step] = step
        return steps

    def step(
        self,
        module: sany.Module,
        within: Subset,
        resolved: Resolved,
        operator: sany.Operator,
        plan: SectionPlan,
        hidden: set[str],
    ) -> ir.Step | None:
        """Compiles one step; `hidden` lists the fields of env that it must not read."""
        if len(operator.parameters) not in (2, 3) or any(operator.arities):
            self.errors.add(
                StepSignature(
                    operator.span,
                    f"{plan.step} has {len(operator.parameters)} parameters",
                    "a step is Step(cell, msg) or Step(cell, msg, env)",
                )
            )
            return None
        if not within.check(operator):
            return None
        try:
            names, term = Inliner(module, resolved.constants).step(operator)
        except Stop as stop:
            self.errors.add(stop.error)
            return None
        table = resolved.tables[plan.table]
        cell_type = ir.Table(table.name, table.cell, table.capacity) if plan.reads == "table" else table.cell
        env_type = ir.Record("env", tuple(field for field in resolved.env.fields if field[0] not in hidden))
        kinds = (cell_type, resolved.message, env_type)
        parameters = [ir.Var(name, kind, operator.span) for name, kind in zip(names, kinds)]
        before = len(self.errors.found)
        scope = {parameter.name: parameter for parameter in parameters}
        body = Lowering(plan.step, parameters[0], parameters[1], scope, self.errors).run(term)
        if len(self.errors.found) > before:
            return None
        body = unique(body, set(names))
        body = Bounds(self.errors, kernel=not plan.user).body(
            body, (parameters[0], parameters[1]), self.given(parameters, table, plan.user)
        )
        env = names[2] if len(names) == 3 else None
        return ir.Step(plan.step, names[0], names[1], env, cell_type, body, operator.span)

    def given(self, parameters: list[ir.Var], table: ir.TableLayout, user: bool) -> Facts:
        """Returns facts about a step's parameters: env.index is an index of the section's table."""
        facts = Facts()
        if len(parameters) == 3 and not user:
            env = parameters[2]
            index = ir.Field(env, "index", ir.UInt(32), env.span)
            facts.note_range(index, Interval(0, table.capacity - 1))
        return facts

    def fitted(self, resolved: Resolved, steps: dict[str, ir.Step]) -> dict[str, ir.Step]:
        """Returns the steps without the branches that no message reaches."""
        done = {}
        for name, facts in arriving(resolved, steps).items():
            step, plan = steps[name], next(plan for plan in resolved.plans() if plan.step == name)
            table = resolved.tables[plan.table]
            message = ir.Var(step.message, resolved.message, step.span)
            env = [ir.Var(step.env, resolved.env, step.span)] if step.env else []
            given = self.given([ir.Var(step.cell, step.cell_type, step.span), message, *env], table, plan.user)
            given = replace(given, members=facts.members, dead=facts.dead)
            done[name] = replace(
                step,
                body=Bounds(Errors(), kernel=not plan.user).body(
                    step.body, (ir.Var(step.cell, step.cell_type, step.span), message), given
                ),
            )
        return done

    # --- The protocol --------------------------------------------------------------------------------------------

    def section(self, plan: SectionPlan, resolved: Resolved, steps: dict[str, ir.Step]) -> ir.Section:
        step = steps[plan.step]
        index = None if plan.swept else resolved.tables[plan.table].index
        again = tuple(leaf.name for leaf in leaves(step.body) if plan.again and is_called(step, leaf, plan.again))
        return ir.Section(
            plan.table,
            step,
            index,
            plan.contended,
            any(leaf.cell for leaf in leaves(step.body)),
            plan.reads,
            again,
            plan.when,
        )

    def protocol(self, module: sany.Module, resolved: Resolved, steps: dict[str, ir.Step]) -> ir.Protocol:
        written = resolved.layout
        budgets = [
            (program, getattr(written.budget, program)) for program in ("xdp", "ahead", "tc", "sweep", "restore")
        ]
        sections = lambda plans: tuple(self.section(plan, resolved, steps) for plan in plans)  # noqa: E731
        files = [*resolved.source.files, *module.files.values()]
        return ir.Protocol(
            name=written.protocol,
            module=written.module,
            constants=tuple(resolved.constants.items()),
            message=resolved.message,
            wire=tuple(written.wire.order),
            handover=tuple(written.handover),
            port=written.wire.port,
            hashes=resolved.hashes,
            env=resolved.env,
            tick_ns=written.env.now.tick_ns if written.env.now else None,
            young_ticks=0 if resolved.age_until is None else resolved.age_until + 1,
            token=resolved.token,
            promiscuous=written.promiscuous,
            tables=tuple(resolved.tables.values()),
            xdp=sections(resolved.xdp),
            tc=sections(resolved.tc),
            user=sections(resolved.user),
            user_row=isinstance(written.hooks.user, list),
            forwards=tuple(written.forwards),
            tail=resolved.tail,
            sweep_period_ms=written.sweep.period_ms if written.sweep else 0,
            sweep=(
                *(
                    ir.Pass(each, sections(plans), f"sweep_{number}")
                    for number, (each, plans) in enumerate(resolved.sweep, 1)
                ),
                *(
                    ir.Pass(each, sections(plans), "restore")
                    for each, plans in resolved.passes()[len(resolved.sweep) :]
                ),
            ),
            restore=ir.Restore(written.restore.rows, written.restore.fate.field, tuple(written.restore.fate.done))
            if written.restore
            else None,
            budgets=tuple(
                (program, ir.Budget(budget.insns, budget.states, budget.stack)) for program, budget in budgets if budget
            ),
            sources=tuple(dict.fromkeys(self.display.name(path) for path in files)),
        )

    def check_sections(self, resolved: Resolved, steps: dict[str, ir.Step]) -> None:
        """Runs the checks of hooks that need compiled steps."""
        for hook in (resolved.xdp, resolved.tc, *(plans for _, plans in resolved.passes())):
            writer: str | None = None
            for plan in hook:
                ends = list(leaves(steps[plan.step].body))
                word_load = resolved.tables[plan.table].atomic == "word" and not any(leaf.cell for leaf in ends)
                if plan.contended == "drop" and writer and not word_load:
                    self.errors.add(
                        LayoutInconsistent(
                            resolve.position(resolved, plan),
                            f"{plan.step} is dropped when contended, but {writer} may have written before",
                            "say `contended: skip`, or `never` where nobody else can write the cell then",
                        )
                    )
                if any(leaf.cell and leaf.verdict == "Continue" for leaf in ends):
                    writer = writer or plan.step
        owned.check(resolved, steps, self.errors)
        indices.check(resolved, steps, self.errors)
        self.check_tail(resolved, steps)
        if not resolved.user:
            self.check_forwards(resolved, steps)
        self.check_user(resolved, steps)
        forwarded.check(resolved, steps, self.errors)

    def check_user(self, resolved: Resolved, steps: dict[str, ir.Step]) -> None:
        in_row = isinstance(resolved.layout.hooks.user, list)
        verdicts, instead = ("Reply", "Drop"), "it ends with Reply or Drop"
        if in_row:
            verdicts, instead = ("Continue", *verdicts), "it ends with Continue, Reply or Drop"
        for plan in resolved.user:
            for leaf in leaves(steps[plan.step].body):
                if leaf.verdict not in verdicts:
                    self.errors.add(StepSignature(leaf.span, f"the user step says {leaf.verdict}", instead))
                if plan.reads and leaf.cell:
                    self.errors.add(
                        StepSignature(
                            leaf.cell[0].span,
                            f"the user step {plan.step} changes a cell that it only reads",
                            "return the cell as it is",
                        )
                    )
            self.check_again(resolved, plan, steps[plan.step])

    def check_again(self, resolved: Resolved, plan: SectionPlan, step: ir.Step) -> None:
        """Checks that the label in `again` only names Drops that change nothing."""
        called = [leaf for leaf in leaves(step.body) if plan.again and is_called(step, leaf, plan.again)]
        if plan.again and not called:
            labels = sorted(
                {
                    leaf.name
                    for leaf in leaves(step.body)
                    if leaf.verdict == "Drop" and not leaf.name.startswith(f"{plan.step}.")
                }
            )
            self.errors.add(
                LayoutInconsistent(
                    resolved.source.span(*plan.position[:-1], "again"),
                    f"no branch of {plan.step} has the label {plan.again}",
                    f"those that drop have {', '.join(labels)}"
                    if labels
                    else f"give one that drops a label: `{plan.again} :: Drop(cell, msg)`",
                )
            )
        for leaf in called:
            if leaf.verdict != "Drop" or leaf.cell:
                what = f"says {leaf.verdict}" if leaf.verdict != "Drop" else "changes its cell"
                self.errors.add(
                    StepSignature(
                        leaf.span,
                        f"{plan.step} is to be looked at again after {plan.again}, which {what}",
                        "it must be a Drop that leaves the cell as it was",
                    )
                )

    def check_tail(self, resolved: Resolved, steps: dict[str, ir.Step]) -> None:
        """Checks that only user steps use the tail, and that none changes it in the leaf that changes a word.

        Programs never see the tail. If a compare-and-swap of a word fails, the step runs again, and the old tail
        would be lost.
        """
        if resolved.tail is None:
            return
        tail = resolved.tail.field
        for plan in {plan.step: plan for plan in resolved.plans()}.values():
            step = steps[plan.step]
            if not plan.user:
                for span in tail_uses(step, tail):
                    self.errors.add(
                        LayoutInconsistent(
                            span,
                            f"{plan.step} uses the message's {tail}, which no program sees",
                            "only steps of hooks.user can",
                        )
                    )
            elif resolved.tables[plan.table].atomic == "word":
                for span in written_with_cell(step.body, tail):
                    self.errors.add(
                        LayoutInconsistent(
                            span,
                            f"{plan.step} changes the message's {tail} as it changes a word",
                            "change it in a section of another table",
                        )
                    )

    def check_forwards(self, resolved: Resolved, steps: dict[str, ir.Step]) -> None:
        """Checks that xdp forwards only if there is a user hook.

        Otherwise the daemon has no socket, and the client would get an ICMP error: port unreachable.
        """
        for plan in resolved.xdp:
            for leaf in leaves(steps[plan.step].body):
                if leaf.verdict == "Forward":
                    self.errors.add(
                        LayoutInconsistent(
                            leaf.span,
                            f"{plan.step} forwards, but the layout has no hooks.user that would serve what it forwards",
                            "add hooks.user, or end with Drop or Reply",
                        )
                    )
