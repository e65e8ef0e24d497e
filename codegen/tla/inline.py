"""Inlines every user operator, so that a step becomes one closed term.

Arguments and LETs become `let` terms, unless they are just a name or a constant. Operator arguments
and LAMBDAs are applied where they are used. Constants get their values from the layout, and from the
substitutions of INSTANCE ... WITH. All names in the result are unique.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from codegen import ir
from codegen.errors import NotCompilable, Recursive, Stop
from codegen.ir import Span
from codegen.tla.sany import (
    Apply,
    At,
    Binder,
    Labelled,
    LetIn,
    Module,
    Node,
    Numeral,
    Operator,
    OperatorArgument,
    Reference,
    Substitution,
    Text,
)
from codegen.tla.terms import Term

ConstantValue = int | bool | str | tuple[int | str, ...]


@dataclass(frozen=True)
class Name:
    """A name of the step's term. It becomes a `var` at each place that uses it."""

    text: str


@dataclass(frozen=True)
class Closure:
    """An operator with the names that its text sees."""

    operator: Operator | None
    """None if `reference` is a standard or built-in operator."""
    reference: Reference
    scope: Scope


Meaning = Term | Name | Closure


@dataclass(frozen=True)
class Scope:
    """The meaning of names at a place."""

    names: dict[str, Meaning]
    """Parameters and LETs, by number."""
    constants: dict[str, Meaning]
    """Constants of instantiated modules, by number."""
    at: Term | None
    """The meaning of @."""
    operator: str

    def bind(self, added: dict[str, Meaning]) -> Scope:
        return replace(self, names={**self.names, **added})


OPERATIONS = {
    "=": "equal",
    "/=": "differ",
    "\\lnot": "not",
    "\\land": "and",
    "\\lor": "or",
    "=>": "implies",
    "\\equiv": "equal",
    "$ConjList": "and",
    "$DisjList": "or",
    "\\in": "in",
    "\\notin": "notin",
    "\\subseteq": "subseteq",
    "\\union": "union",
    "\\intersect": "intersect",
    "\\": "minus",
    "$SetEnumerate": "set",
    "$Tuple": "tuple",
    "$IfThenElse": "if",
    "$FcnApply": "apply",
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "\\div": "divide",
    "%": "modulo",
    "^": "power",
    "-.": "negate",
    "<": "less",
    "\\leq": "atmost",
    ">": "more",
    "\\geq": "atleast",
    "..": "range",
    "Cardinality": "cardinality",
    "Len": "length",
    "Append": "append",
    "Head": "head",
    "Tail": "tail",
}

BINDING = {
    "$BoundedExists": "exists",
    "$BoundedForall": "forall",
    "$BoundedChoose": "choose",
    "$SubsetOf": "filter",
    "$SetOfAll": "image",
    "$FcnConstructor": "function",
}


