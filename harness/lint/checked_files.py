"""Lists the files that are checked."""

from __future__ import annotations

import subprocess

from harness.base.protocols import REPOSITORY

NOT_OURS = ("generated", "tests/regressions")


def repository_files() -> list[str]:
    """Returns the names of the files that git tracks or would add, so that a moved file is checked before that."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name and (REPOSITORY / name).is_file()]


def checked_files() -> list[str]:
    """Returns the names of the repository's files, except generated and recorded ones."""
    return [name for name in repository_files() if not name.startswith(NOT_OURS) and "/expected/" not in name]
