"""Finds the one-line faults that somebody might make in the steps: a change of the text of one expression each.

Each kind of fault is a function from a node of the syntax tree to the texts that may stand in its place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeGuard

from codegen.ir import VERDICTS, Enum, Record, Span, Type
from codegen.tla import sany
from harness.mutants.steps.vocabulary import Vocabulary, alike
from harness.tla.syntax import parts_of
from harness.tla.tlc import ROOT
from harness.tla.watching import positions_of

OPPOSITES = {
    "=": "#",
    "/=": "=",
    r"\in": r"\notin",
    r"\notin": r"\in",
    "<": ">=",
    ">": "<=",
    r"\leq": ">",
    r"\geq": "<",
}
"""Comparisons by SANY's names, and the text of the opposite one."""

BOUNDS = {"<": "<=", ">": ">=", r"\leq": "<", r"\geq": ">"}
"""Comparisons, and the text of the one that decides otherwise for equal numbers."""

WRITTEN = {"/=": r"#|/=", r"\leq": r"<=|=<|\\leq", r"\geq": r">=|\\geq", r"\lor": r"\\/|\\lor", r"\land": r"/\\|\\land"}
"""How operators may be written, where this is not SANY's name."""


@dataclass(frozen=True)
class Change:
    """One fault: the text that stands in place of an expression.

    operator: the definition that has the expression.
    span: the text that changes. site: the whole expression whose value changes by that.
    number: distinguishes equal changes of one definition, from 1.
    """

    kind: str
    operator: str
    span: Span
    old: str
    new: str
    site: Span
    number: int = 1

    @property
    def module(self) -> str:
        return Path(self.span.file).stem

    @property
    def name(self) -> str:
        """A name that stays for as long as the expression and its definition do, wherever they stand."""
        text = f"{self.kind}: {_on_a_line(self.old)} -> {_on_a_line(self.new)}"
        return text + (f" ({self.number})" if self.number > 1 else "")

    @property
    def full_name(self) -> str:
        return f"{self.operator}: {self.name}"

    def __str__(self) -> str:
        return f"{self.span}: {self.full_name}"


@dataclass(frozen=True)
class Site:
    """A node, and what a fault at it may use.

    whole: the expression whose value a fault at the node changes: the node, or the EXCEPT of a path.
    scope: the names that an expression there may use. indices: the texts of all indices of the module.
    """

    node: sany.Node
    whole: Span
    scope: frozenset[str]
    vocabulary: Vocabulary
    operators: dict[str, sany.Operator]
    indices: dict[str, frozenset[str]]


def changes_in(
    module: sany.Module,
    operators: Iterable[sany.Operator],
    vocabulary: Vocabulary,
    verdicts: Mapping[str, tuple[str, ...]] | None = None,
) -> list[Change]:
    """Returns the faults of these operators, in the order of the text. No two of them have the same name.

    verdicts: those that the generator lets an operator end with, by its number; all where it is not named.
    """
    chosen = list(operators)
    indices = dict(pair for operator in chosen for pair in _indices(operator.body))
    found: dict[tuple[Span, int, int, str], Change] = {}
    for operator in chosen:
        scope = _scope_of(operator, chosen)
        words = replace(vocabulary, verdicts=(verdicts or {}).get(operator.uid, VERDICTS))
        for site in _sites(operator.body, scope, words, module.operators, indices):
            for kind, make in KINDS.items():
                for span, new in make(site):
                    around = site.whole if encloses(site.whole, span) else span
                    change = Change(kind, _outermost(operator, chosen).name, span, text_at(span), new, around)
                    found.setdefault((span, span.last_line, span.last_column, new), change)
    return _numbered(sorted(found.values(), key=lambda each: (each.span.file, each.span.line, each.span.column)))


def changed(text: str, change: Change) -> str:
    """Returns a module's text with a fault in it."""
    begin, end = positions_of(text, change.span)
    assert text[begin:end] == change.old, "the text is the one in which the fault was found"
    return text[:begin] + change.new + text[end:]


def changed_site(text: str, change: Change) -> str:
    """Returns the expression whose value a fault changes, with the fault, and without labels."""
    begin, end = positions_of(text, change.site)
    from_, to = positions_of(text, change.span)
    return _unlabelled(text[begin:from_] + change.new + text[to:end])


def text_of(node: sany.Node) -> str:
    return text_at(node.span)


def text_at(span: Span) -> str:
    """Returns the text of a span, with its own line breaks."""
    whole = (ROOT / span.file).read_text(encoding="utf-8")
    begin, end = positions_of(whole, span)
    return whole[begin:end]


