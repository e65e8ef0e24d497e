"""Puts together what the proofs of a protocol need: its layout, its compiled steps, its module."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from codegen import ir
from codegen.compile import load
from harness.base.protocols import GENERATED, SPEC
from harness.data.btf import Shapes
from harness.data.packing import Struct
from harness.prove import syntax, terms, values
from harness.prove.bytecode import ObjectFile
from harness.prove.evaluator import Evaluator
from harness.prove.programs import StepFunction, compiled, steps, target
from harness.prove.proof import Setting
from harness.prove.values import Listed, Value

LIBRARY = SPEC / "lib"


def constant(value: object) -> Value:
    """A constant of the layout as a value."""
    match value:
        case bool():
            return terms.TRUE if value else terms.FALSE
        case int():
            return values.integer(value)
        case str():
            return values.text(value)
        case tuple():
            return Listed(tuple((terms.TRUE, constant(each)) for each in value))
    raise TypeError(f"a constant of type {type(value).__name__}")


@dataclass(frozen=True)
class Opened:
    """A protocol that is ready for proofs."""

    setting: Setting
    steps: list[StepFunction]
    module: syntax.Module


def prepared(name: str, folder: Path, generated: Path | None = None) -> None:
    """Compiles a protocol's steps into a folder. generated: other generated files. Raises BuildError, SpecErrors."""
    generated = generated or GENERATED / name
    folder.mkdir(parents=True, exist_ok=True)
    functions = steps(_protocol(name), generated)
    for daemon in (False, True):
        wanted = [each for each in functions if each.daemon == daemon and not each.whole_reason]
        if wanted:
            compiled(name, wanted, generated, folder, daemon)


def opened(name: str, folder: Path, generated: Path | None = None) -> Opened:
    """Reads what prepared() compiled, the layout and the module."""
    generated = generated or GENERATED / name
    protocol = _protocol(name)
    paths = {daemon: target(name, folder, daemon) for daemon in (False, True)}
    objects = {daemon: ObjectFile(path) for daemon, path in paths.items() if path.exists()}
    shapes = {daemon: Shapes(path) for daemon, path in paths.items() if path.exists()}
    module = _module(name, protocol.module)
    constants = {each: constant(value) for each, value in protocol.constants}

    def shape(tag: str, daemon: bool) -> Struct:
        return shapes[daemon].struct(f"{name}_{tag}")

    setting = Setting(protocol, shape, objects, lambda: Evaluator(module, constants), _terms(generated, name))
    return Opened(setting, steps(protocol, generated), module)


@functools.lru_cache(maxsize=4)
def _protocol(name: str) -> ir.Protocol:
    return load(SPEC / name, name=name)


@functools.lru_cache(maxsize=4)
def _module(name: str, module: str) -> syntax.Module:
    """The module of a protocol's steps. SANY reads it once for all faults of a protocol."""
    return syntax.read(syntax.export(SPEC / name / f"{module}.tla", module_folders(name)))


def module_folders(name: str) -> list[Path]:
    """The folders of the modules that a protocol's may extend."""
    return [LIBRARY, *(each.parent for each in SPEC.glob("*/layout.yaml") if each.parent.name != name)]


def _terms(generated: Path, name: str) -> int:
    found = re.search(rf"#define {name.upper()}_TERMS (0x[0-9a-f]+)ULL", (generated / f"{name}.h").read_text())
    return int(found[1], 16) if found else 0
