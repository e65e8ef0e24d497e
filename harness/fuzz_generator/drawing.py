"""Draws expressions of a kind. Most are written so that the generator can show that they fit; some are not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from hypothesis import strategies as st

from harness.fuzz_generator import expressions as ex
from harness.fuzz_generator.expressions import COUNTED, TRUTH, Expression
from harness.fuzz_generator.kinds import Array, Bits, Enum, Kind, Members, Number, Opaque, Queue, Record, Several, Truth

RISKS = 16
"""One of so many expressions is not written so that it must fit."""

CHOICES_MAX = 1500
"""Choices for one protocol. After them each is the first one, the simplest. Hypothesis gives up over more."""

LOOP_MAX = 8
"""Ranges have at most so many items."""

Drawn = TypeVar("Drawn")


@dataclass(frozen=True)
class Operator:
    """An operator with parameters, for numbers up to `last`. takes: whether it takes an operator before them."""

    name: str
    body: Expression
    parameters: int
    last: int
    takes: bool = False


class Choices:
    """Makes the choices for one protocol. draw: Hypothesis's."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw
        self._left = CHOICES_MAX

    def number(self, low: int, high: int) -> int:
        """A number in low..high."""
        self._left -= 1
        return int(self._draw(st.integers(low, high))) if self._left > 0 else low


