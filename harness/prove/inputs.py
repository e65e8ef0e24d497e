"""Makes the inputs of a step, once as values of TLA+ and once as bytes of C, and compares its outputs.

The types are those of the layout. The place of each field in C is what clang says (BTF), and the form of each type is
that of docs/reference/layout.md: see harness/data/packing.py, which has the same for numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

import z3

from codegen import ir
from codegen.c import names as c_names
from harness.data.packing import Member, Struct, members_of, parts_of, word_bits
from harness.prove import terms, values
from harness.prove.memory import Chunks, Unsupported
from harness.prove.terms import Bits, Truth
from harness.prove.values import Array, Integer, Listed, Opaque, Range, Record, Small, Text, Value

CHUNK = 8
NUMBER_BITS = 16
"""Bits of the number of an enum's member, in `Text`."""


@dataclass
class Input:
    """A record as the step receives it. chunks: its bytes. assumed: what its types say of it.

    places: the bytes that are fields. variables: each field's variables, for showing an input.
    """

    kind: ir.Record
    shape: Struct
    value: Record
    chunks: Chunks
    assumed: list[Truth]
    places: set[int]


class Maker:
    """Makes the input of one record. name: the beginning of its variables' names.

    counts: the number of elements of some sets, by name; of all others it is a variable.
    """

    def __init__(self, name: str, counts: Mapping[str, int]) -> None:
        self._name = name
        self._counts = counts
        self._chunks: Chunks = {}
        self._assumed: list[Truth] = []
        self._places: set[int] = set()
        self._used: int | None = None
        """How many items of the set at hand are in it, if that is known; all others are zero."""

    def made(self, kind: ir.Record, shape: Struct, given: dict[str, Value]) -> Input:
        """The input of a record. given: the values of fields that C does not have."""
        member = Member(0, shape.size, struct=shape)
        fields = {}
        for name, each in kind.fields:
            inner = members_of(member).get(c_names.field(name))
            fields[name] = given[name] if name in given else self._field(each, inner, 0, f"{self._name}.{name}")
        self._padding(shape.size)
        return Input(kind, shape, Record(fields), self._chunks, self._assumed, self._places)

    def _padding(self, size: int) -> None:
        """Bytes outside of all fields may have any value."""
        for at in range(size):
            if at not in self._places:
                self._chunks[at] = (1, terms.variable(f"{self._name}.padding.{at}", 8))

    def _put(self, at: int, size: int, term: Bits) -> None:
        self._places.update(range(at, at + size))
        wide = terms.widen(term, 8 * size)
        for start in range(0, size, CHUNK):
            length = min(CHUNK, size - start)
            self._chunks[at + start] = (length, terms.extract(wide, 8 * (start + length) - 1, 8 * start))

    def _field(self, kind: ir.Type, member: Member | None, base: int, name: str) -> Value:
        if member is None:
            raise Unsupported(f"the C struct has no member for {name}")
        start = base + member.offset
        match kind:
            case ir.Record():
                members = members_of(member)
                return Record(
                    {
                        each: self._field(inner, members.get(c_names.field(each)), start, f"{name}.{each}")
                        for each, inner in kind.fields
                    }
                )
            case ir.Array():
                return Array(tuple(self._items(kind.element, kind.size, parts_of(member)["items"], start, name)))
            case ir.Set():
                return self._set(kind, member, start, name)
        value, term = self._scalar(kind, name)
        self._put(start, member.size, term)
        return value

    def _scalar(self, kind: ir.Type, name: str) -> tuple[Value, Bits]:
        """A scalar's value, and its bits."""
        term = terms.variable(name, word_bits(kind))
        match kind:
            case ir.UInt():
                return values.unsigned(term), term
            case ir.Bool():
                return terms.equal(term, terms.bits(1, 1)), term
            case ir.Enum():
                if len(kind.members) < 1 << term.size():
                    self._assumed.append(terms.below(term, terms.bits(len(kind.members), term.size())))
                return Text(kind.members, terms.widen(term, NUMBER_BITS)), term
            case ir.Bytes():
                return Opaque(term), term
            case ir.Bits(enum=None):
                return Small(term), term
        raise Unsupported(f"a field of type {type(kind).__name__}")

    def _items(self, kind: ir.Type, size: int, slots: Member, base: int, name: str) -> list[Value]:
        used = size if self._used is None else self._used
        if slots.elements is not None:
            _, element = slots.elements
            start = base + slots.offset
            if used < size:
                rest = start + used * element.size
                self._put(rest, (size - used) * element.size, terms.bits(0, 8 * (size - used) * element.size))
            items = [
                self._field(kind, replace(element, offset=0), start + at * element.size, f"{name}.{at + 1}")
                for at in range(used)
            ]
            return items + [values.integer(0)] * (size - used)
        pairs = [self._scalar(kind, f"{name}.{at + 1}") for at in range(used)]
        if used < size:
            zero = terms.bits(0, word_bits(kind))
            pairs += [(values.integer(0), zero)] * (size - used)
        self._put(base + slots.offset, slots.size, terms.concat([term for _, term in pairs][::-1]))
        return [value for value, _ in pairs]

    def _set(self, kind: ir.Set, member: Member, base: int, name: str) -> Listed:
        parts, fixed = parts_of(member), self._counts.get(name)
        count = terms.variable(f"{name}.count", kind.max.bit_length())
        if fixed is not None:
            count = terms.bits(fixed, count.size())
        self._put(base + parts["count"].offset, parts["count"].size, count)
        self._assumed.append(terms.negated(terms.below(terms.bits(kind.max, count.size()), count)))
        self._used = kind.max if fixed is None else fixed
        items = self._items(kind.element, kind.max, parts["items"], base, name)
        self._used = None
        found: list[tuple[Truth, Value]] = []
        for at, item in enumerate(items):
            here = terms.below(terms.bits(at, count.size()), count)
            self._assumed.append(terms.any_of([here, is_zero(item)]))
            for guard, earlier in found:
                self._assumed.append(
                    terms.implied(terms.all_of([here, guard]), terms.negated(values.equal(item, earlier)))
                )
            found.append((here, item))
        return Listed(tuple(found), distinct=True, count=values.unsigned(count, kind.max))


