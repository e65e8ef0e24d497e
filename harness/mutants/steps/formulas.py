"""Reads the behaviours and the properties of a model as formulas about one state or one step.

TLC stops at the first property that is violated. Whoever wants to go on puts the formulas into the next-state relation.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from codegen.display import Display
from codegen.errors import Errors
from codegen.ir import Span
from codegen.tla import sany
from harness.mutants.steps.changes import is_application, text_at
from harness.tla.model import Model
from harness.tla.syntax import used_by
from harness.tla.tlc import ROOT, TlcError


@dataclass(frozen=True)
class Box:
    """`initial /\\ [][action]_subscript`; most have no initial predicate."""

    initial: Span | None
    action: Span
    subscript: Span


@dataclass(frozen=True)
class Formulas:
    """behaviours: those of the model. properties: by name.

    constants: the operators, as module and name, that TLC evaluates before the first step, or may: those that the
    initial states use, or a definition without parameters and variables.
    """

    behaviours: Box
    properties: dict[str, Box]
    constants: frozenset[tuple[str, str]]


def formulas_of(model: Model) -> Formulas | None:
    """Returns the formulas of a model; None if it has fairness, or a property of more than one step.

    Raises TlcError if SANY does not accept its module.
    """
    settings = model.settings
    if settings.specification is None or settings.check_deadlock:
        return None
    module = _module(model.module, tuple(model.search_path))
    behaviours = _box(module.top[settings.specification].body)
    properties = {name: _box(module.top[name].body) for name in settings.properties}
    whole = {name: box for name, box in properties.items() if box is not None}
    if behaviours is None or behaviours.initial is None or len(whole) < len(properties):
        return None
    fixed = [operator for operator in module.top.values() if not operator.parameters and operator.level == 0]
    fixed += [module.top[name] for name in [text_at(behaviours.initial).strip()] if name in module.top]
    constants = frozenset((operator.module, operator.name) for operator in used_by(module, fixed))
    return Formulas(behaviours, whole, constants)


def text_in_place(span: Span) -> str:
    """Returns the text of a span in its own columns: lists of conjuncts depend on them."""
    return " " * (span.column - 1) + text_at(span)


def _box(node: sany.Node) -> Box | None:
    initial = None
    if is_application(node, "$ConjList", r"\land") and len(node.operands) == 2:
        initial, node = node.operands
    if not is_application(node, "[]") or not is_application(node.operands[0], "$SquareAct"):
        return None
    action, subscript = node.operands[0].operands
    return Box(initial.span if initial else None, action.span, subscript.span)


@functools.cache
def _module(path: Path, folders: tuple[Path, ...]) -> sany.Module:
    errors = Errors()
    module = sany.read(path, folders, Display(ROOT, {}), errors)
    if module is None:
        raise TlcError("\n".join(map(str, errors.found)))
    return module
