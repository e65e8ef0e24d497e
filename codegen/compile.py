"""Compiles a protocol's folder (TLA+ steps and layout) into an `ir.Protocol`.

    read the layout -> resolve its names -> parse the steps -> check the subset, inline, type, lower
    and bound each step -> check the steps -> put the protocol together

Every pass reports its errors and goes on if it can, so that one run shows all errors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from codegen import ir
from codegen.analysis.step_facts import facts_of
from codegen.assemble.drain import compile_daemon_steps, with_drain
from codegen.assemble.protocol import assemble
from codegen.assemble.steps import StepCompiler, compile_steps, fitted
from codegen.c.names import Names
from codegen.checks import constants, when
from codegen.checks.run import check_steps
from codegen.emit.branch_numbers import Leaves
from codegen.emit.stack import Stack
from codegen.errors import Errors, SpecErrors, TypeRefused
from codegen.layout.folders import Folders
from codegen.layout.read import read_layout
from codegen.layout.resolve import resolve
from codegen.layout.source import Source
from codegen.tla.module import read_module


def load(spec_dir: Path, override: dict[str, Any] | Source | None = None, name: str | None = None) -> ir.Protocol:
    """Compiles the protocol in `spec_dir`. Raises SpecErrors with all errors.

    override: merged over the layout, for example {"constants": {"MaxHolders": 2}}. Errors in a Source have a place.
    name: the required name of the protocol, if any. The folders of generated/ and build/ have the names of spec/'s.
    """
    folders = Folders.of(spec_dir)
    errors = Errors()
    try:
        protocol = _compile(folders, override, name, errors)
        errors.raise_if_any()
    except SpecErrors as found:
        raise SpecErrors([folders.real_place(error) for error in found.errors]) from None
    assert protocol is not None
    return protocol


def _compile(
    folders: Folders, override: dict[str, Any] | Source | None, name: str | None, errors: Errors
) -> ir.Protocol | None:
    read = read_layout(folders, override, name, errors)
    if read is None:
        return None
    resolved = resolve(*read, errors)
    if any(isinstance(error, TypeRefused) for error in errors.found):
        return None
    module = read_module(folders, resolved.layout.module, resolved.source.span("module"), errors)
    if module is None:
        return None
    constants.check(resolved, module, errors)
    compiler = StepCompiler(module, resolved, errors)
    steps = compile_steps(compiler)
    if not errors.found:
        when.check(resolved, steps, errors)
        steps = fitted(resolved, facts_of(steps))
    daemon_steps = compile_daemon_steps(compiler, steps)
    if errors.found:
        return None
    known, daemon_known = facts_of(steps), facts_of(daemon_steps)
    check_steps(resolved, known, daemon_known, errors)
    files = [*resolved.source.files, *module.files.values()]
    sources = tuple(dict.fromkeys(folders.display.name(path) for path in files))
    declared = frozenset(module.constants[uid].name for uid in module.declared)
    protocol = with_drain(assemble(resolved, declared, known, sources), resolved, daemon_known)
    if not errors.found:
        names = Names(protocol.name)
        Stack(protocol, names, Leaves(protocol, names).steps).check(errors)
    return protocol
