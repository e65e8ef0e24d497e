"""Writes files whose times make compares."""

from __future__ import annotations

from pathlib import Path


def renew(path: Path, text: str) -> None:
    """Write a file only if it differs, so that make does not compile again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
