"""Makes the template contexts of the user hook in <p>_user.c: its sections, and the daemon's access to each table."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.c.names import Names, field
from codegen.emit.steps import element_type
from codegen.ir import Protocol, Section, Table, TableLayout


@dataclass(frozen=True)
class UserSection:
    """One section of a user hook that is a list."""

    name: str
    step: str
    step_name: str
    table: str
    number_macro: str
    index: str
    form: str
    """`read`: on a copy of a guarded cell. `word`: by compare-and-swap. `memory`: in place, with exclusive access."""
    cell: str
    """The local for the cell."""
    cell_struct: str
    cell_function: str
    element_type: str
    environment: bool
    writes: bool
    """Whether any leaf of the step changes the cell."""

    @property
    def parameters(self) -> str:
        return "tables, message" + (", environment" if self.environment else "")


def user_sections(protocol: Protocol, names: Names) -> list[UserSection]:
    """Returns the sections of a user hook that is a list, in order."""
    return [_section(protocol, names, section) for section in protocol.user] if protocol.user_row else []


def _section(protocol: Protocol, names: Names, section: Section) -> UserSection:
    table = next(each for each in protocol.tables if each.name == section.table)
    return UserSection(
        name=names.function(section.step.name, "on", table.name),
        step=names.step(section.step),
        step_name=section.step.name,
        table=table.name,
        number_macro=names.macro("table", table.name),
        index=f"message->{field(table.index)}",
        form="read" if section.reads else "word" if table.atomic == "word" else "memory",
        cell=names.local(
            section.step.cell, {"tables", "message", "environment", "element", "attempt", "before", "after", "outcome"}
        ),
        cell_struct=f"struct {names.tag(table.cell)}",
        cell_function=names.tag(table.cell),
        element_type=element_type(names, protocol, table.name),
        environment=section.step.env is not None,
        writes=section.writes,
    )


def user_reads(protocol: Protocol, table: TableLayout) -> str:
    """Returns the daemon's kind of access to a table: the name of a constant of runtime/abi/stepwise.h."""
    sections = [section for section in protocol.user if section.table == table.name]
    drained = [
        section for section in (protocol.drain.sections if protocol.drain else ()) if section.table == table.name
    ]
    if any(not section.reads for section in drained):
        return "STEPWISE_USER_STEPS"
    if any(isinstance(section.step.cell_type, Table) for section in sections):
        return "STEPWISE_USER_READS_TABLE"
    if any(not section.reads for section in sections) or table.atomic == "user":
        return "STEPWISE_USER_STEPS"
    if drained:
        return "STEPWISE_USER_READS_TABLE"
    return "STEPWISE_USER_READS_CELL" if sections else "STEPWISE_USER_READS_NOTHING"
