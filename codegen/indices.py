"""Indices of cells that are looked up when it is too late to give up: after a state was changed, or where a
cell has an owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codegen import ir
from codegen.errors import Errors, LayoutInconsistent
from codegen.passes.leaves import leaves
from codegen.resolve import Resolved, position
from codegen.sections import SectionPlan


def found_first(hook: Iterable[tuple[ir.TableLayout, bool, set[str]]]) -> dict[str, int]:
    """Of xdp or tc: indices whose cells are looked up before the first section, for it ends there if one is not there.

    hook: of each section the table, whether it is for all messages, and the fields of the message that its step writes.
    Returns how many cells the smallest table of each index has: the index is below that, until it is written.
    """
    found: dict[str, int] = {}
    written: set[str] = set()
    for table, for_all, writes in hook:
        if for_all and table.index not in written:
            found[table.index] = min(table.capacity, found.get(table.index, table.capacity))
        written |= writes
    return found


def left_out(resolved: Resolved, steps: dict[str, ir.Step], hook: list[SectionPlan]) -> list[bool]:
    """Of each section, whether it may be left out because its index is beyond the table.

    Where that is known before the first one, the hook ends there instead; the daemon drops what it has no cell for.
    """
    return [late and not within for _, late, within in _lookups(resolved, steps, hook)]


def check(resolved: Resolved, steps: dict[str, ir.Step], errors: Errors) -> None:
    """Every value of such an index must be that of a cell.

    Out of range, a section would be left out, which the hook has only said that it can live with where it is
    `contended: skip`.
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
    """Of each section, whether its cell is looked up right before it, by a program, and whether there is one
    for every index.
    """
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
    """By its type, because it is hashed from a field when a packet comes (a sweep has none), or because another
    cell of that index is there.
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
