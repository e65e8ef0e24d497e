"""Proves that every number fits, every index is in range, every set has room and every loop ends.

It walks a step's tree with the facts that follow from its conditions (facts.py), and gives every
integer its interval. If a proof fails, it refuses the step and reports the inferred interval.
"""

from __future__ import annotations

from dataclasses import replace

from codegen import ir
from codegen.analysis.conditions import (
    assume,
    element_interval,
    found_by,
    interval,
    search_interval,
    size_interval,
    size_of,
)
from codegen.analysis.excluded import without_excluded
from codegen.analysis.facts import EVERYTHING, INFINITY, Facts, intersect, plus, scaled, uint_interval
from codegen.analysis.idle_loops import without_variable
from codegen.errors import (
    DividendNegative,
    DivisorNotPositive,
    Errors,
    IndexOutOfRange,
    LoopUnbounded,
    MayNotFit,
    MayOverflow,
    NoneChosen,
    NoRoom,
    SignsMixed,
    SpecError,
    interval_text,
)
from codegen.ir import Interval, Span
from codegen.ir.build import BOOL, INTEGER, compare, integer, logic, made, negation, retyped, truth
from codegen.ir.measure import hull
from codegen.ir.walk import evaluations, uses
from codegen.tla.kinds import element_type, size_max, type_text

SIGNED = Interval(-(2**63), 2**63 - 1)
LOOP_MAX = 4096
"""Greatest number of iterations of a loop in the kernel. A user step may go over a whole table."""

Made = ir.SetOf | ir.SetOp | ir.Filter | ir.Image | ir.SequenceOf | ir.Append
"""An expression that makes a set or a sequence, which may be too large for its type."""


