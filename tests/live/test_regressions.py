"""What fuzzing has found, played again: examples against the real programs, histories through the checkers.

Frames are replayed by tests/parsers.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.fuzz.saved import REGRESSIONS, replay

SAVED = sorted([*REGRESSIONS.glob("examples/*/*.json"), *REGRESSIONS.glob("histories/*/*.txt")])


@pytest.mark.parametrize("path", SAVED, ids=lambda path: str(path.relative_to(REGRESSIONS)))
def test_what_was_found_is_mended(path: Path):
    """An example agrees; a history, which only the checker sees, is refused still."""
    found = replay(path)
    assert found.agrees, found.text
