"""Inlining: expands every user operator, so that a step becomes one closed term.

Arguments and LETs become `let` terms (unless they are a mere name or constant), operator
arguments and LAMBDAs are applied where they are used, the constants of the layout are put in,
and the substitutions of INSTANCE ... WITH are carried down. All names come out unique.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from codegen.errors import NotCompilable, Recursive, Stop
from codegen.ir import Span
from codegen.passes.terms import Term
from codegen.sany import (
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

ConstantValue = int | bool | str | tuple[int | str, ...]


@dataclass(frozen=True)
class Closure:
    """An operator with the names that its text sees. operator None: `reference` is a standard or built-in one."""

    operator: Operator | None
    reference: Reference
    scope: Scope


@dataclass(frozen=True)
class Scope:
    """What names mean: parameters and LETs (by number) and instantiated constants; `at` is what @ stands for."""

    names: dict[str, Term | Closure]
    constants: dict[str, Term | Closure]
    at: Term | None
    operator: str

    def bind(self, added: dict[str, Term | Closure]) -> Scope:
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
    """Inlines the operators of one module; one instance a step, so that names are unique within it."""

    def __init__(self, module: Module, constants: dict[str, ConstantValue]):
        self.module = module
        self.constants = constants
        self.used: dict[str, int] = {}

    def fresh(self, name: str) -> str:
        """`name`, or `name~2`, `name~3`, ... where it is taken: no name of TLA+. lower.unique makes them readable."""
        count = self.used[name] = self.used.get(name, 0) + 1
        return name if count == 1 else f"{name}~{count}"

    def step(self, operator: Operator) -> tuple[tuple[str, ...], Term]:
        """The names of a step's parameters, and its body."""
        names = tuple(self.fresh(parameter.name) for parameter in operator.parameters)
        arguments = {
            parameter.uid: Term("var", (), name, operator.name, None)
            for parameter, name in zip(operator.parameters, names)
        }
        return names, self.term(operator.body, Scope(arguments, {}, None, operator.name))

    # --- One node -------------------------------------------------------------------------------

    def term(self, node: Node, scope: Scope) -> Term:
        def make(operation: str, arguments: tuple[Term, ...] = (), value=None) -> Term:
            return Term(operation, arguments, value, scope.operator, node.span)

        match node:
            case Numeral():
                return make("int", value=node.value)
            case Text():
                return make("string", value=node.value)
            case At():
                if scope.at is None:
                    raise Stop(NotCompilable(node.span, "@ outside of an EXCEPT"))
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
        raise Stop(NotCompilable(node.span, f"a construct of TLA+ that SANY calls {type(node).__name__}"))

    def let(self, node: LetIn, scope: Scope) -> Term:
        """LET: operators with parameters are closures, those without are named values."""
        names = dict(scope.names)
        inner = replace(scope, names=names)  # grows below: a definition sees those before it
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
            names[uid] = Term("var", (), name, scope.operator, None)
        return wrapped(values, self.term(node.body, replace(inner, names=dict(names))))

    def argument(self, node: Node, scope: Scope) -> Term | Closure:
        if isinstance(node, OperatorArgument):
            return self.operator_value(node.operator, scope, node.span)
        return self.term(node, scope)

    def operator_value(self, reference: Reference, scope: Scope, span: Span) -> Term | Closure:
        """What an operator's name stands for."""
        if reference.uid in scope.names:
            return scope.names[reference.uid]
        if reference.kind == "constant":
            return self.constant(reference, scope, span)
        if reference.kind == "user":
            operator = self.module.operators[reference.uid]
            # A LAMBDA stands in the text and sees its names; everything else is defined at the top.
            names = scope.names if operator.name == "LAMBDA" else {}
            at = scope.at if operator.name == "LAMBDA" else None
            return Closure(operator, reference, replace(scope, names=names, at=at))
        return Closure(None, reference, scope)

    def constant(self, reference: Reference, scope: Scope, span: Span) -> Term | Closure:
        if reference.uid in scope.constants:
            return scope.constants[reference.uid]
        if self.module.constants[reference.uid].variable or reference.name not in self.constants:
            raise Stop(
                NotCompilable(span, f"{reference.name} has no value", "give it one under constants in the layout")
            )
        return constant_term(self.constants[reference.name], scope.operator, span)

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
            if isinstance(value, Term):
                # A name stands where it is used; an argument, in an error, where it was given.
                return replace(value, span=node.span, operator=scope.operator) if value.span is None else value
            if value.operator is not None:
                return self.expand(value, [self.argument(operand, scope) for operand in node.operands], node, scope)
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
            raise Stop(NotCompilable(node.span, f"{reference.name} cannot be compiled", "see docs/language.md"))
        return Term(operation, tuple(operands), None, scope.operator, node.span)

    def expand(self, closure: Closure, arguments: list[Term | Closure], node: Apply, scope: Scope) -> Term:
        """A user operator applied: its body, with the arguments as names."""
        operator = closure.operator
        self.refuse_recursion(operator, node.span)
        names, values = {}, []
        for parameter, argument in zip(operator.parameters, arguments):
            if isinstance(argument, Closure) or trivial(argument):
                names[parameter.uid] = argument
                continue
            name = self.fresh(parameter.name)
            values.append((name, argument))
            names[parameter.uid] = Term("var", (), name, scope.operator, argument.span)
        local = operator.uid in scope.names or operator.name == "LAMBDA"
        shown = closure.scope.operator if local else operator.name
        # An operator of an instantiated module may be called by another of the same module: constants go down.
        constants = {**scope.constants, **closure.scope.constants}
        inner = Scope({**closure.scope.names, **names}, constants, closure.scope.at, shown)
        body = wrapped(values, self.term(operator.body, inner))
        return Term("call", (body,), operator.name, scope.operator, node.span)

    # --- Built-in syntax ------------------------------------------------------------------------------

    def update(self, node: Apply, scope: Scope) -> Term:
        """EXCEPT: one `except` term an update, the later over the earlier, as TLA+ defines it."""
        base = self.term(node.operands[0], scope)
        for pair in node.operands[1:]:
            path, value = pair.operands
            places = tuple(self.term(place, scope) for place in path.operands)
            old = base
            for place in places:
                old = self.select(old, place, scope, pair.span)
            new = self.term(value, replace(scope, at=old))
            base = Term("except", (base, new, *places), None, scope.operator, pair.span)
        return base

    def select(self, base: Term, place: Term, scope: Scope, span: Span) -> Term:
        if place.operation == "string":
            return Term("field", (base,), place.value, scope.operator, span)
        return Term("apply", (base, place), None, scope.operator, span)

    def case(self, node: Apply, scope: Scope) -> Term:
        """CASE: a chain of IFs, in order, as the model checker evaluates it."""
        *arms, last = node.operands
        condition, otherwise = last.operands
        if not (isinstance(condition, Text) and condition.value == "$Other"):
            raise Stop(NotCompilable(node.span, "CASE without OTHER", "add an arm [] OTHER -> ..."))
        term = self.term(otherwise, scope)
        for arm in reversed(arms):
            condition, then = (self.term(operand, scope) for operand in arm.operands)
            term = Term("if", (condition, then, term), None, scope.operator, arm.span)
        return term

    def record(self, node: Apply, scope: Scope) -> Term:
        names = tuple(pair.operands[0].value for pair in node.operands)
        values = tuple(self.term(pair.operands[1], scope) for pair in node.operands)
        return Term("record", values, names, scope.operator, node.span)

    def field(self, node: Apply, scope: Scope) -> Term:
        base, name = node.operands
        return Term("field", (self.term(base, scope),), name.value, scope.operator, node.span)

    def binding(self, node: Apply, scope: Scope) -> Term:
        """A construct that binds names: several names become nested binders, where that means the same."""
        operation = BINDING[node.operator.name]
        variables: list[tuple[str, Term]] = []
        names = {}
        for binder in node.binders:
            domain = self.domain(binder, scope, node.span)
            for parameter in binder.parameters:
                name = self.fresh(parameter.name)
                variables.append((name, domain))
                names[parameter.uid] = Term("var", (), name, scope.operator, None)
        if len(variables) > 1 and operation not in ("exists", "forall"):
            raise Stop(
                NotCompilable(node.span, "a set or a function over more than one name", "bind one name at a time")
            )
        term = self.term(node.operands[0], scope.bind(names))
        for name, domain in reversed(variables):
            term = Term(operation, (domain, term), name, scope.operator, node.span)
        return term

    def domain(self, binder: Binder, scope: Scope, span: Span) -> Term:
        if binder.domain is None or binder.tuple:
            raise Stop(
                NotCompilable(
                    span, "a name without a bound" if binder.domain is None else "a tuple of names", "write `x \\in S`"
                )
            )
        return self.term(binder.domain, scope)


def trivial(term: Term) -> bool:
    """Whether a term may stand in many places at no cost."""
    if term.operation in ("int", "string", "bool", "var"):
        return True
    return term.operation == "field" and trivial(term.arguments[0])


def wrapped(values: list[tuple[str, Term]], body: Term) -> Term:
    """`body` with names for values, the first outermost."""
    for name, value in reversed(values):
        body = Term("let", (value, body), name, body.operator, value.span)
    return body


def constant_term(value: ConstantValue, operator: str, span: Span) -> Term:
    """A constant of the layout, as if it were written in the module."""
    if isinstance(value, tuple):
        return Term("set", tuple(constant_term(element, operator, span) for element in value), None, operator, span)
    kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
    return Term(kind, (), value, operator, span)
