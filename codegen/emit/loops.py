"""Renders loops: each becomes a bounded `for` over its domain. A search ends its loop at the first match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from codegen.c.names import Names
from codegen.emit.c_text import ATOM, RELATION, SHIFT, SUM, UNARY, Place, Text, cast, kind_of_width
from codegen.emit.helpers import UNROLL_MAX, Helpers
from codegen.emit.lines import Lines
from codegen.emit.types import Vector, c_type
from codegen.ir import Bits, Bool, Count, Expr, First, Int, Not, Quantifier, Range, SetOf, Type, UInt
from codegen.ir.measure import interval_of, is_scalar
from codegen.ir.walk import substitute


class Loops:
    """A part of Expressions; its other parts provide the attributes declared here."""

    names: Names
    helpers: Helpers
    lines: Lines
    bound: dict[str, Place | Text]
    counters: set[str]
    branchless: bool
    searchable: Callable[[First], bool]
    searched: Callable[[First], Text]
    fresh: Callable[[str], str]
    result: Callable[[str], str]
    scalar: Callable[[Expr], Text]
    place: Callable[[Expr], Place]
    kind: Callable[[Type], str]
    joined: Callable[[str, list[Callable[[], Text]]], Text]

    @contextmanager
    def when(self, predicate: Expr | None) -> Iterator[None]:
        if predicate is None:
            yield
            return
        condition = self.scalar(predicate)
        self.lines.add(f"if ({condition}) {{")
        self.lines.depth += 1
        yield
        self.lines.depth -= 1
        self.lines.add("}")

    @contextmanager
    def loop(self, name: str, domain: Expr) -> Iterator[Text]:
        """Renders a loop whose body sees `name`; yields the element as a scalar."""
        if isinstance(domain, Range):
            with self._range(name, domain) as element:
                yield element
        elif isinstance(domain.type, Bits):
            bits = self.scalar(domain)
            local = self.fresh(name)
            self._unroll(domain.type.size)
            with self.lines.block(f"for (__u32 {local} = 0; {local} < {domain.type.size}; {local}++)"):
                self.bound[name] = Text(local, ATOM, "u32")
                with self.lines.block(f"if ({bits.at(SHIFT)} >> {local} & 1)"):
                    yield self.bound[name]
        else:
            with self._items(name, domain) as element:
                yield element

    def _unroll(self, iterations: int) -> None:
        if iterations <= UNROLL_MAX:
            self.lines.add("STEPWISE_UNROLL")

    @contextmanager
    def _range(self, name: str, domain: Range) -> Iterator[Text]:
        local = self.fresh(name)
        low, high = self.scalar(domain.low), self.scalar(domain.high)
        wide = "__u64" if interval_of(domain.high).high >= (1 << 32) - 1 else "__u32"
        self.bound[name] = Text(local, ATOM, "u64" if wide == "__u64" else "u32")
        if isinstance(domain.low, Int) and isinstance(domain.high, Int):
            self.counters.add(name)
        self._unroll(domain.bound)
        if isinstance(domain.low, Int) and isinstance(domain.high, Int):
            with self.lines.block(f"for ({wide} {local} = {low}; {local} <= {high}; {local}++)"):
                yield self.bound[name]
            return
        step = self.fresh("step")
        with self.lines.block(f"for (__u32 {step} = 0; {step} < {domain.bound}; {step}++)"):
            self.lines.add(f"const {wide} {local} = {low.at(SUM)} + {step};")
            self.lines.add("")
            last = cast(high, "u64" if wide == "__u64" else "u32") if interval_of(domain.high).low >= 0 else high
            if interval_of(domain.high).low < 0:
                self.lines.add(f"if ((__s64){local} > {last.at(RELATION + 1)})")
            else:
                self.lines.add(f"if ({local} > {last.at(RELATION + 1)})")
            self.lines.add("\tbreak;")
            yield self.bound[name]

    @contextmanager
    def _items(self, name: str, domain: Expr) -> Iterator[Text]:
        """Renders a loop over the items of a set."""
        place = self.place(domain)
        vector = Vector.of(domain.type)
        position = self.fresh("i")
        self._unroll(vector.size)
        with self.lines.block(f"for (__u32 {position} = 0; {position} < {vector.size}; {position}++)"):
            local = self.fresh(name)
            pointer = not is_scalar(vector.element)
            if vector.packed:
                item = self.helpers.item(domain.type, place.address, position)
            else:
                item = ("&" if pointer else "") + f"{place.member('items').text}[{position}]"
            self.lines.add(f"const {c_type(self.names, vector.element)} {'*' if pointer else ''}{local} = {item};")
            self.lines.add("")
            self.bound[name] = (
                Place(local, True, place.shared) if pointer else Text(local, ATOM, self.kind(vector.element))
            )
            if vector.counted:
                self.lines.add(f"if ({position} >= {place.member('count').text})")
                self.lines.add("\tbreak;")
            yield self.bound[name] if isinstance(self.bound[name], Text) else Text(f"*{local}", UNARY)

    def _search(self, name: str, domain: Expr, predicate: Expr, result: str, value: Callable[[Text], str]) -> None:
        """Assigns `value` to `result` at the first element that satisfies the predicate."""
        with self.loop(name, domain) as element, self.when(predicate):
            self.lines.add(f"{result} = {value(element)};")
            self.lines.add("break;")

    def quantifier(self, expr: Quantifier) -> Text:
        exists = expr.op == "exists"
        if isinstance(expr.domain, SetOf):
            return self._unrolled(expr)
        local = self.result("found" if exists else "all")
        self.lines.add(f"bool {local} = {'false' if exists else 'true'};")
        self.lines.add("")
        predicate = expr.predicate if exists else Not(expr.predicate, Bool(), expr.span)
        self._search(expr.variable, expr.domain, predicate, local, lambda _: "true" if exists else "false")
        return Text(local)

    def _unrolled(self, expr: Quantifier) -> Text:
        """Renders a quantifier over a set literal: the predicate once for each element."""
        if not expr.domain.elements:
            return Text("false" if expr.op == "exists" else "true")
        tests = [substitute(expr.predicate, expr.variable, element) for element in expr.domain.elements]
        return self.joined(
            "or" if expr.op == "exists" else "and", [lambda test=test: self.scalar(test) for test in tests]
        )

    def first(self, expr: First) -> Text:
        if self.branchless and self.searchable(expr):
            return self.searched(expr)
        local = self.result("first")
        none = self.scalar(expr.none) if expr.none is not None else self.scalar(expr.domain.low)
        interval = interval_of(expr)
        self.lines.add(f"{c_type(self.names, UInt(max(1, interval.high.bit_length())))} {local} = {none};")
        self.lines.add("")
        self._search(expr.variable, expr.domain, expr.predicate, local, lambda element: element.text)
        return Text(local, ATOM, kind_of_width(interval.high.bit_length()))

    def count(self, expr: Count) -> Text:
        local = self.result("count")
        bits = max(1, interval_of(expr).high.bit_length())
        self.lines.add(f"{c_type(self.names, UInt(bits))} {local} = 0;")
        self.lines.add("")
        with self.loop(expr.variable, expr.domain), self.when(expr.predicate):
            self.lines.add(f"{local}++;")
        return Text(local, ATOM, kind_of_width(bits))
