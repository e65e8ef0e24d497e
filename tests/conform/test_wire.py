"""Tests the wire's arithmetic (runtime/bpf/stepwise_wire.h).

It is compiled for this machine and compared with an independent implementation.
"""

from __future__ import annotations

import ctypes
import random
import subprocess

import pytest

from harness.base.protocols import RUNTIME_INCLUDE
from harness.data.frames import ones_complement_sum

SOURCE = """
#include "bpf/stepwise_wire.h"
__u16 fold(__u64 sum) { return stepwise_fold(sum); }
bool is_sum_correct(__u64 sum) { return stepwise_is_sum_correct(sum); }
__u64 sum_even(const unsigned char *from) { return stepwise_sum(from, 29, 0); }
__u64 blank_even(unsigned char *at) { return stepwise_blank(at, 2, 25); }
__u64 blank_odd(unsigned char *at) { return stepwise_blank(at, 3, 6); }
__u64 block_8(unsigned char *at, const unsigned char *value) { return stepwise_replace_block(at, 1, 16, value, 8); }
__u64 block_4(unsigned char *at, const unsigned char *value) { return stepwise_replace_block(at, 1, 12, value, 4); }
__u64 block_2(unsigned char *at, const unsigned char *value) { return stepwise_replace_block(at, 1, 10, value, 2); }
__u64 block_1(unsigned char *at, const unsigned char *value) { return stepwise_replace_block(at, 1, 9, value, 1); }
__u64 sum_odd(const unsigned char *from) { return stepwise_sum(from, 29, 1); }
"""
BLOCKS = {"block_8": 16, "block_4": 12, "block_2": 10, "block_1": 9}


@pytest.fixture(scope="module")
def wire(tmp_path_factory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("wire")
    (folder / "wire.c").write_text(SOURCE)
    command = [
        "clang-19",
        "-O2",
        "-shared",
        "-fPIC",
        *(f"-I{folder}" for folder in RUNTIME_INCLUDE),
        "-o",
        str(folder / "wire.so"),
        str(folder / "wire.c"),
    ]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(folder / "wire.so"))
    library.fold.restype, library.fold.argtypes = ctypes.c_uint16, [ctypes.c_uint64]
    library.is_sum_correct.restype, library.is_sum_correct.argtypes = ctypes.c_bool, [ctypes.c_uint64]
    for name in ("sum_even", "sum_odd", "blank_even", "blank_odd", *BLOCKS):
        getattr(library, name).restype = ctypes.c_uint64
    return library


def test_a_sum_is_folded_until_nothing_carries(wire):
    """The rest is the sum modulo 0xffff, with 0xffff instead of 0. The corners have all words ones."""
    ends = [0, 1, 2, 0x8000, 0xFFFE, 0xFFFF]
    corners = [a << 48 | b << 32 | c << 16 | d for a in ends for b in ends for c in ends for d in ends]
    noise = random.Random(5)
    for total in corners + [noise.getrandbits(64) for _ in range(10_000)]:
        assert wire.fold(total) == (total % 0xFFFF or (0xFFFF if total else 0)), hex(total)


def test_a_sum_is_correct_if_it_folds_to_ones(wire):
    """Sums below 2^40 are the ones that packets have; the largest multiple of 0xffff is 2^64 - 1."""
    noise = random.Random(7)
    multiples = [0xFFFF * noise.randrange(1, 1 << bits) for bits in range(1, 49) for _ in range(100)]
    for multiple in [0xFFFF, (1 << 64) - 1, *multiples]:
        assert wire.is_sum_correct(multiple), hex(multiple)
        assert not wire.is_sum_correct(multiple - noise.randrange(1, 0xFFFF)), hex(multiple)
    for total in [noise.getrandbits(bits) | 1 for bits in range(2, 65) for _ in range(1000)]:
        assert wire.is_sum_correct(total) == (wire.fold(total) == 0xFFFF), hex(total)


def test_a_sum_of_bytes(wire):
    noise = random.Random(6)
    for _ in range(200):
        data = noise.randbytes(29)
        swapped = wire.fold(wire.sum_even(data))
        assert swapped.to_bytes(2, "little") == ones_complement_sum(data).to_bytes(2, "big")
        swapped = wire.fold(wire.sum_odd(data))
        assert swapped.to_bytes(2, "little") == ones_complement_sum(b"\0" + data).to_bytes(2, "big")


def folded(data: bytes) -> int:
    """The sum of some bytes as this machine reads it."""
    return int.from_bytes(ones_complement_sum(data).to_bytes(2, "big"), "little")


@pytest.mark.parametrize("name, start, size", [("blank_even", 2, 25), ("blank_odd", 3, 6)])
def test_blanking_says_how_it_changes_the_sum(wire, name, start, size):
    noise = random.Random(8)
    for among in [bytes(size), b"\0" * (size - 1) + b"\1", *(noise.randbytes(size) for _ in range(200))]:
        data = noise.randbytes(start) + among + noise.randbytes(7)
        changed = ctypes.create_string_buffer(data, len(data))
        change = getattr(wire, name)(changed)
        assert changed.raw == data[:start] + bytes(size) + data[start + size :]
        assert (folded(changed.raw) + change) % 0xFFFF == folded(data) % 0xFFFF


@pytest.mark.parametrize("name, size", BLOCKS.items())
def test_replacing_a_block_says_how_it_changes_the_sum(wire, name, size):
    noise = random.Random(9)
    for _ in range(200):
        data, value = noise.randbytes(size + 8), noise.randbytes(size)
        one_byte = bytearray(data[1 : size + 1])
        one_byte[noise.randrange(size)] ^= 1
        for put in (value, bytes(one_byte), data[1 : size + 1]):
            changed = ctypes.create_string_buffer(data, len(data))
            change = getattr(wire, name)(changed, put)
            assert changed.raw == data[:1] + put + data[size + 1 :]
            assert (folded(changed.raw) + change) % 0xFFFF == folded(data) % 0xFFFF
