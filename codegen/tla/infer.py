"""Turns a term into a typed expression.

Types come from the layout: it gives the types of the step's parameters. `infer` derives an expression's
type, and `check` gives it the type of its place. A string, `{}` and `<<>>` have the type of their place.
Records are never values in C: selecting a field of an update or a literal gives the value that was put in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from codegen import ir
from codegen.errors import NoSuchField, NoSuchMember, NotCompilable, TypeMismatch, TypeUnknown, meant
from codegen.ir import Span
from codegen.ir.build import (
    BOOL,
    INTEGER,
    arithmetic,
    choice,
    compare,
    integer,
    logic,
    lost,
    negation,
    selected,
    truth,
    updated,
)
from codegen.ir.walk import evaluations, substitute
from codegen.tla import narrow, streams
from codegen.tla.kinds import (
    Ambiguous,
    Later,
    Scope,
    agree,
    bare,
    called,
    described,
    element_type,
    field_type,
    indexed_type,
    joined,
    least_pattern,
    over_range,
    picked,
    postponed,
    set_room,
    set_type,
    size_max,
    spread,
    stop,
    trivial,
    type_text,
    whole_record,
    wide,
)
from codegen.tla.terms import Term, same

ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*", "divide": "div", "modulo": "%"}
COMPARISONS = {"less": "<", "atmost": "<=", "more": ">", "atleast": ">="}


class Typer:
    """Types terms."""

    # --- Checking: the place gives the type -------------------------------------------------------------

    def check(self, term: Term, kind: ir.Type, scope: Scope) -> ir.Expr:
        match term.operation:
            case "call" | "label":
                return called(term, self.check(term.arguments[0], kind, scope))
            case "let":
                return self.let(term, scope, lambda body, inner: self.check(body, kind, inner))
            case "if":
                least = self.least_or_none(term, scope)
                return (
                    self.expect(least, kind)
                    if least is not None
                    else self.choice(term, scope, lambda branch: self.check(branch, kind, scope))
                )
            case "string":
                return self.member(term, kind)
            case "int" if isinstance(kind, ir.Bytes) and term.number == 0:
                return ir.Int(0, kind, term.span)
            case "set" | "union" | "intersect" | "minus" | "filter" | "image" if isinstance(kind, (ir.Set, ir.Bits)):
                return self.check_set(term, kind, scope)
            case "tuple" if isinstance(kind, ir.Sequence):
                elements = tuple(self.check(element, kind.element, scope) for element in term.arguments)
                return ir.SequenceOf(elements, kind, term.span)
            case "append" if isinstance(kind, ir.Sequence):
                sequence, element = term.arguments
                return ir.Append(
                    self.check(sequence, kind, scope), self.check(element, kind.element, scope), kind, term.span
                )
            case "record":
                return self.record(term, kind, scope)
            case "function" if isinstance(kind, ir.Array):
                return self.array(term, kind, scope)
            case "var" if (later := postponed(term, scope)) is not None:
                return self.check(later.term, kind, later.scope)
            case "field" if (part := picked(term.arguments[0], term.name, scope)) is not None:
                return self.check(part, kind, scope)
        try:
            return self.expect(self.infer(term, scope), kind)
        except Ambiguous:
            raise stop(TypeMismatch, term.span, f"expected {type_text(kind)}, found {described(term)}") from None

    def expect(self, expression: ir.Expr, kind: ir.Type) -> ir.Expr:
        alike = narrow.is_alike(expression.type, kind)
        if isinstance(kind, ir.Bits) and expression.type != kind and alike:
            return streams.as_bits(expression, kind)
        if isinstance(kind, ir.Set) and narrow.is_narrow_set(expression.type) and alike:
            return streams.as_set(expression, kind.element)
        if not agree(expression.type, kind):
            raise stop(TypeMismatch, expression.span, f"expected {type_text(kind)}, found {type_text(expression.type)}")
        return expression

    def member(self, term: Term, kind: ir.Type) -> ir.Expr:
        if not isinstance(kind, ir.Enum):
            raise stop(TypeMismatch, term.span, f'expected {type_text(kind)}, found the string "{term.name}"')
        if term.name not in kind.members:
            raise stop(
                NoSuchMember,
                term.span,
                f'enum {kind.name} has no member "{term.name}"{meant(term.name, kind.members)}',
                f"it has {', '.join(kind.members)}",
            )
        return ir.Literal(term.name, kind, term.span)

    def record(self, term: Term, kind: ir.Type, scope: Scope) -> ir.Expr:
        kind = whole_record(term, kind)
        values = dict(zip(term.names, term.arguments))
        return ir.RecordOf(
            tuple((name, self.check(values[name], of, scope)) for name, of in kind.fields), kind, term.span
        )

    def array(self, term: Term, kind: ir.Array, scope: Scope) -> ir.Expr:
        domain, value = term.arguments
        span = term.span
        bounds = [self.infer(bound, scope) for bound in domain.arguments] if domain.operation == "range" else []
        if [bound.value if isinstance(bound, ir.Int) else None for bound in bounds] != [1, kind.size]:
            raise stop(
                TypeMismatch,
                span,
                f"the function's domain must be 1..{kind.size}",
                f"write [i \\in 1..{kind.size} |-> ...]",
            )
        variable = ir.Var(term.name, INTEGER, span)
        return ir.ArrayOf(term.name, self.check(value, kind.element, {**scope, term.name: variable}), kind, span)

    # --- Sets ----------------------------------------------------------------------------------------------

    def check_set(self, term: Term, kind: ir.Set | ir.Bits, scope: Scope) -> ir.Expr:
        """Types a set as its place says. Its parts have their own types, which may have more room than the whole."""
        element = element_type(kind)
        match term.operation:
            case "set":
                elements = tuple(self.check(argument, element, scope) for argument in term.arguments)
                return ir.SetOf(elements, kind, term.span)
            case "union" | "intersect" | "minus":
                return self.checked_operation(term, kind, scope)
        if term.operation == "image" and isinstance(kind, ir.Bits):
            return self.bits_image(term, kind, scope)
        if term.operation == "image":
            streamed = not over_range(term, scope)
            domain, variable, inner = self.domain(term, scope, allow_range=False, streamed=streamed)
            value = self.check(term.arguments[1], element, inner)
            return streams.into_set(variable, domain, value, ir.expect(kind, ir.Set), term.span)
        to_bits = isinstance(kind, ir.Bits)
        domain, variable, inner = self.domain(term, scope, allow_range=to_bits, streamed=to_bits)
        predicate = self.check(term.arguments[1], BOOL, inner)
        if isinstance(kind, ir.Bits):
            value = ir.expect(inner[variable], ir.Var)
            return streams.into_bits(variable, domain, self.expect(value, element), predicate, kind, term.span)
        self.expect(domain, kind)
        return ir.Filter(variable, domain, predicate, kind, term.span)

    def bits_image(self, term: Term, kind: ir.Bits, scope: Scope) -> ir.Expr:
        """Types {value : x \\in domain} as bits: one loop, without an intermediate set, even over a filter."""
        domain, variable, inner = self.domain(term, scope, streamed=True)
        value = self.check(term.arguments[1], element_type(kind), inner)
        return streams.into_bits(variable, domain, value, None, kind, term.span)

    def checked_operation(self, term: Term, kind: ir.Set | ir.Bits, scope: Scope) -> ir.Expr:
        if isinstance(kind, ir.Bits) and term.operation != "union":
            sides = term.arguments if term.operation == "minus" else (*term.arguments, *reversed(term.arguments))
            for one, other in zip(sides[::2], sides[1::2]):
                beyond = self.beyond(other, kind, scope)
                if beyond is not None:
                    left = self.check(one, kind, scope)
                    return streams.common_bits(left, beyond, term.operation == "intersect", kind, term.span)
        left, right = (self.part(argument, kind, scope) for argument in term.arguments)
        return streams.operation(term.operation, left, right, kind, term.span)

    def beyond(self, term: Term, kind: ir.Bits, scope: Scope) -> ir.Expr | None:
        """Types a term that is a stored set with numbers beyond the bits; None for another term."""
        if bare(term, scope).operation not in ("var", "field", "apply"):
            return None
        found = self.infer(term, scope)
        return found if narrow.beyond(found, kind) else None

    def part(self, term: Term, kind: ir.Set | ir.Bits, scope: Scope) -> ir.Expr:
        """Types one side of a set operation whose result has the type `kind`."""
        if isinstance(kind, ir.Bits):
            return self.check(term, kind, scope)
        try:
            return self.expect(self.infer(term, scope), kind)
        except Ambiguous:
            return self.check(term, replace(kind, max=max(1, set_room(term))), scope)

    def infer_set_operation(self, term: Term, scope: Scope) -> ir.Expr:
        left, right = self.pair(term.arguments, scope)
        kind = set_type(left)
        set_type(right)
        if term.operation == "union":
            kind = narrow.union(left, right)
            if isinstance(kind, ir.Bits):
                left, right = self.expect(left, kind), self.expect(right, kind)
        return streams.operation(term.operation, left, right, kind, term.span)

    def membership(self, term: Term, scope: Scope) -> ir.Expr:
        """Types `x \\in S`; if S is a range, it becomes two comparisons."""
        element, domain = term.arguments
        span = term.span
        ranged = bare(domain, scope)
        if ranged.operation == "range":
            value = self.check(element, INTEGER, scope)
            low, high = (self.check(bound, INTEGER, scope) for bound in ranged.arguments)
            return logic("and", [compare(">=", value, low, span), compare("<=", value, high, span)], span)
        try:
            value = self.infer(element, scope)
        except Ambiguous:
            within = self.infer(domain, scope)
            return streams.member(self.check(element, element_type(set_type(within)), scope), within, span)
        try:
            within = self.infer(domain, scope)
        except Ambiguous:
            within = self.check(domain, ir.Set(value.type, max(1, set_room(domain))), scope)
        self.expect(value, element_type(set_type(within)))
        if isinstance(within, ir.SetOf) and not within.elements:
            return truth(False, span)
        if isinstance(within, ir.SetOf) and isinstance(value, (ir.Int, ir.Literal)):
            constants = [item.value for item in within.elements if isinstance(item, (ir.Int, ir.Literal))]
            if len(constants) == len(within.elements):
                return truth(value.value in constants, span)
        return streams.member(value, within, span)

    def domain(
        self, term: Term, scope: Scope, allow_range: bool = True, streamed: bool = False
    ) -> tuple[ir.Expr, str, Scope]:
        """Returns a binder's domain, its variable, and the scope of its body.

        streamed: streams.py takes the domain apart, so it may be made of a range.
        """
        domain = bare(term.arguments[0], scope)
        if domain.operation == "range":
            if not allow_range:
                raise stop(
                    NotCompilable,
                    term.span,
                    "a part of a range cannot be a set of its own",
                    "count it with Cardinality, quantify over it, or give the field the type bits",
                )
            low, high = (self.check(bound, INTEGER, scope) for bound in domain.arguments)
            over: ir.Expr = ir.Range(low, high, 0, ir.Set(INTEGER, 0), domain.span)
            element: ir.Type = INTEGER
        else:
            if streamed and domain.operation in ("filter", "image"):
                over = self.streamed(domain, scope)
            else:
                over = self.infer_or_report(term.arguments[0], scope)
            if not isinstance(over.type, (ir.Set, ir.Bits)):
                raise stop(TypeMismatch, over.span, f"expected a set or a range, found {type_text(over.type)}")
            element = element_type(over.type)
        known = ir.Interval(0, over.type.size - 1) if isinstance(over.type, ir.Bits) and not over.type.enum else None
        variable = ir.Var(term.name, element, term.span, known)
        return over, term.name, {**scope, term.name: variable}

    def streamed(self, term: Term, scope: Scope) -> ir.Expr:
        """Types a filter or an image that streams.py takes apart, so that no set of its type is ever made."""
        over, name, inner = self.domain(term, scope, streamed=True)
        body = term.arguments[1]
        if term.operation == "filter":
            kind = ir.Set(element_type(over.type), 0)
            return ir.Filter(name, over, self.check(body, BOOL, inner), kind, term.span)
        value = self.infer_or_report(body, inner)
        return ir.Image(name, over, value, ir.Set(value.type, 0), term.span)

    # --- Inferring: the expression gives the type ------------------------------------------------------------

    def infer_or_report(self, term: Term, scope: Scope) -> ir.Expr:
        try:
            return self.infer(term, scope)
        except Ambiguous:
            if bare(term, scope).operation == "image":
                raise stop(
                    NotCompilable,
                    term.span,
                    "a set cannot be made from a range",
                    "give the field that stores it the type bits, or count or quantify over the range",
                ) from None
            if bare(term, scope).operation == "range":
                raise stop(
                    NotCompilable,
                    term.span,
                    "a range cannot be a set of its own",
                    "quantify over it, or compare with its ends",
                ) from None
            raise stop(
                TypeUnknown,
                term.span,
                f"the type of {described(term)} is unknown",
                "compare it with a field, or assign it to one",
            ) from None

    def infer(self, term: Term, scope: Scope) -> ir.Expr:
        span, arguments = term.span, term.arguments
        match term.operation:
            case "call" | "label":
                return called(term, self.infer(arguments[0], scope))
            case "int":
                return integer(term.number, span, term.constant)
            case "bool":
                return truth(term.truth, span)
            case "string" | "record" | "function" | "range":
                raise Ambiguous
            case "var":
                return self.variable(term, scope)
            case "let":
                return self.let(term, scope, self.infer)
            case "field" | "apply":
                return self.select(term, scope)
            case "except":
                return self.update(term, scope)
            case "if":
                least = self.least_or_none(term, scope)
                return least if least is not None else self.infer_choice(term, scope)
            case "set" | "tuple" if not arguments:
                raise Ambiguous
            case "set":
                elements = tuple(self.several(arguments, scope))
                return ir.SetOf(elements, ir.Set(joined(elements), len(elements)), span)
            case "tuple":
                elements = tuple(self.several(arguments, scope))
                return ir.SequenceOf(elements, ir.Sequence(joined(elements), len(elements)), span)
            case "union" | "intersect" | "minus":
                return self.infer_set_operation(term, scope)
            case "subseteq":
                return self.subset(term, scope)
            case "in":
                return self.membership(term, scope)
            case "notin":
                return negation(self.membership(term, scope), span)
            case "equal":
                return self.equality(term, scope)
            case "differ":
                return negation(self.equality(term, scope), span)
            case "not":
                return negation(self.check(arguments[0], BOOL, scope), span)
            case "and" | "or":
                return logic(term.operation, [self.check(argument, BOOL, scope) for argument in arguments], span)
            case "implies":
                left, right = (self.check(argument, BOOL, scope) for argument in arguments)
                return logic("or", [negation(left, left.span), right], span)
            case "less" | "atmost" | "more" | "atleast":
                left, right = (self.check(argument, INTEGER, scope) for argument in arguments)
                return compare(COMPARISONS[term.operation], left, right, span)
            case "add" | "subtract" | "multiply" | "divide" | "modulo":
                left, right = (self.check(argument, INTEGER, scope) for argument in arguments)
                return arithmetic(ARITHMETIC[term.operation], left, right, span)
            case "negate":
                return arithmetic("-", integer(0, span), self.check(arguments[0], INTEGER, scope), span)
            case "power":
                return self.power(term, scope)
        return self.infer_collection(term, scope)

    def infer_collection(self, term: Term, scope: Scope) -> ir.Expr:
        """Infers the types that `infer` leaves: quantifiers, counts, sequences."""
        span, arguments = term.span, term.arguments
        match term.operation:
            case "exists" | "forall":
                domain, variable, inner = self.domain(term, scope, streamed=True)
                predicate = self.check(arguments[1], BOOL, inner)
                return streams.quantified(ir.Quantifier(term.operation, variable, domain, predicate, BOOL, span))
            case "choose":
                return self.least(term, None, scope)
            case "cardinality":
                return self.cardinality(term, scope)
            case "filter":
                domain, variable, inner = self.domain(term, scope, allow_range=False)
                return ir.Filter(variable, domain, self.check(arguments[1], BOOL, inner), set_type(domain), span)
            case "image":
                if over_range(term, scope):
                    raise Ambiguous
                domain, variable, inner = self.domain(term, scope, allow_range=False)
                value = self.infer_or_report(arguments[1], inner)
                made = narrow.image(value, domain.type)
                if isinstance(made, ir.Bits):
                    return streams.into_bits(variable, domain, value, None, made, span)
                return ir.Image(variable, domain, value, made, span)
            case "length":
                return ir.Cardinality(self.sequence(arguments[0], scope), INTEGER, span, ir.Interval(0, 0))
            case "head":
                sequence = self.sequence(arguments[0], scope)
                return selected(sequence, integer(1, span), element_type(sequence.type), span)
            case "tail":
                sequence = self.sequence(arguments[0], scope)
                return ir.Tail(sequence, ir.expect(sequence.type, ir.Sequence), span)
            case "append":
                sequence = self.sequence(arguments[0], scope)
                kind = ir.Sequence(element_type(sequence.type), size_max(sequence.type) + 1)
                return ir.Append(sequence, self.check(arguments[1], kind.element, scope), kind, span)
        raise stop(NotCompilable, span, f"{term.operation} cannot be compiled", "see docs/reference/language.md")

    def variable(self, term: Term, scope: Scope) -> ir.Expr:
        value = scope[term.name]
        if isinstance(value, Later):
            return self.infer(value.term, value.scope)
        return replace(value, span=term.span) if isinstance(value, ir.Var) else value

    def let(self, term: Term, scope: Scope, go: Callable[[Term, Scope], ir.Expr]) -> ir.Expr:
        """Types a LET. It stays a Let if that saves work; otherwise its value replaces its use."""
        name = term.name
        value_term, body_term = term.arguments
        try:
            value = self.infer(value_term, scope)
        except Ambiguous:
            return go(body_term, {**scope, name: Later(value_term, scope)})
        if trivial(value) or isinstance(value.type, (ir.Record, ir.Table)):
            return go(body_term, {**scope, name: value})
        body = go(body_term, {**scope, name: ir.Var(name, value.type, value.span)})
        uses = evaluations(body, name)
        if uses == 1:
            return substitute(body, name, value)
        return ir.Let(name, value, body, body.type, term.span) if uses else body

    def select(self, term: Term, scope: Scope) -> ir.Expr:
        base_term = term.arguments[0]
        if term.operation == "field" and (part := picked(base_term, term.name, scope)) is not None:
            return self.infer(part, scope)
        if term.operation == "field" and bare(base_term, scope).operation == "record":
            raise stop(NoSuchField, term.span, f"the record has no field {term.name}")
        base = self.infer_or_report(base_term, scope)
        if term.operation == "field":
            if not isinstance(base.type, ir.Record):
                raise stop(
                    TypeMismatch,
                    term.span,
                    f"field {term.name} is selected from {type_text(base.type)}",
                    "only a record has fields",
                )
            return selected(base, term.name, field_type(base.type, term.name, term.span), term.span)
        index = self.check(term.arguments[1], INTEGER, scope)
        return selected(base, index, indexed_type(base.type, term.span), term.span)

    def update(self, term: Term, scope: Scope) -> ir.Expr:
        base_term, value_term, *places = term.arguments
        base = self.infer(base_term, scope)
        if isinstance(base.type, ir.Table):
            raise stop(
                NotCompilable,
                term.span,
                "a user step cannot change its table",
                "it only finds: put the change into the message, for a TC or sweep step",
            )
        kind: ir.Type = base.type
        path: list[str | ir.Expr] = []
        for place in places:
            if place.operation == "string":
                if not isinstance(kind, ir.Record):
                    raise stop(
                        TypeMismatch,
                        place.span,
                        f"field {place.name} is selected from {type_text(kind)}",
                        "only a record has fields",
                    )
                kind = field_type(kind, place.name, place.span)
                path.append(place.name)
            else:
                kind = indexed_type(kind, place.span)
                path.append(self.check(place, INTEGER, scope))
        value = self.check(value_term, kind, scope)
        if (dropped := lost(base, tuple(path), value)) is not None:
            found = "a later change replaces this value, but the model checker evaluates it"
            raise stop(NotCompilable, dropped.span, found, "remove the earlier change")
        return updated(base, tuple(path), value, base.type, term.span)

    def choice(self, term: Term, scope: Scope, branch: Callable[[Term], ir.Expr]) -> ir.Expr:
        condition = self.check(term.arguments[0], BOOL, scope)
        return choice(condition, branch(term.arguments[1]), branch(term.arguments[2]), term.span)

    def infer_choice(self, term: Term, scope: Scope) -> ir.Expr:
        condition = self.check(term.arguments[0], BOOL, scope)
        then, otherwise = self.pair(term.arguments[1:], scope)
        return choice(condition, then, otherwise, term.span)

    def pair(self, terms: tuple[Term, ...], scope: Scope) -> tuple[ir.Expr, ir.Expr]:
        """Types two terms of the same type; one may get it from the other."""
        first, second = self.several(terms, scope)
        return first, second

    def several(self, terms: tuple[Term, ...], scope: Scope) -> list[ir.Expr]:
        # Try literals last, because they say least about their type: {1} may be a set or bits.
        found: dict[int, ir.Expr] = {}
        for at in sorted(range(len(terms)), key=lambda at: bare(terms[at], scope).operation in ("set", "tuple")):
            try:
                found[at] = self.infer(terms[at], scope)
            except Ambiguous:
                continue
            # A set becomes bits beside bits, and never the other way, unless these are a narrow set.
            if not narrow.may_widen(found[at].type):
                break
        if not found:
            raise Ambiguous
        kind = narrow.common(list(found.values()))
        first = next((at for at in found if found[at].type == kind), -1)
        return [found[first] if at == first else self.check(term, wide(kind), scope) for at, term in enumerate(terms)]

    def equality(self, term: Term, scope: Scope) -> ir.Expr:
        left_term, right_term = (self.text(argument, scope) for argument in term.arguments)
        if left_term.operation == right_term.operation == "string":
            return truth(left_term.value == right_term.value, term.span)
        for one, other in ((left_term, right_term), (right_term, left_term)):
            if other.operation == "string" and one.operation in ("if", "let"):

                def test(text: Term, other: Term = other) -> Term:
                    return replace(term, arguments=(text, other))

                tests = spread(one, scope, test)
                if tests is not None:
                    return self.check(tests, BOOL, scope)
        try:
            left, right = self.pair(term.arguments, scope)
        except Ambiguous:
            raise stop(TypeUnknown, term.span, "the type of both sides is unknown", "compare with a field") from None
        if isinstance(left.type, ir.Table):
            raise stop(NotCompilable, term.span, "tables cannot be compared", "compare cells")
        return self.equal(left, right, term.span)

    def text(self, term: Term, scope: Scope) -> Term:
        """Strips calls and labels from a term, or from the part of a record literal that it selects."""
        inner = bare(term, scope)
        if inner.operation == "field" and (part := picked(inner.arguments[0], inner.name, scope)) is not None:
            return bare(part, scope)
        return inner

    def equal(self, left: ir.Expr, right: ir.Expr, span: Span) -> ir.Expr:
        """Compares two values; records are compared field by field."""
        if not isinstance(left.type, ir.Record):
            return compare("=", left, right, span)
        sides = [[selected(side, name, kind, span) for side in (left, right)] for name, kind in left.type.fields]
        return logic("and", [self.equal(one, other, span) for one, other in sides], span)

    def subset(self, term: Term, scope: Scope) -> ir.Expr:
        if bare(term.arguments[1], scope).operation == "range":
            raise stop(
                NotCompilable,
                term.span,
                "\\subseteq cannot have a range on its right",
                "write \\A x \\in S : x >= low /\\ x <= high",
            )
        left, right = self.pair(term.arguments, scope)
        set_type(left)
        return ir.Subset(left, right, BOOL, term.span)

    def power(self, term: Term, scope: Scope) -> ir.Expr:
        base, exponent = (self.check(argument, INTEGER, scope) for argument in term.arguments)
        if isinstance(base, ir.Int) and isinstance(exponent, ir.Int) and 0 <= exponent.value <= 64:
            return integer(base.value**exponent.value, term.span)
        raise stop(NotCompilable, term.span, "the power is not constant", "both sides of ^ must be constants")

    def sequence(self, term: Term, scope: Scope) -> ir.Expr:
        sequence = self.infer_or_report(term, scope)
        if not isinstance(sequence.type, ir.Sequence):
            raise stop(TypeMismatch, sequence.span, f"expected a sequence, found {type_text(sequence.type)}")
        return sequence

    def cardinality(self, term: Term, scope: Scope) -> ir.Expr:
        """Types Cardinality. For a filter it is a Count, which builds no set."""
        operand = bare(term.arguments[0], scope)
        if operand.operation == "filter":
            domain, variable, inner = self.domain(operand, scope)
            predicate = self.check(operand.arguments[1], BOOL, inner)
            return ir.Count(variable, domain, predicate, INTEGER, term.span, ir.Interval(0, 0))
        if operand.operation == "set" and not operand.arguments:
            return integer(0, term.span)
        over = self.infer_or_report(term.arguments[0], scope)
        set_type(over)
        return ir.Cardinality(over, INTEGER, term.span, ir.Interval(0, 0))

    # --- CHOOSE: only the least of a range ------------------------------------------------------------------------

    def least_or_none(self, term: Term, scope: Scope) -> ir.Expr | None:
        """Types IF \\E i \\in a..b : P(i) THEN CHOOSE the least ELSE none as one expression; None for another IF."""
        condition, then, otherwise = (bare(argument, scope) for argument in term.arguments)
        if condition.operation != "exists" or then.operation != "choose":
            return None
        found = least_pattern(then)
        if found is None or not same(condition.arguments[0], then.arguments[0]):
            return None
        if not same(condition.arguments[1], found, {condition.name: then.name}):
            return None
        return self.least(then, otherwise, scope)

    def least(self, term: Term, none: Term | None, scope: Scope) -> ir.Expr:
        predicate_term = least_pattern(term)
        if predicate_term is None:
            raise stop(
                NotCompilable,
                term.span,
                "CHOOSE must take the least of a range",
                "use FirstIndex, or CHOOSE i \\in a..b : P(i) /\\ \\A j \\in a..(i - 1) : ~ P(j)",
            )
        domain, variable, inner = self.domain(term, scope)
        predicate = self.check(predicate_term, BOOL, inner)
        otherwise = self.check(none, INTEGER, scope) if none is not None else None
        return ir.First(
            variable, ir.expect(domain, ir.Range), predicate, otherwise, INTEGER, term.span, ir.Interval(0, 0)
        )
