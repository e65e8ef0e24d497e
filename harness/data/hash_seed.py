"""Seeds of the hashes that choose cells: see runtime/abi/stepwise_seed.h."""

from __future__ import annotations

import random
from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class Seed:
    """A seed. The default, STEPWISE_SEED_PLAIN, is for repeatable runs and for programs without a loader."""

    salt: int = 0
    upper: int = 0xC4CEB9FE1A85EC53
    lower: int = 0x9E3779B97F4A7C15

    def __str__(self) -> str:
        """Formats the seed as `load --seed` accepts it."""
        return "".join(f"{word:016x}" for word in astuple(self))

    @classmethod
    def drawn(cls, source: random.Random) -> Seed:
        """Draws a seed as the loader does."""
        return cls(source.getrandbits(64), source.getrandbits(64) | 1, source.getrandbits(64) | 1)


PLAIN = Seed()
