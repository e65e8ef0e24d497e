"""What of a protocol the inputs of a comparison may depend on."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from codegen import ir

_WITH_STEPS = (ir.Protocol, ir.Section, ir.Pass, ir.Drain, ir.Recovery, ir.Step)
_OF_STEPS = ("body", "span")
"""What a step is without: None, so that whoever looks for it all the same fails."""


def outline(protocol: ir.Protocol) -> ir.Protocol:
    """The protocol but for what its steps do, and where they are written: no body, no place.

    Domains and oracles are given no more of it. So two programs of one outline are compared on the same inputs,
    and whoever has made them for one of the two has them for the other.
    """
    without: ir.Protocol = _without_bodies(protocol)
    return replace(without, sources=())


def _without_bodies(node: Any) -> Any:
    if isinstance(node, tuple):
        return tuple(map(_without_bodies, node))
    if type(node) not in _WITH_STEPS:
        return node
    values = {each.name: getattr(node, each.name) for each in fields(node)}
    kept = {name: None if name in _OF_STEPS else _without_bodies(value) for name, value in values.items()}
    return replace(node, **kept)
