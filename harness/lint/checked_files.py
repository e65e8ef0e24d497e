"""Lists the files that are checked."""

from __future__ import annotations

import subprocess

from harness.base.protocols import REPOSITORY

NOT_OURS = ("generated", "tests/regressions")


def checked_files() -> list[str]:
    """Returns the names of the files that git tracks or would add, except generated and recorded ones."""
    # A new or moved file is checked before it is added.
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    names = [name for name in done.stdout.split("\0") if name and (REPOSITORY / name).is_file()]
    return [name for name in names if not name.startswith(NOT_OURS) and "/expected/" not in name]
