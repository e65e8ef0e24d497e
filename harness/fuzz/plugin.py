"""What a protocol brings for live tests, found in its folder under spec/."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, Any, Literal

from pydantic import Field

from codegen.errors import SpecErrors
from harness import documents
from harness.protocols import SPEC, chosen


class LiveError(Exception):
    """A live test cannot be run; the message says what stands in the way."""


class NotPlayed(LiveError):
    """It could not even begin: what it needs could not be built or loaded."""


@dataclass(frozen=True)
class Workload:
    """spec/<p>/workload.yaml: how a protocol is to be exercised.

    fuzz: variants of the layout (small tables, so that everything collides), with the number of actors.
    kill: options of the load that runs while the daemon is killed, and the override of the layout; under `starved`
        those that differ where the daemon has no room for what waits.
    crash: options of the load that runs while the whole server goes down, and the override of the layout; the option
    `load` is given the number of the load.
    demo: what the demonstration shows, in order.
    histories: what its loads record: operations, each of one key, or transactions of several.
    """

    fuzz: dict[str, Any] = field(default_factory=dict)
    kill: dict[str, Any] = field(default_factory=dict)
    crash: dict[str, Any] = field(default_factory=dict)
    demo: dict[str, Any] = field(default_factory=dict)
    histories: str = "operations"


Above = Annotated[float, Field(gt=0)]
Options = dict[str, int]


class _Fuzz(documents.Strict):
    actors: Annotated[int, Field(ge=1, strict=True)] = 3
    variants: list[dict[str, Any]] = Field(default_factory=list)


class _Load(documents.Strict):
    load: Options = Field(default_factory=dict)
    options: Options = Field(default_factory=dict)


class _Crash(_Load):
    override: dict[str, Any] = Field(default_factory=dict)


class _Kill(_Crash):
    starved: _Load = _Load()


class _Kills(documents.Strict):
    period_seconds: Above
    down_seconds: Above


class _Phase(documents.Strict):
    title: str
    seconds: Above
    load: Options = Field(default_factory=dict)
    options: Options = Field(default_factory=dict)
    kill: _Kills | None = None


class _Demo(documents.Strict):
    phases: list[_Phase]


class _File(documents.Strict):
    """What a workload.yaml may say."""

    fuzz: _Fuzz | None = None
    kill: _Kill | None = None
    crash: _Crash | None = None
    demo: _Demo | None = None
    histories: Literal["operations", "transactions"] = "operations"


def workload(protocol: str) -> Workload:
    """The protocol's workload; empty where it has none."""
    chosen([protocol])
    path = SPEC / protocol / "workload.yaml"
    if not path.exists():
        return Workload()
    try:
        return Workload(**documents.read(path, _File, "docs/live.md").model_dump(exclude_none=True))
    except SpecErrors as error:
        raise LiveError(str(error)) from None


def has_reference(protocol: str) -> bool:
    """Whether there is something to fuzz the protocol against."""
    return (SPEC / protocol / "reference.py").exists()


def recovery(protocol: str) -> type[Any] | None:
    """`Recovery` of spec/<p>/recovery.py, where there is such: what clients were told, beside what was drained."""
    if not (SPEC / protocol / "recovery.py").exists():
        return None
    found: type[Any] = importlib.import_module(f"spec.{protocol}.recovery").Recovery
    return found


def reference(protocol: str) -> ModuleType:
    """spec/<p>/reference.py: `Reference(codec, capacities)` and `Actor(codec, capacities)`."""
    return importlib.import_module(f"spec.{protocol}.reference")


def load_arguments(spec: dict[str, Any]) -> list[str]:
    """Of the compiled load, what a workload.yaml has for it under `load` and `options`."""
    arguments = [word for name, value in spec.get("load", {}).items() for word in (f"--{name}", str(value))]
    return arguments + [f"{name}={value}" for name, value in spec.get("options", {}).items()]
