"""Tests the numbers that slots draw: their weights, and the table that draws them."""

from __future__ import annotations

import itertools

import pytest

from harness.bench.workload import COUNT_MAX, ENTRY, INTERVALS_MAX, Interval, mixed, table, uniform, zipf


def chances(numbers):
    """Returns the share of each interval, keyed by its first number, that the table's entries give."""
    entries = [ENTRY.unpack(entry) for entry in table(numbers)]
    found = {}
    for first, other_first, count, other_count, threshold, _ in entries:
        keeps = (threshold + 1) / COUNT_MAX
        for number, size, chance in ((first, count, keeps), (other_first, other_count, 1 - keeps)):
            assert size == next(each.count for each in numbers if each.first == number)
            found[number] = found.get(number, 0) + chance / len(entries)
    return found


@pytest.mark.parametrize("count", [1, 5, 31, 32, 33, 100, 4096, 2_000_000])
def test_zipf_covers_every_rank_once(count):
    numbers = zipf(count, 0.99, first=7)
    assert numbers[0].first == 7
    assert all(before.first + before.count == after.first for before, after in itertools.pairwise(numbers))
    assert sum(each.count for each in numbers) == count
    assert len(numbers) <= INTERVALS_MAX


def test_zipf_weights_are_those_of_the_ranks():
    numbers = zipf(10_000, 0.99)
    for each in numbers:
        exact = sum(rank**-0.99 for rank in range(each.first + 1, each.first + 1 + each.count))
        assert each.weight == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize(
    "numbers",
    [uniform(10), zipf(2_000_000, 0.99), mixed((0.3, uniform(5)), (0.7, zipf(100, 0.5, first=1000)))],
    ids=len,
)
def test_the_table_draws_each_interval_as_often_as_its_weight_says(numbers):
    total = sum(each.weight for each in numbers)
    found = chances(numbers)
    for each in numbers:
        assert found[each.first] == pytest.approx(each.weight / total, abs=1e-8)


def test_a_share_of_nothing_is_left_out():
    assert mixed((1, uniform(4)), (0, uniform(9, first=50))) == (Interval(0, 4, 1.0),)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="600 intervals"):
        table(tuple(Interval(number, 1, 1.0) for number in range(600)))
    with pytest.raises(ValueError, match="0 intervals"):
        table(())
    with pytest.raises(ValueError, match="numbers"):
        table(uniform(COUNT_MAX))
