"""Runs the slowest files first, and sums up the commands that tests/test_commands.py ran, before pytest's last line."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

COMMAND = "command"

SLOWEST = (
    "conform/test_conform.py",
    "test_commands.py",
    "live/test_fuzz.py",
    "check/test_check.py",
    "conform/test_frame.py",
    "live/test_log.py",
    "mutants/test_step_command.py",
    "mutants/test_step_changes.py",
    "check/test_reach.py",
    "live/test_fuzz_all.py",
)
"""Files that take a minute or more. A worker that took one of them last would leave the other with nothing to do."""


def pytest_configure(config: pytest.Config) -> None:
    # Smoke runs must not overwrite what a user has measured. `just report --results build/test/results` shows theirs.
    os.environ.setdefault("STEPWISE_RESULTS", str(Path(config.rootpath) / "build/test/results"))
    # pytest counts a SystemExit as a failed test and continues with the next. An interrupt stops it after clean-up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    place = {config.rootpath / "tests" / name: at for at, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


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
