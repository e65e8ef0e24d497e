"""Finds the arms of a protocol's steps. A model shows nothing about an arm that it does not reach.

An arm is a result of IF or of CASE, or one of the two values of a condition that has a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from textwrap import shorten

from codegen.compile import load
from codegen.display import Display
from codegen.emit.branch_numbers import unique_steps
from codegen.errors import Errors, SpecErrors
from codegen.ir import Protocol, Span
from codegen.tla import sany
from harness.tla import models
from harness.tla.tlc import ROOT, TlcError

CONDITIONS = frozenset(
    r"$ConjList $DisjList \land \lor \lnot => \equiv = /= \in \notin \subseteq $BoundedExists $BoundedForall"
    r" < > \leq \geq".split()
)
"""Operators whose value is TRUE or FALSE, as SANY names them."""

LABEL_LENGTH_MAX = 60


@dataclass(frozen=True)
class Arm:
    """operator: the definition that it is in. word: THEN, ELSE, CASE, or the condition's value.

    span: the arm's text; for a condition, the whole of it.
    label: the label of the result, else the beginning of its text; empty for a condition.
    """

    operator: str
    word: str
    span: Span
    label: str = ""

    def __str__(self) -> str:
        return f"{self.span}: {self.operator}, {self.word}" + (f": {self.label}" if self.label else "")

    @property
    def is_condition(self) -> bool:
        return self.word in ("TRUE", "FALSE")


def arms_of(protocol: str) -> list[Arm]:
    """Returns the arms of the steps, and of all that the steps use, in the order of the text.

    protocol: also `session`. Its steps are all operators of SessionSteps. Raises TlcError if the steps do not compile.
    """
    if protocol == "session":
        path, steps = models.LIBRARY / "SessionSteps.tla", None
    else:
        compiled = _compiled(protocol)
        path = ROOT / "spec" / protocol / f"{compiled.module}.tla"
        steps = {step.name for step in unique_steps(compiled)}
    errors = Errors()
    module = sany.read(path, models.folders_of_modules(protocol), Display(ROOT, {}), errors)
    if module is None:
        raise TlcError("\n".join(map(str, errors.found)))
    roots = [
        operator
        for name, operator in module.top.items()
        if (operator.module == path.stem if steps is None else name in steps)
    ]
    return arms_in(module, roots)


def arms_in(module: sany.Module, operators: Iterable[sany.Operator]) -> list[Arm]:
    """Returns the arms of these operators, and of all that they use, in the order of the text."""
    found = {(arm.span, arm.word): arm for operator in _used(module, operators) for arm in _Arms(operator).found}
    return sorted(found.values(), key=lambda arm: (arm.span.file, arm.span.line, arm.span.column, arm.word))


def _compiled(protocol: str) -> Protocol:
    try:
        return load(ROOT / "spec" / protocol, name=protocol)
    except SpecErrors as errors:
        raise TlcError(str(errors)) from None


def _used(module: sany.Module, roots: Iterable[sany.Operator]) -> Iterator[sany.Operator]:
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
    for part in _parts(node):
        yield from _named(part)


def _parts(node: sany.Node) -> list[sany.Node]:
    match node:
        case sany.Apply(operands=operands, binders=binders):
            return [*operands, *(binder.domain for binder in binders if binder.domain is not None)]
        case sany.LetIn(body=body) | sany.Labelled(body=body):
            return [body]
        case sany.Substitution(substitutions=substitutions, body=body):
            return [*(value for _, value in substitutions), body]
    return []


class _Arms:
    """The arms of one operator, without those of the operators that its LET defines."""

    def __init__(self, operator: sany.Operator):
        self.name = operator.name
        self.found: list[Arm] = []
        body = operator.body
        while isinstance(body, sany.LetIn):
            body = body.body
        if isinstance(body, sany.Apply) and body.operator.name in CONDITIONS:
            self.found += [Arm(self.name, word, operator.body.span) for word in ("TRUE", "FALSE")]
        self.walk(operator.body)

    def walk(self, node: sany.Node) -> None:
        if isinstance(node, sany.Apply) and node.operator.name == "$IfThenElse":
            condition, then, otherwise = node.operands
            self.add("THEN", then, condition.span)
            self.add("ELSE", otherwise, self.found[-1].span)
        elif isinstance(node, sany.Apply) and node.operator.name == "$Case":
            for pair in node.operands:
                condition, result = _parts(pair)
                self.add("CASE", result, condition.span)
        for part in _parts(node):
            self.walk(part)

    def add(self, word: str, result: sany.Node, before: Span) -> None:
        """before: the text that the result follows."""
        span = _at(before) if isinstance(result, sany.At) else result.span
        if isinstance(result, sany.Labelled):
            label = result.name.rpartition("!")[2]
        else:
            line = _lines(span)[span.line - 1]
            label = line[span.column - 1 : span.last_column if span.last_line == span.line else None]
        self.found.append(Arm(self.name, word, span, shorten(label, LABEL_LENGTH_MAX, placeholder=" ...")))


def _lines(span: Span) -> list[str]:
    return (ROOT / span.file).read_text(encoding="utf-8").split("\n")


def _at(before: Span) -> Span:
    """Returns the place of the first `@` behind a text. SANY gives it the place of the whole EXCEPT."""
    lines = _lines(before)
    line, column = before.last_line, lines[before.last_line - 1].find("@", before.last_column) + 1
    while not column:
        line += 1
        column = lines[line - 1].find("@") + 1
    return Span(before.file, line, column, line, column)