def is_zero(value: Value) -> Truth:
    """Whether all bits of a set's unused item are zero."""
    if not isinstance(value, Integer):
        raise Unsupported(f"a set of {type(value).__name__}")
    return values.equal(value, values.integer(0))


def from_word(kind: ir.Record, word: Bits) -> Record:
    """The record in a word of a whole table; only scalars whose every bit pattern is a value."""
    at, fields = 0, {}
    for name, each in kind.fields:
        width = word_bits(each)
        term = terms.extract(word, at + width - 1, at)
        at += width
        match each:
            case ir.UInt():
                fields[name] = cast(Value, values.unsigned(term))
            case ir.Enum() if len(each.members) == 1 << width:
                fields[name] = Text(each.members, terms.widen(term, NUMBER_BITS))
            case ir.Bool():
                fields[name] = terms.equal(term, terms.bits(1, 1))
            case _:
                raise Unsupported(f"a whole table with a field of type {type(each).__name__}")
    return Record(fields)


# --- Outputs ---------------------------------------------------------------------------------------------

Load = Callable[[int, int], Bits]
"""Reads the bytes of an output, by offset and size."""


@dataclass(frozen=True)
class Difference:
    """A way in which an output may be wrong: the condition that it is."""

    field: str
    condition: Truth


@dataclass
class Comparison:
    """Compares bytes of C with values of TLA+. load: reads the output. before: reads the same place of the input."""

    load: Load
    before: Load
    found: list[Difference] = field(default_factory=list)

    def record(self, kind: ir.Record, shape: Struct, value: Value, initial: Record, name: str) -> list[Difference]:
        """The ways in which a record may be wrong."""
        self.found = []
        if not isinstance(value, Record) or value.fields.keys() != initial.fields.keys():
            raise Unsupported(f"the step makes something else of its {name}")
        self._record(kind, Member(0, shape.size, struct=shape), 0, value, initial, name)
        return self.found

    def _record(self, kind: ir.Record, member: Member, base: int, value: Record, initial: Value, name: str) -> None:
        if value.fields.keys() != {each for each, _ in kind.fields}:
            raise Unsupported(f"the step makes a record of other fields of {name}")
        for each, inner in kind.fields:
            found = members_of(member).get(c_names.field(each))
            first = initial.fields[each] if isinstance(initial, Record) else None
            if found is not None:
                self._compare(inner, found, base + member.offset, value.fields[each], first, f"{name}.{each}")
            elif first is None:
                raise Unsupported(f"the C struct has no member for {name}.{each}")
            else:  # C cannot change it, so TLA+ must not
                self._add(f"{name}.{each}", terms.negated(values.equal(value.fields[each], first)))

    def _add(self, name: str, wrong: Truth) -> None:
        if not z3.is_false(wrong):
            self.found.append(Difference(name, wrong))

    def _compare(
        self, kind: ir.Type, member: Member, base: int, value: Value, initial: Value | None, name: str
    ) -> None:
        start = base + member.offset
        if value is initial and self.load(start, member.size).eq(self.before(start, member.size)):
            return
        match kind:
            case ir.Record() if isinstance(value, Record):
                self._record(kind, member, base, value, initial or value, name)
            case ir.Array() if isinstance(value, Array):
                if len(value.items) != kind.size:
                    raise Unsupported(f"the step makes an array of {len(value.items)} items of {name}")
                slots = parts_of(member)["items"]
                self._rest(kind, slots, start, name)
                for at, item in enumerate(value.items):
                    first = initial.items[at] if isinstance(initial, Array) else None
                    self._item(kind.element, slots, start, at, item, first, f"{name}.{at + 1}")
            case ir.Set():
                self._set(kind, member, start, value, name)
            case _:
                self._scalar(kind, self.load(start, member.size), value, name)

    def _rest(self, kind: ir.Array, slots: Member, base: int, name: str) -> None:
        """The bits of a word beyond its items are zero, before and after."""
        used = 0 if slots.elements is not None else kind.size * word_bits(kind.element)
        if 0 < used < 8 * slots.size:
            rest = terms.extract(self.load(base + slots.offset, slots.size), 8 * slots.size - 1, used)
            self._add(f"{name}, unused bits", terms.negated(terms.equal(rest, terms.bits(0, rest.size()))))

    def _item(
        self, kind: ir.Type, slots: Member, base: int, at: int, value: Value, initial: Value | None, name: str
    ) -> None:
        if slots.elements is not None:
            _, element = slots.elements
            start = base + slots.offset + at * element.size
            self._compare(kind, replace(element, offset=0), start, value, initial, name)
            return
        word, width = self.load(base + slots.offset, slots.size), word_bits(kind)
        self._scalar(kind, terms.extract(word, (at + 1) * width - 1, at * width), value, name)

    def _scalar(self, kind: ir.Type, found: Bits, value: Value, name: str) -> None:
        term, fits = encoded(kind, value)
        self._add(name, terms.negated(terms.all_of([fits, terms.equal(found, terms.widen(term, found.size()))])))

    def _set(self, kind: ir.Set, member: Member, start: int, value: Value, name: str) -> None:
        """A set has the right elements, each once, and nothing beyond them."""
        if not isinstance(value, (Range, Small, Listed)) or not isinstance(kind.element, ir.UInt):
            raise Unsupported(f"a set of {type(kind.element).__name__}")
        parts, width = parts_of(member), kind.element.width
        count = self.load(start + parts["count"].offset, parts["count"].size)
        slots = parts["items"]
        whole = self.load(start + slots.offset, slots.size)
        step = 8 * slots.elements[1].size if slots.elements else width
        items: list[tuple[Truth, Value]] = []
        for at in range(kind.max):
            item = terms.extract(whole, (at + 1) * step - 1, at * step)
            here = terms.below(terms.bits(at, count.size()), count)
            number = values.unsigned(item)
            fits = values.less(number, values.integer(1 << width))
            inside = terms.all_of([fits, values.member(number, value)])
            self._add(f"{name}.{at + 1}", terms.negated(terms.truth_if(here, inside, is_zero(number))))
            for other, (guard, earlier) in enumerate(items):
                twice = terms.all_of([here, guard, values.equal(number, earlier)])
                self._add(f"{name}.{other + 1} and {at + 1}", twice)
            items.append((here, number))
        if step * kind.max < whole.size():
            rest = terms.extract(whole, whole.size() - 1, step * kind.max)
            self._add(f"{name}, unused bits", terms.negated(terms.equal(rest, terms.bits(0, rest.size()))))
        self._add(f"{name}.count", terms.below(terms.bits(kind.max, count.size()), count))
        for guard, element in values.listed(value).items:
            self._add(f"{name}, a missing element", terms.all_of([guard, _is_none_of(element, items)]))


