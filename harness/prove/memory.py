"""Memory of a symbolic execution: regions of chunks of bytes, each chunk a term or a pointer.

A region is a cell, the message, the environment, the stack, or constant data. Offsets may be terms, if they have few
values. Addresses are pairs of region and offset, so a program cannot get from one region to another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import z3

from harness.prove import terms
from harness.prove.terms import Bits, Truth

CHUNK_MAX = 8
CHOICES_MAX = 64
CERTAIN_MAX = 16


class Unsupported(Exception):
    """Something that the prover does not do; the message says what."""


@dataclass(frozen=True)
class Pointer:
    """An address: an offset in a region."""

    region: str
    offset: Bits


class Undefined:
    """The content of a register or of memory that differs in kind on two paths, or was never written."""


UNDEFINED = Undefined()
Value: TypeAlias = Bits | Pointer | Undefined
Chunks = dict[int, tuple[int, Value]]
"""Size and content of each chunk, by its offset."""


@dataclass(frozen=True)
class Region:
    """The part of a region that never changes.

    size: in bytes. base: the offset of its first byte; negative for the stack. table: the function from an index to the
    64-bit word, for a whole table. anywhere: whether it may be read at any address, for guesses.
    """

    name: str
    size: int
    base: int = 0
    writable: bool = True
    table: z3.FuncDeclRef | None = None
    anywhere: bool = False


@dataclass
class Memory:
    """The regions and their contents. A copy shares contents until one of the two writes."""

    regions: dict[str, Region]
    contents: dict[str, Chunks] = field(default_factory=dict)

    def copy(self) -> Memory:
        """A memory that can go its own way."""
        return Memory(self.regions, dict(self.contents))

    # --- Loads ---------------------------------------------------------------------------------------

    def load(self, address: Pointer, size: int, feasible: Callable[[Truth], bool]) -> Value:
        """The content of `size` bytes. feasible: whether a condition can hold here."""
        region = self.regions[address.region]
        if region.table is not None:
            return _of_table(region, address, size)
        choices = self._choices(address, size, feasible)
        values = [self._load(region, at, size) for _, at in choices]
        result = values[-1]
        for (condition, _), value in reversed(list(zip(choices[:-1], values[:-1]))):
            result = merged(condition, value, result)
        return result

    def _load(self, region: Region, at: int, size: int) -> Value:
        chunks = self.contents.get(region.name, {})
        exact = chunks.get(at)
        if exact is not None and exact[0] == size:
            return exact[1]
        parts: list[Bits] = []
        place = at
        while place < at + size:
            start = _chunk_at(chunks, place)
            if start is None:
                return UNDEFINED
            length, value = chunks[start]
            if isinstance(value, (Pointer, Undefined)):
                return UNDEFINED
            end = min(start + length, at + size)
            parts.insert(0, terms.extract(value, 8 * (end - start) - 1, 8 * (place - start)))
            place = end
        return terms.concat(parts)

    # --- Stores --------------------------------------------------------------------------------------

    def store(self, address: Pointer, size: int, value: Value, feasible: Callable[[Truth], bool]) -> None:
        """Changes `size` bytes."""
        region = self.regions[address.region]
        if not region.writable or region.table is not None:
            raise Unsupported(f"the program writes to {region.name}")
        choices = self._choices(address, size, feasible)
        chunks = dict(self.contents.get(region.name, {}))
        if len(choices) == 1:
            _put(chunks, choices[0][1], size, value)
        else:
            for condition, at in choices:
                _put(chunks, at, size, merged(condition, value, self._load(region, at, size)))
        self.contents[region.name] = chunks

    def _choices(self, address: Pointer, size: int, feasible: Callable[[Truth], bool]) -> list[tuple[Truth, int]]:
        """The offsets that an address may have, each with its condition; the conditions exclude one another."""
        region = self.regions[address.region]
        if address.offset.size() != 64:
            raise Unsupported("an offset has not 64 bits")
        fixed = terms.constant(address.offset)
        if fixed is not None:
            return [(terms.TRUE, _inside(region, _signed(fixed), size))]
        term, factor, plus = linear(address.offset)
        choices = []
        for at in range(region.base, region.base + region.size - size + 1):
            value, rest = divmod((at - plus) % (1 << 64), factor)
            condition = terms.equal(term, terms.bits(value, 64)) if rest == 0 else terms.FALSE
            if not z3.is_false(condition):
                choices.append((condition, at))
        if len(choices) == 1 << terms.mask(term).bit_count() and len(choices) <= CERTAIN_MAX:
            return choices  # the term has no other value
        found = [each for each in choices if feasible(each[0])]
        elsewhere = terms.negated(terms.any_of([condition for condition, _ in found]))
        if not z3.is_false(elsewhere) and feasible(elsewhere):
            raise Unsupported(f"an address may be outside of {region.name}")
        if not found or len(found) > CHOICES_MAX:
            raise Unsupported(f"an offset in {region.name} has {len(found)} values")
        return found


def _of_table(region: Region, address: Pointer, size: int) -> Bits:
    """A word of a table. Its cells are words, so that nothing else is read of one."""
    assert region.table is not None
    if region.anywhere and size == 8:
        return cast(Bits, region.table(address.offset))
    term, factor, plus = linear(address.offset)
    if size != 8 or factor % 8 or plus % 8:
        raise Unsupported(f"the program reads a part of a word of {region.name}")
    index = terms.add(terms.multiply(term, terms.bits(factor // 8, 64)), terms.bits(_signed(plus) // 8, 64))
    return cast(Bits, region.table(index))


def _inside(region: Region, at: int, size: int) -> int:
    if not region.base <= at <= region.base + region.size - size:
        raise Unsupported(f"the program reaches beyond {region.name}, at {at}")
    return at


def _signed(value: int) -> int:
    return value - (value >> 63 << 64)


def linear(term: Bits) -> tuple[Bits, int, int]:
    """A term x, a factor and a summand, so that the given term is their combination, modulo 2^64."""
    factor, plus = 1, 0
    while True:
        of, width = terms.kind(term), term.size()
        arguments = cast("list[Bits]", term.children())
        value = terms.constant(arguments[1]) if len(arguments) == 2 else None
        exact = width == 64  # narrower arithmetic must not wrap
        if of == z3.Z3_OP_BADD and value is not None and (exact or terms.mask(arguments[0]) + value < 1 << width):
            plus += factor * value
            term = arguments[0]
        elif of == z3.Z3_OP_BMUL and value is not None and (exact or terms.mask(arguments[0]) * value < 1 << width):
            factor *= value
            term = arguments[0]
        elif of == z3.Z3_OP_CONCAT and terms.constant((parts := terms.pieces(term))[-1]) == 0:
            factor <<= parts[-1].size()
            term = terms.concat(parts[:-1])
        elif of == z3.Z3_OP_CONCAT and terms.constant(parts[0]) == 0:
            term = terms.concat(parts[1:])
        else:
            break
    return terms.widen(term, 64), factor % (1 << 64), plus % (1 << 64)


def merged(condition: Truth, then: Value, otherwise: Value) -> Value:
    """The content after two paths meet."""
    if then is otherwise:
        return then
    if isinstance(then, Pointer) and isinstance(otherwise, Pointer) and then.region == otherwise.region:
        return Pointer(then.region, terms.bits_if(condition, then.offset, otherwise.offset))
    if isinstance(then, z3.BitVecRef) and isinstance(otherwise, z3.BitVecRef):
        return terms.bits_if(condition, then, otherwise)
    return UNDEFINED


# --- Chunks ------------------------------------------------------------------------------------------


def _chunk_at(chunks: Chunks, at: int) -> int | None:
    """The offset of the chunk that holds a byte."""
    for start in range(at, at - CHUNK_MAX, -1):
        if start in chunks:
            return start if start + chunks[start][0] > at else None
    return None


def _cut(chunks: Chunks, at: int) -> None:
    """Splits the chunk that an offset is inside of."""
    start = _chunk_at(chunks, at)
    if start is None or start == at:
        return
    size, value = chunks[start]
    first = at - start
    low: Value = UNDEFINED
    high: Value = UNDEFINED
    if isinstance(value, z3.BitVecRef):
        low, high = terms.extract(value, 8 * first - 1, 0), terms.extract(value, 8 * size - 1, 8 * first)
    chunks[start] = (first, low)
    chunks[at] = (size - first, high)


def _put(chunks: Chunks, at: int, size: int, value: Value) -> None:
    _cut(chunks, at)
    _cut(chunks, at + size)
    for inside in range(at, at + size):
        chunks.pop(inside, None)
    chunks[at] = (size, value)


def join(condition: Truth, left: Memory, right: Memory) -> Memory:
    """The memory after two paths met; on the left one the condition holds."""
    result = Memory(left.regions)
    for name in left.contents.keys() | right.contents.keys():
        one, other = left.contents.get(name, {}), right.contents.get(name, {})
        result.contents[name] = one if one is other else _joined(condition, one, other)
    return result


def _joined(condition: Truth, left: Chunks, right: Chunks) -> Chunks:
    if {at: size for at, (size, _) in left.items()} != {at: size for at, (size, _) in right.items()}:
        left, right = dict(left), dict(right)
        for chunks, others in ((left, right), (right, left)):
            for at, (size, _) in list(others.items()):
                _cut(chunks, at)
                _cut(chunks, at + size)
    return {at: (size, merged(condition, value, right[at][1])) for at, (size, value) in left.items() if at in right}
