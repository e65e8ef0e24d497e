"""Writes small C functions on sets, sequences, arrays and records, if a step needs them.

A `Helpers` collects the functions that the steps of one protocol need, each after the functions it calls.
Every function is `static __always_inline` and its loops are unrolled, so that clang keeps the
cell of a word in registers.
"""

from __future__ import annotations

from collections import Counter

from codegen.c.generated_names import is_own
from codegen.c.names import Names, field, snake, type_label
from codegen.emit.types import GeneratorError, Vector, c_type, declared_types, unsigned
from codegen.ir import Bytes, Interval, Protocol, Record, Set, Type, UInt, expect
from codegen.ir.measure import UNROLL_MAX, WORD_BITS, hull, is_scalar, is_vector, type_interval


def unroll(iterations: int) -> str:
    return "\tSTEPWISE_UNROLL\n" if iterations <= UNROLL_MAX else ""


def _is_taken(name: str, protocol: Protocol) -> bool:
    """Whether a step, a section or the generator has a function of this name."""
    sections = [*protocol.xdp, *protocol.tc, *protocol.user]
    sections += [section for one in protocol.sweep for section in one.sections]
    steps = {snake(step.name) for step in (*(section.step for section in sections), *protocol.daemon_steps)}
    on_tables = {f"{snake(section.step.name)}_on_{snake(section.table)}" for section in sections}
    tables = [table.name for table in protocol.tables]
    records = [
        type_.name
        for type_ in declared_types((protocol.message, *(table.cell for table in protocol.tables)))
        if isinstance(type_, Record)
    ]
    ends = [name, name.removesuffix("_again"), name.removesuffix("_retried")]
    return is_own(name, tables, records) is not None or name in steps or any(end in on_tables for end in ends)


