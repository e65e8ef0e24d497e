"""The syntax trees of a protocol's steps, for all that looks into them beside the compiler."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from codegen.compile import load
from codegen.display import Display
from codegen.emit.branch_numbers import unique_steps
from codegen.errors import Errors, SpecErrors
from codegen.ir import Protocol
from codegen.tla import sany
from harness.tla.model import LIBRARY, folders_of_modules
from harness.tla.tlc import ROOT, TlcError

CONDITIONS = frozenset(
    r"$ConjList $DisjList \land \lor \lnot => \equiv = /= \in \notin \subseteq $BoundedExists $BoundedForall"
    r" < > \leq \geq".split()
)
"""Operators whose value is TRUE or FALSE, as SANY names them."""


@dataclass(frozen=True)
class Steps:
    """The module of a protocol's steps. `operators` are the steps, and all that they use."""

    module: sany.Module
    operators: list[sany.Operator]


def steps_of(protocol: str) -> Steps:
    """Reads the steps of a protocol. The steps of `session` are all operators of SessionSteps.

    Raises TlcError if they do not compile.
    """
    if protocol == "session":
        path, names = LIBRARY / "SessionSteps.tla", None
    else:
        compiled = compiled_of(protocol)
        path = ROOT / "spec" / protocol / f"{compiled.module}.tla"
        names = {step.name for step in unique_steps(compiled)}
    errors = Errors()
    module = sany.read(path, folders_of_modules(protocol), Display(ROOT, {}), errors)
    if module is None:
        raise TlcError("\n".join(map(str, errors.found)))
    roots = [
        operator
        for name, operator in module.top.items()
        if (operator.module == path.stem if names is None else name in names)
    ]
    return Steps(module, list(used_by(module, roots)))


@functools.cache
def files_of(protocol: str) -> frozenset[str]:
    """Returns the files of a protocol's steps, and of all that they use. Raises TlcError if they do not compile."""
    return frozenset(operator.span.file for operator in steps_of(protocol).operators)


def own_files_of(protocol: str) -> frozenset[str]:
    """Returns the modules of the steps that are a protocol's own, and of no other: in its folder; for `session`, all.

    Raises TlcError if the steps do not compile.
    """
    return frozenset(
        file for file in files_of(protocol) if protocol == "session" or file.startswith(f"spec/{protocol}/")
    )


def compiled_of(protocol: str) -> Protocol:
    """Compiles a protocol. Raises TlcError with the compiler's errors."""
    try:
        return load(ROOT / "spec" / protocol, name=protocol)
    except SpecErrors as errors:
        raise TlcError(str(errors)) from None


def used_by(module: sany.Module, roots: Iterable[sany.Operator]) -> Iterator[sany.Operator]:
    """Yields these operators and all that they use, each once."""
    waiting = [operator.uid for operator in roots]
    seen = set(waiting)
    while waiting:
        operator = module.operators[waiting.pop()]
        yield operator
        new = {uid for uid in _named(operator.body) if uid in module.operators} - seen
        seen |= new
        waiting += sorted(new)


def _named(node: sany.Node) -> Iterator[str]:
    """Yields the numbers of the definitions that an expression names."""
    match node:
        case sany.Apply(operator=operator):
            yield operator.uid
        case sany.OperatorArgument(operator=operator):
            yield operator.uid
        case sany.LetIn(definitions=definitions):
            yield from definitions
    for part in parts_of(node):
        yield from _named(part)


def parts_of(node: sany.Node) -> list[sany.Node]:
    """Returns the expressions of which an expression consists."""
    match node:
        case sany.Apply(operands=operands, binders=binders):
            return [*operands, *(binder.domain for binder in binders if binder.domain is not None)]
        case sany.LetIn(body=body) | sany.Labelled(body=body):
            return [body]
        case sany.Substitution(substitutions=substitutions, body=body):
            return [*(value for _, value in substitutions), body]
    return []
