"""Reads the sections of a layout: which step runs where. The steps are not compiled yet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from codegen import ir
from codegen.layout.context import Context
from codegen.layout.schema import GroupModel
from codegen.layout.source import Place


@dataclass(frozen=True)
class SectionPlan:
    """A section before its step is compiled."""

    table: str
    step: str
    contended: str
    swept: bool
    """Whether the section is on the table that its pass goes over."""
    position: Place
    """Its place in the layout."""
    user: bool = False
    """Whether the section belongs to the user hook."""
    reads: str = ""
    """Part of the table that a user section only reads: `table` (all of it) or `cell`. Empty if it steps a cell."""
    again: str = ""
    """Label of a Drop after which the daemon runs the user hook on the message again."""
    when: ir.When | None = None
    """Messages that the section is for; None means all."""
    group: int = 0
    """Number of its group of xdp, from 1 on; 0 if it is in none."""

    @property
    def daemon(self) -> bool:
        """Whether the daemon starts it (the user hook or a sweep), which may run on any processor."""
        return self.user or self.position[0] == "sweep"


class Sections:
    """Reads the sections of hooks and of passes."""

    def __init__(self, context: Context):
        self.context = context

    def xdp(self, message: ir.Record) -> list[SectionPlan]:
        """Reads the sections of xdp, with those of its groups."""
        plans: list[SectionPlan] = []
        number = 0
        for at, item in enumerate(self.context.layout.hooks.xdp):
            place: Place = ("hooks", "xdp", at)
            if not isinstance(item, GroupModel):
                plans += self.hook_section(item, place, message)
                continue
            number += 1
            for inner, text in enumerate(item.sections):
                found = self.hook_section(text, (*place, "sections", inner), message)
                plans += [replace(plan, group=number) for plan in found]
        self.check_last("xdp", plans)
        return plans

    def tc(self, message: ir.Record) -> list[SectionPlan]:
        """Reads the sections of tc."""
        texts = enumerate(self.context.layout.hooks.tc)
        plans = [plan for at, text in texts for plan in self.hook_section(text, ("hooks", "tc", at), message)]
        self.check_last("tc", plans)
        return plans

    def hook_section(self, text: dict[str, Any], place: Place, message: ir.Record) -> list[SectionPlan]:
        """Reads one section of xdp or tc. Returns none after reporting an error."""
        plan = self.section({key: value for key, value in text.items() if key != "when"}, place)
        if plan is None:
            return []
        return [replace(plan, when=self.when(text["when"], (*place, "when"), message))] if "when" in text else [plan]

    def check_last(self, hook: str, plans: list[SectionPlan]) -> None:
        """Checks that the last section of a hook is for all messages, because it ends the hook."""
        if not plans:
            return
        last = plans[-1]
        if last.group:
            self.context.complain(
                last.position[:3],
                f"{hook} ends with a group, which does not run for messages without operations",
                "add a section behind it, which ends the hook for every message",
            )
        elif last.when is not None:
            self.context.complain(
                (*last.position[:-1], "when"),
                f"{last.step} is the last section of {hook}",
                "remove `when`: the last section must handle every message",
            )

    def when(self, text: Any, place: Place, message: ir.Record, maybe_all: bool = False) -> ir.When | None:
        """Reads `when`: an enum field of the message, and some of its members.

        maybe_all: whether it may list all members.
        """
        if not isinstance(text, dict):
            self.context.complain(
                place, f"`when` is {text}", "write {kind: [Member]}, with an enum field of the message"
            )
            return None
        ((field, listed),) = text.items()
        kind = dict(message.fields).get(field)
        if not isinstance(kind, ir.Enum):
            enums = [name for name, other in message.fields if isinstance(other, ir.Enum)]
            self.context.complain(
                (*place, field), f"the message has no enum field {field}", f"its enum fields are {', '.join(enums)}"
            )
            return None
        if isinstance(listed, str):
            self.context.used.add(listed)
        members = self.context.constants.get(listed) if isinstance(listed, str) else tuple(listed)
        if not isinstance(members, tuple):
            self.context.complain(
                (*place, field), f"{listed} is not a constant with a list of members", "write the members: [Member]"
            )
            return None
        for member in members:
            if member not in kind.members:
                self.context.complain(
                    (*place, field), f"{field} has no member {member}", f"it has {', '.join(kind.members)}"
                )
        if set(members) >= set(kind.members) and not maybe_all:
            self.context.complain((*place, field), f"`when` lists every member of {field}", "remove `when`")
        return ir.When(field, tuple(member for member in kind.members if member in members))

    def section(self, text: dict[str, str], place: Place, each: str | None = None) -> SectionPlan | None:
        """Reads one section of xdp, of tc, or of a sweep's pass over the table `each`."""
        named = table_and_step(self.context, text, place, ("contended",), "write {table: Step, contended: skip}")
        contended = text.get("contended", "drop")
        if contended not in ("drop", "skip", "never"):
            self.context.complain(
                (*place, "contended"), f"`contended` is {contended}", "it must be drop, skip or never"
            )
        if named is None:
            return None
        table, step = named
        if self.context.layout.tables[table].atomic == "user":
            self.context.complain(
                (*place, table),
                f"only the daemon can access {table}, which is `atomic: user`",
                "choose word, spin_lock or res_spin_lock for it, or move the section to hooks.user",
            )
        self.check_owned(table, contended, place)
        return SectionPlan(table, step, contended, table == each, (*place, table))

    def check_owned(self, table: str, contended: str, place: Place) -> None:
        if self.context.layout.tables[table].atomic == "owned" and contended != "never":
            self.context.complain(
                (*place, table),
                f"nothing protects a cell of {table}, which is `atomic: owned`, while the section runs",
                "write `contended: never`, and show it in the model; or choose another `atomic`",
            )

    def user(self) -> list[SectionPlan]:
        """Reads the sections of the user hook."""
        hook = self.context.layout.hooks.user
        if hook is None:
            return []
        if isinstance(hook, list):
            plans = [self.user_section(text, ("hooks", "user", at), "") for at, text in enumerate(hook)]
        else:
            plans = [self.user_section(hook, ("hooks", "user"), "table")]
        return [plan for plan in plans if plan is not None]

    def user_section(self, text: dict[str, str], place: Place, default: str) -> SectionPlan | None:
        """Reads one section of the user hook; `default` stands in for a missing `reads`."""
        named = table_and_step(
            self.context, text, place, ("reads", "contended", "again"), "write {table: Step, reads: cell}"
        )
        if named is None:
            return None
        table, step = named
        owned = self.context.layout.tables[table].atomic == "owned"
        if "contended" in text and not owned:
            self.context.complain(
                (*place, "contended"),
                f"`contended` is {text['contended']}, in the user hook",
                f"remove it: there only sections of tables with `atomic: owned` have it, and {table} has another",
            )
        if "again" in text and self.context.layout.drain is None:
            self.context.complain(
                (*place, "again"),
                "`again` waits for a sync of the drain, but there is no `drain`",
                "remove `again`, or add `drain`",
            )
        reads = text.get("reads", default)
        if "reads" in text and reads not in ("table", "cell"):
            self.context.complain((*place, "reads"), f"`reads` is {reads}", "it must be table or cell")
        elif reads == "table":
            self.check_read_table(table, place, alone=bool(default))
        elif reads == "cell":
            self.check_read_cell(table, place, alone=bool(default))
        elif self.context.layout.tables[table].atomic not in ("word", "user", "owned"):
            self.context.complain(
                (*place, table),
                f"the user section steps a cell of {table}, which is guarded",
                "only read it (`reads: cell`), or choose `atomic: word`",
            )
        if owned:
            self.check_owned(table, text.get("contended", "drop"), place)
        return SectionPlan(
            table, step, "never" if owned else "drop", False, (*place, table), True, reads, text.get("again", "")
        )

    def check_read_table(self, table: str, place: Place, alone: bool) -> None:
        atomic = self.context.layout.tables[table].atomic
        if not alone:
            self.context.complain(
                (*place, "reads"),
                "one section of several reads a whole table",
                "read one cell, or make it the only section: `user: {table: Step}`",
            )
        elif atomic in ("user", "owned"):
            self.context.complain(
                (*place, table),
                f"the user section reads the whole of {table}, which is `atomic: {atomic}`",
                f"step one cell: `user: [{{{table}: Step}}]`",
            )
        elif atomic != "word":
            self.context.complain(
                (*place, table),
                f"the user section reads the whole of {table}, whose cells are not words",
                "read one cell (`reads: cell`), or choose `atomic: word`",
            )

    def check_read_cell(self, table: str, place: Place, alone: bool) -> None:
        model = self.context.layout.tables[table]
        if model.atomic == "res_spin_lock":
            self.context.complain(
                (*place, table),
                f"the user section reads a cell of {table}, which res_spin_lock protects",
                "choose word or spin_lock: userspace cannot read such a cell safely while a program writes it",
            )
        elif model.atomic in ("user", "owned") or (model.atomic == "word" and not alone):
            self.context.complain(
                (*place, "reads"),
                f"the section only reads a cell of {table}, which the user hook can step",
                "remove `reads`: a cell that a step leaves as it is, is not written",
            )

    def sweep(self) -> list[tuple[str, list[SectionPlan]]]:
        """Reads the passes of the sweep. Returns the table that each pass goes over, and its sections."""
        passes = []
        for at, one in enumerate(self.context.layout.sweep.passes if self.context.layout.sweep else ()):
            place: Place = ("sweep", "passes", at)
            passes.append((one.each, self.over(one.each, one.sections, (*place, "each"), (*place, "sections"))))
        return passes

    def over(self, each: str, texts: list[dict[str, str]], named: Place, place: Place) -> list[SectionPlan]:
        """Reads the sections of a pass over the table `each`; `named` is the place that names the table."""
        if each not in self.context.layout.tables:
            self.context.complain(
                named, f"there is no table {each}", f"the tables are {', '.join(self.context.layout.tables)}"
            )
        plans = [self.section(text, (*place, number), each) for number, text in enumerate(texts)]
        if plans and plans[0] is not None and plans[0].table != each:
            self.context.complain(
                plans[0].position,
                f"the pass over {each} starts with {plans[0].table}",
                f"its first section must be on {each}",
            )
        return [plan for plan in plans if plan]

    def restored(self) -> tuple[str, list[SectionPlan]] | None:
        """Returns the table of rows to restore, and the sections that run on each row."""
        restore = self.context.layout.restore
        if restore is None:
            return None
        return restore.rows, self.over(restore.rows, restore.sections, ("restore", "rows"), ("restore", "sections"))


def table_and_step(
    context: Context, text: dict[str, str], place: Place, options: tuple[str, ...], instead: str
) -> tuple[str, str] | None:
    """Returns the table and the step of a section; None after reporting an error."""
    pairs = [(table, step) for table, step in text.items() if table not in options]
    if len(pairs) != 1 or not isinstance(pairs[0][1], str):
        context.complain(place, "a section must have one table with one step", instead)
        return None
    table, step = pairs[0]
    if table not in context.layout.tables:
        context.complain(
            (*place, table), f"there is no table {table}", f"the tables are {', '.join(context.layout.tables)}"
        )
        return None
    return table, step
