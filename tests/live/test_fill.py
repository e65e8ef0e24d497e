"""Fills the store with many keys, which are spilled, survive a kill and a reload, and are all read.

The check must also find faults.
"""

from __future__ import annotations

import pytest

from harness.fill.run import fill, opened

SMALL = {"tables": {"bucket": {"capacity": 1024}, "page": {"capacity": 1024}}}


def test_every_key_survives_kills_and_loading_again():
    """The kernel answers on both CPUs, so this process may first see a quarter of a second of answers, and then kills.

    So many keys take longer.
    """
    report = fill("kv", 1_000_000)
    assert report.holds, str(report)
    assert [each.outcomes["right"] for each in report.passes] == [1_000_000, 1_000_000, 250_000, 1_000_000, 1_000_000]
    assert report.kills >= 1 and report.wrong == []
    assert report.passes[0].rare_share > 0.015, "some of the keys are in pages"
    assert 200 < report.table_bytes / report.keys < 1000
    assert "held" in str(report)


def test_what_there_is_no_room_for_is_refused_and_counted_and_nothing_else_is_lost():
    report = fill("kv", 8_000, {"tables": {"bucket": {"capacity": 1024}, "page": {"capacity": 256}}})
    filled, read, *_, last = report.passes
    refused = filled.complaints["no room"]
    assert refused > 100 and filled.complaints == {"no room": refused}
    assert read.complaints == {"missing": refused}
    assert last.complaints.keys() <= {"missing", "unchanged"}, "what was acknowledged is there as it was written"
    assert not report.holds and "FAILED" in str(report) and len(report.wrong) > 1


@pytest.fixture(scope="module")
def filling():
    with opened("kv", 3_000, SMALL) as opened_one:
        assert not opened_one.ask("filled", opened_one.plugin.inserts(3_000)).complaints
        yield opened_one


def spoiled(filling, index, **fields):
    """Returns the check's complaints about a store with one altered bucket, and mends the bucket."""
    cell = filling.server.cell("bucket", index)
    filling.server.write("bucket", index, cell | fields)
    try:
        return filling.ask("read", filling.plugin.reads(3_000, changed=False)).complaints
    finally:
        filling.server.write("bucket", index, cell)


def bucket_of(filling, entries):
    """A bucket with so many entries in its first ways, of which none is in a page.

    The other ways are empty: a bucket that spilled is full, and a read brings a spilled key back as a clean entry.
    No two of its values have one length, so they differ. The keys of a bucket are other ones with each seed.
    """
    marks = ["Dirty"] * entries + ["Empty"] * (4 - entries)

    def fits(cell):
        return list(cell["marks"]) == marks and len({each["length"] for each in cell["entries"][:entries]}) == entries

    return next(index for index in range(1024) if fits(filling.server.cell("bucket", index)))


def test_a_lost_key_is_found(filling):
    index = bucket_of(filling, 3)
    assert spoiled(filling, index, marks=("Empty",) * 4) == {"missing": 3}
    assert len(filling.wrong()) >= 1


def test_another_version_and_another_value_are_found(filling):
    index = bucket_of(filling, 3)
    entries = filling.server.cell("bucket", index)["entries"]
    assert spoiled(filling, index, entries=tuple(entry | {"version": 7} for entry in entries)) == {"wrong": 3}
    longest = max(range(3), key=lambda way: entries[way]["length"])
    flipped = entries[longest] | {"value": entries[longest]["value"] ^ 1}
    others = tuple(flipped if way == longest else entry for way, entry in enumerate(entries))
    assert spoiled(filling, index, entries=others) == {"wrong": 1}


def test_another_key_s_entry_is_found(filling):
    index = bucket_of(filling, 2)
    cell = filling.server.cell("bucket", index)
    one, other, *rest = cell["entries"]
    assert spoiled(filling, index, entries=(other, one, *rest)) == {"wrong": 2}
