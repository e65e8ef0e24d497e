"""Kills the daemon again and again while clients that spill and die are at work."""

from __future__ import annotations

from harness.fuzz.kill import kill_under_load


def test_killed_daemon_breaks_nothing():
    report = kill_under_load("lock", seconds=4, period_seconds=0.7)
    assert report.problems == []
    assert report.kills >= 1
    assert report.history.holds
    assert report.load["operations"] > 0 and report.load["started"] > 0
    assert report.rare_share > 0
    assert "killed" in str(report)
