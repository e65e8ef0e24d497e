"""The prover's machine: what each instruction means, and that it runs nothing that it does not know.

The expected results are those of the BPF instruction set (RFC 9669), written as numbers.
"""

from __future__ import annotations

import struct

import pytest
import z3

from harness.prove import terms
from harness.prove.bytecode import Function, Instruction
from harness.prove.machine import STACK, STACK_SIZE, Machine
from harness.prove.memory import Memory, Pointer, Region, Unsupported

ALU64, ALU32, JUMP, JUMP32 = 0x07, 0x04, 0x05, 0x06
REGISTER = 0x08
EXIT = (0x95, 0, 0, 0, 0)
LOAD, STORE, STORE_IMMEDIATE = 0x61, 0x63, 0x62
ONES = 2**64 - 1
LARGE = 0x8000_0000_9000_0001


def function(*code: tuple[int, int, int, int, int]) -> Function:
    """A function of instructions: code, destination, source, offset, immediate. The last, EXIT, is added."""
    text = b"".join(struct.pack("<BBhi", op, to | of << 4, at, value) for op, to, of, at, value in (*code, EXIT))
    return Function("test", tuple(Instruction(*each) for each in (*code, EXIT)), text)


def run(code: Function, one: object, other: object = 0, cell: bytes = bytes(16)):
    """Runs a function on r1 and r2, with the address of a cell in r3."""
    regions = {STACK: Region(STACK, STACK_SIZE, -STACK_SIZE), "cell": Region("cell", len(cell))}
    memory = Memory(regions, {STACK: {}, "cell": {at: (1, terms.bits(byte, 8)) for at, byte in enumerate(cell)}})
    arguments = [terms.bits(each, 64) if isinstance(each, int) else each for each in (one, other)]
    terms.forget()
    return Machine(code, lambda _: True).run(memory, [*arguments, Pointer("cell", terms.bits(0, 64))])


def alu(operation: int, immediate: int | None = None, offset: int = 0) -> Function:
    """r0 = r1 OPERATION r2, or with an immediate."""
    second = (operation | REGISTER, 0, 2, offset, 0) if immediate is None else (operation, 0, 0, offset, immediate)
    return function((0xBF, 0, 1, 0, 0), second)


