"""The server crashes under load and loses nothing that it acknowledged as on disk; a lying disk is found out."""

from __future__ import annotations

import random

import pytest

from harness.fuzz import crash
from harness.fuzz.crash import SECTOR_BYTES, crash_under_load, tear
from harness.live.plugin import LiveError


def test_what_is_on_the_disk_survives_the_server():
    report = crash_under_load("log", crashes=4, records=40_000, seed=3)
    assert report.problems == []
    assert report.crashes == 4 and sum(report.ways.values()) == 4
    assert report.counts["stored"] > 1000 and report.counts["records"] > report.counts["stored"]
    assert f"told to be on the disk    {report.counts['stored']:,}" in str(report)


def test_a_disk_that_loses_what_it_has_synced_is_found_out(monkeypatch):
    monkeypatch.setattr(crash, "WAYS", ("cut off",))
    monkeypatch.setattr(crash, "durable_bytes", lambda protocol, path, synced: path.stat().st_size // 2)
    report = crash_under_load("log", crashes=1, records=10_000, seed=1)
    assert any("was answered Stored" in problem and "is in no file" in problem for problem in report.problems), (
        report.problems
    )


def test_a_protocol_without_files():
    with pytest.raises(LiveError, match="limiter has no load for a crash of its server"):
        crash_under_load("limiter", 1, 1)


@pytest.mark.parametrize("way", crash.WAYS)
def test_what_was_synced_stays_as_it_was(tmp_path, way):
    content, durable = random.Random(1).randbytes(10 * SECTOR_BYTES), 3 * SECTOR_BYTES + 7
    path = tmp_path / "segment"
    for seed in range(20):
        path.write_bytes(content)
        tear(path, durable, way, random.Random(seed))
        left = path.read_bytes()
        assert left[:durable] == content[:durable] and len(left) <= len(content)
        assert way == "kept" or seed > 0 or left != content
    assert (path.read_bytes() == content) == (way == "kept")
