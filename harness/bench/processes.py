"""What /proc says of processes, and of the kernel's threads."""

from __future__ import annotations

import contextlib
from pathlib import Path


def named(prefix: str) -> dict[int, str]:
    """Those whose names begin so: each name, by process id."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            name = path.read_text(encoding="utf-8").strip()
            if name.startswith(prefix):
                found[int(path.parent.name)] = name
    return found


def schedstat(pid: int) -> tuple[int, int]:
    """Of a process's first thread, or a kernel thread: nanoseconds that it ran, and that it waited for a CPU."""
    ran, waited, _ = Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()
    return int(ran), int(waited)
