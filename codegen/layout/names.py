"""Checks the layout's names: what they become in C, Python and TLA+ must be no keyword, and nobody else's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from codegen.c.builtin_names import HEADER_MACROS, LIBRARY_FUNCTIONS
from codegen.c.generated_names import MACROS, MORE_MACROS, OPERATORS, is_own
from codegen.c.names import C_KEYWORDS, Names, snake, upper
from codegen.layout.context import Context
from codegen.layout.schema import RecordType
from codegen.layout.sections import SectionPlan
from codegen.layout.source import Place

MAPS = ("counters", "message_state", "operations_state", "sweep_state")
"""Maps that the generator adds to those of the layout."""

OPTIONS = ("contended", "reads", "again", "when", "each", "sections")
"""Keys beside a table's name in a section or in a group."""

SECTIONS = ("license", "tc", "xdp")
"""Sections of the object file. Their names are symbols there, as those of maps are."""

OTHERS = re.compile(r"(bpf|xdp|stepwise)_\w+|ipv6\w+|size_t|ptrdiff_t|wchar_t|max_align_t|u?int\d+_t")
"""Names of headers that every program includes."""

OF_MESSAGES = ("encode", "decode", "bytes")
"""Methods of the message in Python, and the type whose name a field would hide."""

OF_CELLS = ("spin_lock",)
"""Members that the generator adds to cells."""


def check_module(context: Context) -> None:
    """Checks the module's name: models, conformance and the generated modules find it by the protocol's name."""
    layout = context.layout
    wanted = Names(layout.protocol).steps_module()
    if layout.module != wanted:
        context.complain(
            ("module",),
            f"the steps of {layout.protocol} are in the module {layout.module}",
            f"call it {wanted}, in {wanted}.tla",
        )


def check_names(context: Context) -> None:
    layout = context.layout
    fields: list[Place] = [(part, name) for part in ("message", "handover", "local") for name in getattr(layout, part)]
    cells: list[list[Place]] = [
        [("tables", name, "cell", inner) for inner in table.cell] for name, table in layout.tables.items()
    ]
    places: list[Place] = [*fields, *(("tables", name) for name in layout.tables), *chain.from_iterable(cells)]
    for place in places:
        if place[-1] in C_KEYWORDS:
            context.complain(place, f"{place[-1]} is a keyword of C or Python", "choose another name")
        elif place[-1] in HEADER_MACROS or OTHERS.fullmatch(str(place[-1])):
            context.complain(place, f"{place[-1]} is a name of C's headers", "choose another name")
        elif place[-1] in (OF_MESSAGES if place[0] in ("message", "handover") else OF_CELLS):
            context.complain(place, f"{place[-1]} is a name of the generated code", "choose another name")
    for name in layout.types:
        context.at(("types", name), layout.types[name], name, ("types", name))
        if re.fullmatch(r"u\d+|bool", name):
            context.complain(("types", name), f"{name} is already a type", "choose another name")
    tables: list[Place] = [("tables", name) for name in layout.tables]
    for group in (fields, *cells, tables):
        _check_apart(context, group)
    _check_constants(context, [place for place in fields if place[0] != "local"])
    _check_tables(context)


def _check_apart(context: Context, places: list[Place]) -> None:
    """Checks that names which differ in TLA+ also differ in C, where `aB`, `AB` and `a_b` may be one name."""
    first: dict[str, Place] = {}
    for place in places:
        other = first.setdefault(snake(str(place[-1])), place)
        if other[-1] != place[-1]:
            context.complain(
                place, f"{place[-1]} and {other[-1]} are both {snake(str(place[-1]))} in C", "rename one of them"
            )


def _check_constants(context: Context, fields: list[Place]) -> None:
    constants: list[Place] = [("constants", name) for name in context.layout.constants]
    for place, macro in (
        *((place, upper(str(place[-1]))) for place in constants),
        *((place, f"WIRE_{upper(str(place[-1]))}") for place in fields),
    ):
        if macro in MACROS or (place in constants and MORE_MACROS.fullmatch(macro)):
            context.complain(
                place, f"{place[-1]} becomes {macro} in C, which the header already defines", "choose another name"
            )
    _check_apart(context, constants)


def _check_tables(context: Context) -> None:
    protocol = snake(context.layout.protocol)
    for called in context.layout.tables:
        place: Place = ("tables", called)
        if called in ("message", *OPTIONS, *MAPS, *SECTIONS):
            context.complain(place, f"a table cannot be called {called}", "choose another name")
        elif called in LIBRARY_FUNCTIONS:
            context.complain(
                place,
                f"the table {called} becomes a variable in C, and {called}() is a library function that clang knows "
                "without a declaration",
                f"choose another name, such as {called}s or {called}_cells",
            )
        elif snake(called).startswith(f"{protocol}_"):
            context.complain(
                place,
                f"the table {called} becomes a variable in C, where names that start with {protocol}_ are the "
                "generator's",
                f"call it {called[len(protocol) + 1 :]}",
            )


def check_steps(context: Context, plans: Iterable[SectionPlan]) -> None:
    """Checks what steps become in C: functions, whose names start with the protocol's."""
    layout, first = context.layout, dict[str, str]()
    records = [name for name, kind in layout.types.items() if isinstance(kind, RecordType)]
    plans = list({plan.step: plan for plan in plans}.values())
    for plan in plans:
        name = snake(plan.step)
        meets = is_own(name, layout.tables, records)
        other = first.setdefault(name, plan.step)
        if plan.step in OPERATORS:
            found = f"the step {plan.step} is called like an operator of {Names(layout.protocol).hooks_module()}.tla"
        elif meets:
            found = f"the step {plan.step} becomes {snake(layout.protocol)}_{name} in C, which is {meets}"
        elif other != plan.step:
            found = f"the steps {plan.step} and {other} are both {snake(layout.protocol)}_{name} in C"
        else:
            continue
        context.complain(plan.position, found, "rename the step")
    for plan in plans:
        joined = f"{snake(plan.step)}_on_{snake(plan.table)}"
        if joined in first:
            context.complain(
                plan.position,
                f"{plan.step} on {plan.table} becomes {snake(layout.protocol)}_{joined} in C, as does the step "
                f"{first[joined]}",
                "rename the step",
            )
