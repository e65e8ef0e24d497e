"""The wire's arithmetic (runtime/bpf/stepwise_wire.h), compiled for this machine and held against another of its kind."""

from __future__ import annotations

import ctypes
import random
import subprocess

import pytest

from harness.conform.frames import ones_complement_sum
from harness.conform.values import hash_index
from harness.protocols import REPOSITORY

SOURCE = """
#include "bpf/stepwise_wire.h"
__u16 fold(__u64 sum) { return stepwise_fold(sum); }
__u32 hash(__u64 value, __u32 capacity) { return stepwise_hash(value, capacity); }
__u64 sum_even(const unsigned char *from) { return stepwise_sum(from, 29, 0); }
__u64 sum_odd(const unsigned char *from) { return stepwise_sum(from, 29, 1); }
"""


@pytest.fixture(scope="module")
def wire(tmp_path_factory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("wire")
    (folder / "wire.c").write_text(SOURCE)
    command = ["clang-19", "-O2", "-shared", "-fPIC", "-I", str(REPOSITORY / "runtime"), "-o", str(folder / "wire.so"), str(folder / "wire.c")]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(folder / "wire.so"))
    library.fold.restype, library.fold.argtypes = ctypes.c_uint16, [ctypes.c_uint64]
    library.hash.restype, library.hash.argtypes = ctypes.c_uint32, [ctypes.c_uint64, ctypes.c_uint32]
    for name in ("sum_even", "sum_odd"):
        getattr(library, name).restype = ctypes.c_uint64
    return library


def test_a_sum_is_folded_until_nothing_carries(wire):
    """What is left is the sum modulo 0xffff, and 0xffff instead of 0; the corners are where all words are ones."""
    ends = [0, 1, 2, 0x8000, 0xFFFE, 0xFFFF]
    corners = [a << 48 | b << 32 | c << 16 | d for a in ends for b in ends for c in ends for d in ends]
    noise = random.Random(5)
    for total in corners + [noise.getrandbits(64) for _ in range(10_000)]:
        assert wire.fold(total) == (total % 0xFFFF or (0xFFFF if total else 0)), hex(total)


def test_a_sum_of_bytes(wire):
    noise = random.Random(6)
    for _ in range(200):
        data = noise.randbytes(29)
        swapped = wire.fold(wire.sum_even(data))
        assert swapped.to_bytes(2, "little") == ones_complement_sum(data).to_bytes(2, "big")
        swapped = wire.fold(wire.sum_odd(data))
        assert swapped.to_bytes(2, "little") == ones_complement_sum(b"\0" + data).to_bytes(2, "big")


def test_indexes(wire):
    noise = random.Random(7)
    for value in [0, 1, 2**64 - 1, *(noise.getrandbits(64) for _ in range(2_000))]:
        for capacity in (1, 3, 4096, 1_048_576, 2**32 - 1):
            assert wire.hash(value, capacity) == hash_index(value, capacity)
