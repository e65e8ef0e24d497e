"""Checks indices whose lookup must not fail: after a section changed a cell, or of an `owned` table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codegen import ir
from codegen.errors import Errors, LayoutInconsistent
from codegen.passes.leaves import leaves
from codegen.resolve import Resolved, position
from codegen.sections import SectionPlan


def found_first(hook: Iterable[tuple[ir.TableLayout, bool, set[str]]]) -> dict[str, int]:
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
        written |= writes
    return found


def left_out(resolved: Resolved, steps: dict[str, ir.Step], hook: list[SectionPlan]) -> list[bool]:
    """Returns, for each section, whether it may be left out because its index is beyond the table.

    If that is known before the first section, the hook ends there instead. The daemon drops a message whose cell
    is missing.
    """
    return [late and not within for _, late, within in _lookups(resolved, steps, hook)]


def check(resolved: Resolved, steps: dict[str, ir.Step], errors: Errors) -> None:
    """Checks that every value of such an index has a cell.

    Otherwise a section could be left out, which only `contended: skip` allows.
    """
    for hook in resolved.hooks():
        writer = ""
        for plan, late, within in _lookups(resolved, steps, hook):
            step, table = steps[plan.step], resolved.tables[plan.table]
            sure = late and plan.contended != "skip"
            if not plan.swept and (table.atomic == "owned" or (writer and sure)) and not within:
                reason = (
                    "which is `atomic: owned`"
                    if table.atomic == "owned"
                    else f"which is looked up after {writer} may have changed a cell"
                )
                errors.add(_beyond(resolved, table, plan, reason))
            if any(leaf.cell and leaf.verdict == "Continue" for leaf in leaves(step.body)):
                writer = writer or plan.step


def _lookups(
    resolved: Resolved, steps: dict[str, ir.Step], hook: list[SectionPlan]
) -> Iterator[tuple[SectionPlan, bool, bool]]:
    """Yields each section, whether a program looks up its cell right before it, and whether the cell always exists."""
    in_kernel = hook is resolved.xdp or hook is resolved.tc
    sure = found_first(
        (resolved.tables[plan.table], plan.when is None, _written(steps[plan.step])) for plan in hook if in_kernel
    )
    written: set[str] = set()
    for plan in hook:
        table = resolved.tables[plan.table]
        late = not plan.user and not plan.swept and (table.index in written or plan.daemon or plan.when is not None)
        yield plan, late, _within(resolved, table, plan, written, sure)
        written |= _written(steps[plan.step])


def _written(step: ir.Step) -> set[str]:
    return {str(assign.path[0]) for leaf in leaves(step.body) for assign in leaf.message}


def _within(
    resolved: Resolved, table: ir.TableLayout, plan: SectionPlan, written: set[str], sure: dict[str, int]
) -> bool:
    """Whether every value of the index has a cell.

    It follows from the index's type, from a hash that computes the index on arrival (a sweep has none), or
    from an earlier lookup with the same index.
    """
    if table.index not in written and sure.get(table.index, table.capacity + 1) <= table.capacity:
        return True
    hashed = [] if (plan.daemon and not plan.user) or table.index in written else resolved.hashes
    kind = resolved.message.field(table.index)
    return 2**kind.width <= table.capacity or any(
        each.field == table.index and each.capacity <= table.capacity for each in hashed
    )


def _beyond(resolved: Resolved, table: ir.TableLayout, plan: SectionPlan, reason: str) -> LayoutInconsistent:
    width = resolved.message.field(table.index).width
    fitting = table.capacity.bit_length() - 1
    instead = f"make its type u{fitting}, or the capacity {2**width}" if fitting else f"make the capacity {2**width}"
    return LayoutInconsistent(
        position(resolved, plan),
        f"msg.{table.index} is u{width}, and may be beyond the {table.capacity} cells of {table.name}, {reason}",
        instead,
    )
