"""Asks Z3 whether conditions can hold together, in several ways one after the other.

An answer of a solver is used only if it says that there is a model, or that there is none. If every way runs out of
time, the question stays open.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import cast

import z3

from harness.prove import terms
from harness.prove.terms import Bits, Truth

QUICK = 10_000_000
SPLIT = 3_000_000
BRANCH = 4_000_000
"""The most that a question may cost, in Z3's own measure: so the answer does not depend on the machine."""
BRANCHES_SECONDS = 10.0
"""CPU time for the questions about the ways of one run. After that, all ways are possible."""
LOGIC = "QF_BV"
"""Bits without quantifiers: Z3 has a solver for them that is much faster than its general one."""
INDEX_BITS = range(2, 7)
INDEX_VALUES = 4
TACTICS = ("simplify", "propagate-values", "solve-eqs", "simplify", "bit-blast", "sat")


class OutOfTime(Exception):
    """No answer in the time that a step may take."""


@dataclass
class Limit:
    """The CPU time that a leaf, or one case of it, may take."""

    seconds: float
    began: float = field(default_factory=time.process_time)

    def begin(self) -> None:
        """Starts the time of another leaf or case."""
        self.began = time.process_time()

    @property
    def left(self) -> float:
        """Seconds that are left. Raises OutOfTime if there are none."""
        left = self.seconds - (time.process_time() - self.began)
        if left <= 0:
            raise OutOfTime
        return left


class Branches:
    """Says which ways through a program are possible under a condition. A doubt counts as possible.

    _kept keeps terms alive, as _known has their numbers.
    """

    def __init__(self, assumed: list[Truth], limit: Limit) -> None:
        self._solver = z3.SolverFor(LOGIC)
        self._solver.set("rlimit", BRANCH)
        self._solver.add(*assumed)
        self._limit = limit
        self._known: dict[frozenset[int], bool] = {}
        self._kept: list[Truth] = []
        self._spent = 0.0

    def feasible(self, way: tuple[Truth, ...]) -> bool:
        """Whether the conditions may hold together with those assumed."""
        key = frozenset(each.get_id() for each in way)
        if key not in self._known:
            if self._spent > BRANCHES_SECONDS:
                return True
            _, began = self._limit.left, time.process_time()
            self._kept += way
            self._solver.push()
            self._solver.add(*way)
            self._known[key] = self._solver.check() != z3.unsat
            self._solver.pop()
            self._spent += time.process_time() - began
        return self._known[key]


class Questions:
    """Asks whether conditions can hold together with those assumed.

    A question is first asked of the assumptions that share a variable with it, and with products and quotients replaced
    by variables. If even that has no model, the question has none. Otherwise everything is asked.
    """

    def __init__(self, assumed: list[Truth], limit: Limit) -> None:
        self._assumed = [each for each in assumed if not z3.is_true(each)]
        self._limit = limit
        self._known: list[tuple[z3.ExprRef, z3.ExprRef]] = []
        for each in self._assumed:
            atom, truth = (each.arg(0), terms.FALSE) if z3.is_not(each) else (each, terms.TRUE)
            if z3.is_eq(atom):
                self._known += [(atom, truth), (atom.arg(1) == atom.arg(0), truth)]

    def settled(self, condition: Truth) -> Truth:
        """The condition with the equations that are assumed, or whose contrary is."""
        return cast(Truth, z3.simplify(z3.substitute(condition, *self._known))) if self._known else condition

    def model(self, conditions: list[Truth], quick: bool = False) -> z3.ModelRef | None:
        """A model in which all conditions hold; None if there is none. Raises OutOfTime.

        quick: whether to give up soon, because the question can be split.
        """
        if any(z3.is_false(each) for each in (*self._assumed, *conditions)):
            return None
        wanted = [each for each in map(self.settled, conditions) if not z3.is_true(each)]
        if any(z3.is_false(each) for each in wanted):
            return None
        relevant = self._relevant(wanted)
        easier = without_products([*relevant, *wanted])
        if easier is not None and self._answer(z3.SolverFor(LOGIC), easier, QUICK) == z3.unsat:
            return None
        for cost, solver in self._ways(quick):
            answer = self._answer(solver, [*relevant, *wanted], cost)
            if answer == z3.unsat:
                return None
            if answer == z3.sat:
                if len(relevant) == len(self._assumed):
                    return solver.model()
                answer = self._answer(solver, self._assumed, None)
                if answer != z3.unknown:
                    return solver.model() if answer == z3.sat else None
        _ = self._limit.left
        raise OutOfTime

    def _ways(self, quick: bool) -> list[tuple[int | None, z3.Solver]]:
        ways: list[tuple[int | None, z3.Solver]] = [(SPLIT if quick else QUICK, z3.SolverFor(LOGIC))]
        return ways if quick else [*ways, (QUICK, z3.Solver()), (None, z3.Then(*TACTICS).solver())]

    def _answer(self, solver: z3.Solver, conditions: list[Truth], cost: int | None) -> z3.CheckSatResult:
        """An answer. cost: the most that it may cost; None for all the time that is left."""
        solver.set("timeout", max(1, int(min(self._limit.left, 1e6) * 1000)))
        if cost is not None:
            solver.set("rlimit", cost)
        solver.add(*conditions)
        return solver.check()

    def _relevant(self, wanted: list[Truth]) -> list[Truth]:
        """The assumptions that share a variable with the conditions, or with one another."""
        names = set().union(*(variables(each) for each in wanted)) if wanted else set()
        rest, found = list(self._assumed), list[Truth]()
        while True:
            near = [each for each in rest if not names.isdisjoint(variables(each))]
            if not near:
                return found
            found += near
            rest = [each for each in rest if names.isdisjoint(variables(each))]
            names = names.union(*(variables(each) for each in near))