@pytest.mark.parametrize(
    "code, one, other, expected",
    [
        (alu(ALU64 | 0x00), ONES, 1, 0),
        (alu(ALU32 | 0x00), ONES, 1, 0),  # the upper half of the first operand is lost
        (alu(ALU32 | 0x00), LARGE, 0, 0x9000_0001),
        (alu(ALU64 | 0x00, -1), 5, 0, 4),  # an immediate extends its sign
        (alu(ALU32 | 0x00, -1), 0, 0, 0xFFFF_FFFF),  # and only 32 bits of it count
        (alu(ALU64 | 0x10), 0, 1, ONES),
        (alu(ALU32 | 0x10), 0, 1, 0xFFFF_FFFF),
        (alu(ALU32 | 0x20), 0x1_0000_0003, 0x7000_0000, 0x5000_0000),
        (alu(ALU64 | 0x30, 10), ONES, 0, ONES // 10),  # unsigned
        (alu(ALU64 | 0x30, -2), ONES, 0, 1),
        (alu(ALU32 | 0x30, -2), ONES, 0, 1),
        (alu(ALU32 | 0x90, 10), LARGE, 0, 0x9000_0001 % 10),
        (alu(ALU64 | 0x60), 1, 65, 2),  # the amount of a shift is taken modulo the width
        (alu(ALU32 | 0x60), 1, 33, 2),
        (alu(ALU32 | 0x60), 3, 31, 0x8000_0000),
        (alu(ALU64 | 0x70), LARGE, 63, 1),
        (alu(ALU32 | 0x70), LARGE, 4, 0x0900_0000),
        (alu(ALU64 | 0xC0), LARGE, 63, ONES),
        (alu(ALU32 | 0xC0), LARGE, 4, 0xF900_0000),  # the sign is bit 31, and the result has no more bits
        (alu(ALU64 | 0x80, 0), 1, 0, ONES),
        (alu(ALU32 | 0x80, 0), 1, 0, 0xFFFF_FFFF),
        (alu(ALU32 | 0xB0), 0, LARGE, 0x9000_0001),
        (alu(ALU64 | 0xB0, -1), 0, 0, ONES),
        (alu(ALU32 | 0xB0, -1), 0, 0, 0xFFFF_FFFF),
        (function((0xBF, 0, 1, 0, 0), (0xDC, 0, 0, 0, 16)), 0x11223344, 0, 0x4433),  # to big-endian
        (function((0xBF, 0, 1, 0, 0), (0xDC, 0, 0, 0, 64)), 0x0102030405060708, 0, 0x0807060504030201),
        (function((0xBF, 0, 1, 0, 0), (0xD4, 0, 0, 0, 32)), LARGE, 0, 0x9000_0001),  # to little-endian
    ],
)
def test_arithmetic(code: Function, one: int, other: int, expected: int) -> None:
    assert z3.simplify(run(code, one, other).result).as_long() == expected
    x, y = z3.BitVecs("x y", 64)
    solver = z3.Solver()
    solver.add(x == one, y == other, run(code, x, y).result != expected)
    assert solver.check() == z3.unsat, "on terms it is another"


@pytest.mark.parametrize(
    "operation, one, other, taken",
    [
        (JUMP | 0x10, LARGE, 0x9000_0001, False),
        (JUMP32 | 0x10, LARGE, 0x9000_0001, True),
        (JUMP | 0x20, ONES, 0, True),  # unsigned
        (JUMP | 0x60, ONES, 0, False),  # signed
        (JUMP32 | 0x60, 0x8000_0000, 0, False),
        (JUMP | 0x60, 0x8000_0000, 0, True),
        (JUMP | 0x30, 7, 7, True),
        (JUMP | 0x70, 7, 7, True),
        (JUMP | 0xA0, 7, 7, False),
        (JUMP | 0xB0, 7, 7, True),
        (JUMP | 0xC0, ONES, 0, True),
        (JUMP32 | 0xC0, 0x7FFF_FFFF, 0, False),
        (JUMP | 0xD0, 0, ONES, False),
        (JUMP | 0x40, 6, 9, False),
        (JUMP32 | 0x40, 0x1_0000_0000, ONES, False),
        (JUMP | 0x40, 6, 4, True),
        (JUMP | 0x50, 6, 4, True),
    ],
)
def test_jumps(operation: int, one: int, other: int, taken: bool) -> None:
    code = function((0xB7, 0, 0, 0, 1), (operation | REGISTER, 1, 2, 1, 0), (0xB7, 0, 0, 0, 0))
    assert z3.simplify(run(code, one, other).result).as_long() == taken
    x, y = z3.BitVecs("x y", 64)
    solver = z3.Solver()
    solver.add(x == one, y == other, run(code, x, y).result != int(taken))
    assert solver.check() == z3.unsat, "on terms it is another"


def test_an_immediate_of_a_jump_extends_its_sign() -> None:
    code = function((0xB7, 0, 0, 0, 1), (JUMP | 0x10, 1, 0, 1, -1), (0xB7, 0, 0, 0, 0))
    assert z3.simplify(run(code, ONES).result).as_long() == 1
    assert z3.simplify(run(code, 0xFFFF_FFFF).result).as_long() == 0


def test_memory_has_its_lowest_byte_first_and_a_load_no_sign() -> None:
    code = function((0x73, 3, 1, 1, 0), (0x69, 0, 3, 0, 0))  # a byte at 1, then two bytes at 0
    outcome = run(code, 0xFFFF_FFFF_FFFF_FF80, cell=bytes([0x7F] * 16))
    assert z3.simplify(outcome.result).as_long() == 0x807F


def test_ways_that_meet_are_one_value_each() -> None:
    """Both ways write another place; an IF of the registers alone would lose one."""
    code = function(
        (0xB7, 0, 0, 0, 0),
        (JUMP | 0x10, 1, 0, 2, 0),
        (0x72, 3, 0, 0, 5),
        (0x05, 0, 0, 1, 0),
        (0x72, 3, 0, 1, 6),
        (0x69, 0, 3, 0, 0),
    )
    x = z3.BitVec("x", 64)
    solver = z3.Solver()
    solver.add(run(code, x).result != z3.If(x == 0, z3.BitVecVal(0x0600, 64), z3.BitVecVal(0x0005, 64)))
    assert solver.check() == z3.unsat


@pytest.mark.parametrize(
    "code, reason",
    [
        (function((0x85, 0, 0, 0, 5)), "helper 5"),
        (function((0x85, 0, 1, 0, 5)), "helper 5"),
        (function((0xDB, 3, 1, 0, 0)), "code 0xdb"),  # an atomic addition
        (function((0x91, 0, 3, 0, 0)), "code 0x91"),  # a load that extends the sign
        (alu(ALU64 | 0x30, 3, offset=1), "code 0x37"),  # a signed division
        (alu(ALU64 | 0x90, 3, offset=1), "code 0x97"),
        (alu(ALU64 | 0xB0, offset=8), "code 0xbf"),  # a move that extends the sign
        (alu(ALU64 | 0x30), "division"),  # by a register: zero has a meaning of its own
        (alu(ALU64 | 0x30, 0), "division"),
        (function((0xD7, 0, 0, 0, 32)), "code 0xd7|not a number"),
        (function((0x06, 0, 0, 0, 0)), "code 0x6"),  # a long jump
        (function((0xE5, 0, 0, 0, 0)), "code 0xe5"),
        (function((0x20, 0, 0, 0, 0)), "code 0x20"),  # a load from a packet
        (function((LOAD, 0, 3, 16, 0)), "beyond cell"),
        (function((LOAD, 0, 3, -1, 0)), "beyond cell"),
        (function((STORE, 3, 1, 13, 0)), "beyond cell"),
        (function((STORE, 10, 1, 0, 0)), "beyond stack"),
        (function((STORE, 10, 1, -516, 0)), "beyond stack"),
        (function((0x0F, 3, 1, 0, 0), (LOAD, 0, 3, 0, 0)), "outside of cell"),  # any offset
        (function((LOAD, 0, 1, 0, 0)), "a number as an address"),
        (function((LOAD, 0, 10, -8, 0), (0x07, 0, 0, 0, 1)), "not a number"),  # never written
        (function((0x1D, 3, 10, 0, 0)), "addresses"),
        (function((0xBC, 0, 3, 0, 0)), "not a number"),  # half of an address
        (function((0x05, 0, 0, -1, 0)), "rounds"),  # for ever
        (function(), "returns no number"),
    ],
)
def test_nothing_is_run_that_is_not_known(code: Function, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        run(code, z3.BitVec("x", 64), z3.BitVec("y", 64))


def test_an_immediate_of_64_bits_is_not_a_map(tmp_path) -> None:
    wide = Instruction(0x18, 0, 1, 0, 7), None, Instruction(*EXIT)
    with pytest.raises(Unsupported, match="code 0x18"):
        run(Function("test", wide, b""), 0)


def test_an_offset_that_is_always_inside_is_a_choice() -> None:
    """An index of two bits, of four bytes: each byte, and no other."""
    code = function((0x57, 1, 0, 0, 3), (0x0F, 3, 1, 0, 0), (0x71, 0, 3, 0, 0))
    x = z3.BitVec("x", 64)
    result = run(code, x, cell=bytes([9, 8, 7, 6])).result
    for at, byte in enumerate([9, 8, 7, 6]):
        solver = z3.Solver()
        solver.add(x & 3 == at, result != byte)
        assert solver.check() == z3.unsat