class Bounds:
    """Analyses one step. `kernel` says that its loops need a small bound."""

    def __init__(self, errors: Errors, kernel: bool):
        self.errors = errors
        self.kernel = kernel
        self.place = ""

    def refuse(self, facts: Facts, kind: type[SpecError], span: Span, found: str, instead: str = "") -> None:
        """Reports an error, unless the place is unreachable."""
        if not facts.dead:
            self.errors.add(kind(span, found, instead))

    # --- The tree ------------------------------------------------------------------------------------------

    def body(self, body: ir.Body, targets: tuple[ir.Var, ir.Var], facts: Facts) -> ir.Body:
        match body:
            case ir.Leaf():
                cell, message = (
                    tuple(self.assign(assign, target, facts) for assign in side)
                    for side, target in zip((body.cell, body.message), targets)
                )
                return replace(body, cell=cell, message=message)
            case ir.Bind():
                value = self.visit(body.value, facts)
                return replace(body, value=value, body=self.body(body.body, targets, facts.with_let(body.name, value)))
        condition = self.visit(body.condition, facts)
        on, off = assume(condition, True, facts), assume(condition, False, facts)
        then, otherwise = self.body(body.then, targets, on), self.body(body.otherwise, targets, off)
        if on.dead or off.dead:
            # The other branch is unreachable, for example an OTHER after arms that cover all cases.
            return otherwise if on.dead else then
        return replace(body, condition=condition, then=then, otherwise=otherwise)

    def assign(self, assign: ir.Assign, target: ir.Var, facts: Facts) -> ir.Assign:
        path, kind = self.path(assign.path, target, facts)
        return replace(assign, path=path, value=self.stored(assign.value, kind, path_text(path), facts))

    def path(self, path: ir.Path, base: ir.Expr, facts: Facts) -> tuple[ir.Path, ir.Type]:
        """Checks that a path's indices are in range. Returns the path and the type that it leads to."""
        done: list[str | ir.Expr] = []
        for place in path:
            if isinstance(place, str):
                done.append(place)
                base = ir.Field(base, place, ir.expect(base.type, ir.Record).field(place), base.span)
            else:
                index = self.visit(place, facts)
                self.in_range(base, index, place.span, facts)
                done.append(index)
                base = ir.Index(base, index, element_type(base.type), place.span)
        return tuple(done), base.type

    # --- Storing -------------------------------------------------------------------------------------------

    def stored(self, value: ir.Expr, kind: ir.Type, name: str, facts: Facts) -> ir.Expr:
        """Visits a value that is stored in a place of type `kind`, and checks that it fits."""
        above, self.place = self.place, name
        done = self.visit(value, facts)
        self.place = above
        if isinstance(kind, ir.UInt):
            found, room = interval(done), uint_interval(kind)
            if found.low < room.low or found.high > room.high:
                self.refuse(
                    facts,
                    MayNotFit,
                    done.span,
                    f"{name} may become anything in {interval_text(found)}, but u{kind.width} holds "
                    f"{interval_text(room)}",
                    hint(done, found, room),
                )
        elif isinstance(kind, (ir.Set, ir.Sequence)) and isinstance(done.type, (ir.Set, ir.Sequence)):
            # The visit has already checked that the value fits its own type.
            if done.type.max > kind.max:
                self.has_room(done, kind, name, facts)
            if done.type.element != kind.element:
                self.elements_fit(done, kind, name, facts)
            done = self.fitted(done, kind, facts)
        elif isinstance(kind, ir.Bits) and kind.most < kind.size:
            self.has_room(done, kind, name, facts)
        return done

    def holds(self, value: Made, facts: Facts) -> ir.Expr:
        """Checks that a set or a sequence that was just made fits its own type."""
        name = self.place or ("the sequence" if isinstance(value.type, ir.Sequence) else "the set")
        if not isinstance(value.type, ir.Bits):
            self.has_room(value, value.type, name, facts)
        self.elements_fit(value, value.type, name, facts)
        return value

    def has_room(self, value: ir.Expr, kind: ir.Set | ir.Bits | ir.Sequence, name: str, facts: Facts) -> None:
        found, most = size_interval(value, facts), size_max(kind)
        if found.high <= most:
            return
        test = (
            "size first, for example `Cardinality(S) < N`"
            if isinstance(kind, (ir.Set, ir.Bits))
            else "length first, for example `Len(s) < N`"
        )
        self.refuse(
            facts,
            NoRoom,
            value.span,
            f"{name} may get {found.high} elements, but holds at most {most}",
            f"test its {test}, or give it a greater `max` in the layout",
        )

    def elements_fit(self, value: ir.Expr, kind: ir.Set | ir.Bits | ir.Sequence, name: str, facts: Facts) -> None:
        if isinstance(kind, ir.Bits) and kind.enum is None:
            holder = f"bits of {kind.size} hold" if kind.source is None else f"{type_text(kind.source.element)} holds"
            room = Interval(0, kind.size - 1)
        elif isinstance(kind, (ir.Set, ir.Sequence)) and isinstance(kind.element, ir.UInt):
            holder, room = f"u{kind.element.width} holds", uint_interval(kind.element)
        else:
            return
        found = element_interval(value, facts)
        if found.low < room.low or found.high > room.high:
            self.refuse(
                facts,
                MayNotFit,
                value.span,
                f"an element of {name} may be anything in {interval_text(found)}, but {holder} {interval_text(room)}",
                "test the element first, or make the type wider",
            )

    # --- Expressions -------------------------------------------------------------------------------------------

    def visit(self, expression: ir.Expr, facts: Facts) -> ir.Expr:
        """Returns the expression with its intervals, after checking everything in it.

        A test that always has the same outcome is replaced by it, because compilers would warn about such a test.
        """
        done = self.visit_any(expression, facts)
        if not isinstance(done, (ir.Compare, ir.In, ir.Subset, ir.Quantifier)):
            return done
        if facts.dead:  # Nothing comes here, and compilers may see that as well.
            return truth(False, done.span)
        for value in (True, False):
            if assume(done, not value, facts).dead:
                return truth(value, done.span)
        return done

    def visit_any(self, expression: ir.Expr, facts: Facts) -> ir.Expr:
        match expression:
            case ir.Int() | ir.Literal():
                return expression
            case ir.Var():
                return self.numbered(expression, facts)
            case ir.Field():
                return self.numbered(replace(expression, base=self.visit(expression.base, facts)), facts)
            case ir.Index():
                base, index = self.visit(expression.base, facts), self.visit(expression.index, facts)
                self.in_range(base, index, expression.span, facts)
                return self.numbered(replace(expression, base=base, index=index), facts)
            case ir.Arith():
                return self.arithmetic(expression, facts)
            case ir.Compare():
                return self.comparison(expression, facts)
            case ir.Not():
                return negation(self.visit(expression.operand, facts), expression.span)
            case ir.Logic():
                return self.logic(expression, facts)
            case ir.If():
                return self.choice(expression, facts)
            case ir.Let():
                value = self.visit(expression.value, facts)
                body = self.visit(expression.body, facts.with_let(expression.name, value))
                found = interval(body) if isinstance(body.type, ir.UInt) else None
                done = replace(expression, value=value, body=body, interval=found)
                return done if uses(body, expression.name) else body
        return self.visit_collection(expression, facts)

    def visit_collection(self, expression: ir.Expr, facts: Facts) -> ir.Expr:
        """Visits the expressions that `visit_any` leaves: sets, sequences, arrays, records and loops."""
        match expression:
            case ir.SetOf() | ir.SequenceOf():
                elements = tuple(self.visit(element, facts) for element in expression.elements)
                return self.holds(replace(expression, elements=elements), facts)
            case ir.SetOp():
                return self.set_operation(expression, facts)
            case ir.In():
                return self.membership(expression, facts)
            case ir.Subset(ir.SetOf(members), right):
                tests: list[ir.Expr] = [ir.In(member, right, BOOL, expression.span) for member in members]
                return self.visit(logic("and", tests, expression.span), facts)
            case ir.Subset():
                return replace(
                    expression, left=self.visit(expression.left, facts), right=self.visit(expression.right, facts)
                )
            case ir.Cardinality():
                operand = self.visit(expression.operand, facts)
                return replace(expression, operand=operand, interval=size_interval(operand, facts))
            case ir.RecordOf():
                kinds = dict(expression.type.fields)
                fields = tuple(
                    (name, self.stored(value, kinds[name], name, facts)) for name, value in expression.fields
                )
                return replace(expression, fields=fields)
            case ir.Append():
                sequence, element = self.visit(expression.sequence, facts), self.visit(expression.element, facts)
                return self.holds(replace(expression, sequence=sequence, element=element), facts)
            case ir.Tail():
                sequence = self.visit(expression.sequence, facts)
                if size_interval(sequence, facts).low < 1:
                    self.refuse(
                        facts,
                        IndexOutOfRange,
                        expression.span,
                        "the sequence given to Tail may be empty",
                        "test it first, for example `Len(s) > 0`",
                    )
                return replace(expression, sequence=sequence)
            case ir.Update():
                return self.update(expression, facts)
            case ir.ArrayOf():
                return self.array(expression, facts)
            case ir.Filter() | ir.Image() | ir.Quantifier() | ir.First() | ir.Count():
                return self.loop(expression, facts)
        raise TypeError(f"only a value can be visited, not {expression}")

    def numbered(self, expression: ir.Var | ir.Field | ir.Index, facts: Facts) -> ir.Expr:
        """Gives an integer its interval."""
        if not isinstance(expression.type, ir.UInt):
            return expression
        if isinstance(expression, ir.Var) and expression.name in facts.values:
            search = facts.search(expression)
            natural = interval(facts.values[expression.name]) if search is None else search_interval(search, facts)
        else:
            natural = uint_interval(expression.type)
            facts.note_range(expression, natural)
        return replace(expression, interval=facts.interval(expression, natural))

    def arithmetic(self, expression: ir.Arith, facts: Facts) -> ir.Expr:
        left, right = self.visit(expression.left, facts), self.visit(expression.right, facts)
        done = replace(expression, left=left, right=right)
        one, other = interval(left), interval(right)
        match expression.op:
            case "+":
                natural = plus(one, other)
            case "-":
                natural = plus(one, scaled(other, -1))
            case "*":
                ends = [a * b for a in (one.low, one.high) for b in (other.low, other.high)]
                natural = Interval(min(ends), max(ends))
            case _:
                natural = self.division(done, one, other, facts)
        found = facts.interval(done, natural)
        if found.low < SIGNED.low or found.high > SIGNED.high:
            self.refuse(
                facts,
                MayOverflow,
                expression.span,
                f"the result of `{expression.op}` lies in {interval_text(found)}, which may not fit a signed "
                "64-bit integer",
                "test or reduce the operands first",
            )
            found = intersect(found, SIGNED) or SIGNED
        return replace(done, interval=found)

    def division(self, expression: ir.Arith, one: Interval, other: Interval, facts: Facts) -> Interval:
        name = "\\div" if expression.op == "div" else "%"
        if other.low < 1:
            self.refuse(
                facts,
                DivisorNotPositive,
                expression.right.span,
                f"the divisor of {name} lies in {interval_text(other)}",
                "test that it is positive first",
            )
            return Interval(0, max(0, one.high))
        if one.low < 0:
            self.refuse(
                facts,
                DividendNegative,
                expression.left.span,
                f"the dividend of {name} lies in {interval_text(one)}",
                "add the divisor first: `(a + m - b) % m`",
            )
            return Interval(0, max(0, one.high))
        if expression.op == "div":
            return Interval(one.low // other.high, one.high // other.low)
        return one if one.high < other.low else Interval(0, min(one.high, other.high - 1))

    def comparison(self, expression: ir.Compare, facts: Facts) -> ir.Expr:
        left, right = self.visit(expression.left, facts), self.visit(expression.right, facts)
        if facts.key(left) == facts.key(right):
            return truth(expression.op in ("=", "<=", ">="), expression.span)
        if isinstance(left.type, ir.UInt):
            one, other = interval(left), interval(right)
            if min(one.low, other.low) < 0 and max(one.high, other.high) > SIGNED.high:
                self.refuse(
                    facts,
                    SignsMixed,
                    expression.span,
                    f"this compares {interval_text(one)} with {interval_text(other)}, and no C integer holds both",
                    "test for negative values first, or use a field of at most 63 bits",
                )
        if isinstance(left.type, ir.Bool):  # one of them may be constant now
            return compare(expression.op, left, right, expression.span)
        return replace(expression, left=left, right=right)

    def logic(self, expression: ir.Logic, facts: Facts) -> ir.Expr:
        """Visits each operand with the outcomes of the operands before it as facts."""
        operands = []
        for operand in expression.operands:
            operands.append(self.visit(operand, facts))
            facts = assume(operands[-1], expression.op == "and", facts)
        return logic(expression.op, operands, expression.span)

    def choice(self, expression: ir.If, facts: Facts) -> ir.Expr:
        condition = self.visit(expression.condition, facts)
        on, off = assume(condition, True, facts), assume(condition, False, facts)
        then, otherwise = self.visit(expression.then, on), self.visit(expression.otherwise, off)
        if on.dead or off.dead:
            return otherwise if on.dead else then
        done = replace(expression, condition=condition, then=then, otherwise=otherwise)
        if not isinstance(expression.type, ir.UInt):
            return done
        found = hull(interval(then), interval(otherwise))
        if found.low < 0 and found.high > SIGNED.high:
            self.refuse(
                facts,
                SignsMixed,
                expression.span,
                f"this chooses between values in {interval_text(found)}, and no C integer holds all of them",
                "test for negative values first, or use a field of at most 63 bits",
            )
        known = facts.interval(done, found)
        return without_excluded(replace(done, interval=known), known)

    def update(self, expression: ir.Update, facts: Facts) -> ir.Expr:
        base = self.visit(expression.base, facts)
        updates = []
        for path, value in expression.updates:
            done, kind = self.path(path, base, facts)
            updates.append((done, self.stored(value, kind, path_text(path), facts)))
        return replace(expression, base=base, updates=tuple(updates))

    def set_operation(self, expression: ir.SetOp, facts: Facts) -> ir.Expr:
        """Visits a set operation. C builds the result from the left part, which must thus have the result's type."""
        left, right = self.visit(expression.left, facts), self.visit(expression.right, facts)
        kind = expression.type
        if isinstance(kind, ir.Set):
            if expression.op != "minus" and left.type != kind and right.type == kind:
                left, right = right, left
            left, right = self.fitted(left, kind, facts), self.narrowed(right, kind, facts)
            if left.type != kind:
                self.has_room(left, kind, self.place or "the set", facts)
                self.elements_fit(left, kind, self.place or "the set", facts)
        done = replace(expression, left=left, right=right)
        return done if isinstance(kind, ir.Bits) else self.holds(done, facts)

    def fits(self, value: ir.Expr, kind: ir.Set | ir.Sequence, facts: Facts) -> bool:
        if size_interval(value, facts).high > kind.max:
            return False
        if not isinstance(kind.element, ir.UInt):
            return True
        found, held = element_interval(value, facts), uint_interval(kind.element)
        return held.low <= found.low and found.high <= held.high

    def narrowed(self, value: ir.Expr, kind: ir.Type, facts: Facts) -> ir.Expr:
        """Gives a set or a sequence that is made here, and its parts, the type `kind` if it fits."""
        if (
            value.type == kind
            or not made(value)
            or not isinstance(kind, (ir.Set, ir.Sequence))
            or not self.fits(value, kind, facts)
        ):
            return value
        match value:
            case ir.SetOp(left=left, right=right):
                value = replace(value, left=self.fitted(left, kind, facts), right=self.narrowed(right, kind, facts))
            case ir.If(condition, then, otherwise):
                on, off = assume(condition, True, facts), assume(condition, False, facts)
                value = replace(value, then=self.fitted(then, kind, on), otherwise=self.fitted(otherwise, kind, off))
            case ir.Let(name, bound, body):
                value = replace(value, body=self.fitted(body, kind, facts.with_let(name, bound)))
        return retyped(value, kind)

    def fitted(self, value: ir.Expr, kind: ir.Type, facts: Facts) -> ir.Expr:
        """Works as `narrowed`, and also joins a stored set of another type to an empty set of this type."""
        if made(value) or value.type == kind or not isinstance(kind, ir.Set) or not self.fits(value, kind, facts):
            return self.narrowed(value, kind, facts)
        return ir.SetOp("union", ir.SetOf((), kind, value.span), value, kind, value.span)

    def membership(self, expression: ir.In, facts: Facts) -> ir.Expr:
        """Visits a membership test. A number outside of the range of bits is not a member, so it gets a test."""
        element, within = self.visit(expression.element, facts), self.visit(expression.set, facts)
        if isinstance(within, ir.SetOf) and isinstance(element.type, ir.UInt):
            found = interval(element)
            near = [item for item in within.elements if intersect(found, interval(item)) is not None]
            if not near:
                return truth(False, expression.span)
            within = replace(within, elements=tuple(near))
        done = replace(expression, element=element, set=within)
        if isinstance(within, ir.SetOf) and any(facts.key(item) == facts.key(element) for item in within.elements):
            return truth(True, expression.span)
        if isinstance(within, ir.SetOf) and len(within.elements) == 1:
            return self.visit(compare("=", element, within.elements[0], expression.span), facts)
        if isinstance(within.type, ir.Bits) and within.type.enum is None:
            found = interval(element)
            tests = [compare(">=", element, integer(0, done.span), done.span)] if found.low < 0 else []
            if found.high >= within.type.size:
                tests.append(compare("<", element, integer(within.type.size, done.span), done.span))
            return logic("and", [*tests, done], done.span)
        return done

    def in_range(self, base: ir.Expr, index: ir.Expr, span: Span, facts: Facts) -> None:
        """Checks that an index lies in its table, array or sequence."""
        found = interval(index)
        match base.type:
            case ir.Table(name, _, capacity):
                what, low, high = f"table {name}", 0, capacity - 1
            case ir.Array(_, size):
                what, low, high = "the array", 1, size
            case _:
                self.in_sequence(base, index, span, facts)
                return
        if found.low < low or found.high > high:
            self.refuse(
                facts,
                IndexOutOfRange,
                span,
                f"the index lies in {interval_text(found)}, {what} has {low}..{high}",
                f"test it first, for example `i >= {low} /\\ i <= {high}`",
            )

    def in_sequence(self, base: ir.Expr, index: ir.Expr, span: Span, facts: Facts) -> None:
        found, length = interval(index), size_interval(base, facts)
        left = facts.interval(
            ir.Arith("-", size_of(base), index, INTEGER, span, EVERYTHING), plus(length, scaled(found, -1))
        )
        if found.low < 1 or left.low < 0:
            self.refuse(
                facts,
                IndexOutOfRange,
                span,
                f"the index lies in {interval_text(found)}, the sequence has 1..{length.low} for certain",
                "test it first, for example `i <= Len(s)`, or `Len(s) > 0` for Head",
            )

    # --- Loops ----------------------------------------------------------------------------------------------------

    def array(self, expression: ir.ArrayOf, facts: Facts) -> ir.Expr:
        span, kind = expression.span, expression.type
        inner = self.ranged(
            ir.Var(expression.variable, INTEGER, span), integer(1, span), integer(kind.size, span), facts
        )
        return replace(expression, value=self.stored(expression.value, kind.element, "the element", inner))

    def loop(self, expression: ir.Loop, facts: Facts) -> ir.Expr:
        domain, inner = self.domain(expression, facts)
        inside = expression.value if isinstance(expression, ir.Image) else expression.predicate
        filtered = isinstance(expression, ir.Image) and expression.predicate is not None
        if not filtered and not evaluations(self.visit_quietly(inside, inner), expression.variable):
            if evaluations(inside, expression.variable):  # what is known of the variable decides the test
                inside = self.visit(inside, inner)
            simpler = without_variable(expression, inside)
            if simpler is not None:
                return self.visit(simpler, facts)
        match expression:
            case ir.Filter():
                predicate = self.visit(expression.predicate, inner)
                found = self.selected(expression, domain, assume(predicate, True, inner))
                return self.holds(replace(expression, domain=domain, predicate=predicate, interval=found), facts)
            case ir.Image():
                selects = expression.predicate
                if selects is not None:
                    selects = self.visit(selects, inner)
                    inner = assume(selects, True, inner)
                    if inner.dead:
                        return ir.SetOf((), expression.type, expression.span)
                value = self.visit(expression.value, inner)
                return self.holds(replace(expression, domain=domain, value=value, predicate=selects), facts)
            case ir.Quantifier():
                return replace(expression, domain=domain, predicate=self.visit(expression.predicate, inner))
            case ir.Count():
                done = replace(expression, domain=domain, predicate=self.visit(expression.predicate, inner))
                most = domain.bound if isinstance(domain, ir.Range) else size_interval(domain, facts).high
                return replace(done, interval=facts.interval(done, Interval(0, most)))
        return self.first(expression, ir.expect(domain, ir.Range), inner, facts)

    def selected(self, expression: ir.Filter, domain: ir.Expr, inner: Facts) -> Interval | None:
        """Returns the interval of the numbers that a filter selects; None if they are not numbers."""
        element = element_type(domain.type)
        if not isinstance(element, ir.UInt):
            return None
        return interval(self.visit_quietly(ir.Var(expression.variable, element, expression.span), inner))

    def visit_quietly(self, expression: ir.Expr, facts: Facts) -> ir.Expr:
        """Returns the result of a visit, without its errors."""
        return Bounds(Errors(), self.kernel).visit(expression, facts)

    def first(self, expression: ir.First, domain: ir.Range, inner: Facts, facts: Facts) -> ir.Expr:
        predicate = self.visit(expression.predicate, inner)
        none = self.visit(expression.none, facts) if expression.none is not None else None
        done = replace(expression, domain=domain, predicate=predicate, none=none)
        if none is None and facts.truth(found_by(done)) is not True:
            self.refuse(
                facts,
                NoneChosen,
                expression.span,
                "CHOOSE may have nothing to choose from",
                "write IF \\E i \\in a..b : P(i) THEN CHOOSE ... ELSE ..., or use FirstIndex",
            )
        return replace(done, interval=facts.interval(done, search_interval(done, facts)))

    def domain(self, expression: ir.Loop, facts: Facts) -> tuple[ir.Expr, Facts]:
        """Returns a loop's domain, and the facts inside of the loop."""
        if isinstance(expression.domain, ir.Range):
            over = self.range(expression.domain, facts)
            variable = ir.Var(expression.variable, INTEGER, expression.span)
            return over, self.ranged(variable, over.low, over.high, facts)
        domain = self.visit(expression.domain, facts)
        element = element_type(domain.type)
        variable = ir.Var(expression.variable, element, expression.span)
        if isinstance(element, ir.UInt):
            facts.note_range(variable, element_interval(domain, facts))
        inner = facts.with_truth(ir.In(variable, domain, BOOL, expression.span), True)
        return domain, inner.with_number(size_of(domain), Interval(1, INFINITY))

    def range(self, expression: ir.Range, facts: Facts) -> ir.Range:
        low, high = self.visit(expression.low, facts), self.visit(expression.high, facts)
        span = expression.span
        natural = plus(interval(high), scaled(interval(low), -1))
        most = max(0, facts.interval(ir.Arith("-", high, low, INTEGER, span, EVERYTHING), natural).high + 1)
        if self.kernel and most > LOOP_MAX:
            self.refuse(
                facts,
                LoopUnbounded,
                span,
                f"this loop may have {most} iterations",
                f"a step in the kernel may have at most {LOOP_MAX}",
            )
            most = LOOP_MAX
        return replace(expression, low=low, high=high, bound=most)

    def ranged(self, variable: ir.Var, low: ir.Expr, high: ir.Expr, facts: Facts) -> Facts:
        """Returns the facts inside of a loop over low..high."""
        one, other = interval(low), interval(high)
        facts.note_range(variable, Interval(one.low, max(one.low, other.high)))
        span = variable.span
        above = ir.Arith("-", variable, low, INTEGER, span, EVERYTHING)
        below = ir.Arith("-", high, variable, INTEGER, span, EVERYTHING)
        return facts.with_number(above, Interval(0, INFINITY)).with_number(below, Interval(0, INFINITY))


def path_text(path: ir.Path) -> str:
    """Returns a path as a message shows it."""
    return ".".join(place for place in path if isinstance(place, str)) or "the element"


def hint(value: ir.Expr, found: Interval, room: Interval) -> str:
    if found.low < room.low and isinstance(value, ir.Arith) and value.op == "-":
        return "test first that the result is not negative, for example `x > 0` before `x - 1`"
    return "test it first, for example `x < N`, count modulo N, or make the field wider"
