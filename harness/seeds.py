"""Seeds of the hashes that choose cells: see runtime/abi/stepwise_seed.h."""

from __future__ import annotations

import random
from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class Seed:
    """The default is STEPWISE_SEED_PLAIN: of programs that the loader did not load, and of runs that are to repeat."""

    salt: int = 0
    upper: int = 0xC4CEB9FE1A85EC53
    lower: int = 0x9E3779B97F4A7C15

    def __str__(self) -> str:
        """As `load --seed` takes it."""
        return "".join(f"{word:016x}" for word in astuple(self))

    @classmethod
    def drawn(cls, source: random.Random) -> Seed:
        """As the loader draws it."""
        return cls(source.getrandbits(64), source.getrandbits(64) | 1, source.getrandbits(64) | 1)


PLAIN = Seed()
