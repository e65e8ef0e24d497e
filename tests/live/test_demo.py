"""The demonstration runs, and leaves nothing behind, even if it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.base.protocols import REPOSITORY

NAMESPACES = Path("/run/netns")
COMMAND = [sys.executable, "-m", "harness.demo", "--without-model", "--phase-seconds", "2"]
START_SECONDS_MAX = 120


def namespaces_of(pid: int) -> list[str]:
    return [path.name for path in NAMESPACES.glob(f"stepwise-demo-{pid}-*")] if NAMESPACES.exists() else []


def children_of(pid: int) -> list[str]:
    """Commands whose environment names a rig of that process."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"stepwise-demo-{pid}-".encode() in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_text())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("protocol", ["lock", "kv", "log", "occ"])
def test_demonstration(protocol):
    demo = subprocess.Popen(
        [*COMMAND, protocol], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    output, _ = demo.communicate()
    assert demo.returncode == 0, output
    assert output.count("strictly serializable" if protocol == "occ" else "linearizable") == 3
    assert f"{protocol}_xdp" in output and "operations/s" in output and "rare path" in output
    assert "meanwhile the programs answered" in output
    assert ("both were another's" in output) == (protocol == "lock")
    assert output.count("acknowledged records are among") == (3 if protocol == "log" else 0)
    assert "Traceback" not in output
    assert namespaces_of(demo.pid) == [] and children_of(demo.pid) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(number):
    demo = subprocess.Popen(
        [*COMMAND, "lock"], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    end = time.monotonic() + START_SECONDS_MAX
    while not any("load" in command for command in children_of(demo.pid)):
        assert demo.poll() is None and time.monotonic() < end, "the demonstration did not get to its loads"
        time.sleep(0.05)
    assert namespaces_of(demo.pid)
    os.kill(demo.pid, number)
    output, _ = demo.communicate(timeout=60)
    assert demo.returncode == 128 + number, output
    assert "everything has been taken down" in output
    assert "Traceback" not in output
    assert namespaces_of(demo.pid) == [] and children_of(demo.pid) == []