def _numbered(changes: list[Change]) -> list[Change]:
    seen: Counter[tuple[str, str]] = Counter()
    numbered = []
    for each in changes:
        key = (each.module, each.full_name)
        seen[key] += 1
        numbered.append(replace(each, number=seen[key]))
    return numbered


def _on_a_line(text: str) -> str:
    return " ".join(text.split())


# --- Nodes and their surroundings ---------------------------------------------------------------------------


def _scope_of(operator: sany.Operator, all_of_them: list[sany.Operator]) -> frozenset[str]:
    """Returns the names of an operator's parameters, and of those whose LET defines it."""
    names = {parameter.name for parameter in operator.parameters}
    for other in all_of_them:
        if other is not operator and encloses(other.span, operator.span):
            names |= {parameter.name for parameter in other.parameters}
    return frozenset(names)


def _outermost(operator: sany.Operator, all_of_them: list[sany.Operator]) -> sany.Operator:
    """Returns the definition of a module in whose text an operator is defined, by LET or LAMBDA."""
    around = [other for other in all_of_them if encloses(other.span, operator.span)]
    return min(around, key=lambda other: (other.span.line, other.span.column, -other.span.last_line))


def encloses(outer: Span, inner: Span) -> bool:
    return (
        outer.file == inner.file
        and (outer.line, outer.column) <= (inner.line, inner.column)
        and (inner.last_line, inner.last_column) <= (outer.last_line, outer.last_column)
    )


def _sites(
    node: sany.Node,
    scope: frozenset[str],
    vocabulary: Vocabulary,
    operators: dict[str, sany.Operator],
    indices: dict[str, frozenset[str]],
    whole: Span | None = None,
) -> Iterator[Site]:
    if isinstance(node, sany.Apply):
        scope |= {parameter.name for binder in node.binders for parameter in binder.parameters}
    if isinstance(node, sany.LetIn):
        scope |= {operators[uid].name for uid in node.definitions if not operators[uid].parameters}
    if node.span.line:  # OTHER has no place
        yield Site(node, whole or node.span, scope, vocabulary, operators, indices)
    for part in parts_of(node):
        # The parts of an EXCEPT's path are no expressions of their own.
        above = node.span if is_application(node, "$Except") else whole
        within = above if is_application(node, "$Except", "$Pair") and is_application(part, "$Pair", "$Seq") else None
        yield from _sites(part, scope, vocabulary, operators, indices, within)


def _indices(node: sany.Node) -> Iterator[tuple[str, frozenset[str]]]:
    """Yields the text of each index, and the variables that it uses."""
    for index in _indices_at(node):
        yield text_of(index), frozenset(_variables(index))
    for part in parts_of(node):
        yield from _indices(part)


def _indices_at(node: sany.Node) -> list[sany.Node]:
    """Returns the indices of f[index], and of a clause `!.f[index] =` of an EXCEPT."""
    places: tuple[sany.Node, ...] = ()
    if is_application(node, "$FcnApply"):
        places = node.operands[1:]
    elif is_application(node, "$Seq"):
        places = node.operands
    return [place for place in places if not isinstance(place, sany.Text)]


def _variables(node: sany.Node) -> Iterator[str]:
    if isinstance(node, sany.Apply) and (node.operator.kind == "parameter" or not node.operands):
        if node.operator.kind != "constant":
            yield node.operator.name
    for part in parts_of(node):
        yield from _variables(part)


def is_application(node: sany.Node, *names: str) -> TypeGuard[sany.Apply]:
    return isinstance(node, sany.Apply) and node.operator.name in names


# --- The kinds of faults ------------------------------------------------------------------------------------

Made = Iterator[tuple[Span, str]]


def _compared(site: Site) -> Made:
    """The opposite comparison; the opposite of a condition that has a name."""
    node = site.node
    if is_application(node, *OPPOSITES):
        yield node.span, _with_operator(node, OPPOSITES[node.operator.name])
    elif is_application(node, "\\lnot"):
        yield node.span, f"({text_of(node.operands[0])})"
    elif is_application(node, "\\subseteq"):
        yield node.span, f"~ ({text_of(node)})"
    for condition in _conditions_below(node):
        named = isinstance(condition, sany.Apply) and condition.operator.kind in ("user", "constant")
        if named or is_application(condition, "$RcdSelect"):
            yield condition.span, f"~ ({text_of(condition)})"


def _conditions_below(node: sany.Node) -> Iterator[sany.Node]:
    if is_application(node, "$ConjList", "$DisjList", "\\land", "\\lor", "=>"):
        yield from node.operands
    elif is_application(node, "$IfThenElse"):
        yield node.operands[0]
    elif is_application(node, "$Case"):
        yield from (parts_of(pair)[0] for pair in node.operands)


