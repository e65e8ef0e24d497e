"""What of a protocol the inputs of a comparison may depend on."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from codegen import ir

_WITH_STEPS = (ir.Protocol, ir.Section, ir.Pass, ir.Drain, ir.Recovery)


def outline(protocol: ir.Protocol) -> ir.Protocol:
    """The protocol but for what its steps do, and where they are written: no body, no place.

    Domains and oracles are given no more of it. So two programs of one outline are compared on the same inputs,
    and whoever has made them for one of the two has them for the other.
    """
    return replace(_without_bodies(protocol), sources=())


def _without_bodies(node: Any) -> Any:
    if isinstance(node, tuple):
        return tuple(map(_without_bodies, node))
    if isinstance(node, ir.Step):
        return replace(node, body=None, span=None)
    if isinstance(node, _WITH_STEPS):
        return replace(node, **{each.name: _without_bodies(getattr(node, each.name)) for each in fields(node)})
    return node
