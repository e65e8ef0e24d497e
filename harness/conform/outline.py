"""The part of a protocol on which a comparison's inputs may depend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from codegen import ir
from codegen.analysis.step_facts import step_facts

_WITH_STEPS = (ir.Protocol, ir.Section, ir.Pass, ir.Drain, ir.Recovery, ir.Step)
_OF_STEPS = ("body", "span")
"""The fields of a step that an outline sets to None, so that code that uses them fails."""


def outline(protocol: ir.Protocol) -> ir.Protocol:
    """Returns the protocol without its steps' bodies, and without their places in the sources.

    Domains and oracles receive only the outline. Two programs of one outline are therefore compared on the same inputs,
    which are made once for both.
    """
    without: ir.Protocol = _without_bodies(protocol)
    return replace(without, sources=())


def moved(protocol: ir.Protocol) -> dict[str, frozenset[int]]:
    """Returns the sections of xdp and tc, from 1, whose cell may be another one than that of the message that came.

    A section before such a one writes the index of its cell. The outline does not say so.
    """
    return {"xdp": frozenset(_moved(protocol.xdp)), "tc": frozenset(_moved(protocol.tc))}


def _moved(sections: tuple[ir.Section, ...]) -> Iterator[int]:
    written: set[str] = set()
    for number, section in enumerate(sections, 1):
        if section.index in written:
            yield number
        written |= {*step_facts(section.step).written}


def _without_bodies(node: Any) -> Any:
    if isinstance(node, tuple):
        return tuple(map(_without_bodies, node))
    if type(node) not in _WITH_STEPS:
        return node
    values = {each.name: getattr(node, each.name) for each in fields(node)}
    kept = {name: None if name in _OF_STEPS else _without_bodies(value) for name, value in values.items()}
    return replace(node, **kept)