def _off_by_one(site: Site) -> Made:
    """A number or a bound that is one too large or too small, or the comparison that includes its bound or not."""
    node = site.node
    if is_application(node, *BOUNDS):
        yield node.span, _with_operator(node, BOUNDS[node.operator.name])
    if isinstance(node, sany.Numeral):
        yield node.span, str(node.value + 1)
        if node.value > 0:
            yield node.span, str(node.value - 1)
    for operand in node.operands if is_application(node, *BOUNDS, "..") else ():
        if isinstance(operand, sany.Apply) and operand.operator.kind == "constant":
            yield operand.span, f"({text_of(operand)} + 1)"
            yield operand.span, f"({text_of(operand)} - 1)"


def _part_dropped(site: Site) -> Made:
    """A condition without one of its parts; a set without one of its own."""
    node = site.node
    if is_application(node, "$ConjList", "\\land"):
        yield from ((operand.span, "TRUE") for operand in node.operands)
    elif is_application(node, "$DisjList", "\\lor"):
        yield from ((operand.span, "FALSE") for operand in node.operands)
    elif is_application(node, "=>"):
        yield node.operands[0].span, "TRUE"
    elif is_application(node, "\\cup", "\\union"):
        yield from ((node.span, text_of(operand)) for operand in node.operands if not isinstance(operand, sany.At))
        if isinstance(node.operands[0], sany.At):
            yield node.span, "@"
    elif is_application(node, "$SetEnumerate") and len(node.operands) > 1:
        texts = [text_of(operand) for operand in node.operands]
        for at in range(len(texts)):
            yield node.span, "{" + ", ".join(texts[:at] + texts[at + 1 :]) + "}"
    elif is_application(node, "\\"):
        yield node.span, "@" if isinstance(node.operands[0], sany.At) else text_of(node.operands[0])


def _other_field(site: Site) -> Made:
    """Takes the same field from another row or from the message, or another field from the same one."""
    node = site.node
    if not is_application(node, "$RcdSelect"):
        return
    base, field = node.operands
    assert isinstance(field, sany.Text)
    record, type_ = site.vocabulary.type_of(base), site.vocabulary.type_of(node)
    if not isinstance(record, Record) or type_ is None:
        return
    rows = [
        f"{name}.{field.value}"
        for name, other in site.vocabulary.records.items()
        if name in site.scope and alike(dict(other.fields).get(field.value, _NOTHING), type_)
    ]
    names = [name for name, _ in record.fields]
    at = names.index(field.value)
    by_distance = sorted(range(len(names)), key=lambda other: (abs(other - at), other))
    fields = [f"{text_of(base)}.{names[other]}" for other in by_distance if alike(record.field(names[other]), type_)]
    # One of each: with more, the common places would crowd out the others.
    for texts in (rows, fields):
        yield from [(node.span, text) for text in texts if text != text_of(node)][:1]


_NOTHING = Record("", ())
"""The type of a field that a record does not have: it is like no other."""


def _clause_dropped(site: Site) -> Made:
    """An EXCEPT without one of its clauses; a row as it was before an operator changed it."""
    node = site.node
    if is_application(node, "$Except"):
        base, clauses = node.operands[0], node.operands[1:]
        for at, clause in enumerate(clauses):
            if len(clauses) == 1:
                yield node.span, text_of(base)
            elif at:
                yield _between(clauses[at - 1].span, clause.span), ""
            else:
                first, second = clause.span, clauses[1].span
                yield _before(first, second), ""
    elif isinstance(node, sany.Apply) and node.operator.uid in site.operators and node.operands:
        body = site.operators[node.operator.uid].body
        while isinstance(body, sany.LetIn):
            body = body.body
        if is_application(body, "$Except") and text_of(body.operands[0]) == _first_parameter(site, node):
            yield node.span, text_of(node.operands[0])


def _first_parameter(site: Site, node: sany.Apply) -> str:
    parameters = site.operators[node.operator.uid].parameters
    return parameters[0].name if parameters else ""


def _other_index(site: Site) -> Made:
    """The cell that another index of this module selects."""
    usable = [text for text, variables in site.indices.items() if variables <= site.scope]
    for index in _indices_at(site.node):
        yield from [(index.span, text) for text in usable if text != text_of(index)][:1]


