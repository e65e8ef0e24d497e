"""Chooses a sample of faults or models. Each commit chooses others, so that many commits run them all."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from harness.results import commit

Item = TypeVar("Item")


class SampleError(ValueError):
    """A sample of this size cannot be chosen. The message is for the user."""


def sampled(items: Sequence[Item], count: int, noun: str) -> list[Item]:
    """Returns `count` of the items, in their order. Raises SampleError if that is less than 1."""
    if count < 1:
        raise SampleError(f"a sample needs at least 1 {noun}, not {count}")
    # Changed files do not matter: all workers of a test run must choose the same.
    places = random.Random(commit().rstrip("+")).sample(range(len(items)), min(count, len(items)))
    return [items[place] for place in sorted(places)]
