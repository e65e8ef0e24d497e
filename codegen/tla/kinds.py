"""Helpers of the typer: they inspect types, and terms that have no type yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from codegen import ir
from codegen.errors import NoSuchField, SpecError, Stop, TypeMismatch, meant
from codegen.ir import Span
from codegen.ir.build import INTEGER, wider
from codegen.tla.terms import Term, occurs, same


class Ambiguous(Exception):
    """Raised for a term whose type depends on its place."""


ASKED_FOR = ("now", "terms")
"""Fields of env that steps of every hook have, if the layout asks for them."""


@dataclass(frozen=True)
class Later:
    """A LET whose value gets its type from each place that uses it."""

    term: Term
    scope: Scope


Scope = dict[str, ir.Expr | Later]


def type_text(kind: ir.Type) -> str:
    """Returns a type as a message shows it."""
    match kind:
        case ir.UInt(width):
            return "an integer" if kind == INTEGER else f"u{width}"
        case ir.Bool():
            return "bool"
        case ir.Enum(name):
            return f"enum {name}"
        case ir.Bytes(size):
            return f"bytes of {size}"
        case ir.Set(element):
            return f"a set of {type_text(element)}"
        case ir.Bits(source=ir.Set() as source):
            return type_text(source)
        case ir.Bits(size):
            return f"bits of {size}"
        case ir.Array(element, size):
            return f"an array of {size} {type_text(element)}"
        case ir.Sequence(element):
            return f"a sequence of {type_text(element)}"
        case ir.Table(name):
            return f"the table {name}"
        case ir.Record(name):
            return f"record {name}"
    return str(kind)


def agree(one: ir.Type, other: ir.Type) -> bool:
    """Whether values of the two types may be compared and assigned. bounds.py checks widths and rooms."""
    match one, other:
        case ir.UInt(), ir.UInt():
            return True
        case (ir.Set(element), ir.Set(needed)) | (ir.Sequence(element), ir.Sequence(needed)):
            return agree(element, needed)
        case ir.Array(element, size), ir.Array(needed, size_needed):
            return size == size_needed and agree(element, needed)
    return one == other


def trivial(expression: ir.Expr) -> bool:
    """Whether an expression may be copied to many places at no cost."""
    if isinstance(expression, (ir.Int, ir.Literal, ir.Var)):
        return True
    return isinstance(expression, ir.Field) and trivial(expression.base)


def stop(kind: type[SpecError], span: Span, found: str, instead: str = "") -> Stop:
    return Stop(kind(span, found, instead))


def least_pattern(term: Term) -> Term | None:
    """Returns P of `CHOOSE i \\in a..b : P(i) /\\ \\A j \\in a..(i - 1) : ~ P(j)`; None for another CHOOSE."""
    domain, body = term.arguments
    if domain.operation != "range" or body.operation != "and" or len(body.arguments) != 2:
        return None
    predicate, none_before = body.arguments
    if none_before.operation != "forall" or none_before.arguments[1].operation != "not":
        return None
    before, negated = none_before.arguments
    if before.operation != "range" or not same(before.arguments[0], domain.arguments[0]):
        return None
    end = before.arguments[1]
    if end.operation != "subtract" or end.arguments[0].value != term.value or end.arguments[0].operation != "var":
        return None
    if end.arguments[1].operation != "int" or end.arguments[1].value != 1:
        return None
    other = none_before.name
    if not same(predicate, negated.arguments[0], {term.name: other}) or occurs(other, predicate):
        return None
    return predicate


def called(term: Term, expression: ir.Expr) -> ir.Expr:
    """Gives the result of an operator of another file the place of the call, for messages."""
    return replace(expression, span=term.span) if expression.span.file != term.span.file else expression


def element_type(kind: ir.Type) -> ir.Type:
    """Returns the type of the elements of a set, a sequence or an array."""
    match kind:
        case ir.Bits(enum=enum):
            return INTEGER if enum is None else enum
        case ir.Set(element) | ir.Sequence(element) | ir.Array(element):
            return element
    raise TypeError(f"expected a set, a sequence or an array, found {type_text(kind)}")


def field_type(kind: ir.Record, name: str, span: Span) -> ir.Type:
    """Returns the type of a field of a record, which must have it."""
    fields = dict(kind.fields)
    if name in fields:
        return fields[name]
    listed = f"it has {', '.join(fields)}"
    if kind.name == "env" and name in ASKED_FOR:
        raise stop(NoSuchField, span, f"env has no field {name}", f"add `env.{name}` to the layout; {listed}")
    raise stop(NoSuchField, span, f"{kind.name} has no field {name}{meant(name, fields)}", listed)


def indexed_type(kind: ir.Type, span: Span) -> ir.Type:
    """Returns the type of what an index selects."""
    match kind:
        case ir.Array(element) | ir.Sequence(element):
            return element
        case ir.Table():
            return kind.cell
    raise stop(
        TypeMismatch, span, f"{type_text(kind)} has no index", "arrays, sequences and a user step's table have one"
    )


def whole_record(term: Term, kind: ir.Type) -> ir.Record:
    """Returns the type of a record literal, which must have all fields of it."""
    if not isinstance(kind, ir.Record):
        raise stop(TypeMismatch, term.span, f"expected {type_text(kind)}, found a record")
    values = dict(zip(term.names, term.arguments))
    for name in values:
        field_type(kind, name, term.span)
    missing = [name for name, _ in kind.fields if name not in values]
    if missing:
        raise stop(
            TypeMismatch,
            term.span,
            f"the record lacks {', '.join(missing)}",
            f"give every field of {kind.name}, or use EXCEPT",
        )
    return kind


def size_max(kind: ir.Type) -> int:
    """Returns the greatest size of a set or a sequence."""
    match kind:
        case ir.Bits():
            return kind.most
        case ir.Set(max=size) | ir.Sequence(max=size):
            return size
    raise TypeError(f"expected a set or a sequence, found {type_text(kind)}")


def set_type(expression: ir.Expr) -> ir.Set | ir.Bits:
    """Returns the type of an expression that must be a set."""
    if not isinstance(expression.type, (ir.Set, ir.Bits)):
        raise stop(TypeMismatch, expression.span, f"expected a set, found {type_text(expression.type)}")
    return expression.type


def joined(expressions: tuple[ir.Expr, ...]) -> ir.Type:
    """Returns a type that holds the values of all expressions."""
    kind = expressions[0].type
    for expression in expressions[1:]:
        kind = wider(kind, expression.type)
    return kind


def wide(kind: ir.Type) -> ir.Type:
    """Returns the type that the other side of a comparison must have; its width and room may differ."""
    return INTEGER if isinstance(kind, ir.UInt) else kind


def set_room(term: Term) -> int:
    """Returns the greatest number of elements that the literals of a set term can have."""
    if term.operation == "set":
        return len(term.arguments)
    return sum(set_room(argument) for argument in term.arguments)


def bare(term: Term, scope: Scope) -> Term:
    """Strips calls and labels from a term, and replaces a name that has no type yet by its value."""
    while True:
        if term.operation in ("call", "label"):
            term = term.arguments[0]
        elif (later := postponed(term, scope)) is not None:
            term, scope = later.term, later.scope
        else:
            return term


def postponed(term: Term, scope: Scope) -> Later | None:
    """Returns the value of a name that has no type yet; None for every other term."""
    value = scope.get(term.name) if term.operation == "var" else None
    return value if isinstance(value, Later) else None


def over_range(image: Term, scope: Scope) -> bool:
    """Whether an image or a filter goes over a range, or over what is made of one. Its place must say if it is bits."""
    domain = bare(image.arguments[0], scope)
    if domain.operation in ("filter", "image"):
        return over_range(domain, scope)
    return domain.operation == "range"


def spread(term: Term, scope: Scope, change: Callable[[Term], Term | None]) -> Term | None:
    """Applies `change` to the literal in each branch of a term; returns None if a branch is not a literal.

    So a step can take apart the result of another operator: `LET r == Step(cell, msg) IN IF r.verdict = ...`.
    """
    match term.operation:
        case "call" | "label":
            return spread(term.arguments[0], scope, change)
        case "var" if (later := postponed(term, scope)) is not None:
            return spread(later.term, later.scope, change)
        case "if":
            condition, *branches = term.arguments
            spreads = [spread(branch, scope, change) for branch in branches]
            done = [branch for branch in spreads if branch is not None]
            return replace(term, arguments=(condition, *done)) if len(done) == len(spreads) else None
        case "let":
            value, body = term.arguments
            inner = spread(body, {**scope, term.name: Later(value, scope)}, change)
            return None if inner is None else replace(term, arguments=(value, inner))
        case "record" | "string":
            return change(term)
    return None


def picked(term: Term, name: str, scope: Scope) -> Term | None:
    """Returns the term of a field of `term`; None if `term` is not made of record literals."""

    def field(record: Term) -> Term | None:
        if record.operation != "record" or name not in record.names:
            return None
        return record.arguments[record.names.index(name)]

    return spread(term, scope, field)


def described(term: Term) -> str:
    """Returns a term as a message names it."""
    names = {
        "string": f'the string "{term.value}"',
        "set": "the set",
        "tuple": "the sequence",
        "record": "the record",
        "function": "the function",
    }
    return names.get(term.operation, "the expression")
