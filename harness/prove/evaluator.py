"""Evaluates expressions of TLA+ on terms instead of values: one evaluation stands for all inputs.

An expression that TLC would refuse (an index out of bounds, CHOOSE with nothing to choose) is a duty: a condition that
must hold wherever the expression is needed. Definitions and arguments are evaluated when they are first needed, as the
meaning of TLA+ demands, and their duties are due at every use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import z3

from harness.prove import folds, terms, values
from harness.prove.folds import Folds
from harness.prove.memory import Unsupported
from harness.prove.scopes import Closure, Later, Leaf, Scope, Trail
from harness.prove.syntax import Module, Node
from harness.prove.terms import Truth
from harness.prove.values import Array, Integer, Listed, Range, Record, SetValue, Table, Value

OTHER = "$Other"


class Evaluator:
    """Evaluates a module's expressions. constants: the values of its CONSTANTS, by name."""

    def __init__(self, module: Module, constants: Mapping[str, Value]) -> None:
        self._module = module
        self._global = Scope({uid: constants[name] for uid, name in module.constants.items() if name in constants})
        self._duties: list[Truth] = []
        self._closures: dict[str, Closure] = {}
        self._open = 0
        self.folds = Folds()

    # --- Steps -----------------------------------------------------------------------------------------

    def leaves(self, step: str, arguments: list[Value]) -> list[Leaf]:
        """The ends of a step. Their conditions exclude one another, and one of them always holds."""
        definition = self._module.top.get(step)
        if definition is None or len(definition.parameters) != len(arguments):
            raise Unsupported(f"the module has no step {step} of {len(arguments)} parameters")
        scope = Scope(dict(zip(definition.parameters, arguments)), self._global)
        return list(self._ends(definition.body, scope, (), (), Trail()))

    def skeleton(self, step: str) -> list[Leaf]:
        """The ends of a step by its text alone. Nothing is known of its arguments, so none can be evaluated."""
        return self.leaves(step, [Record({})] * self.parameters(step))

    def _ends(
        self, node: Node, scope: Scope, guard: tuple[Truth, ...], duties: tuple[Truth, ...], trail: Trail
    ) -> Iterator[Leaf]:
        """Follows decisions down to results.

        duties: those of the decisions so far, each under the guard of its decision.
        """
        if node.form == "label":
            yield from self._ends(node.arguments[0], scope, guard, duties, replace(trail, label=node.name))
        elif node.form == "let":
            yield from self._ends(node.arguments[0], self._with_definitions(node, scope), guard, duties, trail)
        elif node.form == "apply" and node.name == "$IfThenElse":
            condition, now, trail = self._decided(node.arguments[0], scope, trail)
            due = (*duties, *now)
            for at, truth in ((1, condition), (2, terms.negated(condition))):
                yield from self._end(node.arguments[at], scope, (*guard, truth), due, trail.arm(at))
        elif node.form == "apply" and node.name == "$Case":
            rest, due = guard, duties
            for at, (test, arm) in enumerate(self._arms(node), 1):
                condition = terms.TRUE
                if test is not None:
                    condition, now, trail = self._decided(test, scope, trail)
                    due = (*due, *(terms.implied(terms.all_of(rest), each) for each in now))
                yield from self._end(arm, scope, (*rest, condition), due, trail.arm(at))
                rest = (*rest, terms.negated(condition))
            yield from self._nowhere(rest, due, node, trail)
        elif node.form == "apply" and (closure := self._operator_of(node, scope)) and closure.body is not None:
            inner = self._bind(closure, node, scope)
            outside = node.where.startswith("Offload.")
            yield from self._ends(
                closure.body, inner, guard, duties, trail if outside else replace(trail, place=node.where)
            )
        else:
            yield self._result(node, scope, guard, duties, trail)

    def _result(
        self, node: Node, scope: Scope, guard: tuple[Truth, ...], duties: tuple[Truth, ...], trail: Trail
    ) -> Leaf:
        try:
            result, now = self._collected(lambda: self._value(node, scope))
        except Unsupported as error:
            return Leaf(guard, NOTHING, duties, trail.name, trail.path, trail.reason or str(error))
        if not isinstance(result, Record) or result.fields.keys() != {"verdict", "cell", "msg"}:
            raise Unsupported(f"{node.where}: a step that does not end in a result")
        return Leaf(guard, result, (*duties, *now), trail.name, trail.path, trail.reason)

    def _decided(self, test: Node, scope: Scope, trail: Trail) -> tuple[Truth, list[Truth], Trail]:
        """The condition of a decision, and its duties. One that cannot be evaluated is left open, with the reason."""
        try:
            condition, duties = self._collected(lambda: self._truth(test, scope))
        except Unsupported as error:
            self._open += 1
            return z3.Bool(f"open.{self._open}"), [], replace(trail, reason=trail.reason or str(error))
        return condition, duties, trail

    def _end(
        self, node: Node, scope: Scope, guard: tuple[Truth, ...], duties: tuple[Truth, ...], trail: Trail
    ) -> Iterator[Leaf]:
        if not z3.is_false(terms.all_of(guard)):
            yield from self._ends(node, scope, tuple(each for each in guard if not z3.is_true(each)), duties, trail)

    def _nowhere(self, guard: tuple[Truth, ...], duties: tuple[Truth, ...], node: Node, trail: Trail) -> Iterator[Leaf]:
        """The end of a CASE without OTHER, if no arm is taken: nobody may get there."""
        if not z3.is_false(terms.all_of(guard)):
            yield Leaf(guard, NOTHING, (*duties, terms.FALSE), f"{node.where}, no arm", (*trail.path, 0))

    def parameters(self, step: str) -> int:
        """The number of a step's parameters."""
        definition = self._module.top.get(step)
        if definition is None:
            raise Unsupported(f"the module has no step {step}")
        return len(definition.parameters)

    # --- Duties ----------------------------------------------------------------------------------------

    def _collected(self, evaluate: Callable[[], Value]) -> tuple[Value, list[Truth]]:
        before, self._duties = self._duties, []
        try:
            value = evaluate()
            return value, self._duties
        finally:
            self._duties = before

    @contextmanager
    def _under(self, condition: Truth) -> Iterator[None]:
        """Makes duties due only if a condition holds."""
        before, self._duties = self._duties, []
        try:
            yield
        finally:
            found, self._duties = self._duties, before
            self._duties += [terms.implied(condition, each) for each in found]

    def _due(self, condition: Truth) -> None:
        if not z3.is_true(condition):
            self._duties.append(condition)

    # --- Names -----------------------------------------------------------------------------------------

    def _with_definitions(self, node: Node, scope: Scope) -> Scope:
        inner = Scope({}, scope)
        for uid in node.definitions:
            definition = self._module.definitions[uid]
            if definition.parameters:
                inner.bound[uid] = Closure(definition.name, definition.parameters, definition.body, inner)
            else:
                inner.bound[uid] = Later(definition.body, inner)
        return inner

    def _operator_of(self, node: Node, scope: Scope) -> Closure | None:
        """The operator that an application is of; None of a built-in one, and of a value."""
        if not node.uid:
            return None
        found = scope.find(node.uid)
        if isinstance(found, Closure):
            return found
        definition = self._module.definitions.get(node.uid)
        if found is not None or definition is None:
            return None
        if node.uid not in self._closures:
            closure = Closure(definition.name, definition.parameters, definition.body, self._global)
            self._closures[node.uid] = closure
        return self._closures[node.uid]

    def _argument(self, node: Node, scope: Scope) -> Later | Closure | Value:
        if node.form == "operator":
            found = scope.find(node.uid) if node.uid else None
            if isinstance(found, Closure):
                return found
            definition = self._module.definitions.get(node.uid)
            if definition is not None:
                return Closure(definition.name, definition.parameters, definition.body, scope)
            return Closure(node.name, (), None, scope)
        if node.form == "apply" and node.uid and not node.arguments:
            found = scope.find(node.uid)
            if found is not None:
                return found
        return Later(node, scope)

    def _bind(self, closure: Closure, node: Node, scope: Scope) -> Scope:
        bound = {uid: self._argument(each, scope) for uid, each in zip(closure.parameters, node.arguments, strict=True)}
        return Scope(bound, closure.scope)

    def _force(self, found: Value | Later | Closure) -> Value:
        if isinstance(found, Closure):
            raise Unsupported(f"the operator {found.name} as a value")
        if not isinstance(found, Later):
            return found
        if found.value is None:
            found.value, found.duties = self._collected(lambda: self._value(found.node, found.scope))
        self._duties += found.duties
        return found.value

    # --- Expressions -----------------------------------------------------------------------------------

    def _value(self, node: Node, scope: Scope) -> Value:
        match node.form:
            case "number":
                return values.integer(node.value)
            case "text":
                return values.text(node.name)
            case "at":
                return scope.old()
            case "let":
                return self._value(node.arguments[0], self._with_definitions(node, scope))
            case "label":
                return self._value(node.arguments[0], scope)
            case "instance":
                return self._value(node.arguments[0], self._instance(node, scope))
        if not node.uid:
            return self._built_in(node, scope)
        closure = self._operator_of(node, scope)
        if closure is None:
            found = scope.find(node.uid)
            if found is None:
                raise Unsupported(f"{node.where}: {node.name} has no value")
            return self._force(found)
        return self._called(closure, node, scope)

    def _instance(self, node: Node, scope: Scope) -> Scope:
        bound = {uid: self._argument(each, scope) for uid, each in node.substitutions}
        return Scope(bound, scope)

    def _called(self, closure: Closure, node: Node, scope: Scope) -> Value:
        if closure.body is None:
            raise Unsupported(f"{node.where}: {closure.name} as an argument")
        inner = self._bind(closure, node, scope)
        if closure.name in FOLDS and closure.body.where.startswith("Offload."):
            folded = self._folded(closure, inner)
            if folded is not None:
                return folded
        key = _constants(inner, closure.parameters)
        if key is None:
            return self._value(closure.body, inner)
        if key not in closure.known:
            body = closure.body
            closure.known[key] = self._collected(lambda: self._value(body, inner))
        value, duties = closure.known[key]
        self._duties += duties
        return value

    def _folded(self, closure: Closure, scope: Scope) -> Value | None:
        """FirstIndex or CountIndex over more places than a loop is unrolled for; None if there are fewer."""
        low, high, *none, test = (scope.bound[uid] for uid in closure.parameters)
        first, last = values.number(self._forced(low)), values.number(self._forced(high))
        if first is None or last is None or first < 0 or last - first < ELEMENTS_MAX:
            return None
        if not isinstance(test, Closure) or test.body is None or last - first >= folds.ROUNDS_MAX:
            return None
        rounds, body = last - first + 1, test.body
        index = Integer(terms.add(folds.PLACE, terms.bits(first, 64)), first, last)
        inner = Scope({test.parameters[0]: index}, test.scope)
        with self._under(folds.within(rounds)):  # of any place, so of all
            condition = self._truth(body, inner)
        if closure.name == "CountIndex":
            count = self.folds.count(condition, rounds, lambda *_: False)
            return Integer(count.wide, 0, rounds)
        search = self.folds.search(condition, rounds, lambda *_: False)
        found = Integer(terms.add(search.wide, terms.bits(first, 64)), first, last)
        return values.choose(search.found, found, self._force(none[0]))

    def _forced(self, found: Value | Later | Closure) -> Integer:
        value = self._force(found)
        if not isinstance(value, Integer):
            raise Unsupported("a bound that is not a number")
        return value

    def _truth(self, node: Node, scope: Scope) -> Truth:
        value = self._value(node, scope)
        if not isinstance(value, z3.BoolRef):
            raise Unsupported(f"{node.where}: a {type(value).__name__} where a truth value must be")
        return value

    def _integer(self, node: Node, scope: Scope) -> Integer:
        value = self._value(node, scope)
        if not isinstance(value, Integer):
            raise Unsupported(f"{node.where}: a {type(value).__name__} where a number must be")
        return value

    def _set(self, node: Node, scope: Scope) -> SetValue:
        value = self._value(node, scope)
        if not isinstance(value, SetValue):
            raise Unsupported(f"{node.where}: a {type(value).__name__} where a set must be")
        return value

    def _built_in(self, node: Node, scope: Scope) -> Value:
        name, arguments = node.name, node.arguments
        if name in LOGIC:
            return self._logic(name, arguments, scope)
        if name in ARITHMETIC and len(arguments) == 2:
            return self._arithmetic(name, self._integer(arguments[0], scope), self._integer(arguments[1], scope))
        if name in BINDERS:
            return self._binder(node, scope)
        match name:
            case "TRUE" | "FALSE":
                return terms.TRUE if name == "TRUE" else terms.FALSE
            case "=" | "/=" | "#":
                same = values.equal(self._value(arguments[0], scope), self._value(arguments[1], scope))
                return same if name == "=" else terms.negated(same)
            case "$IfThenElse":
                return self._if(self._truth(arguments[0], scope), arguments[1], arguments[2], scope)
            case "$Case":
                return self._case(node, scope)
            case "$RcdSelect":
                return _field(self._value(arguments[0], scope), arguments[1].name, node)
            case "$RcdConstructor":
                return Record({each.arguments[0].name: self._value(each.arguments[1], scope) for each in arguments})
            case "$Except":
                return self._except(node, scope)
            case "$FcnApply":
                return self._indexed(self._value(arguments[0], scope), self._integer(arguments[1], scope), node)
            case "$Tuple":
                return Array(tuple(self._value(each, scope) for each in arguments))
            case "-.":
                return values.minus(values.integer(0), self._integer(arguments[0], scope))
        return self._set_operation(node, scope)

    def _logic(self, name: str, arguments: tuple[Node, ...], scope: Scope) -> Truth:
        if name in ("\\lnot", "~"):
            return terms.negated(self._truth(arguments[0], scope))
        if name in ("\\equiv", "<=>"):
            return terms.same_truth(self._truth(arguments[0], scope), self._truth(arguments[1], scope))
        if name == "=>":
            left = self._truth(arguments[0], scope)
            return terms.negated(
                self._chain([lambda: left, lambda: terms.negated(self._truth(arguments[1], scope))], True)
            )
        steps = [lambda each=each: self._truth(each, scope) for each in arguments]
        return self._chain(steps, name in ("\\land", "$ConjList"))

    def _chain(self, steps: Sequence[Callable[[], Truth]], conjunction: bool) -> Truth:
        """A conjunction or disjunction, from the left and no further than needed."""
        found: list[Truth] = []
        for step in steps:
            so_far = [each if conjunction else terms.negated(each) for each in found]
            if z3.is_false(terms.all_of(so_far)):
                break
            with self._under(terms.all_of(so_far)):
                found.append(step())
        return terms.all_of(found) if conjunction else terms.any_of(found)

    def _arithmetic(self, name: str, left: Integer, right: Integer) -> Value:
        match name:
            case "+":
                return values.plus(left, right)
            case "-":
                return values.minus(left, right)
            case "*":
                return values.times(left, right)
            case "<":
                return values.less(left, right)
            case ">":
                return values.less(right, left)
            case "\\leq" | "<=" | "=<":
                return terms.negated(values.less(right, left))
            case "\\geq" | ">=":
                return terms.negated(values.less(left, right))
            case "..":
                return Range(left, right)
            case "^":
                base, power = values.number(left), values.number(right)
                if base is None or power is None:
                    raise Unsupported("a power of something that is not constant")
                return values.integer(base**power)
        self._due(terms.negated(values.less(left, values.integer(0))))
        return values.divided(left, right) if name == "\\div" else values.modulo(left, right)

    # --- Decisions -------------------------------------------------------------------------------------

    def _if(self, condition: Truth, then: Node, otherwise: Node, scope: Scope) -> Value:
        if z3.is_true(condition):
            return self._value(then, scope)
        if z3.is_false(condition):
            return self._value(otherwise, scope)
        with self._under(condition):
            one = self._value(then, scope)
        with self._under(terms.negated(condition)):
            other = self._value(otherwise, scope)
        return values.choose(condition, one, other)

    def _arms(self, node: Node) -> Iterator[tuple[Node | None, Node]]:
        for pair in node.arguments:
            test, arm = pair.arguments
            yield None if test.form == "text" and test.name == OTHER else test, arm

    def _case(self, node: Node, scope: Scope) -> Value:
        return self._first_arm(list(self._arms(node)), scope, node)

    def _first_arm(self, arms: list[tuple[Node | None, Node]], scope: Scope, node: Node) -> Value:
        if not arms:
            raise Unsupported(f"{node.where}: CASE without OTHER")
        test, arm = arms[0]
        if test is None:
            return self._value(arm, scope)
        condition = self._truth(test, scope)
        if z3.is_true(condition):
            return self._value(arm, scope)
        with self._under(terms.negated(condition)):
            rest = self._first_arm(arms[1:], scope, node)
        if z3.is_false(condition):
            return rest
        with self._under(condition):
            here = self._value(arm, scope)
        return values.choose(condition, here, rest)

    # --- Records and functions ---------------------------------------------------------------------------

    def _except(self, node: Node, scope: Scope) -> Value:
        value = self._value(node.arguments[0], scope)
        for pair in node.arguments[1:]:
            path, new = pair.arguments
            value = self._updated(value, list(path.arguments), new, scope, node)
        return value

    def _updated(self, old: Value, path: list[Node], new: Node, scope: Scope, node: Node) -> Value:
        if not path:
            return self._value(new, Scope({}, scope, at=old))
        step = path[0]
        if isinstance(old, Record):
            if step.form != "text" or step.name not in old.fields:
                raise Unsupported(f"{node.where}: EXCEPT of a field that the record does not have")
            changed = self._updated(old.fields[step.name], path[1:], new, scope, node)
            return Record({**old.fields, step.name: changed})
        if not isinstance(old, Array):
            raise Unsupported(f"{node.where}: EXCEPT of a {type(old).__name__}")
        index = self._integer(step, scope)
        self._due(values.member(index, Range(values.integer(1), values.integer(len(old.items)))))
        items = []
        for at, item in enumerate(old.items, 1):
            here = values.equal(index, values.integer(at))
            if z3.is_false(here):
                items.append(item)
                continue
            with self._under(here):
                items.append(values.choose(here, self._updated(item, path[1:], new, scope, node), item))
        return Array(tuple(items))

    def _indexed(self, of: Value, index: Integer, node: Node) -> Value:
        if isinstance(of, Table):
            self._due(values.member(index, Range(values.integer(0), values.integer(of.capacity - 1))))
            return of.cell(values.resized(index, 64))
        if not isinstance(of, Array):
            raise Unsupported(f"{node.where}: an element of a {type(of).__name__}")
        self._due(values.member(index, Range(values.integer(1), values.integer(len(of.items)))))
        result = of.items[-1]
        for at, item in reversed(list(enumerate(of.items[:-1], 1))):
            result = values.choose(values.equal(index, values.integer(at)), item, result)
        return result

    # --- Sets ------------------------------------------------------------------------------------------------

    def _binder(self, node: Node, scope: Scope) -> Value:
        name = node.name
        if len(node.bound) != 1 or len(node.bound[0][0]) != 1:
            raise Unsupported(f"{node.where}: {name} over more than one name")
        (uid,), domain_node = node.bound[0]
        domain = self._set(domain_node, scope)
        body = node.arguments[0]
        if isinstance(domain, Range) and domain.high.high - domain.low.low >= ELEMENTS_MAX:
            raise Unsupported(f"a loop over more than {ELEMENTS_MAX} elements, in {node.where}")

        def test(item: Value) -> Truth:
            return self._truth(body, Scope({uid: item}, scope))

        if name == "$SubsetOf":
            return values.kept(domain, self._guarded(domain, test))
        items = values.listed(domain).items
        if name == "$FcnConstructor":
            constants = isinstance(domain, Range) and all(z3.is_true(guard) for guard, _ in items)
            if not constants or values.number(cast(Range, domain).low) != 1:
                raise Unsupported(f"{node.where}: a function over something that is not 1..n")
            return Array(tuple(self._value(body, Scope({uid: item}, scope)) for _, item in items))
        if name == "$SetOfAll":
            return self._image(items, uid, body, scope)
        if name == "$BoundedChoose":
            return self._choice(items, test, node)
        found: list[Truth] = []
        for guard, item in items:
            with self._under(guard):
                holds = test(item)
            found.append(terms.all_of([guard, holds]) if name == "$BoundedExists" else terms.implied(guard, holds))
        return terms.any_of(found) if name == "$BoundedExists" else terms.all_of(found)

    def _guarded(self, domain: SetValue, test: Callable[[Value], Truth]) -> Callable[[Value], Truth]:
        """A test whose duties are due for elements only."""

        def guarded(item: Value) -> Truth:
            guards = [guard for guard, each in values.listed(domain).items if each is item]
            with self._under(guards[0] if guards else values.member(item, domain)):
                return test(item)

        return guarded

    def _image(self, items: tuple[tuple[Truth, Value], ...], uid: str, body: Node, scope: Scope) -> Value:
        found = []
        for guard, item in items:
            if z3.is_false(guard):
                continue
            with self._under(guard):
                found.append((guard, self._value(body, Scope({uid: item}, scope))))
        return Listed(tuple(found))

    def _choice(self, items: tuple[tuple[Truth, Value], ...], test: Callable[[Value], Truth], node: Node) -> Value:
        """CHOOSE, of which exactly one element must pass the test: any other choice would be the tools'."""
        passed: list[Truth] = []
        for guard, item in items:
            with self._under(guard):
                passed.append(terms.all_of([guard, test(item)]))
        if not items:
            raise Unsupported(f"{node.where}: CHOOSE from nothing")
        self._due(terms.any_of(passed))
        before = terms.FALSE
        for each in passed:
            self._due(terms.negated(terms.all_of([before, each])))
            before = terms.any_of([before, each])
        result = items[-1][1]
        for (_, item), holds in reversed(list(zip(items[:-1], passed[:-1]))):
            result = values.choose(holds, item, result)
        return result

    def _set_operation(self, node: Node, scope: Scope) -> Value:
        name, arguments = node.name, node.arguments
        match name:
            case "$SetEnumerate":
                items = tuple((terms.TRUE, self._value(each, scope)) for each in arguments)
                count = values.integer(len(items)) if len(items) <= 1 else None
                return Listed(items, distinct=len(items) <= 1, count=count)
            case "\\in" | "\\notin":
                inside = values.member(self._value(arguments[0], scope), self._set(arguments[1], scope))
                return inside if name == "\\in" else terms.negated(inside)
            case "\\subseteq":
                return values.subset(self._set(arguments[0], scope), self._set(arguments[1], scope))
            case "\\union" | "\\cup":
                result, fits = values.union(self._set(arguments[0], scope), self._set(arguments[1], scope))
                self._due(fits)
                return result
            case "\\intersect" | "\\cap":
                right = self._set(arguments[1], scope)
                return values.kept(self._set(arguments[0], scope), lambda item: values.member(item, right))
            case "\\setminus" | "\\":
                return values.without(self._set(arguments[0], scope), self._set(arguments[1], scope))
            case "Cardinality":
                return values.cardinality(self._set(arguments[0], scope))
        raise Unsupported(f"{node.where}: {name} is not evaluated")


