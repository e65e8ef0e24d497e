"""Sums up the commands that tests/test_commands.py ran, before pytest's own last line."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

COMMAND = "command"


def pytest_configure(config: pytest.Config) -> None:
    # Smoke runs must not overwrite what a user has measured. `just report --results build/test/results` shows theirs.
    os.environ.setdefault("STEPWISE_RESULTS", str(Path(config.rootpath) / "build/test/results"))
    # pytest counts a SystemExit as a failed test and continues with the next. An interrupt stops it after clean-up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture
def record_command(request: pytest.FixtureRequest):
    """Returns a function to call with a command, its seconds and its last line."""
    return lambda *record: request.node.user_properties.append((COMMAND, record))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    ended = [report for state in ("passed", "failed") for report in terminalreporter.stats.get(state, [])]
    records = [
        record
        for report in ended
        if report.when == "call"
        for name, record in report.user_properties
        if name == COMMAND
    ]
    if records:
        terminalreporter.section("commands")
        for command, seconds, line in records:
            terminalreporter.write_line(f"{command:<24} {seconds:6.0f} s  {line}")
