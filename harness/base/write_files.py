"""Writes files: only if they differ, because make compares their times, or whole, because others read them."""

from __future__ import annotations

import os
from pathlib import Path


def renew(path: Path, text: str) -> None:
    """Write a file only if it differs, so that make does not compile again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def replace_whole(path: Path, text: str) -> None:
    """Write a file that others may read or write at the same time: they see the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unnamed = path.with_name(f"{path.name}.{os.getpid()}")
    unnamed.write_text(text, encoding="utf-8")
    unnamed.replace(path)
