"""The commands that tests/test_commands.py ran are summed up before pytest's own last line."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

COMMAND_KEY = pytest.StashKey[list[tuple[str, float, str]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[COMMAND_KEY] = []
    # Smoke runs must not take the place of what a user has measured: `just report --results build/test/results` shows theirs.
    os.environ.setdefault("STEPWISE_RESULTS", str(Path(config.rootpath) / "build/test/results"))
    # pytest takes a SystemExit for a failing test and goes on to the next; this ends it, and the tests clean up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture
def record_command(request: pytest.FixtureRequest):
    """Call with a command, its seconds and its last line."""
    return lambda *record: request.config.stash[COMMAND_KEY].append(record)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    commands = config.stash[COMMAND_KEY]
    if commands:
        terminalreporter.section("commands")
        for command, seconds, line in commands:
            terminalreporter.write_line(f"{command:<24} {seconds:6.0f} s  {line}")
