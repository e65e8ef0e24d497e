"""Finds out which lookups of cells can fail, and when a hook looks a cell up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codegen import ir
from codegen.analysis.step_facts import Steps
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
        yield plan, late, _within(resolved, table, plan, written, sure)
        facts = steps[plan.step]
        written.update(facts.written)
        sure = {field: bound for field, bound in sure.items() if field not in facts.written}
        if plan.swept and plan.contended != "skip":  # a pass goes over the cells that there are
            sure.update(dict.fromkeys(facts.told_index, table.capacity))


def _within(
    resolved: Resolved, table: ir.TableLayout, plan: SectionPlan, written: set[str], sure: dict[str, int]
) -> bool:
    """Whether every value of the index has a cell.

    It follows from the index's type, or from a hash that computes the index on arrival (a sweep has none). An
    earlier lookup with the same index shows it as well, and so does the cell that a sweep has come to.
    """
    if sure.get(table.index, table.capacity + 1) <= table.capacity:
        return True
    hashed = [] if (plan.daemon and not plan.user) or table.index in written else resolved.hashes
    kind = ir.expect(resolved.message.field(table.index), ir.UInt)
    return 2**kind.width <= table.capacity or any(
        each.field == table.index and each.capacity <= table.capacity for each in hashed
    )
