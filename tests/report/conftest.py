"""Makes pages from made-up results, and from none."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.report import versions
from harness.report.collect import load, together
from harness.report.page import render
from tests.report import made_up


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """Results of every kind."""
    return made_up.write(tmp_path_factory.mktemp("made-up") / "results", made_up.everything())


@pytest.fixture(scope="session")
def full(folder) -> str:
    """The page that has everything."""
    return render(together(load(folder)), made_up.COMMIT)


@pytest.fixture(scope="session")
def bare() -> str:
    """The page of a repository in which nothing was run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(versions, "COMMANDS", {"nothing": ("no-such-command",)})
        return render(together([]), "")
