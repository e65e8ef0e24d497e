"""What is known at a place of a step: intervals of numbers, sizes of sets, truths, possible members.

Numbers are kept in linear form (`2*x - y + 3`), so that a condition on a difference of two fields
says something about that difference wherever it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from codegen import ir
from codegen.ir import Interval
from codegen.passes.expressions import key

INFINITY = 2**80
EVERYTHING = Interval(-INFINITY, INFINITY)
Atoms = tuple[tuple[Any, int], ...]


def intersect(one: Interval, other: Interval) -> Interval | None:
    low, high = max(one.low, other.low), min(one.high, other.high)
    return Interval(low, high) if low <= high else None


def hull(one: Interval, other: Interval) -> Interval:
    return Interval(min(one.low, other.low), max(one.high, other.high))


def shifted(interval: Interval, by: int) -> Interval:
    return Interval(interval.low + by, interval.high + by)


def scaled(interval: Interval, by: int) -> Interval:
    ends = (interval.low * by, interval.high * by)
    return Interval(min(ends), max(ends))


def plus(one: Interval, other: Interval) -> Interval:
    return Interval(one.low + other.low, one.high + other.high)


def type_interval(kind: ir.Type) -> Interval:
    return Interval(0, 2**kind.width - 1) if isinstance(kind, ir.UInt) else EVERYTHING


@dataclass(frozen=True)
class Facts:
    """Immutable but for `ranges`; `with_...` and `assume` (in bounds.py) return new ones.

    names and values: what the LETs in scope stand for, as keys and as expressions.
    linear: intervals of sums of atoms. ranges: what an atom's type or binder says of it, shared by a step.
    dead: these facts contradict each other, so nothing gets here.
    """

    names: dict[str, Any] = field(default_factory=dict)
    values: dict[str, ir.Expr] = field(default_factory=dict)
    linear: dict[Atoms, Interval] = field(default_factory=dict)
    ranges: dict[Any, Interval] = field(default_factory=dict)
    truths: dict[Any, bool] = field(default_factory=dict)
    members: dict[Any, frozenset[str]] = field(default_factory=dict)
    dead: bool = False

    def key(self, expression: ir.Expr) -> Any:
        return key(expression, self.names)

    # --- Linear forms ------------------------------------------------------------------------------------

    def form(self, expression: ir.Expr) -> tuple[dict[Any, int], int]:
        """The atoms of a number with their factors, and the constant."""
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
        """The best interval for a number whose operands alone would give `natural`."""
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
        """What an atom's type or binder says of it, wherever it stands: names are unique in a step."""
        self.ranges.setdefault(self.key(expression), interval)

    def with_let(self, name: str, value: ir.Expr) -> Facts:
        return replace(self, names={**self.names, name: self.key(value)}, values={**self.values, name: value})

    def with_truth(self, condition: ir.Expr, value: bool) -> Facts:
        known = self.truths.get(self.key(condition))
        if known is not None and known is not value:
            return replace(self, dead=True)
        return replace(self, truths={**self.truths, self.key(condition): value})

    def with_members(self, expression: ir.Expr, members: frozenset[str]) -> Facts:
        atom = self.key(expression)
        left = members & self.members.get(atom, members)
        return replace(self, members={**self.members, atom: left}, dead=self.dead or not left)

    def with_number(self, expression: ir.Expr, interval: Interval) -> Facts:
        """The number lies in the interval; so do its parts, as far as that says anything of them."""
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
        """What holds whichever of the two does."""
        if self.dead or other.dead:
            return other if self.dead else self
        linear = {
            atoms: hull(known, other.linear[atoms]) for atoms, known in self.linear.items() if atoms in other.linear
        }
        truths = {atom: value for atom, value in self.truths.items() if other.truths.get(atom) is value}
        members = {atom: names | other.members[atom] for atom, names in self.members.items() if atom in other.members}
        return replace(self, linear=linear, truths=truths, members=members)


def normalised(atoms: dict[Any, int]) -> tuple[Atoms, int]:
    """The atoms in a fixed order, the first with a positive factor; and the sign that this took."""
    ordered = tuple(sorted(atoms.items(), key=lambda item: repr(item[0])))
    if ordered and ordered[0][1] < 0:
        return tuple((atom, -factor) for atom, factor in ordered), -1
    return ordered, 1


def divided(interval: Interval, by: int) -> Interval:
    """What x may be where x * by lies in the interval."""
    if by < 0:
        return divided(scaled(interval, -1), -by)
    return Interval(-(-interval.low // by), interval.high // by)
