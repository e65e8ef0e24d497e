"""Finds out which lookups of cells can fail, and when a hook looks a cell up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from codegen import ir
from codegen.analysis.step_facts import StepFacts, Steps
from codegen.ir.locations import location
from codegen.ir.measure import WORD_BITS, interval_of
from codegen.layout.resolve import Resolved
from codegen.layout.sections import SectionPlan


def found_first(hook: Iterable[tuple[ir.TableLayout, bool, Iterable[str]]]) -> dict[str, int]:
    """Returns the indices whose cells xdp or tc looks up before the first section.

    The hook ends there if a cell is missing. So until an index is written, it is below the returned number: the
    capacity of the smallest table that uses it.

    hook: for each section its table, whether it is for all messages, and the message fields that it changes.
    """
    found: dict[str, int] = {}
    written: set[str] = set()
    for table, for_all, changed in hook:
        if for_all and table.index not in written:
            found[table.index] = min(table.capacity, found.get(table.index, table.capacity))
        written.update(changed)
    return found


def left_out(resolved: Resolved, steps: Steps, hook: list[SectionPlan]) -> list[bool]:
    """Returns, for each section, whether it may be left out because its index is beyond the table.

    If that is known before the first section, the hook ends there instead. The daemon drops a message whose cell
    is missing.
    """
    return [late and not within for _, late, within in lookups(resolved, steps, hook)]


def lookups(resolved: Resolved, steps: Steps, hook: list[SectionPlan]) -> Iterator[tuple[SectionPlan, bool, bool]]:
    """Yields each section, whether a program looks up its cell right before it, and whether the cell always exists."""
    in_kernel = hook is resolved.xdp or hook is resolved.tc
    sure = found_first(
        (resolved.tables[plan.table], plan.when is None and not plan.group, changed_by(resolved, steps, plan))
        for plan in hook
        if in_kernel
    )
    known = Known(resolved, set(), sure)
    for group, plans in groupby(hook, key=lambda plan: plan.group):
        together = list(plans)
        inside = known
        if group:
            # The operation before may have changed the message, but each operation has fields of its own.
            own = {*resolved.of_operation()}
            left = {name for plan in together for name in changed_by(resolved, steps, plan)}
            known = Known(resolved, known.written | left, known.without(left))
            inside = Known(resolved, known.written - own, known.without(own))
        for plan in together:
            late = inside.looks_late(plan)
            within = inside.bound(plan, resolved.tables[plan.table].index) <= resolved.tables[plan.table].capacity
            yield plan, late, within
            inside.goes_on(plan, steps[plan.step], runs=within or not late)


def changed_by(resolved: Resolved, steps: Steps, plan: SectionPlan) -> tuple[str, ...]:
    """Returns the fields of the message that a section may leave changed, after its group if it is in one."""
    own = resolved.of_operation() if plan.group else ()
    return tuple(name for name in steps[plan.step].written if name not in own)


@dataclass
class Known:
    """Knowledge of a message's fields at a point of a hook."""

    resolved: Resolved
    written: set[str]
    """Fields that a step may have written."""
    sure: dict[str, int]
    """Numbers that fields are below."""

    def without(self, fields: set[str]) -> dict[str, int]:
        return {name: bound for name, bound in self.sure.items() if name not in fields}

    def looks_late(self, plan: SectionPlan) -> bool:
        """Whether the program looks the section's cell up right before it, and not before the first section."""
        if plan.user or plan.swept:
            return False
        written = self.resolved.tables[plan.table].index in self.written
        return written or plan.daemon or plan.when is not None or plan.group > 0

    def bound(self, plan: SectionPlan, name: str) -> int:
        """Returns a number that a field of the message is below, when the section's step begins.

        It follows from the field's type, or from a hash that computes it on arrival (a sweep has none). An
        earlier lookup with the same index shows it as well, and so does the cell that a sweep has come to. So do the
        values that an earlier step has given the field.
        """
        hashed = [] if (plan.daemon and not plan.user) or name in self.written else self.resolved.hashes
        bounds = [each.capacity for each in hashed if each.field == name]
        kind = self.resolved.message.field(name)
        if isinstance(kind, ir.UInt):
            bounds.append(1 << kind.width)
        return min([*bounds, self.sure.get(name, 1 << WORD_BITS)])

    def goes_on(self, plan: SectionPlan, facts: StepFacts, runs: bool) -> None:
        """Goes on to the next section.

        runs: whether the cell exists for every message that the section is for.
        """
        for_all = plan.when is None and plan.contended != "skip"
        told = self._told(plan, facts) if for_all and runs else {}
        self.written.update(facts.written)
        self.sure = self.without({*facts.written}) | told
        if plan.swept and plan.contended != "skip":  # a pass goes over the cells that there are
            self.sure.update(dict.fromkeys(facts.told_index, self.resolved.tables[plan.table].capacity))

    def _told(self, plan: SectionPlan, facts: StepFacts) -> dict[str, int]:
        """Returns numbers that the fields which a step assigns are below when the hook goes on.

        A copy of another field, such as a hash, has that field's bound.
        """

        def below(value: ir.Expr) -> int:
            where = location(value)
            if where is not None and len(where) == 2 and where[0] == facts.step.message:
                return min(self.bound(plan, where[1]), interval_of(value).high + 1)
            return interval_of(value).high + 1

        return {
            name: max(map(below, values))
            for name, values in facts.assigned.items()
            if isinstance(self.resolved.message.field(name), ir.UInt)
        }
