"""Finds the files that a protocol brings for live tests, in its folder under spec/."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, Any, Literal

from pydantic import Field

from codegen.errors import SpecErrors
from harness.base import yaml_documents
from harness.base.protocols import LIVE, SPEC, chosen


class LiveError(Exception):
    """A live test cannot be run; the message says why."""


class NotPlayed(LiveError):
    """A live test could not start, because something that it needs could not be built or loaded."""


@dataclass(frozen=True)
class Workload:
    """The content of spec/<p>/live/workload.yaml: how live tests exercise a protocol."""

    fuzz: dict[str, Any] = field(default_factory=dict)
    """Variants of the layout (small tables, so that everything collides), and the number of actors."""
    kill: dict[str, Any] = field(default_factory=dict)
    """The load that runs while the daemon is killed, and the override of the layout. `starved` has the options that
    differ if the daemon has no room for waiting requests.
    """
    crash: dict[str, Any] = field(default_factory=dict)
    """The load that runs while the whole server crashes, and the override of the layout. Its option `load` is set to
    the number of the load.
    """
    demo: dict[str, Any] = field(default_factory=dict)
    """The phases of the demonstration, in order."""
    histories: str = "operations"
    """The kind of history that its loads record: `operations`, each of one key, or `transactions` of several."""


Above = Annotated[float, Field(gt=0)]
Options = dict[str, int]


class _Fuzz(yaml_documents.Strict):
    actors: Annotated[int, Field(ge=1, strict=True)] = 3
    variants: list[dict[str, Any]] = Field(default_factory=list)


class _Load(yaml_documents.Strict):
    load: Options = Field(default_factory=dict)
    options: Options = Field(default_factory=dict)


class _Crash(_Load):
    override: dict[str, Any] = Field(default_factory=dict)


class _Kill(_Crash):
    starved: _Load = _Load()


class _Kills(yaml_documents.Strict):
    period_seconds: Above
    down_seconds: Above


class _Phase(yaml_documents.Strict):
    title: str
    seconds: Above
    load: Options = Field(default_factory=dict)
    options: Options = Field(default_factory=dict)
    kill: _Kills | None = None


class _Demo(yaml_documents.Strict):
    phases: list[_Phase]


class _File(yaml_documents.Strict):
    """The schema of a workload.yaml."""

    fuzz: _Fuzz | None = None
    kill: _Kill | None = None
    crash: _Crash | None = None
    demo: _Demo | None = None
    histories: Literal["operations", "transactions"] = "operations"


def workload(protocol: str) -> Workload:
    """The protocol's workload; empty if it has none."""
    chosen([protocol])
    path = SPEC / protocol / LIVE / "workload.yaml"
    if not path.exists():
        return Workload()
    try:
        return Workload(**yaml_documents.read(path, _File, "docs/reference/live.md").model_dump(exclude_none=True))
    except SpecErrors as error:
        raise LiveError(str(error)) from None


def has_reference(protocol: str) -> bool:
    """Whether the protocol has a reference to fuzz it against."""
    return (SPEC / protocol / LIVE / "reference.py").exists()


def recovery(protocol: str) -> type[Any] | None:
    """The class `Recovery` of live/recovery.py, or None. It compares clients' answers with the drained files."""
    if not (SPEC / protocol / LIVE / "recovery.py").exists():
        return None
    found: type[Any] = importlib.import_module(f"spec.{protocol}.live.recovery").Recovery
    return found


def reference(protocol: str) -> ModuleType:
    """The module spec/<p>/live/reference.py, with `Reference(codec, capacities)` and `Actor(codec, capacities)`."""
    return importlib.import_module(f"spec.{protocol}.live.reference")


def load_arguments(spec: dict[str, Any]) -> list[str]:
    """Command-line arguments of the compiled load, from `load` and `options` of a workload.yaml."""
    arguments = [word for name, value in spec.get("load", {}).items() for word in (f"--{name}", str(value))]
    return arguments + [f"{name}={value}" for name, value in spec.get("options", {}).items()]