def _other_member(site: Site) -> Made:
    """The next member of the same enum; another verdict."""
    node, vocabulary = site.node, site.vocabulary
    if is_application(node, "=", "/=", r"\in", r"\notin"):
        left, right = node.operands
        yield from _next_members(right, vocabulary.type_of(left))
    elif is_application(node, "$Except"):
        for clause in node.operands[1:]:
            path, value = parts_of(clause)
            yield from _next_members(value, vocabulary.type_at(node.operands[0], parts_of(path)))
    elif is_application(node, *vocabulary.verdicts):
        at = vocabulary.verdicts.index(node.operator.name)
        yield _name_of(node), vocabulary.verdicts[(at + 1) % len(vocabulary.verdicts)]
    elif isinstance(node, sany.Apply) and node.operator.kind == "user":
        for operand in node.operands:
            yield from _next_members(operand, vocabulary.kind)


def _next_members(node: sany.Node, type_: Type | None) -> Made:
    """The next members of an enum, for each of its members in an expression that has this type."""
    if isinstance(type_, Enum) and isinstance(node, sany.Text) and node.value in type_.members:
        at = type_.members.index(node.value)
        yield node.span, f'"{type_.members[(at + 1) % len(type_.members)]}"'
    elif is_application(node, "$SetEnumerate", "\\cup", "\\union", "$IfThenElse"):
        for operand in node.operands[1 if is_application(node, "$IfThenElse") else 0 :]:
            yield from _next_members(operand, type_)


def _neighbours_result(site: Site) -> Made:
    """The result of another arm of the same IF or CASE."""
    node = site.node
    if is_application(node, "$IfThenElse"):
        results = list(node.operands[1:])
    elif is_application(node, "$Case"):
        results = [parts_of(pair)[1] for pair in node.operands]
    else:
        return
    for at, result in enumerate(results):
        other = results[(at + 1) % len(results)]
        if isinstance(result, sany.At) or isinstance(other, sany.At):
            continue
        new = _moved(other, result.span.column)
        if _on_a_line(new) != _on_a_line(_unlabelled(text_of(result))):
            yield result.span, new


def _modulus_dropped(site: Site) -> Made:
    """A number that does not wrap."""
    node = site.node
    if is_application(node, "%"):
        yield node.span, f"({text_of(node.operands[0])})"


KINDS: dict[str, Callable[[Site], Made]] = {
    "comparison": _compared,
    "off by one": _off_by_one,
    "part dropped": _part_dropped,
    "other field": _other_field,
    "clause dropped": _clause_dropped,
    "other index": _other_index,
    "other member": _other_member,
    "neighbour's result": _neighbours_result,
    "modulus dropped": _modulus_dropped,
}


# --- Texts --------------------------------------------------------------------------------------------------


def _with_operator(node: sany.Apply, new: str) -> str:
    """Returns the text of a binary operator's application with another operator."""
    whole, left = text_of(node), node.operands[0]
    # SANY gives `@` the place of its whole clause.
    begin = 0 if isinstance(left, sany.At) else _length_to(node.span, left.span, whole)
    written = re.compile(WRITTEN.get(node.operator.name, re.escape(node.operator.name)))
    found = written.search(whole, begin)
    assert found is not None, "SANY has read the operator"
    return whole[: found.start()] + new + whole[found.end() :]


def _length_to(outer: Span, inner: Span, whole: str) -> int:
    """Returns how much of an expression's text is before the end of one of its operands."""
    lines = whole.split("\n")
    before = sum(len(line) + 1 for line in lines[: inner.last_line - outer.line])
    return before + inner.last_column - (outer.column - 1 if inner.last_line == outer.line else 0)


def _between(before: Span, whole: Span) -> Span:
    """Returns what is behind `before`, to the end of `whole`."""
    return Span(before.file, before.last_line, before.last_column + 1, whole.last_line, whole.last_column)


def _before(first: Span, second: Span) -> Span:
    """Returns what is from the beginning of `first` to that of `second`."""
    return Span(first.file, first.line, first.column, second.line, second.column - 1)


def _name_of(node: sany.Apply) -> Span:
    span = node.span
    return Span(span.file, span.line, span.column, span.line, span.column + len(node.operator.name) - 1)


def _unlabelled(text: str) -> str:
    """Returns a text without its labels: each may stand once in a definition."""
    return re.sub(r"\b\w+ :: *", "", text)


def _moved(node: sany.Node, column: int) -> str:
    """Returns the text of a node with its lines moved so that it can begin at another column, and without labels."""
    lines = _unlabelled(text_of(node)).split("\n")
    by = column - node.span.column
    if by > 0:
        moved = [" " * by + line for line in lines[1:]]
    else:
        moved = [line[min(-by, len(line) - len(line.lstrip())) :] for line in lines[1:]]
    return "\n".join([lines[0], *moved])
