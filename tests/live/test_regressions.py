"""Replays what fuzzing has found: examples and loads on the real programs, and histories in the checkers.

Frames are replayed by tests/parsers.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.fuzz.replay import replay
from harness.fuzz.saved import REGRESSIONS

SAVED = sorted(
    [
        *REGRESSIONS.glob("examples/*/*.json"),
        *REGRESSIONS.glob("histories/*/*.txt"),
        *REGRESSIONS.glob("loads/*/*.yaml"),
    ]
)


@pytest.mark.parametrize("path", SAVED, ids=lambda path: str(path.relative_to(REGRESSIONS)))
def test_what_was_found_is_mended(path: Path):
    """Examples and loads agree; a history, which only the checker sees, is refused still."""
    found = replay(path)
    assert found.agrees, found.text
