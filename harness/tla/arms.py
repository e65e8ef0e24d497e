"""Finds the arms of a protocol's steps. A model shows nothing about an arm that it does not reach.

An arm is a result of IF or of CASE, or one of the two values of a condition that has a name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from textwrap import shorten

from codegen.ir import Span
from codegen.tla import sany
from harness.tla.syntax import CONDITIONS, parts_of, steps_of, used_by
from harness.tla.tlc import ROOT

LABEL_LENGTH_MAX = 60


@dataclass(frozen=True)
class Arm:
    """operator: the definition that it is in. word: THEN, ELSE, CASE, or the condition's value.

    span: the arm's text; for a condition, the whole of it.
    label: the label of the result, else the beginning of its text; empty for a condition.
    number: distinguishes arms of one operator whose names are otherwise the same, from 1.
    """

    operator: str
    word: str
    span: Span
    label: str = ""
    number: int = 1

    def __str__(self) -> str:
        return f"{self.span}: {self.name}"

    @property
    def name(self) -> str:
        """A name that stays for as long as the operator's text does, wherever it stands."""
        label = f": {self.label}" if self.label else ""
        return f"{self.operator}, {self.word}{label}" + (f" ({self.number})" if self.number > 1 else "")

    @property
    def is_condition(self) -> bool:
        return self.word in ("TRUE", "FALSE")


def arms_of(protocol: str) -> list[Arm]:
    """Returns the arms of the steps, and of all that the steps use, in the order of the text.

    protocol: also `session`. Raises TlcError if the steps do not compile.
    """
    return _of(steps_of(protocol).operators)


def arms_in(module: sany.Module, operators: Iterable[sany.Operator]) -> list[Arm]:
    """Returns the arms of these operators, and of all that they use, in the order of the text."""
    return _of(used_by(module, operators))


def _of(operators: Iterable[sany.Operator]) -> list[Arm]:
    found = {(arm.span, arm.word): arm for operator in operators for arm in _Arms(operator).found}
    seen: Counter[str] = Counter()
    numbered = []
    for arm in sorted(found.values(), key=lambda arm: (arm.span.file, arm.span.line, arm.span.column, arm.word)):
        seen[arm.name] += 1
        numbered.append(replace(arm, number=seen[arm.name]))
    return numbered


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
                condition, result = parts_of(pair)
                self.add("CASE", result, condition.span)
        for part in parts_of(node):
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