def _is_none_of(element: Value, items: list[tuple[Truth, Value]]) -> Truth:
    return terms.negated(values.member(element, Listed(tuple(items))))


def encoded(kind: ir.Type, value: Value) -> tuple[Bits, Truth]:
    """The bits of a scalar, and the condition that the type has the value."""
    width = word_bits(kind)
    match kind, value:
        case ir.UInt(), Integer():
            fits = values.member(value, Range(values.integer(0), values.integer((1 << width) - 1)))
            return values.resized(value, width) if value.term.size() >= width else terms.widen(value.term, width), fits
        case ir.Bool(), z3.BoolRef():
            return terms.truth_bit(value), terms.TRUE
        case ir.Enum(), Text():
            strangers = [each for each in value.members if each not in kind.members]
            fits = terms.negated(terms.any_of([values.is_text(value, each) for each in strangers]))
            known = values.renumbered(value, (*kind.members, *strangers))
            return terms.extract(known, width - 1, 0), fits
        case ir.Bytes(), _:
            return values.opaque(value, width), terms.TRUE
        case ir.Bits(enum=None), (Range() | Small() | Listed()):
            small, fits = values.as_small(value, kind.size)
            return small.term, fits
    raise Unsupported(f"a {type(value).__name__} in a field of type {type(kind).__name__}")
