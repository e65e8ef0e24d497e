"""Chooses a sample of the faults. Each commit chooses others, so that many commits run them all."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from harness.mutants.catalogue import CatalogueError
from harness.results import commit

Item = TypeVar("Item")


def sampled(items: Sequence[Item], count: int, noun: str) -> list[Item]:
    """Returns `count` of the items, in their order. Raises CatalogueError if that is less than 1."""
    if count < 1:
        raise CatalogueError(f"a sample needs at least 1 {noun}, not {count}")
    places = random.Random(commit()).sample(range(len(items)), min(count, len(items)))
    return [items[place] for place in sorted(places)]