@dataclass(frozen=True)
class Case:
    """A case of a split. assumed: what holds in it. known: parts of conditions, and what they are in this case."""

    assumed: Truth
    known: tuple[tuple[z3.ExprRef, z3.ExprRef], ...]

    def simplified(self, condition: Truth) -> Truth:
        """The condition with what is known."""
        return cast(Truth, z3.simplify(z3.substitute(condition, *self.known)))


def cases_of(condition: Truth, items: frozenset[str]) -> list[Case]:
    """Splits a condition into cases; no cases if there is nothing to split by.

    items: variables of a set's items, which are distinct. They are split by which of them equals one and the same term.
    Otherwise a small variable is split by its value, if it is compared with several.
    """
    atoms: dict[int, dict[str, list[Truth]]] = {}
    indexes: dict[str, tuple[Bits, set[int]]] = {}
    for each in _equations(condition):
        for one, other in ((each.arg(0), each.arg(1)), (each.arg(1), each.arg(0))):
            if one.decl().name() in items and variables(other).isdisjoint(items):
                atoms.setdefault(other.get_id(), {}).setdefault(one.decl().name(), []).append(each)
            elif z3.is_bv_value(other) and (index := _index(one)) is not None:
                indexes.setdefault(index.decl().name(), (index, set()))[1].add(other.as_long())
    group = max((list(each.values()) for each in atoms.values()), key=len, default=[])
    if len(group) >= 2:
        return _by_item(group)
    variable, compared = max(indexes.values(), key=lambda each: len(each[1]), default=(None, set()))
    if variable is None or len(compared) < INDEX_VALUES:
        return []
    values = [terms.bits(at, variable.size()) for at in range(1 << variable.size())]
    return [Case(cast(Truth, variable == value), ((variable, value),)) for value in values]


def _by_item(group: list[list[Truth]]) -> list[Case]:
    """A case for each item that is the term, and one for none. group: each item's equations, in all their forms."""
    found = []
    for chosen in (*group, None):
        known = tuple((each, terms.TRUE if item is chosen else terms.FALSE) for item in group for each in item)
        assumed = terms.negated(terms.any_of([item[0] for item in group])) if chosen is None else chosen[0]
        found.append(Case(assumed, known))
    return found


def _index(term: z3.ExprRef) -> Bits | None:
    """The small variable that a term is, or is the lowest bits of."""
    if z3.is_app(term) and term.decl().kind() == z3.Z3_OP_EXTRACT:
        term = term.arg(0)
    is_variable = z3.is_bv(term) and term.num_args() == 0 and term.decl().kind() == z3.Z3_OP_UNINTERPRETED
    return cast(Bits, term) if is_variable and cast(Bits, term).size() in INDEX_BITS else None


def _equations(condition: Truth) -> list[Truth]:
    found, seen = [], set()
    todo: list[z3.ExprRef] = [condition]
    while todo:
        each = todo.pop()
        if each.get_id() not in seen:
            seen.add(each.get_id())
            todo += each.children()
            if z3.is_eq(each):
                found.append(cast(Truth, each))
    return found


_variables: dict[int, tuple[z3.ExprRef, frozenset[str]]] = {}


def forget() -> None:
    """Clears what is remembered of terms."""
    _variables.clear()


def variables(term: z3.ExprRef) -> frozenset[str]:
    """The names of the variables of a term."""
    known = _variables.get(term.get_id())
    if known is not None:
        return known[1]
    todo = [term]
    while todo:
        each = todo[-1]
        if each.get_id() in _variables:
            todo.pop()
            continue
        missing = [child for child in each.children() if child.get_id() not in _variables]
        if missing:
            todo += missing
            continue
        todo.pop()
        names = frozenset().union(*(_variables[child.get_id()][1] for child in each.children()))
        if not each.children() and each.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            names = frozenset({each.decl().name()})
        _variables[each.get_id()] = (each, names)
    return _variables[term.get_id()][1]


def without_products(conditions: list[Truth]) -> list[Truth] | None:
    """The conditions with a variable for each product and quotient; None if there is none."""
    found: dict[int, z3.ExprRef] = {}
    seen: set[int] = set()
    todo: list[z3.ExprRef] = list(conditions)
    while todo:
        each = todo.pop()
        if each.get_id() in seen:
            continue
        seen.add(each.get_id())
        if terms.is_product(each):
            found[each.get_id()] = each
        else:
            todo += each.children()
    if not found:
        return None
    pairs = [(each, z3.BitVec(f"product.{at}", each.size())) for at, each in enumerate(found.values())]
    return [z3.substitute(each, *pairs) for each in conditions]
