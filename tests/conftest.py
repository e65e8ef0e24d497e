"""What workers share of the tests, and the commands that tests/test_commands.py ran, summed up before pytest's own last line."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

COMMAND = "command"
# The tests of a file share what they build, and so a worker. These are long and share nothing.
APART = ("tests/check/test_check.py::test_every_small_model", "tests/conform/test_conform.py", "tests/test_commands.py")
# What a folder's tests share.
SHARED = "bench"


def pytest_configure(config: pytest.Config) -> None:
    # Smoke runs must not take the place of what a user has measured: `just report --results build/test/results` shows theirs.
    os.environ.setdefault("STEPWISE_RESULTS", str(Path(config.rootpath) / "build/test/results"))
    # pytest takes a SystemExit for a failing test and goes on to the next; this ends it, and the tests clean up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where two workers share the tests, which go together."""
    for item in items:
        if SHARED in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group(SHARED))
        elif not item.nodeid.startswith(APART):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


@pytest.fixture
def record_command(request: pytest.FixtureRequest):
    """Call with a command, its seconds and its last line."""
    return lambda *record: request.node.user_properties.append((COMMAND, record))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    ended = [report for state in ("passed", "failed") for report in terminalreporter.stats.get(state, [])]
    records = [record for report in ended if report.when == "call" for name, record in report.user_properties if name == COMMAND]
    if records:
        terminalreporter.section("commands")
        for command, seconds, line in records:
            terminalreporter.write_line(f"{command:<24} {seconds:6.0f} s  {line}")
