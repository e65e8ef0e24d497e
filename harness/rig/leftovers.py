"""Keeps track of rigs and their owners, and removes a rig, even if its process was killed.

A rig is a folder of STATE. It names its owner by process id and start time, since process ids are reused. It also holds
the rig's bpffs and run state. The names of the rig's network namespaces start with its name.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import time
from pathlib import Path

from pyroute2 import netns as named_netns

from harness.rig.errors import RigError

STATE = Path("/run/stepwise-rig")
NETNS = Path("/run/netns")
DETACH = 2  # umount2: leave the tree now, and unmount when the last user is gone

_libc = ctypes.CDLL(None, use_errno=True)


def claim(name: str) -> None:
    """Make a rig's folder, owned by this process, and mount a bpffs in it."""
    home = STATE / name
    (home / "run").mkdir(parents=True)
    (home / "owner").write_text(f"{os.getpid()} {start_time(os.getpid())}\n", encoding="ascii")
    (home / "bpf").mkdir()
    if _libc.mount(b"bpf", os.fsencode(home / "bpf"), b"bpf", 0, None) != 0:
        raise RigError(f"mounting a bpffs on {home / 'bpf'}: {os.strerror(ctypes.get_errno())}")


def remove(name: str) -> None:
    """Remove the processes, namespaces, pins and folder of a rig, as far as they exist."""
    namespaces = list(NETNS.glob(f"{name}-*"))
    _end_processes({path.stat().st_ino for path in namespaces})
    for path in namespaces:
        with contextlib.suppress(FileNotFoundError):
            named_netns.remove(path.name)
    home = STATE / name
    _libc.umount2(os.fsencode(home / "bpf"), DETACH)
    shutil.rmtree(home, ignore_errors=True)


def clean() -> list[str]:
    """Remove the rigs of dead processes. Returns their names."""
    dead = [home.name for home in STATE.glob("*") if not _is_owned(home)]
    for name in dead:
        remove(name)
    return dead


def _is_owned(home: Path) -> bool:
    try:
        owner, claimed_at = (home / "owner").read_text(encoding="ascii").split()
    except (FileNotFoundError, ValueError):
        # The owner may be about to write the file.
        return time.time() - home.stat().st_mtime < 10 if home.exists() else True
    return start_time(int(owner)) == claimed_at


def start_time(process: int) -> str | None:
    """The start time of a process, in clock ticks since boot. None if the process does not run."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = status.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[19]


def _end_processes(namespaces: set[int]) -> None:
    """Kill every process that lives in one of these network namespaces (inode numbers)."""
    remaining: list[int] = []
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        with contextlib.suppress(OSError):
            process = int(path.parts[2])
            if process != os.getpid() and path.stat().st_ino in namespaces:
                os.kill(process, signal.SIGKILL)
                remaining.append(process)
    deadline = time.monotonic() + 5
    while any(start_time(process) for process in remaining) and time.monotonic() < deadline:
        time.sleep(0.01)
