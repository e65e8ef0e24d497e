"""What a protocol brings for live tests, found in its folder under spec/."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import yaml

from harness.protocols import REPOSITORY, SPEC, chosen


class LiveError(Exception):
    """A live test cannot be run; the message says what stands in the way."""


@dataclass(frozen=True)
class Workload:
    """spec/<p>/workload.yaml: how a protocol is to be exercised.

    fuzz: variants of the layout (small tables, so that everything collides), with the number of actors.
    kill: options of the load that runs while the daemon is killed, and the override of the layout.
    demo: what the demonstration shows, in order.
    """

    fuzz: dict[str, Any] = field(default_factory=dict)
    kill: dict[str, Any] = field(default_factory=dict)
    demo: dict[str, Any] = field(default_factory=dict)


def workload(protocol: str) -> Workload:
    """The protocol's workload; empty where it has none."""
    chosen([protocol])
    path = SPEC / protocol / "workload.yaml"
    if not path.exists():
        return Workload()
    content = yaml.safe_load(path.read_text()) or {}
    unknown = set(content) - set(Workload.__dataclass_fields__)
    if unknown:
        raise LiveError(f"{path.relative_to(REPOSITORY)}: unknown: {', '.join(sorted(unknown))}; known: fuzz, kill, demo")
    return Workload(**content)


def has_reference(protocol: str) -> bool:
    """Whether there is something to fuzz the protocol against."""
    return (SPEC / protocol / "reference.py").exists()


def reference(protocol: str) -> ModuleType:
    """spec/<p>/reference.py: `Reference(codec, capacities)` and `Actor(codec, capacities)`."""
    return importlib.import_module(f"spec.{protocol}.reference")
