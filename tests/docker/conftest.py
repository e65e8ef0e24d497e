"""Provides fake clients of container engines: shell scripts that answer as Docker's do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

BASE_PATH = "/usr/bin:/bin"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Puts a `docker` before all others on the PATH; `cases` are those of a shell's `case` on all of its arguments."""
    made = 0

    def put(cases: str) -> Path:
        nonlocal made
        made += 1
        folder = tmp_path / f"client-{made}"
        folder.mkdir()
        script = folder / "docker"
        script.write_text(f'#!/bin/sh\ncase "$*" in\n{cases}\n*) echo "not expected: $*" >&2; exit 99 ;;\nesac\n')
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH'] if made > 1 else BASE_PATH}")
        return script

    return put
