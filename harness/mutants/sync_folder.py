"""Makes one folder equal to another."""

from __future__ import annotations

import fnmatch
import os
import shutil
from pathlib import Path

LEFT_OUT = ("__pycache__", ".*")


def sync_folder(source: Path, target: Path) -> None:
    """Make `target` equal to `source`, a file or a folder, except for LEFT_OUT. Equal files are not touched.

    Files are compared by content, because size and time are not enough. A fault may be as long as the text that it
    replaces, be written in the same tick of the clock as the source, or have its time set back. A corrected file gets
    the present time, not its source's, so that make rebuilds what it built from the fault.
    """
    if source.is_dir():
        _sync_children(source, target)
    elif not _is_same(source, target):
        remove(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)


def _sync_children(source: Path, target: Path) -> None:
    if target.is_symlink() or not target.is_dir():
        remove(target)
        target.mkdir(parents=True)
    names = [name for name in os.listdir(source) if not any(fnmatch.fnmatchcase(name, each) for each in LEFT_OUT)]
    for name in set(os.listdir(target)).difference(names):
        remove(target / name)
    for name in names:
        sync_folder(source / name, target / name)


def _is_same(source: Path, target: Path) -> bool:
    """Whether the target is a file of its own (not a link), with the source's mode and content."""
    try:
        found, wanted = target.lstat(), source.stat()
        return (found.st_mode, found.st_size, found.st_nlink) == (
            wanted.st_mode,
            wanted.st_size,
            1,
        ) and target.read_bytes() == source.read_bytes()
    except FileNotFoundError:
        return False


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