class Inliner:
    """Inlines one step, with the operators of one module. It makes names that are unique within the step."""

    def __init__(self, module: Module, constants: dict[str, ConstantValue]):
        self.module = module
        self.constants = constants
        self.used: dict[str, int] = {}

    def fresh(self, name: str) -> str:
        """Returns `name`, or `name~2`, `name~3`, ... if it is taken. TLA+ has no such names; lower.py renames them."""
        count = self.used[name] = self.used.get(name, 0) + 1
        return name if count == 1 else f"{name}~{count}"

    def step(self, operator: Operator) -> tuple[tuple[str, ...], Term]:
        """Returns the names of a step's parameters, and its body."""
        names = tuple(self.fresh(parameter.name) for parameter in operator.parameters)
        arguments: dict[str, Meaning] = {
            parameter.uid: Name(name) for parameter, name in zip(operator.parameters, names)
        }
        return names, self.term(operator.body, Scope(arguments, {}, None, operator.name))

    def closed(self, node: Node) -> Term:
        """Returns the term of a node outside of all operators, such as that of an ASSUME."""
        return self.term(node, Scope({}, {}, None, ""))

    # --- One node -------------------------------------------------------------------------------

    def term(self, node: Node, scope: Scope) -> Term:
        def make(operation: str, arguments: tuple[Term, ...] = (), value: int | str | None = None) -> Term:
            return Term(operation, arguments, value, scope.operator, node.span)

        match node:
            case Numeral():
                return make("int", value=node.value)
            case Text():
                return make("string", value=node.value)
            case At():
                if scope.at is None:
                    raise Stop(NotCompilable(node.span, "@ is used outside of EXCEPT"))
                return scope.at
            case Labelled():
                return make("label", (self.term(node.body, scope),), node.name)
            case LetIn():
                return self.let(node, scope)
            case Substitution():
                added = {uid: self.argument(value, scope) for uid, value in node.substitutions}
                return self.term(node.body, replace(scope, constants={**scope.constants, **added}))
            case Apply():
                return self.apply(node, scope)
        raise Stop(
            NotCompilable(node.span, f"this construct, which SANY calls {type(node).__name__}, cannot be compiled")
        )

    def let(self, node: LetIn, scope: Scope) -> Term:
        """Inlines LET: operators with parameters become closures, those without become named values."""
        names = dict(scope.names)
        inner = replace(scope, names=names)  # `names` grows below: a definition sees those before it.
        values: list[tuple[str, Term]] = []
        for uid in node.definitions:
            operator = self.module.operators.get(uid)
            if operator is None or isinstance(operator.body, Substitution):
                if operator is not None:
                    names[uid] = Closure(operator, Reference("user", operator.name, uid), inner)
                continue
            self.refuse_recursion(operator, operator.span)
            if operator.parameters:
                names[uid] = Closure(operator, Reference("user", operator.name, uid), replace(inner, names=dict(names)))
                continue
            value = self.term(operator.body, replace(inner, names=dict(names)))
            if trivial(value):
                names[uid] = value
                continue
            name = self.fresh(operator.name)
            values.append((name, value))
            names[uid] = Name(name)
        return wrapped(values, self.term(node.body, replace(inner, names=dict(names))))

    def argument(self, node: Node, scope: Scope) -> Meaning:
        if isinstance(node, OperatorArgument):
            return self.operator_value(node.operator, scope, node.span)
        return self.term(node, scope)

    def operator_value(self, reference: Reference, scope: Scope, span: Span) -> Meaning:
        """Returns the value or closure that an operator's name stands for."""
        if reference.uid in scope.names:
            return scope.names[reference.uid]
        if reference.kind == "constant":
            return self.constant(reference, scope, span)
        if reference.kind == "user":
            operator = self.module.operators[reference.uid]
            # A LAMBDA sees the names around it. All other operators here are defined at the top level.
            names = scope.names if operator.name == "LAMBDA" else {}
            at = scope.at if operator.name == "LAMBDA" else None
            return Closure(operator, reference, replace(scope, names=names, at=at))
        return Closure(None, reference, scope)

    def constant(self, reference: Reference, scope: Scope, span: Span) -> Meaning:
        if reference.uid in scope.constants:
            return scope.constants[reference.uid]
        if self.module.constants[reference.uid].variable or reference.name not in self.constants:
            raise Stop(
                NotCompilable(span, f"{reference.name} has no value", "give it one under constants in the layout")
            )
        return constant_term(reference.name, self.constants[reference.name], scope.operator, span)

    def refuse_recursion(self, operator: Operator, span: Span) -> None:
        if operator.recursive:
            raise Stop(
                Recursive(span, f"{operator.name} is recursive", "quantify over a range or a set instead, or unfold it")
            )

    # --- Applications ------------------------------------------------------------------------------

    def apply(self, node: Apply, scope: Scope) -> Term:
        reference = node.operator
        if reference.kind in ("parameter", "constant", "user") or reference.uid in scope.names:
            value = self.operator_value(reference, scope, node.span)
            # An error about a name has the place of its use; one about an argument has the place of the call.
            if isinstance(value, Name):
                return Term("var", (), value.text, scope.operator, node.span)
            if isinstance(value, Term):
                return value
            if value.operator is not None:
                arguments = [self.argument(operand, scope) for operand in node.operands]
                return self.expand(value, value.operator, arguments, node, scope)
            return self.standard(value.reference, [self.term(operand, scope) for operand in node.operands], node, scope)
        special = {"$Except": self.update, "$Case": self.case, "$RcdConstructor": self.record, "$RcdSelect": self.field}
        if reference.name in special:
            return special[reference.name](node, scope)
        if reference.name in BINDING:
            return self.binding(node, scope)
        if reference.name in ("TRUE", "FALSE"):
            return Term("bool", (), reference.name == "TRUE", scope.operator, node.span)
        return self.standard(reference, [self.term(operand, scope) for operand in node.operands], node, scope)

    def standard(self, reference: Reference, operands: list[Term], node: Apply, scope: Scope) -> Term:
        operation = OPERATIONS.get(reference.name)
        if operation is None:
            raise Stop(
                NotCompilable(node.span, f"{reference.name} cannot be compiled", "see docs/reference/language.md")
            )
        return Term(operation, tuple(operands), None, scope.operator, node.span)

    def expand(self, closure: Closure, operator: Operator, arguments: list[Meaning], node: Apply, scope: Scope) -> Term:
        """Expands a user operator: returns its body, with names for the arguments."""
        self.refuse_recursion(operator, node.span)
        names: dict[str, Meaning] = {}
        values: list[tuple[str, Term]] = []
        for parameter, argument in zip(operator.parameters, arguments):
            if not isinstance(argument, Term) or trivial(argument):
                names[parameter.uid] = argument
                continue
            name = self.fresh(parameter.name)
            values.append((name, argument))
            names[parameter.uid] = Term("var", (), name, scope.operator, argument.span)
        local = operator.uid in scope.names or operator.name == "LAMBDA"
        shown = closure.scope.operator if local else operator.name
        # An operator of an instantiated module may call another one of it, which needs the same constants.
        constants = {**scope.constants, **closure.scope.constants}
        inner = Scope({**closure.scope.names, **names}, constants, closure.scope.at, shown)
        body = wrapped(values, self.term(operator.body, inner))
        return Term("call", (body,), operator.name, scope.operator, node.span)

    # --- Built-in syntax ------------------------------------------------------------------------------

    def update(self, node: Apply, scope: Scope) -> Term:
        """Inlines EXCEPT: each update becomes an `except` term over the one before, as TLA+ defines it."""
        base = self.term(node.operands[0], scope)
        for pair in node.operands[1:]:
            path, value = operands(pair)
            places = tuple(self.term(place, scope) for place in operands(path))
            old = base
            for place in places:
                old = self.select(old, place, scope, pair.span)
            new = self.term(value, replace(scope, at=old))
            base = Term("except", (base, new, *places), None, scope.operator, pair.span)
        return base

    def select(self, base: Term, place: Term, scope: Scope, span: Span) -> Term:
        if place.operation == "string":
            return Term("field", (base,), place.name, scope.operator, span)
        return Term("apply", (base, place), None, scope.operator, span)

    def case(self, node: Apply, scope: Scope) -> Term:
        """Inlines CASE: a chain of IFs, in the model checker's order."""
        *arms, last = node.operands
        other, otherwise = operands(last)
        if not (isinstance(other, Text) and other.value == "$Other"):
            raise Stop(NotCompilable(node.span, "CASE has no OTHER", "add an arm [] OTHER -> ..."))
        term = self.term(otherwise, scope)
        for arm in reversed(arms):
            condition, then = (self.term(operand, scope) for operand in operands(arm))
            term = Term("if", (condition, then, term), None, scope.operator, arm.span)
        return term

    def record(self, node: Apply, scope: Scope) -> Term:
        pairs = [operands(pair) for pair in node.operands]
        names = tuple(text(name) for name, _ in pairs)
        values = tuple(self.term(value, scope) for _, value in pairs)
        return Term("record", values, names, scope.operator, node.span)

    def field(self, node: Apply, scope: Scope) -> Term:
        base, name = node.operands
        return Term("field", (self.term(base, scope),), text(name), scope.operator, node.span)

    def binding(self, node: Apply, scope: Scope) -> Term:
        """Inlines a construct that binds names. Several names become nested binders if that means the same."""
        operation = BINDING[node.operator.name]
        variables: list[tuple[str, Term]] = []
        names: dict[str, Meaning] = {}
        for binder in node.binders:
            domain = self.domain(binder, scope, node.span)
            for parameter in binder.parameters:
                name = self.fresh(parameter.name)
                variables.append((name, domain))
                names[parameter.uid] = Name(name)
        if len(variables) > 1 and operation not in ("exists", "forall"):
            raise Stop(
                NotCompilable(node.span, "a set or a function binds more than one name", "bind one name at a time")
            )
        term = self.term(node.operands[0], scope.bind(names))
        for name, domain in reversed(variables):
            term = Term(operation, (domain, term), name, scope.operator, node.span)
        return term

    def domain(self, binder: Binder, scope: Scope, span: Span) -> Term:
        if binder.domain is None or binder.tuple:
            raise Stop(
                NotCompilable(
                    span,
                    "the name has no bound" if binder.domain is None else "names are bound as a tuple",
                    "write `x \\in S`",
                )
            )
        return self.term(binder.domain, scope)


def operands(node: Node) -> tuple[Node, ...]:
    return ir.expect(node, Apply).operands


def text(node: Node) -> str:
    return ir.expect(node, Text).value


def trivial(term: Term) -> bool:
    """Whether a term may be copied to many places at no cost."""
    if term.operation in ("int", "string", "bool", "var"):
        return True
    return term.operation == "field" and trivial(term.arguments[0])


def wrapped(values: list[tuple[str, Term]], body: Term) -> Term:
    """Wraps `body` in a `let` for each name and value; the first is the outermost."""
    for name, value in reversed(values):
        body = Term("let", (value, body), name, body.operator, value.span)
    return body


def constant_term(name: str, value: ConstantValue, operator: str, span: Span) -> Term:
    """Turns a constant of the layout into a term, as if the module contained its value."""
    if isinstance(value, tuple):
        return Term("set", tuple(constant_term("", element, operator, span) for element in value), None, operator, span)
    kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
    return Term(kind, (), value, operator, span, name if kind == "int" else "")
