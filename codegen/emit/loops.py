"""Renders loops: each becomes a bounded `for` over its domain. A search ends its loop at the first match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from codegen.emit.branchless import Branchless
from codegen.emit.branchless_tests import BranchlessTests
from codegen.emit.c_text import (
    ATOM,
    EQUALITY,
    RELATION,
    SHIFT,
    SUM,
    UNARY,
    Place,
    Text,
    cast,
    kind_of_type,
    popcount,
)
from codegen.emit.joined import joined
from codegen.emit.masks import Masks
from codegen.emit.places import Places
from codegen.emit.step_context import StepContext
from codegen.emit.types import Vector, c_type
from codegen.emit.writers import ScalarWriter
from codegen.ir import Bits, Bool, Count, Expr, First, Int, Not, Quantifier, Range, SetOf
from codegen.ir.measure import UNROLL_MAX, held_interval, interval_of, is_scalar
from codegen.ir.walk import substitute


class Loops:
    """Writes loops. It asks `scalars` for conditions and ends, and `places` for the sets to go over."""

    def __init__(
        self,
        context: StepContext,
        scalars: ScalarWriter,
        places: Places,
        tests: BranchlessTests,
        branchless: Branchless,
        masks: Masks,
    ):
        self.context = context
        self.names = context.names
        self.helpers = context.helpers
        self.scalars = scalars
        self.places = places
        self.tests = tests
        self.branchless = branchless
        self.masks = masks

    @contextmanager
    def when(self, predicate: Expr | None) -> Iterator[None]:
        if predicate is None:
            yield
            return
        condition = self.scalars.scalar(predicate)
        with self.context.lines.block(f"if ({condition})"):
            yield

    @contextmanager
    def loop(self, name: str, domain: Expr) -> Iterator[Text]:
        """Renders a loop whose body sees `name`; yields the element as a scalar."""
        if isinstance(domain, Range) or isinstance(domain.type, Bits):
            self.context.iterated.add(name)
        if isinstance(domain, Range):
            with self._range(name, domain) as element:
                yield element
        elif isinstance(domain.type, Bits):
            bits = self._apart(domain)
            local = self.context.fresh(name)
            self._unroll(domain.type.size)
            with self.context.lines.block(f"for (__u32 {local} = 0; {local} < {domain.type.size}; {local}++)"):
                element = Text(local, ATOM, "u32")
                self.context.bind(name, element)
                with self.context.lines.block(f"if (({bits.at(SHIFT)} >> {local}) & 1)"):
                    yield element
        else:
            with self._items(name, domain) as element:
                yield element

    def _apart(self, domain: Expr) -> Text:
        """Returns the bits that a loop goes over. Two loops over the same bits must not share their tests."""
        bits = self.scalars.scalar(domain)
        if not self.context.kernel:
            return bits
        local = self.context.fresh("bits")
        self.context.lines.define(f"{c_type(self.context.names, domain.type)} {local}", f"stepwise_apart({bits})")
        return Text(local, ATOM)

    def _unroll(self, iterations: int) -> None:
        if iterations <= UNROLL_MAX:
            self.context.lines.add("STEPWISE_UNROLL")

    @contextmanager
    def _range(self, name: str, domain: Range) -> Iterator[Text]:
        local = self.context.fresh(name)
        low, high = self.scalars.scalar(domain.low), self.scalars.scalar(domain.high)
        wide = "__u64" if interval_of(domain.high).high >= (1 << 32) - 1 else "__u32"
        element = Text(local, ATOM, "u64" if wide == "__u64" else "u32")
        self.context.bind(name, element)
        if isinstance(domain.low, Int) and isinstance(domain.high, Int):
            self.context.counters.add(name)
        self._unroll(domain.bound)
        if isinstance(domain.low, Int) and isinstance(domain.high, Int):
            with self.context.lines.block(f"for ({wide} {local} = {low}; {local} <= {high}; {local}++)"):
                yield element
            return
        step = self.context.fresh("step")
        with self.context.lines.block(f"for (__u32 {step} = 0; {step} < {domain.bound}; {step}++)"):
            self.context.lines.define(f"{wide} {local}", f"{low.at(SUM)} + {step}", const=True)
            last = cast(high, "u64" if wide == "__u64" else "u32") if interval_of(domain.high).low >= 0 else high
            # clang must not understand the loop's end: see `_past`.
            reached = f"stepwise_index({local})" if self.context.kernel and wide == "__u32" else local
            signed = "(__s64)" if interval_of(domain.high).low < 0 else ""
            self.context.lines.add(f"if ({signed}{reached} > {last.at(RELATION + 1)})")
            self.context.lines.add("\tbreak;")
            yield element

    @contextmanager
    def _items(self, name: str, domain: Expr) -> Iterator[Text]:
        """Renders a loop over the items of a set."""
        place = self.places.place(domain)
        vector = Vector.of(domain.type)
        position = self.context.fresh("i")
        self._unroll(vector.size)
        with self.context.lines.block(f"for (__u32 {position} = 0; {position} < {vector.size}; {position}++)"):
            local = self.context.fresh(name)
            pointer = not is_scalar(vector.element)
            if vector.packed:
                item = self.helpers.item(domain.type, place.address, position)
            else:
                item = ("&" if pointer else "") + f"{place.member('items').text}[{position}]"
            self.context.lines.define(
                f"{c_type(self.names, vector.element)} {'*' if pointer else ''}{local}", item, const=True
            )
            element = Text(f"*{local}", UNARY) if pointer else Text(local, ATOM, kind_of_type(vector.element))
            self.context.bind(name, Place(local, True, place.shared) if pointer else element)
            if vector.counted:
                count = place.member("count").text
                self.context.lines.add(f"if ({self._past(position, count, vector.packed)})")
                self.context.lines.add("\tbreak;")
            yield element

    def _past(self, position: str, count: str, packed: bool) -> str:
        """Returns the condition that a loop has gone past the last item.

        clang may turn it into the loop's own condition, as `position != count`, which has no bound for the verifier.
        So it must not understand the condition. The verifier may know the count of the few items in a word: later
        loops over them then have one path.
        """
        if not self.context.kernel:
            return f"{position} >= {count}"
        return f"stepwise_index({position}) >= {count}" if packed else f"stepwise_past({position}, {count})"

    def _search(self, name: str, domain: Expr, predicate: Expr, result: str, value: Callable[[Text], str]) -> None:
        """Assigns `value` to `result` at the first element that satisfies the predicate."""
        with self.loop(name, domain) as element, self.when(predicate):
            self.context.lines.add(f"{result} = {value(element)};")
            self.context.lines.add("break;")

    def quantifier(self, expr: Quantifier) -> Text:
        exists = expr.op == "exists"
        if isinstance(expr.domain, SetOf):
            return self._unrolled(expr, expr.domain.elements)
        deciding = self.masks.deciding(expr)
        if deciding is not None:
            return Text(f"{deciding.at(ATOM)} {'!=' if exists else '=='} 0", EQUALITY)
        local = self.context.result("found" if exists else "all")
        self.context.lines.define(f"bool {local}", "false" if exists else "true")
        predicate = expr.predicate if exists else Not(expr.predicate, Bool(), expr.span)
        self._search(expr.variable, expr.domain, predicate, local, lambda _: "true" if exists else "false")
        return Text(local)

    def _unrolled(self, expr: Quantifier, elements: tuple[Expr, ...]) -> Text:
        """Renders a quantifier over a set literal: the predicate once for each element."""
        if not elements:
            return Text("false" if expr.op == "exists" else "true")
        tests = [substitute(expr.predicate, expr.variable, element) for element in elements]
        operands = [partial(self.scalars.scalar, test) for test in tests]
        return joined(self.context, "or" if expr.op == "exists" else "and", operands)

    def first(self, expr: First) -> Text:
        if self.context.branchless and self.tests.searchable(expr):
            return self.branchless.searched(expr)
        local = self.context.result("first")
        none = self.scalars.scalar(expr.none) if expr.none is not None else self.scalars.scalar(expr.domain.low)
        found = self.context.number(local, held_interval(expr), none)
        self._search(expr.variable, expr.domain, expr.predicate, local, lambda element: element.text)
        return found

    def count(self, expr: Count) -> Text:
        counted_at_once = self.masks.selected(expr.variable, expr.domain, expr.predicate)
        if counted_at_once is not None:
            return popcount(counted_at_once)
        local = self.context.result("count")
        counted = self.context.number(local, interval_of(expr), 0)
        with self.loop(expr.variable, expr.domain), self.when(expr.predicate):
            # The verifier would follow what comes after once for each number that it knows.
            self.context.lines.add(f"{local} = stepwise_hide({local} + 1);" if self.context.kernel else f"{local}++;")
        return counted
