"""Finds out which lookups of cells can fail, and when a hook looks a cell up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codegen import ir
from codegen.analysis.step_facts import StepFacts, Steps
from codegen.ir.locations import location
from codegen.ir.measure import WORD_BITS, interval_of
from codegen.layout.resolve import Resolved
from codegen.layout.sections import SectionPlan


def found_first(hook: Iterable[tuple[ir.TableLayout, bool, tuple[str, ...]]]) -> dict[str, int]:
    """Returns the indices whose cells xdp or tc looks up before the first section.

    The hook ends there if a cell is missing. So until an index is written, it is below the returned number: the
    capacity of the smallest table that uses it.

    hook: for each section its table, whether it is for all messages, and the message fields that its step writes.
    """
    found: dict[str, int] = {}
    written: set[str] = set()
    for table, for_all, writes in hook:
        if for_all and table.index not in written:
            found[table.index] = min(table.capacity, found.get(table.index, table.capacity))
        written.update(writes)
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
        (resolved.tables[plan.table], plan.when is None, steps[plan.step].written) for plan in hook if in_kernel
    )
    written: set[str] = set()
    for plan in hook:
        table = resolved.tables[plan.table]
        late = not plan.user and not plan.swept and (table.index in written or plan.daemon or plan.when is not None)
        within = _within(resolved, table, plan, written, sure)
        yield plan, late, within
        facts = steps[plan.step]
        told: dict[str, int] = {}
        if plan.when is None and plan.contended != "skip" and (within or not late):  # it runs for every message
            told = _told(resolved, plan, facts, written, sure)
        written.update(facts.written)
        sure = {field: bound for field, bound in sure.items() if field not in facts.written} | told
        if plan.swept and plan.contended != "skip":  # a pass goes over the cells that there are
            sure.update(dict.fromkeys(facts.told_index, table.capacity))


def _within(
    resolved: Resolved, table: ir.TableLayout, plan: SectionPlan, written: set[str], sure: dict[str, int]
) -> bool:
    """Whether every value of the index has a cell.

    It follows from the index's type, or from a hash that computes the index on arrival (a sweep has none). An
    earlier lookup with the same index shows it as well, and so does the cell that a sweep has come to. So do the
    values that an earlier step has given the index.
    """
    return _bound(resolved, plan, table.index, written, sure) <= table.capacity


def _bound(resolved: Resolved, plan: SectionPlan, name: str, written: set[str], sure: dict[str, int]) -> int:
    """Returns a number that a field of the message is below, when a section's step begins."""
    hashed = [] if (plan.daemon and not plan.user) or name in written else resolved.hashes
    bounds = [each.capacity for each in hashed if each.field == name]
    kind = resolved.message.field(name)
    if isinstance(kind, ir.UInt):
        bounds.append(1 << kind.width)
    return min([*bounds, sure.get(name, 1 << WORD_BITS)])


def _told(
    resolved: Resolved, plan: SectionPlan, facts: StepFacts, written: set[str], sure: dict[str, int]
) -> dict[str, int]:
    """Returns numbers that the fields which a step assigns are below when the hook goes on.

    A copy of another field, such as a hash, has that field's bound.
    """

    def below(value: ir.Expr) -> int:
        where = location(value)
        if where is not None and len(where) == 2 and where[0] == facts.step.message:
            return min(_bound(resolved, plan, where[1], written, sure), interval_of(value).high + 1)
        return interval_of(value).high + 1

    return {
        name: max(map(below, values))
        for name, values in facts.assigned.items()
        if isinstance(resolved.message.field(name), ir.UInt)
    }