NOTHING = Record({"verdict": values.text("Drop"), "cell": terms.TRUE, "msg": terms.TRUE})
"""The result where there is none."""
ELEMENTS_MAX = 256
FOLDS = {"FirstIndex", "CountIndex"}
LOGIC = {"\\land", "\\lor", "\\lnot", "~", "=>", "\\equiv", "<=>", "$ConjList", "$DisjList"}
ARITHMETIC = {"+", "-", "*", "\\div", "%", "<", ">", "\\leq", "<=", "=<", "\\geq", ">=", "..", "^"}
BINDERS = {"$BoundedExists", "$BoundedForall", "$BoundedChoose", "$SubsetOf", "$SetOfAll", "$FcnConstructor"}


def _field(of: Value, name: str, node: Node) -> Value:
    if not isinstance(of, Record) or name not in of.fields:
        raise Unsupported(f"{node.where}: there is no field {name}")
    return of.fields[name]


def _constants(scope: Scope, parameters: tuple[str, ...]) -> tuple[int, ...] | None:
    """The arguments, if all are constant integers."""
    found = []
    for uid in parameters:
        value = scope.bound[uid]
        if not isinstance(value, Integer):
            return None
        fixed = values.number(value)
        if fixed is None:
            return None
        found.append(fixed)
    return tuple(found) if found else None
