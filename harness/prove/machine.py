"""Runs a BPF function on terms instead of numbers: one run stands for all inputs.

At a jump that depends on the input both ways are followed, and where ways meet their states become one: every register
and every byte is then an IF. So the effort grows with the length of the function, and not with the number of its
paths. `feasible` asks Z3 whether a way can be taken at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import z3

from harness.prove import terms
from harness.prove.bytecode import (
    ALU32,
    ALU64,
    JUMP32,
    JUMP64,
    LOAD,
    LOAD_IMMEDIATE,
    STORE,
    STORE_IMMEDIATE,
    Function,
    Instruction,
)
from harness.prove.folds import Folds
from harness.prove.loops import Loops
from harness.prove.memory import UNDEFINED, Memory, Pointer, Unsupported, Value
from harness.prove.terms import Bits, Truth
from harness.prove.ways import Graph, State, meet

SIZES = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}
ADD, SUB, MUL, DIV, OR, AND, LSH, RSH, NEG, MOD, XOR, MOV, ARSH, END = range(0x00, 0xE0, 0x10)
JA, JEQ, JGT, JGE, JSET, JNE, JSGT, JSGE, CALL, EXIT, JLT, JLE, JSLT, JSLE = range(0x00, 0xE0, 0x10)
STACK = "stack"
STACK_SIZE = 512
ROUNDS_MAX = 20

Feasible = Callable[[tuple[Truth, ...]], bool]


@dataclass(frozen=True)
class Outcome:
    """The end of a function: its result, and the memory that it left. jumps: how many depended on the input."""

    result: Bits
    memory: Memory
    jumps: int


class Machine:
    """Runs one function. feasible: whether conditions can hold together.

    table: the capacity of the table that the function reads as a whole, if it does. folds: those of the step.
    """

    def __init__(
        self, function: Function, feasible: Feasible, table: int | None = None, folds: Folds | None = None
    ) -> None:
        self._function = function
        self._feasible = feasible
        graph = Graph(function)
        self._order = graph.order
        self._loops: Loops | None = None
        if table is not None and folds is not None:
            self._loops = Loops(function, graph, (table - 1, table), folds, self._block, feasible)
        self._jumps = 0

    def run(self, memory: Memory, arguments: list[Value]) -> Outcome:
        """Runs the function from its first instruction, on arguments in r1 to r5."""
        registers: list[Value] = [UNDEFINED] * 11
        registers[1 : 1 + len(arguments)] = arguments
        registers[10] = Pointer(STACK, terms.bits(0, 64))
        waiting: dict[int, list[State]] = {0: [State(registers, memory.copy())]}
        ends: list[State] = []
        visits: dict[int, int] = {}
        while waiting:
            start = min(waiting, key=self._order.__getitem__)
            visits[start] = visits.get(start, 0) + 1
            if visits[start] > ROUNDS_MAX:
                raise Unsupported(f"a loop of more than {ROUNDS_MAX} rounds")
            state = meet(waiting.pop(start))
            loops = self._loops
            ways = loops.left(start, state) if loops and loops.begins(start) else self._block(start, state)
            for target, after in ways:
                if target is None:
                    ends.append(after)
                else:
                    waiting.setdefault(target, []).append(after)
        if not ends:
            raise Unsupported("the function has no end under the leaf's condition")
        end = meet(ends)
        result = end.registers[0]
        if not isinstance(result, z3.BitVecRef):
            raise Unsupported("the function returns no number")
        return Outcome(result, end.memory, self._jumps)

    def _block(self, at: int, state: State) -> list[tuple[int | None, State]]:
        """Runs to the next place where ways part or meet; returns the places to go on from."""
        begin = at
        while True:
            instruction = self._function.instructions[at]
            assert instruction is not None
            if not instruction.known:
                raise Unsupported(f"an instruction of code {instruction.code:#x}, at {at}")
            if at != begin and at in self._order:
                return [(at, state)]
            if instruction.family in (JUMP64, JUMP32):
                return self._jump(at, instruction, state)
            at += self._execute(instruction, state)

    # --- Jumps -----------------------------------------------------------------------------------------

    def _jump(self, at: int, instruction: Instruction, state: State) -> list[tuple[int | None, State]]:
        operation = instruction.operation
        if operation == EXIT:
            return [(None, state)]
        if operation == CALL:
            raise Unsupported(f"a call of helper {instruction.immediate}")
        target = at + 1 + instruction.offset
        if operation == JA:
            return [(target, state)]
        condition = self._condition(instruction, state)
        if z3.is_true(condition):
            return [(target, state)]
        if z3.is_false(condition):
            return [(at + 1, state)]
        can = self._feasible((*state.way, condition))
        cannot = self._feasible((*state.way, terms.negated(condition)))
        if can and not cannot:
            return [(target, state)]
        if cannot and not can:
            return [(at + 1, state)]
        if not can:
            return []  # nobody gets here
        self._jumps += 1
        other = State(list(state.registers), state.memory.copy(), (*state.way, condition))
        return [(target, other), (at + 1, replace(state, way=(*state.way, terms.negated(condition))))]

    def _condition(self, instruction: Instruction, state: State) -> Truth:
        left = state.registers[instruction.destination]
        right = self._operand(instruction, state)
        if isinstance(left, Pointer) or isinstance(right, Pointer):
            return _compared_pointers(instruction, left, right)
        one, other = number(left), number(right)
        if instruction.family == JUMP32:
            one, other = terms.extract(one, 31, 0), terms.extract(other, 31, 0)
        match instruction.operation:
            case op if op == JEQ:
                return terms.equal(one, other)
            case op if op == JNE:
                return terms.negated(terms.equal(one, other))
            case op if op == JGT:
                return terms.below(other, one)
            case op if op == JGE:
                return terms.negated(terms.below(one, other))
            case op if op == JLT:
                return terms.below(one, other)
            case op if op == JLE:
                return terms.negated(terms.below(other, one))
            case op if op == JSGT:
                return terms.below_signed(other, one)
            case op if op == JSGE:
                return terms.negated(terms.below_signed(one, other))
            case op if op == JSLT:
                return terms.below_signed(one, other)
            case op if op == JSLE:
                return terms.negated(terms.below_signed(other, one))
            case op if op == JSET:
                return terms.negated(terms.equal(terms.conjoin(one, other), terms.bits(0, one.size())))
        raise Unsupported(f"a jump of code {instruction.code:#x}")

    # --- Other instructions ----------------------------------------------------------------------------

    def _operand(self, instruction: Instruction, state: State) -> Value:
        if instruction.from_register:
            return state.registers[instruction.source]
        return terms.bits(instruction.immediate, 64)

    def _execute(self, instruction: Instruction, state: State) -> int:
        """Runs any instruction but a jump; returns the number of its slots."""
        registers = state.registers

        def can(condition: Truth) -> bool:
            return self._feasible((*state.way, condition))

        match instruction.family:
            case family if family in (ALU32, ALU64):
                registers[instruction.destination] = self._calculated(instruction, state)
            case family if family == LOAD_IMMEDIATE:
                registers[instruction.destination] = self._immediate(instruction, state)
                return 2
            case family if family == LOAD:
                size = SIZES[instruction.code & 0x18]
                address = _address(registers[instruction.source], instruction.offset)
                value = state.memory.load(address, size, can)
                registers[instruction.destination] = (
                    terms.widen(value, 64) if isinstance(value, z3.BitVecRef) else value
                )
            case family if family in (STORE, STORE_IMMEDIATE):
                size = SIZES[instruction.code & 0x18]
                stored: Value = terms.bits(instruction.immediate, 64)
                if family == STORE:
                    stored = registers[instruction.source]
                if isinstance(stored, z3.BitVecRef):
                    stored = terms.extract(stored, 8 * size - 1, 0)
                elif size != 8:
                    stored = UNDEFINED
                state.memory.store(_address(registers[instruction.destination], instruction.offset), size, stored, can)
        return 1

    def _immediate(self, instruction: Instruction, state: State) -> Value:
        if instruction.constant is None:
            return terms.bits(instruction.immediate, 64)
        section, offset = instruction.constant
        if section not in state.memory.regions:
            raise Unsupported(f"the function uses {section}")
        return Pointer(section, terms.bits(offset, 64))

    def _calculated(self, instruction: Instruction, state: State) -> Value:
        left, right = state.registers[instruction.destination], self._operand(instruction, state)
        operation, wide = instruction.operation, instruction.family == ALU64
        if operation == MOV:
            return right if wide else terms.widen(terms.extract(number(right), 31, 0), 64)
        if isinstance(left, Pointer) or isinstance(right, Pointer):
            return _moved_pointer(operation, wide, left, right)
        if operation == END:
            return _swapped(instruction, number(left))
        width = 64 if wide else 32
        one, other = (terms.extract(number(each), width - 1, 0) for each in (left, right))
        return terms.widen(_arithmetic(operation, one, other, width), 64)


def _arithmetic(operation: int, left: Bits, right: Bits, width: int) -> Bits:
    if operation in (DIV, MOD) and not terms.constant(right):
        raise Unsupported("a division by something that is not a positive constant")
    match operation:
        case op if op == ADD:
            return terms.add(left, right)
        case op if op == SUB:
            return terms.subtract(left, right)
        case op if op == MUL:
            return terms.multiply(left, right)
        case op if op == DIV:
            return terms.divide(left, right)
        case op if op == MOD:
            return terms.remainder(left, right)
        case op if op == OR:
            return terms.join(left, right)
        case op if op == AND:
            return terms.conjoin(left, right)
        case op if op == XOR:
            return terms.exclusive(left, right)
        case op if op == NEG:
            return terms.subtract(terms.bits(0, width), left)
    by = terms.conjoin(right, terms.bits(width - 1, width))
    match operation:
        case op if op == LSH:
            return terms.shift_left(left, by)
        case op if op == RSH:
            return terms.shift_right(left, by)
        case op if op == ARSH:
            return terms.shift_signed(left, by)
    raise Unsupported(f"arithmetic of code {operation:#x}")


def _swapped(instruction: Instruction, value: Bits) -> Bits:
    """The end instruction: only the form that changes the order of bytes; this machine is little-endian."""
    width = instruction.immediate
    low = terms.extract(value, width - 1, 0)
    if instruction.from_register or instruction.family == ALU64:
        low = terms.concat([terms.extract(low, at + 7, at) for at in range(0, width, 8)])
    return terms.widen(low, 64)


def number(value: Value) -> Bits:
    """The value as a number, which it must be."""
    if not isinstance(value, z3.BitVecRef):
        raise Unsupported("the program calculates with a value that is not a number on every path")
    return value


def _address(value: Value, offset: int) -> Pointer:
    if not isinstance(value, Pointer):
        raise Unsupported("the program uses a number as an address")
    return Pointer(value.region, terms.add(value.offset, terms.bits(offset, 64)))


def _moved_pointer(operation: int, wide: bool, left: Value, right: Value) -> Value:
    if wide and operation == ADD:
        pointer, by = (left, right) if isinstance(left, Pointer) else (right, left)
        if isinstance(pointer, Pointer) and isinstance(by, z3.BitVecRef):
            return Pointer(pointer.region, terms.add(pointer.offset, by))
    if wide and operation == SUB and isinstance(left, Pointer) and isinstance(right, z3.BitVecRef):
        return Pointer(left.region, terms.subtract(left.offset, right))
    raise Unsupported(f"arithmetic of code {operation:#x} on an address")


def _compared_pointers(instruction: Instruction, left: Value, right: Value) -> Truth:
    if isinstance(left, Pointer) and isinstance(right, Pointer) and left.region == right.region:
        if instruction.family == JUMP64 and instruction.operation in (JEQ, JNE):
            same = terms.equal(left.offset, right.offset)
            return same if instruction.operation == JEQ else terms.negated(same)
    raise Unsupported("a comparison of addresses")


def constant_regions(data: dict[str, bytes]) -> dict[str, dict[int, tuple[int, Value]]]:
    """The contents of constant data, byte by byte."""
    return {
        name: {at: (1, cast(Value, terms.bits(byte, 8))) for at, byte in enumerate(content)}
        for name, content in data.items()
    }