@dataclass(frozen=True)
class Drawing:
    """Draws expressions.

    atoms: the names in scope, and their parts. depth: how deep an expression may still be.
    loops: how many loops may still be nested.
    """

    choices: Choices
    atoms: tuple[Expression, ...]
    operators: tuple[Operator, ...] = ()
    depth: int = 3
    loops: int = 2
    names: Iterator[int] = field(default_factory=itertools.count)

    # --- Choices ---------------------------------------------------------------------------

    def one_of(self, choices: Sequence[Drawn]) -> Drawn:
        return choices[self.count(0, len(choices) - 1)]

    def made_by(self, *makers: Callable[[], Drawn]) -> Drawn:
        """Returns an expression that one of these makes."""
        return self.one_of(makers)()

    def count(self, low: int, high: int) -> int:
        return self.choices.number(low, high)

    def risky(self) -> bool:
        return self.count(0, RISKS - 1) == RISKS - 1

    def name(self, prefix: str) -> str:
        return f"{prefix}{next(self.names)}"

    def deeper(self) -> Drawing:
        return replace(self, depth=self.depth - 1)

    def knowing(self, *atoms: Expression) -> Drawing:
        return replace(self, atoms=(*self.atoms, *atoms))

    def looping(self, *atoms: Expression) -> Drawing:
        return replace(self.knowing(*atoms), loops=self.loops - 1, depth=min(self.depth - 1, 1))

    def of_kind(self, kind: type[Kind] | Kind) -> list[Expression]:
        """The atoms of a kind, or of a class of kinds."""
        if isinstance(kind, type):
            return [each for each in self.atoms if isinstance(each.kind, kind)]
        return [each for each in self.atoms if each.kind == kind]

    def sets(self) -> list[Expression]:
        """The atoms that are sets of numbers."""
        return [*self.of_kind(Bits), *self.of_kind(Several)]

    # --- Any kind --------------------------------------------------------------------------

    def expression(self, kind: Kind) -> Expression:
        """An expression that fits a field of this kind, or perhaps does not."""
        own = self.of_kind(kind)
        if own and (self.depth <= 0 or self.count(0, 2) == 0):
            return self.one_of(own)
        if self.depth > 0 and self.count(0, 5) == 5:
            return self.deeper().branching(lambda drawing: drawing.expression(kind))
        match kind:
            case Number():
                return self.fitting(self.number(), kind.last)
            case Truth():
                return self.truth()
            case Enum():
                return self.one_of([*own, *(ex.member(kind, name) for name in kind.members)])
            case Opaque():
                return self.one_of([*own, ex.nothing(kind)])
            case Bits() | Several():
                return self.set_of(kind)
            case Members():
                return self.members(kind)
            case Queue():
                return self.queue(kind)
            case Array():
                return self.array(kind)
            case Record():
                return self.record(kind)
        raise AssertionError(kind)

    def branching(self, make: Callable[[Drawing], Expression]) -> Expression:
        """IF, CASE or LET around expressions of one kind."""
        match self.count(0, 3):
            case 0 | 1:
                return ex.chosen(self.truth(), make(self), make(self))
            case 2:
                arms = [(self.truth(), make(self)) for _ in range(self.count(1, 2))]
                return ex.cases(arms, make(self))
        what = self.made_by(self.number, self.truth)
        name = self.name("v")
        return ex.let(name, what, make(self.knowing(ex.defined(name, what))))

    # --- Numbers ---------------------------------------------------------------------------

    def literal(self, last: int = 300) -> Expression:
        return ex.number(self.one_of([self.count(0, min(9, last)), self.count(0, last)]))

    def number(self) -> Expression:
        """A number that stays below COUNTED."""

        def atom() -> Expression:
            return self.one_of(self.of_kind(Number) or [self.literal()])

        simple = [self.literal, atom, atom]
        if self.depth <= 0:
            return self.made_by(*simple)
        found = self.made_by(*simple, self.counted, self.sum, self.sum, self.product, self.partial, self.applied)
        return found if found.low > -COUNTED and found.high < COUNTED else self.literal()

    def sum(self) -> Expression:
        below = self.deeper()
        a, b = below.number(), below.number()
        sign = self.one_of(["+", "-", "+", "-", "neg"])
        if sign == "neg":
            return ex.negative(a)
        return ex.arithmetic(sign, a, b)

    def product(self) -> Expression:
        """A product, quotient or remainder."""
        below = self.deeper()
        sign = self.one_of(["*", "\\div", "%"])
        a = below.number()
        if sign == "*":
            b = self.one_of([self.literal(9), below.number()])
            if max(abs(a.low), abs(a.high)) * max(abs(b.low), abs(b.high)) >= COUNTED:
                return a
            return ex.arithmetic(sign, a, b)
        if a.low < 0 and not self.risky():
            a = ex.chosen(ex.compared(">=", a, ex.number(0)), a, self.literal())
            a = replace(a, low=0)
        return ex.arithmetic(sign, a, ex.number(self.count(1, 40)))

    def counted(self) -> Expression:
        """The size of something."""
        match self.count(0, 4):
            case 0 if queues := self.of_kind(Queue):
                return ex.length(self.one_of(queues))
            case 3 if sets := self.of_kind(Members):
                many = self.one_of(sets)
                assert isinstance(many.kind, Members)
                return ex.size_of(many, many.kind.most)
            case 1 if sets := self.sets():
                many = self.one_of(sets)
                return ex.size_of(many, _most(many.kind))
            case 2 if self.loops:
                name, high = self.name("i"), self.count(1, LOOP_MAX)
                inside = self.looping(ex.bound(name, 1, high), *self.elements(name, high))
                match self.count(0, 2):
                    case 0:
                        return ex.first_index(name, 1, high, self.count(0, high + 1), inside.truth())
                    case 1:
                        return ex.least(name, 1, high, self.count(0, high + 1), inside.truth())
                return ex.count_index(name, 1, high, inside.truth())
        return self.literal()

    def elements(self, name: str, high: int) -> list[Expression]:
        """The elements of arrays at an index that is at most `high`, and their fields."""
        index = ex.bound(name, 1, high)
        found = [
            ex.element(each, index)
            for each in self.of_kind(Array)
            if isinstance(each.kind, Array) and each.kind.size >= high
        ]
        return [*found, *(part for each in found for part in parts_of(each))]

    def partial(self) -> Expression:
        """An element of a sequence, which must not be empty."""
        queues = self.of_kind(Queue)
        if not queues:
            return self.literal()
        queue = self.one_of(queues)
        assert isinstance(queue.kind, Queue)
        if self.count(0, 1):
            at = self.count(1, queue.kind.most)
            test, found = ex.compared(">=", ex.length(queue), ex.number(at)), ex.element(queue, ex.number(at))
        else:
            test, found = ex.compared(">", ex.length(queue), ex.number(0)), ex.head(queue)
        return found if self.risky() else ex.chosen(test, found, self.literal())

    def applied(self) -> Expression:
        """The application of an operator, or of one that is defined here."""
        below = self.deeper()
        if self.operators and self.count(0, 1):
            return self.called(self.one_of(self.operators))
        name, parameter = self.name("F"), self.name("x")
        body = below.knowing(ex.bound(parameter, 0, 255)).number()
        made = Operator(name, body, 1, 255)
        inside = replace(below, operators=(*self.operators, made))
        arguments = [inside.fitting(below.number(), 255) for _ in range(2)]
        first, second = (ex.applied(name, body, [each]) for each in arguments)
        return ex.let_of(name, parameter, body, ex.arithmetic(self.one_of(["+", "-"]), first, second))

    def called(self, operator: Operator) -> Expression:
        """The application of an operator."""
        below = self.deeper()
        arguments = [below.fitting(below.number(), operator.last) for _ in range(operator.parameters)]
        if operator.takes:
            arguments.insert(0, self.operator_for(operator.last))
        return ex.applied(operator.name, operator.body, arguments)

    def operator_for(self, last: int) -> Expression:
        """An operator as an argument, whose results are in 0..last: a name, or a LAMBDA."""
        fit = [
            each
            for each in self.operators
            if not each.takes and each.parameters == 1 and each.body.low >= 0 and each.body.high <= last
        ]
        if fit and self.count(0, 1):
            return ex.operator(self.one_of(fit).name)
        name = self.name("l")
        inside = replace(self.knowing(ex.bound(name, 0, last)), depth=1)
        return ex.function_of(name, inside.fitting(inside.number(), last))

    def fitting(self, what: Expression, last: int) -> Expression:
        """Makes a number fit 0..last, unless it is one of the risky ones."""
        if (what.low >= 0 and what.high <= last) or self.risky():
            return replace(what, low=max(what.low, 0), high=min(what.high, last))
        match self.count(0, 2):
            case 0 if what.low >= 0:
                return ex.arithmetic("%", what, ex.number(last + 1))
            case 1:
                name = self.name("v")
                inside = ex.defined(name, what)
                body = ex.chosen(self._fits(inside, last), inside, self.literal(last))
                return replace(ex.let(name, what, body), low=0, high=last)
        return replace(ex.chosen(self._fits(what, last), what, self.literal(last)), low=0, high=last)

    @staticmethod
    def _fits(what: Expression, last: int) -> Expression:
        tests = []
        if what.low < 0:
            tests.append(ex.compared(">=", what, ex.number(0)))
        if what.high > last or not tests:
            tests.append(ex.compared("<=", what, ex.number(last)))
        return tests[0] if len(tests) == 1 else ex.connected("/\\", *tests)

    # --- Formulas --------------------------------------------------------------------------

    def truth(self) -> Expression:
        simple = [*self.of_kind(Truth), ex.truth(True), ex.truth(False)]
        if self.depth <= 0:
            return self.made_by(self.comparison, lambda: self.one_of(simple))
        below = self.deeper()
        choices: list[Callable[[], Expression]] = [
            lambda: self.one_of(simple),
            self.comparison,
            self.comparison,
            self.equation,
            self.equation,
            lambda: ex.negated(below.truth()),
            *(
                [
                    lambda: ex.connected(
                        self.one_of(["/\\", "\\/", "/\\", "\\/", "=>", "<=>"]), below.truth(), below.truth()
                    )
                ]
                * 3
            ),
            self.membership,
            self.membership,
        ]
        if self.loops:
            choices += [self.quantified, self.quantified]
        if self.of_kind(Members):
            choices += [self.members_test, self.members_test]
        return self.made_by(*choices)

    def comparison(self) -> Expression:
        below = self.deeper()
        return ex.compared(self.one_of(["=", "#", "<", "<=", ">", ">="]), below.number(), below.number())

    def equation(self) -> Expression:
        """An atom of any kind is, or is not, what another expression of the kind is. All sets of numbers are alike."""
        one = self.one_of(self.atoms)
        sign = self.one_of(["=", "#"])
        sets = self.sets() if isinstance(one.kind, (Bits, Several)) else []
        other = self.one_of(sets or [each for each in self.atoms if each.kind == one.kind])
        if self.depth > 0 and self.count(0, 1) and not isinstance(one.kind, Number):
            other = self.deeper().expression(one.kind)
        if isinstance(one.kind, Truth) and self.count(0, 1):
            other = self.deeper().comparison()
        return ex.compared(sign, one, other)

    def membership(self) -> Expression:
        below = self.deeper()
        sets = self.sets()
        if not sets or self.count(0, 3) == 0:
            low = self.count(0, 20)
            return ex.within(below.number(), ex.span(ex.number(low), ex.number(low + self.count(0, 20))))
        many = self.one_of(sets)
        if self.count(0, 3) == 0:
            return ex.part_of(self.made_by(lambda: below.set_of(many.kind), lambda: self.one_of(sets)), many)
        assert isinstance(many.kind, (Bits, Several))
        one = below.number()
        if self.count(0, 1):
            one = below.fitting(one, many.kind.last)
        return ex.within(one, many, negative_form=bool(self.count(0, 1)))

    def quantified(self) -> Expression:
        name, every = self.name("q"), bool(self.count(0, 1))
        sets = self.sets()
        if sets and self.count(0, 1):
            many = self.one_of(sets)
            assert isinstance(many.kind, (Bits, Several))
            inside = self.looping(ex.bound(name, 0, many.kind.last))
            return ex.quantified(every, name, many, inside.truth())
        high = self.count(1, LOOP_MAX)
        inside = self.looping(ex.bound(name, 1, high), *self.elements(name, high))
        return ex.quantified(every, name, ex.span(ex.number(1), ex.number(high)), inside.truth())

    # --- Sets ------------------------------------------------------------------------------

    def set_of(self, kind: Kind) -> Expression:
        assert isinstance(kind, (Bits, Several))
        own = self.of_kind(kind)
        below = self.deeper()
        simple: list[Callable[[], Expression]] = [
            lambda: ex.nothing(kind),
            lambda: self.one_of(own or [ex.nothing(kind)]),
            lambda: ex.items(kind, [below.fitting(below.number(), kind.last)]),
        ]
        if self.depth <= 0:
            return self.made_by(*simple)
        choices = [*simple, lambda: ex.items(kind, [below.fitting(below.number(), kind.last) for _ in range(2)])]
        sets = self.sets()
        choices.append(lambda: self.less(kind, below.set_of(kind)))
        choices.append(lambda: self.less(kind, self.one_of(sets or [ex.nothing(kind)])))
        choices += [lambda: below.united(kind)] * 2
        if self.loops:
            choices += [lambda: self.kept(kind), lambda: self.mapped(kind)]
            if isinstance(kind, Bits):
                choices.append(lambda: self.mapped_range(kind))
        return self.made_by(*choices)

    def less(self, kind: Bits | Several, other: Expression) -> Expression:
        """An intersection with another set, or a difference."""
        return ex.united(kind, self.one_of(["\\cap", "\\"]), self.deeper().set_of(kind), other)

    def united(self, kind: Bits | Several) -> Expression:
        """A union, which must have room."""
        own = self.of_kind(kind)
        one = self.one_of(own) if own else ex.nothing(kind)
        if isinstance(kind, Bits) or self.risky():
            return ex.united(kind, "\\cup", one, self.set_of(kind))
        more = ex.items(kind, [self.fitting(self.number(), kind.last)])
        test = ex.compared("<", ex.size_of(one, kind.most), ex.number(kind.most))
        return ex.chosen(test, ex.united(kind, "\\cup", one, more), self.one_of([one, more, ex.nothing(kind)]))

    def kept(self, kind: Bits | Several) -> Expression:
        own, name = self.of_kind(kind), self.name("k")
        many = self.one_of(own) if own else self.deeper().set_of(kind)
        inside = self.looping(ex.bound(name, 0, kind.last))
        return ex.kept(kind, name, many, inside.truth())

    def mapped(self, kind: Bits | Several) -> Expression:
        """The images of a set with no more items than the kind may have."""
        sets = [each for each in self.sets() if _most(each.kind) <= _most(kind)]
        if not sets:
            return ex.nothing(kind)
        many, name = self.one_of(sets), self.name("m")
        assert isinstance(many.kind, (Bits, Several))
        inside = self.looping(ex.bound(name, 0, many.kind.last))
        if self.count(0, 1):
            many = ex.kept(many.kind, name, many, inside.truth())
        return ex.mapped(kind, name, many, inside.fitting(inside.number(), kind.last))

    def mapped_range(self, kind: Bits) -> Expression:
        """The images of a range, or of a part of one."""
        name, high = self.name("m"), self.count(1, LOOP_MAX)
        inside = self.looping(ex.bound(name, 1, high), *self.elements(name, high))
        many = ex.span(ex.number(1), ex.number(high))
        if self.count(0, 1):
            many = ex.kept(Bits(64), name, many, inside.truth())
        return ex.mapped(kind, name, many, inside.fitting(inside.number(), kind.last))

    # --- Sets of an enum's members -----------------------------------------------------------

    def members(self, kind: Members) -> Expression:
        own, below = self.of_kind(kind), self.deeper()
        simple: list[Callable[[], Expression]] = [
            lambda: self.one_of(own or [ex.nothing(kind)]),
            lambda: ex.items(kind, [below.expression(kind.item)]),
        ]
        if self.depth <= 0:
            return self.made_by(*simple)
        choices = [*simple, lambda: self.more_members(kind)]
        choices.append(lambda: ex.united(kind, self.one_of(["\\cap", "\\"]), below.members(kind), below.members(kind)))
        if self.loops:
            choices += [lambda: self.kept_members(kind), lambda: self.mapped_members(kind)]
        return self.made_by(*choices)

    def some_members(self, kind: Members) -> Expression:
        """A set whose type can be told from it: the generator does not know the enum of strings alone."""
        own = self.of_kind(kind)
        return self.one_of(own) if own and not self.risky() else self.deeper().members(kind)

    def more_members(self, kind: Members) -> Expression:
        """A union, which must have room."""
        one, more = self.some_members(kind), ex.items(kind, [self.deeper().expression(kind.item)])
        united = ex.united(kind, "\\cup", one, more)
        if kind.most >= len(kind.item.members) or self.risky():
            return united
        return ex.chosen(ex.compared("<", ex.size_of(one, kind.most), ex.number(kind.most)), united, one)

    def kept_members(self, kind: Members) -> Expression:
        name, many = self.name("k"), self.some_members(kind)
        return ex.kept(kind, name, many, self.looping(ex.named(name, kind.item)).truth())

    def mapped_members(self, kind: Members) -> Expression:
        name, many = self.name("m"), self.some_members(kind)
        return ex.mapped(kind, name, many, self.looping(ex.named(name, kind.item)).expression(kind.item))

    def members_test(self) -> Expression:
        many, below = self.one_of(self.of_kind(Members)), self.deeper()
        assert isinstance(many.kind, Members)
        match self.count(0, 2):
            case 0:
                return ex.part_of(below.members(many.kind), many)
            case 1 if self.loops:
                name = self.name("q")
                inside = self.looping(ex.named(name, many.kind.item))
                return ex.quantified(bool(self.count(0, 1)), name, many, inside.truth())
        return ex.within(below.expression(many.kind.item), many, negative_form=bool(self.count(0, 1)))

    # --- Sequences, arrays and records -----------------------------------------------------

    def queue(self, kind: Queue) -> Expression:
        own = self.of_kind(kind)
        one = self.one_of(own) if own else ex.nothing(kind)
        if self.depth <= 0 or not own:
            return self.one_of([one, ex.nothing(kind)])
        below = self.deeper()
        item = below.fitting(below.number(), kind.item.last)
        full, empty = ex.number(kind.most), ex.number(0)
        match self.count(0, 3):
            case 0:
                return ex.items(kind, [item])
            case 1:
                longer = ex.appended(one, item)
                return longer if self.risky() else ex.chosen(ex.compared("<", ex.length(one), full), longer, one)
            case 2:
                shorter = ex.tail(one)
                return shorter if self.risky() else ex.chosen(ex.compared("#", ex.length(one), empty), shorter, one)
        return one

    def array(self, kind: Array) -> Expression:
        own = self.of_kind(kind)
        if own and self.count(0, 1):
            return ex.except_(self.one_of(own), [self.update_of(self.index(kind), kind.item)])
        name = self.name("e")
        inside = self.looping(ex.bound(name, 1, kind.size), *self.elements(name, kind.size))
        return ex.function(kind, name, inside.expression(kind.item))

    def index(self, kind: Array) -> ex.Path:
        """A path to an element."""
        if self.count(0, 1):
            return (ex.number(self.count(1, kind.size)),)
        below = self.deeper()
        index = below.fitting(below.number(), kind.size - 1)
        return (ex.arithmetic("+", index, ex.number(1)),)

    def record(self, kind: Record) -> Expression:
        own, below = self.of_kind(kind), self.deeper()
        if own and self.count(0, 3):
            return self.changed(self.one_of(own))
        return ex.record(kind, {name: below.expression(each) for name, each in kind.fields})

    def changed(self, whole: Expression) -> Expression:
        """A record, of which an EXCEPT changes some parts."""
        assert isinstance(whole.kind, Record)
        updates = []
        for _ in range(self.count(1, 3)):
            name, kind = self.one_of(whole.kind.fields)
            if isinstance(kind, Array) and self.count(0, 1):
                path: ex.Path = (name, *self.index(kind))
                updates.append(self.update_of(path, kind.item))
            else:
                updates.append(self.update_of((name,), kind))
        return ex.except_(whole, updates)

    def update_of(self, path: ex.Path, kind: Kind) -> ex.Update:
        """An update of a part of this kind, or of a field of it."""
        below = self.deeper()
        if isinstance(kind, Record) and self.count(0, 1):
            name, part = self.one_of(kind.fields)
            return below.update_of((*path, name), part)
        if isinstance(kind, Number) and self.count(0, 2) == 0:
            changed = ex.arithmetic(self.one_of(["+", "-"]), ex.old(kind), self.literal(kind.last))
            return ex.Update(path, below.fitting(changed, kind.last))
        return ex.Update(path, below.expression(kind))


def _most(kind: Kind) -> int:
    assert isinstance(kind, (Bits, Several))
    return kind.size if isinstance(kind, Bits) else kind.most


def parts_of(whole: Expression) -> list[Expression]:
    """The parts of a record, and of an array at literal indices, with their own parts."""
    found: list[Expression] = []
    if isinstance(whole.kind, Record):
        found = [ex.field(whole, name) for name, _ in whole.kind.fields]
    elif isinstance(whole.kind, Array):
        found = [ex.element(whole, ex.number(at)) for at in (1, whole.kind.size)]
    return [part for each in found for part in (each, *parts_of(each))]


__all__ = ["TRUTH", "Drawing", "Operator", "parts_of"]
