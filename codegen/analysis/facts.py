"""Keeps the facts that hold at a place of a step: intervals of numbers, sizes of sets, truths, possible members.

Numbers are kept in linear form (`2*x - y + 3`). So a condition on the difference of two fields bounds
that difference in all of its uses.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from codegen import ir
from codegen.ir import Interval
from codegen.ir.build import key
from codegen.ir.measure import hull

INFINITY = 2**80
EVERYTHING = Interval(-INFINITY, INFINITY)
Atoms = tuple[tuple[Any, int], ...]


def intersect(one: Interval, other: Interval) -> Interval | None:
    low, high = max(one.low, other.low), min(one.high, other.high)
    return Interval(low, high) if low <= high else None


def shifted(interval: Interval, by: int) -> Interval:
    return Interval(interval.low + by, interval.high + by)


def scaled(interval: Interval, by: int) -> Interval:
    ends = (interval.low * by, interval.high * by)
    return Interval(min(ends), max(ends))


def plus(one: Interval, other: Interval) -> Interval:
    return Interval(one.low + other.low, one.high + other.high)


def uint_interval(kind: ir.Type) -> Interval:
    """Returns the interval of a uN; for another type EVERYTHING, because nothing bounds such an integer."""
    return Interval(0, 2**kind.width - 1) if isinstance(kind, ir.UInt) else EVERYTHING


@dataclass(frozen=True)
class Facts:
    """The facts at one place. They are immutable except for `ranges`.

    The methods `with_...`, and `assume` in conditions.py, return new facts.
    """

    names: dict[str, Any] = field(default_factory=dict)
    """Values of the LETs in scope, as keys."""
    values: dict[str, ir.Expr] = field(default_factory=dict)
    """Values of the LETs in scope, as expressions."""
    linear: dict[Atoms, Interval] = field(default_factory=dict)
    """Intervals of sums of atoms."""
    ranges: dict[Any, Interval] = field(default_factory=dict)
    """Intervals of atoms by their type or binder; all facts of a step share them."""
    truths: dict[Any, bool] = field(default_factory=dict)
    """Conditions with a known outcome."""
    members: dict[Any, frozenset[str]] = field(default_factory=dict)
    """Possible members of enum expressions."""
    dead: bool = False
    """Whether the facts contradict each other, so that the place is unreachable."""

    def key(self, expression: ir.Expr) -> Any:
        return key(expression, self.names)

    def search(self, number: ir.Expr) -> ir.First | None:
        """Returns the search whose result a number is, also if a LET names it; None for another number."""
        while isinstance(number, ir.Var) and number.name in self.values:
            number = self.values[number.name]
        return number if isinstance(number, ir.First) else None

    # --- Linear forms ------------------------------------------------------------------------------------

    def form(self, expression: ir.Expr) -> tuple[dict[Any, int], int]:
        """Returns the atoms of a number with their factors, and the constant."""
        if isinstance(expression, ir.Int):
            return {}, expression.value
        if isinstance(expression, ir.Var) and expression.name in self.values:
            return self.form(self.values[expression.name])
        if isinstance(expression, ir.Arith) and expression.op in ("+", "-"):
            (left, left_constant), (right, right_constant) = self.form(expression.left), self.form(expression.right)
            sign = 1 if expression.op == "+" else -1
            atoms = dict(left)
            for atom, factor in right.items():
                atoms[atom] = atoms.get(atom, 0) + sign * factor
            return {atom: factor for atom, factor in atoms.items() if factor}, left_constant + sign * right_constant
        if isinstance(expression, ir.Arith) and expression.op == "*":
            for one, other in ((expression.left, expression.right), (expression.right, expression.left)):
                atoms, factor = self.form(one)
                if not atoms:
                    inner, constant = self.form(other)
                    scaled_atoms = {atom: factor * old for atom, old in inner.items()} if factor else {}
                    return scaled_atoms, factor * constant
        return {self.key(expression): 1}, 0

    def interval(self, expression: ir.Expr, natural: Interval) -> Interval:
        """Returns the smallest known interval of a number; `natural` is the interval that follows from its operands."""
        atoms, constant = self.form(expression)
        result = natural
        if not atoms:
            return Interval(constant, constant)
        total = Interval(constant, constant)
        for atom, factor in atoms.items():
            total = plus(total, scaled(self.atom(atom), factor))
        result = intersect(result, total) or result
        normal, sign = normalised(atoms)
        if normal in self.linear:
            known = shifted(scaled(self.linear[normal], sign), constant)
            result = intersect(result, known) or result
        return result

    def atom(self, atom: Any) -> Interval:
        known = self.ranges.get(atom, EVERYTHING)
        return intersect(known, self.linear.get(((atom, 1),), EVERYTHING)) or known

    # --- Adding --------------------------------------------------------------------------------------------

    def note_range(self, expression: ir.Expr, interval: Interval) -> None:
        """Notes the interval of an atom by its type or binder. It holds everywhere, as names are unique in a step."""
        self.ranges.setdefault(self.key(expression), interval)

    def with_let(self, name: str, value: ir.Expr) -> Facts:
        """Adds a name and, if its value is a number, the interval that was found for it."""
        facts = replace(self, names={**self.names, name: self.key(value)}, values={**self.values, name: value})
        found = getattr(value, "interval", None) if isinstance(value.type, ir.UInt) else None
        return facts if found is None else facts.with_number(value, found)

    def with_truth(self, condition: ir.Expr, value: bool) -> Facts:
        if self.truth(condition) not in (None, value):
            return replace(self, dead=True)
        return replace(self, truths={**self.truths, self._truth_key(condition): value})

    def truth(self, condition: ir.Expr) -> bool | None:
        """Returns the outcome of a condition; None if it is not known."""
        return self.truths.get(self._truth_key(condition))

    def _truth_key(self, condition: ir.Expr) -> Any:
        """Returns the key of a condition, which is the same for `x = 6`, `6 = x` and `x + 1 = 7`."""
        if not isinstance(condition, ir.Compare) or condition.op != "=":
            return self.key(condition)
        left, right = condition.left, condition.right
        if not isinstance(left.type, ir.UInt):
            return ("=", frozenset((self.key(left), self.key(right))))
        atoms, constant = self.form(ir.Arith("-", left, right, left.type, condition.span, EVERYTHING))
        normal, sign = normalised(atoms)
        return ("=", normal, sign * constant)

    def with_members(self, expression: ir.Expr, members: frozenset[str]) -> Facts:
        atom = self.key(expression)
        left = members & self.members.get(atom, members)
        return replace(self, members={**self.members, atom: left}, dead=self.dead or not left)

    def with_number(self, expression: ir.Expr, interval: Interval) -> Facts:
        """Adds that the number lies in the interval, and the bounds of its parts that follow."""
        atoms, constant = self.form(expression)
        if not atoms:
            return self if interval.low <= constant <= interval.high else replace(self, dead=True)
        facts = self.with_sum(atoms, shifted(interval, -constant))
        if len(atoms) > 1:
            for atom, factor in atoms.items():
                rest = Interval(0, 0)
                for other, other_factor in atoms.items():
                    if other != atom:
                        rest = plus(rest, scaled(facts.atom(other), other_factor))
                room = plus(shifted(interval, -constant), scaled(rest, -1))
                facts = facts.with_sum({atom: 1}, divided(room, factor))
        return facts

    def with_sum(self, atoms: dict[Any, int], interval: Interval) -> Facts:
        normal, sign = normalised(atoms)
        if len(normal) == 1 and abs(normal[0][1]) != 1:
            interval, normal = divided(scaled(interval, sign), normal[0][1]), ((normal[0][0], 1),)
        else:
            interval = scaled(interval, sign)
        old = self.linear.get(normal, EVERYTHING)
        if len(normal) == 1:
            old = intersect(old, self.ranges.get(normal[0][0], EVERYTHING)) or old
        new = intersect(old, interval)
        if new is None:
            return replace(self, dead=True)
        return replace(self, linear={**self.linear, normal: new})

    def joined(self, other: Facts) -> Facts:
        """Returns the facts that hold in both cases."""
        if self.dead or other.dead:
            return other if self.dead else self
        linear = {
            atoms: hull(known, other.linear[atoms]) for atoms, known in self.linear.items() if atoms in other.linear
        }
        truths = {atom: value for atom, value in self.truths.items() if other.truths.get(atom) is value}
        members = {atom: names | other.members[atom] for atom, names in self.members.items() if atom in other.members}
        return replace(self, linear=linear, truths=truths, members=members)


def normalised(atoms: dict[Any, int]) -> tuple[Atoms, int]:
    """Sorts the atoms, and makes the first factor positive. Returns them and the sign that was factored out."""
    ordered = tuple(sorted(atoms.items(), key=lambda item: repr(item[0])))
    if ordered and ordered[0][1] < 0:
        return tuple((atom, -factor) for atom, factor in ordered), -1
    return ordered, 1


def divided(interval: Interval, by: int) -> Interval:
    """Returns the interval of x if x * by lies in `interval`."""
    if by < 0:
        return divided(scaled(interval, -1), -by)
    return Interval(-(-interval.low // by), interval.high // by)
