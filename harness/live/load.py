"""Runs a load of many clients against a server, and compares the drained files with the answers."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any

from harness import histories
from harness.live import plugin
from harness.live.plugin import LiveError
from harness.live.server import Server

DRAIN_SECONDS_MAX = 30


def start_load(
    server: Server, seconds: float, history: Path, spec: dict[str, Any], seed: int = 1
) -> subprocess.Popen[str]:
    """Start a load from the rig's client, with the `load` and `options` of a workload.yaml that are in `spec`."""
    command = [str(server.build.load_program()), "--server", server.rig.server.ipv4, "--seconds", str(seconds)]
    command += ["--history", str(history), "--seed", str(seed)]
    if server.build.protocol.hashes:
        command += ["--tables-seed", str(server.tables_seed())]
    command += plugin.load_arguments(spec)
    return server.rig.client.popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish_load(load: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for a load and return its summary."""
    output, errors = load.communicate(timeout=DRAIN_SECONDS_MAX)
    if load.returncode != 0:
        raise LiveError(f"the load ended with {load.returncode}: {errors.strip()}")
    summary: dict[str, Any] = json.loads(output)
    return summary


def settle(server: Server, recorded: list[Path]) -> tuple[list[str], str]:
    """Compare the answers that clients received in all loads of a server with the drained files and the recovered rows.

    Call it once everything is drained. The files may show the outcome of operations that were never answered; these
    outcomes are then written into the histories. Returns complaints, and a summary of the files.
    """
    recovery = plugin.recovery(server.build.name)
    if server.segments is None or recovery is None:
        return [], ""
    found = recovery(lambda: itertools.chain.from_iterable(map(histories.read, recorded)), server.entries())
    complaints = found.complaints(server.rows())
    for path in recorded:
        if any(operation.returned == histories.NEVER for operation in histories.read(path)):
            histories.write(path, found.settled(histories.read(path)))
    return complaints, found.summary
