"""Checks that types, members of enums and leaves have names of their own in C."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codegen import ir
from codegen.analysis.step_facts import Steps
from codegen.c.names import Names, snake, type_label, upper
from codegen.errors import Errors, LayoutInconsistent, ResultMalformed
from codegen.ir.measure import is_scalar
from codegen.layout.resolve import Resolved
from codegen.layout.source import Place

OF_PROGRAMS = ("bpf", "counters", "env", "message", "sweep")
"""Structs of the generated programs, without the protocol's prefix."""

OF_GENERATED_TYPES = re.compile(r"(bits|bytes)_\d+|\w+_(set|array|sequence)_\d+|\w+_attempt")
"""Structs that the generator makes of the layout's types and numbers."""

COUNTERS = frozenset(["MALFORMED_CHECKSUM", *(f"SWEEP_{name}" for name in ("CONTENDED", "SKIPPED", "LOST"))])
"""Counters of the frame that a step and its label could meet. (No step may be called Tc.)"""


def check(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Reports names that differ in the specification but not in C."""
    _check_types(resolved, errors)
    _check_leaves(resolved, steps, errors)


def _check_types(resolved: Resolved, errors: Errors) -> None:
    layout, names = resolved.layout, Names(resolved.layout.protocol)
    prefix = names.protocol

    def complain(place: Place, found: str) -> None:
        errors.add(LayoutInconsistent(resolved.source.span(*place), found, "choose another name"))

    named: dict[str, Place] = {snake(name): ("types", name) for name in reversed(layout.types)}
    refused: set[Place] = set()
    cells = {f"{snake(table)}_cell": table for table in layout.tables}
    for label, place in named.items():
        if label in OF_PROGRAMS or label in cells or OF_GENERATED_TYPES.fullmatch(label):
            refused.add(place)
            complain(place, f"the type {place[1]} becomes {prefix}_{label} in C, which is the generator's own")
    tags: dict[str, ir.Type] = {}
    members: dict[str, tuple[ir.Enum, str]] = {}
    for type_ in _all_types(resolved):
        label = type_label(type_)
        first = tags.setdefault(label, type_)
        place = _place(resolved, type_, first)
        if first != type_ and place not in refused:
            complain(place, f"{_called(type_)} and {_called(first)} are both {prefix}_{label} in C")
        if not isinstance(type_, ir.Enum) or first != type_:
            continue
        for member in type_.members:
            macro = names.member(type_, member)
            other, like = members.setdefault(macro, (type_, member))
            if other != type_:
                complain(
                    _place(resolved, type_, other),
                    f"{member} of {type_.name} and {like} of {other.name} are both {macro} in C",
                )
    for name in layout.constants:
        macro = names.macro(name)
        if macro in members:
            enum, member = members[macro]
            complain(("constants", name), f"{name} becomes {macro} in C, as does {member} of {enum.name}")


def _all_types(resolved: Resolved) -> Iterator[ir.Type]:
    """Yields the types of the message and of the cells that C has names for, with those inside of them."""

    def visit(type_: ir.Type) -> Iterator[ir.Type]:
        if isinstance(type_, ir.Record):
            for _, inner in type_.fields:
                yield from visit(inner)
        elif isinstance(type_, (ir.Set, ir.Array, ir.Sequence)):
            yield from visit(type_.element)
        if isinstance(type_, ir.Enum) or not is_scalar(type_):
            yield type_

    yield from visit(resolved.message)
    for table in resolved.tables.values():
        yield from visit(table.cell)


def _place(resolved: Resolved, *types: ir.Type) -> Place:
    """Returns where the layout gives one of the types a name; else where it defines the first."""
    layout = resolved.layout
    for type_ in types:
        for name in layout.types:
            if getattr(type_, "name", None) == name:
                return ("types", name)
    head, _, field = getattr(types[0], "name", "message").partition(".")
    if head in layout.tables:
        return ("tables", head, "cell", *([field] if field in layout.tables[head].cell else []))
    part = next((part for part in ("message", "handover", "local") if field in getattr(layout, part)), None)
    return (part, field) if part else ("message",)


def _called(type_: ir.Type) -> str:
    return type_.name if isinstance(type_, (ir.Record, ir.Enum)) else type_label(type_)


def _check_leaves(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    names = Names(resolved.layout.protocol)
    found: dict[str, tuple[ir.Step, ir.Leaf]] = {}
    for facts in steps.values():
        for leaf in facts.ends:
            macro, label = names.leaf(facts.step, leaf), names.leaf_label(facts.step, leaf)
            step, other = found.setdefault(macro, (facts.step, leaf))
            if other is not leaf and (step.name, other.name) != (facts.step.name, leaf.name):
                like = "" if step.name == facts.step.name else f" of {step.name}"
                errors.add(
                    ResultMalformed(
                        leaf.span,
                        f"the leaves {label} and {names.leaf_label(step, other)}{like} are both {macro} in C",
                        "choose another label",
                    )
                )
            elif upper(f"{facts.step.name}_{label}") in COUNTERS:
                errors.add(
                    ResultMalformed(
                        leaf.span,
                        f"the leaf {label} of {facts.step.name} has the name of a counter of the frame",
                        "choose another label",
                    )
                )
