"""Reads from /proc about processes and the kernel's threads."""

from __future__ import annotations

import contextlib
from pathlib import Path


def named(prefix: str) -> dict[int, str]:
    """Find processes whose names start with `prefix`. Returns each name by process id."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            name = path.read_text(encoding="utf-8").strip()
            if name.startswith(prefix):
                found[int(path.parent.name)] = name
    return found


def schedstat(pid: int) -> tuple[int, int]:
    """Nanoseconds that a process's first thread, or a kernel thread, ran and waited for a CPU."""
    ran, waited, _ = Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()
    return int(ran), int(waited)