class Helpers:
    """Defines each function when a step first asks for it, and returns its name."""

    def __init__(self, names: Names):
        self.names = names
        self._definitions: dict[str, str] = {}
        self._parts: set[str] = set()

    def text(self) -> str:
        return "\n".join(self._definitions.values())

    def part_name(self, protocol: Protocol, step: str, operator: str, times: Counter[str]) -> str:
        """Returns a name for the next function of an operator that a step ends in. No other function has it."""
        while True:
            times[operator] += 1
            number = [str(times[operator])] if times[operator] > 1 else []
            for start in ([], ["part"]):
                name = "_".join(snake(part) for part in (*start, step, operator, *number))
                if name not in self._parts and not _is_taken(name, protocol):
                    self._parts.add(name)
                    return self.names.function(name)

    def _define(self, name: str, result: str, parameters: str, body: str) -> str:
        if name not in self._definitions:
            self._definitions[name] = f"static __always_inline {result} {name}({parameters})\n{{\n{body}}}\n"
        return name

    def _name(self, type_: Type, verb: str, other: Type | None = None) -> str:
        tail = f"_{type_label(other)}" if other is not None and other != type_ else ""
        return f"{self.names.tag(type_)}_{verb}{tail}"

    def _struct(self, type_: Type, name: str, const: bool = False) -> str:
        return f"{'const ' if const else ''}{c_type(self.names, type_)} *{name}"

    # --- Reading ------------------------------------------------------------------------------

    def items_type(self, vector: Vector) -> str:
        return unsigned(vector.size * vector.item_bits)

    def mask(self, vector: Vector) -> str:
        mask = (1 << vector.item_bits) - 1
        return f"{mask:#x}" + ("ULL" if mask >= 1 << 32 else "")

    def item(self, type_: Type, base: str, position: str) -> str:
        """Returns an expression: the item at a position from 0, of a vector that `base` points to."""
        vector = Vector.of(type_)
        if not vector.packed:
            return f"{base}->items[{position}]"
        element = c_type(self.names, vector.element)
        if vector.size == 1:
            pointer = f"({base})" if base.startswith("&") else base
            return f"({element}){pointer}->items"
        body = f"\treturn ({element})(vector->items >> {vector.item_bits} * position & {self.mask(vector)});\n"
        name = self._define(
            self._name(type_, "item"), element, f"{self._struct(type_, 'vector', True)}, __u32 position", body
        )
        return f"{name}({base}, {position})"

    def equal(self, type_: Type, left: str, right: str) -> str:
        """Returns an expression: whether two values are equal; `left` and `right` are lvalues, or scalars."""
        if is_scalar(type_):
            return f"{left} == {right}"
        return f"{self.equality(type_)}(&{left}, &{right})"

    def equality(self, type_: Type, other: Type | None = None) -> str:
        """Name of a function (const left *, const right *) -> bool."""
        other = other or type_
        name = self._name(type_, "equal", other)
        parameters = f"{self._struct(type_, 'left', True)}, {self._struct(other, 'right', True)}"
        if isinstance(type_, Record):
            parts = [self.equal(inner, f"left->{key}", f"right->{key}") for key, inner in self._members(type_)]
            body = "\treturn " + " &&\n\t       ".join(parts) + ";\n"
        elif is_vector(type_):
            body = self._vector_equality(type_, other)
        else:
            size = expect(type_, Bytes).size
            body = (
                f"{unroll(size)}\tfor (__u32 i = 0; i < {size}; i++)\n"
                "\t\tif (left->bytes[i] != right->bytes[i])\n\t\t\treturn false;\n\treturn true;\n"
            )
        return self._define(name, "bool", parameters, body)

    def _members(self, record: Record) -> list[tuple[str, Type]]:
        return [(field(key), inner) for key, inner in record.fields]

    def _vector_equality(self, type_: Type, other: Type) -> str:
        vector = Vector.of(type_)
        if isinstance(type_, Set):
            return f"\treturn left->count == right->count && {self.subset(type_, other)}(left, right);\n"
        if vector.packed and type_ == other:
            counts = "left->count == right->count && " if vector.counted else ""
            return f"\treturn {counts}left->items == right->items;\n"
        shorter = min(vector.size, Vector.of(other).size)
        left, right = self.item(type_, "left", "i"), self.item(other, "right", "i")
        compare = (
            f"{left} != {right}"
            if is_scalar(vector.element)
            else f"!{self.equality(vector.element)}(&{left}, &{right})"
        )
        counts = "\tif (left->count != right->count)\n\t\treturn false;\n" if vector.counted else ""
        inside = "i < left->count && " if vector.counted else ""
        return (
            f"{counts}{unroll(shorter)}\tfor (__u32 i = 0; i < {shorter}; i++)\n"
            f"\t\tif ({inside}{compare})\n\t\t\treturn false;\n\treturn true;\n"
        )

    # --- Sets ---------------------------------------------------------------------------------

    def _element_parameter(self, vector: Vector) -> str:
        if is_scalar(vector.element):
            return f"{c_type(self.names, vector.element)} element"
        return f"const {c_type(self.names, vector.element)} *element"

    def _same(self, vector: Vector, item: str) -> str:
        if is_scalar(vector.element):
            return f"{item} == element"
        return f"{self.equality(vector.element)}(&{item}, element)"

    def has(self, type_: Type) -> str:
        """Name of a function (const set *, element) -> bool."""
        vector = Vector.of(type_)
        parameters = f"{self._struct(type_, 'set', True)}, {self._element_parameter(vector)}"
        if vector.packed and vector.size > 1:
            body = f"\treturn {self._find(vector)} != 0;\n"
        elif self._branchless(vector):
            body = (
                "\t__u64 found = 0;\n\n"
                f"{unroll(vector.size)}\tfor (__u32 i = 0; i < {vector.size}; i++)\n"
                "\t\tfound += stepwise_equal_bit(set->items[i], element);\n"
                "\t/* Unused items are zero. */\n"
                f"\treturn found > stepwise_where(stepwise_equal_bit(element, 0), {vector.size} - set->count);\n"
            )
        else:
            item = self.item(type_, "set", "i")
            body = (
                f"{unroll(vector.size)}\tfor (__u32 i = 0; i < {vector.size}; i++)\n"
                f"\t\tif (i < set->count && {self._same(vector, item)})\n\t\t\treturn true;\n\treturn false;\n"
            )
        return self._define(self._name(type_, "has"), "bool", parameters, body)

    def has_any(self, type_: Type, element: Type, known: Interval) -> str:
        """Name of a function (const set *, element) -> bool, for an element of another type in the interval `known`.

        A number that no item can be is not a member. The search for an item would take it modulo the item's type.
        """
        vector = Vector.of(type_)
        items = type_interval(vector.element)
        if not isinstance(element, UInt) or hull(known, items) == items:
            return self.has(type_)
        body = f"\treturn element <= {self.mask(vector)} && {self.has(type_)}(set, element);\n"
        parameters = f"{self._struct(type_, 'set', True)}, __u64 element"
        return self._define(self._name(type_, "has_number"), "bool", parameters, body)

    def _has_item(self, type_: Type, other: Type) -> str:
        """Name of a function (const set *, element) -> bool, for an element that is an item of `other`."""
        element = Vector.of(other).element
        return self.has_any(type_, element, type_interval(element))

    def _branchless(self, vector: Vector) -> bool:
        """Whether items can be searched without a branch for each. The verifier would follow both sides of each."""
        return is_scalar(vector.element) and vector.item_bits < WORD_BITS and vector.size > 1

    def _match(self, vector: Vector) -> str:
        """Returns an expression: 1 if item i is in use and equals the element."""
        if self._branchless(vector):
            return "stepwise_equal_bit(set->items[i], element) & stepwise_less_bit(i, set->count)"
        return f"i < set->count && {self._same(vector, self.item(vector.type, 'set', 'i'))}"

    def _blank(self, vector: Vector) -> str:
        return "0" if is_scalar(vector.element) else f"({c_type(self.names, vector.element)}){{}}"

    def _find(self, vector: Vector) -> str:
        return f"stepwise_packed_find(set->items, set->count, element, {vector.item_bits}, {vector.size})"

    def only(self, type_: Type) -> str:
        """Name of a function (const set *, element) -> bool: the set is {element}."""
        vector = Vector.of(type_)
        if vector.packed:
            body = "\treturn stepwise_packed_is_only(set->items, set->count, element);\n"
        else:
            body = f"\treturn set->count == 1 && {self._same(vector, 'set->items[0]')};\n"
        parameters = f"{self._struct(type_, 'set', True)}, {self._element_parameter(vector)}"
        return self._define(self._name(type_, "is_only"), "bool", parameters, body)

    def insert(self, type_: Type) -> str:
        """Name of a function (set *, element) that inserts in place."""
        body = f"\tif ({self.has(type_)}(set, element))\n\t\treturn;\n\t{self.append(type_)}(set, element);\n"
        parameters = f"{self._struct(type_, 'set')}, {self._element_parameter(Vector.of(type_))}"
        return self._define(self._name(type_, "insert"), "void", parameters, body)

    def append(self, type_: Type) -> str:
        """Name of a function (set or sequence *, element) that adds an item, which must fit (and be new to a set)."""
        vector = Vector.of(type_)
        value = "element" if is_scalar(vector.element) else "*element"
        if vector.packed and vector.size == 1:
            body = "\tvector->items = element;\n\tvector->count = 1;\n"
        elif vector.packed:
            body = (
                f"\tvector->items |= ({self.items_type(vector)})element << {vector.item_bits} * vector->count;\n"
                "\tvector->count++;\n"
            )
        else:
            # The verifier would follow what comes after an append in a loop once for each count that it knows.
            body = (
                "\t__u64 last = vector->count;\n\n"
                f"\tif (stepwise_in_bounds(&last, {vector.size})) {{\n"
                f"\t\tvector->items[last] = {value};\n\t\tvector->count = stepwise_hide(last + 1);\n\t}}\n"
            )
        parameters = f"{self._struct(type_, 'vector')}, {self._element_parameter(vector)}"
        return self._define(self._name(type_, "append"), "void", parameters, body)

    def remove(self, type_: Type) -> str:
        """Name of a function (set *, element) that removes in place."""
        vector = Vector.of(type_)
        parameters = f"{self._struct(type_, 'set')}, {self._element_parameter(vector)}"
        if vector.packed and vector.size == 1:
            body = "\tif (set->count && set->items == element) {\n\t\tset->items = 0;\n\t\tset->count = 0;\n\t}\n"
        elif vector.packed:
            body = (
                f"\tconst __u64 found = {self._find(vector)};\n\n\tif (found) {{\n"
                "\t\tset->items = stepwise_packed_cut(set->items, found, "
                f"{vector.item_bits});\n\t\tset->count--;\n\t}}\n"
            )
        else:
            # The last item replaces the removed one, because items have no order.
            body = (
                "\t__u64 found = 0, hole = 0, last;\n\n"
                "\tif (!set->count)\n\t\treturn;\n"
                f"{unroll(vector.size)}\tfor (__u32 i = 0; i < {vector.size}; i++) {{\n"
                f"\t\tconst __u64 here = {self._match(vector)};\n\n"
                "\t\tfound |= here;\n\t\thole |= stepwise_where(here, i);\n\t}\n"
                "\tif (!found)\n\t\treturn;\n"
                "\tlast = set->count - 1;\n"
                f"\tif (!stepwise_in_bounds(&last, {vector.size}) || !stepwise_in_bounds(&hole, "
                f"{vector.size}))\n\t\treturn;\n"
                "\tset->items[hole] = set->items[last];\n"
                f"\tset->items[last] = {self._blank(vector)};\n"
                "\tset->count = last;\n"
            )
        return self._define(self._name(type_, "remove"), "void", parameters, body)

    def _next_item(self, vector: Vector, base: str) -> str:
        blank = self._blank(vector)
        return f"i < {vector.size - 1} ? {base}->items[i + 1] : {blank}" if vector.size > 1 else blank

    def subset(self, type_: Type, other: Type) -> str:
        """Name of a function (const left *, const right *) -> bool: right has each item of left."""
        vector = Vector.of(type_)
        argument = self.item(type_, "left", "i")
        if not is_scalar(vector.element):
            argument = "&" + argument
        has = self._has_item(other, type_)
        body = (
            f"{unroll(vector.size)}\tfor (__u32 i = 0; i < {vector.size}; i++)\n"
            f"\t\tif (i < left->count && !{has}(right, {argument}))\n\t\t\treturn false;\n\treturn true;\n"
        )
        parameters = f"{self._struct(type_, 'left', True)}, {self._struct(other, 'right', True)}"
        return self._define(self._name(type_, "subset", other), "bool", parameters, body)

    def combine(self, op: str, type_: Type, other: Type) -> str:
        """Name of a function (set *, const other *): union, intersect or minus, in place."""
        if op == "union":
            return self._union(type_, other)
        if op not in ("intersect", "minus"):
            raise GeneratorError(f"no set operation {op}")
        vector = Vector.of(type_)
        struct = c_type(self.names, type_)
        item = self.item(type_, "(&was)", "i").replace("(&was)->", "was.").replace("(&was)", "&was")
        argument = item if is_scalar(vector.element) else "&" + item
        kept = f"{'!' if op == 'minus' else ''}{self._has_item(other, type_)}(other, {argument})"
        # Append the items that stay to an empty set. So no item moves twice, and unused items are zero.
        body = (
            f"\tconst {struct} was = *set;\n\n\t*set = ({struct}){{}};\n"
            f"{unroll(vector.size)}\tfor (__u32 i = 0; i < {vector.size}; i++)\n"
            f"\t\tif (i < was.count && {kept})\n\t\t\t{self.append(type_)}(set, {argument});\n"
        )
        parameters = f"{self._struct(type_, 'set')}, {self._struct(other, 'other', True)}"
        return self._define(self._name(type_, op, other), "void", parameters, body)

    def _union(self, type_: Type, other: Type) -> str:
        body = self._each_of_other(other, Vector.of(other).size, f"{self.insert(type_)}(set")
        parameters = f"{self._struct(type_, 'set')}, {self._struct(other, 'other', True)}"
        return self._define(self._name(type_, "union", other), "void", parameters, body)

    def _each_of_other(self, other: Type, size: int, call: str) -> str:
        """Returns a body that makes `call` for each of the first `size` items of `other`.

        The text `call` lacks the last argument, which is the item.
        """
        item = self.item(other, "other", "i")
        argument = item if is_scalar(Vector.of(other).element) else "&" + item
        return (
            f"{unroll(size)}\tfor (__u32 i = 0; i < {size}; i++)\n"
            f"\t\tif (i < other->count)\n\t\t\t{call}, {argument});\n"
        )

    def convert(self, type_: Type, other: Type) -> str:
        """Name of a function (vector *, const other *) that copies items, which must fit, between types."""
        vector, source = Vector.of(type_), Vector.of(other)
        if vector.packed and source.packed and vector.item_bits == source.item_bits:
            body = "\tvector->items = other->items;\n\tvector->count = other->count;\n"
        else:
            each = self._each_of_other(other, min(vector.size, source.size), f"{self.append(type_)}(vector")
            body = f"\t*vector = ({c_type(self.names, type_)}){{}};\n{each}"
        parameters = f"{self._struct(type_, 'vector')}, {self._struct(other, 'other', True)}"
        return self._define(self._name(type_, "from", other), "void", parameters, body)

    # --- Arrays and sequences -------------------------------------------------------------------

    def at(self, type_: Type) -> str:
        """Name of a function (const vector *, index from 1) -> item (a pointer to it unless scalar)."""
        vector = Vector.of(type_)
        element = c_type(self.names, vector.element)
        parameters = f"{self._struct(type_, 'vector', True)}, __u32 index"
        if vector.packed and vector.size == 1:
            return self._define(
                self._name(type_, "at"), element, parameters, f"\t(void)index;\n\treturn ({element})vector->items;\n"
            )
        if vector.packed:
            return self._define(
                self._name(type_, "at"), element, parameters, f"\treturn {self.item(type_, 'vector', 'index - 1')};\n"
            )
        result = element if is_scalar(vector.element) else f"const {element} *"
        reference = "" if is_scalar(vector.element) else "&"
        # clang may know more of an index than the verifier: the bounds of a remainder, or of what is on the stack. From
        # comparisons of one value it would compute an address, so each compares a value of its own.
        body = (
            f"{unroll(vector.size - 1)}\tfor (__u32 i = 0; i < {vector.size - 1}; i++)\n"
            f"\t\tif (stepwise_compared_index(index) == i + 1)\n\t\t\treturn {reference}vector->items[i];\n"
            f"\treturn {reference}vector->items[{vector.size - 1}];\n"
        )
        if vector.size == 1:
            body = f"\t(void)index;\n\treturn {reference}vector->items[0];\n"
        return self._define(self._name(type_, "at"), result, parameters, body)

    def put(self, type_: Type) -> str:
        """Name of a function (vector *, index from 1, item) that replaces one item."""
        vector = Vector.of(type_)
        value = "element" if is_scalar(vector.element) else "*element"
        if vector.packed and vector.size == 1:
            body = "\t(void)index;\n\tvector->items = element;\n"
        elif vector.packed:
            wide = self.items_type(vector)
            body = (
                f"\tconst __u32 shift = {vector.item_bits} * (index - 1);\n\n"
                f"\tvector->items = (vector->items & ~(({wide}){self.mask(vector)} << shift)) | ({wide})element << "
                "shift;\n"
            )
        else:
            body = (
                f"{unroll(vector.size)}\tfor (__u32 i = 0; i < {vector.size}; i++)\n"
                f"\t\tif (stepwise_compared_index(index) == i + 1)\n\t\t\tvector->items[i] = {value};\n"
            )
        parameters = f"{self._struct(type_, 'vector')}, __u32 index, {self._element_parameter(vector)}"
        return self._define(self._name(type_, "put"), "void", parameters, body)

    def tail(self, type_: Type) -> str:
        """Name of a function (sequence *) that drops the first item."""
        vector = Vector.of(type_)
        if vector.packed and vector.size == 1:
            body = "\tsequence->items = 0;\n"
        elif vector.packed:
            body = f"\tsequence->items >>= {vector.item_bits};\n"
        else:
            body = (
                f"{unroll(vector.size)}\tfor (__u32 i = 0; i < {vector.size}; i++)\n"
                f"\t\tsequence->items[i] = {self._next_item(vector, 'sequence')};\n"
            )
        body += "\tsequence->count--;\n"
        return self._define(self._name(type_, "tail"), "void", self._struct(type_, "sequence"), body)
