"""Tests how indices are hashed (runtime/bpf/stepwise_hash.h), compiled for this machine.

The results are compared with Python, and the seed must serve its purpose.
"""

from __future__ import annotations

import ctypes
import random
import subprocess
from collections import Counter

import pytest

from harness.base.protocols import RUNTIME_INCLUDE
from harness.data.hash_seed import PLAIN, Seed
from harness.data.model_values import hash_index

SOURCE = """
#include "bpf/stepwise_hash.h"
void set(__u64 salt, __u64 upper, __u64 lower) { stepwise_seed = (struct stepwise_seed){ salt, upper, lower }; }
__u32 upper(__u64 value, __u32 capacity) { return stepwise_hash(value, capacity); }
__u32 lower(__u64 value, __u32 capacity) { return stepwise_hash_lower(value, capacity); }
void both(const __u64 *values, __u32 count, __u32 first, __u32 second, __u32 *indices)
{
	for (__u32 i = 0; i < count; i++) {
		indices[2 * i] = stepwise_hash(values[i], first);
		indices[2 * i + 1] = stepwise_hash_lower(values[i], second);
	}
}
"""
CAPACITIES = (1, 3, 4096, 1_048_576, 9_000_000, 2**32 - 1)


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("hash")
    (folder / "hash.c").write_text(SOURCE)
    command = [
        "clang-19",
        "-O2",
        "-shared",
        "-fPIC",
        *(f"-I{folder}" for folder in RUNTIME_INCLUDE),
        "-o",
        str(folder / "hash.so"),
        str(folder / "hash.c"),
    ]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(folder / "hash.so"))
    loaded.set.argtypes, loaded.set.restype = [ctypes.c_uint64] * 3, None
    for name in ("upper", "lower"):
        function = getattr(loaded, name)
        function.restype, function.argtypes = ctypes.c_uint32, [ctypes.c_uint64, ctypes.c_uint32]
    return loaded


def both(library: ctypes.CDLL, seed: Seed, values: list[int], first: int, second: int) -> list[tuple[int, int]]:
    """The two indices of each value."""
    library.set(seed.salt, seed.upper, seed.lower)
    indices = (ctypes.c_uint32 * (2 * len(values)))()
    library.both((ctypes.c_uint64 * len(values))(*values), len(values), first, second, indices)
    return list(zip(indices[::2], indices[1::2]))


def test_indexes(library):
    noise = random.Random(7)
    for seed in (None, Seed.drawn(noise), Seed.drawn(noise)):
        if seed is not None:
            library.set(seed.salt, seed.upper, seed.lower)
        for value in [0, 1, 2**64 - 1, *(noise.getrandbits(64) for _ in range(1_000))]:
            for capacity in CAPACITIES:
                assert library.upper(value, capacity) == hash_index(value, capacity, seed=seed or PLAIN)
                assert library.lower(value, capacity) == hash_index(value, capacity, lower=True, seed=seed or PLAIN)


STEPS = {
    "next to each other": lambda number: number,
    "in the upper half": lambda number: number << 32,
    "far apart": lambda number: number << 58,
    "sharing a cell under the plain seed": None,
}


def colliding(count: int, capacity: int) -> list[int]:
    """Values that share a cell of the plain seed; like M7's attacker, by trying."""
    found = [value for value in range(1, 20 * count * capacity) if hash_index(value, capacity) == 5]
    return found[:count]


@pytest.mark.parametrize("name", STEPS)
def test_whatever_the_values_few_seeds_put_two_into_one_cell(library, name):
    """At most 4 of `capacity` multipliers collide in each of the two indices, and 16 of the product in both."""
    first, second, draws = 96, 64, 4_000
    step = STEPS[name]
    values = colliding(12, first) if step is None else [step(number) for number in range(12)]
    noise, shared = random.Random(f"seeds of {name}"), Counter()
    for _ in range(draws):
        indices = both(library, Seed.drawn(noise), values, first, second)
        for other in indices[1:]:
            upper, lower = indices[0][0] == other[0], indices[0][1] == other[1]
            shared += Counter(upper=upper, lower=lower, both=upper and lower)
    pairs = draws * (len(values) - 1)
    assert 0 < shared["upper"] < 4 * pairs / first
    assert 0 < shared["lower"] < 4 * pairs / second
    assert shared["both"] < 16 * pairs / (first * second)


def test_a_collision_gives_no_other_away(library):
    """Multiplied alone, values in equal steps would share a cell whenever the first two of them do."""
    noise, capacity, broken, met = random.Random(11), 64, 0, 0
    for _ in range(4_000):
        base, step = noise.getrandbits(64), noise.getrandbits(63)
        values = [(base + number * step) % 2**64 for number in range(4)]
        indices = [index for index, _ in both(library, Seed.drawn(noise), values, capacity, capacity)]
        met += indices[0] == indices[1]
        broken += len(set(indices)) == 1
    assert met > 20
    assert broken <= 1, f"{broken} of {met} collisions made two more"


def test_every_cell_is_reached_by_each_whatever_the_other(library):
    seed = Seed.drawn(random.Random(12))
    indices = both(library, seed, list(range(4_000)), 128, 16)
    # Thrown at random, 4,000 reach 1,758 of the 2,048 pairs; an index that depended on the other would reach far fewer.
    assert 1_650 < len(set(indices)) <= 2_048
    assert {first for first, _ in indices} == set(range(128)) and {second for _, second in indices} == set(range(16))
