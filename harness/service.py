"""`just load`, `just unload`, `just status`: the daemons of all protocols behind three commands.

Interfaces are those of the network namespace that the command is run in. STEPWISE_BPFFS and STEPWISE_RUN are the
daemon's, see `build/<protocol>/<protocol>d --help`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

from harness.protocols import UnknownProtocol, chosen, daemon, protocols

STOP_TIMEOUT_S = 10


class ServiceError(RuntimeError):
    """A command cannot be carried out; the message says why, or is empty where the daemon has said it."""


def run(protocol: str, *arguments: str) -> None:
    """A command of the protocol's daemon, which speaks for itself."""
    if subprocess.run([daemon(protocol), *arguments], check=False).returncode != 0:
        raise ServiceError("")


def status(protocol: str) -> dict[str, Any]:
    """What the daemon's `status --json` says."""
    done = subprocess.run([daemon(protocol), "status", "--json"], capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise ServiceError(f"{protocol}d status failed: {done.stderr.strip()}") from None


def built() -> list[str]:
    return [protocol for protocol in protocols() if daemon(protocol).exists()]


def load(protocol: str, interface: str) -> None:
    chosen([protocol])
    if not daemon(protocol).exists():
        raise ServiceError(f"{daemon(protocol)} is not there: run `just build {protocol}`")
    run(protocol, "load", interface)
    if not status(protocol)["daemon"]["alive"]:
        run(protocol, "serve", "--daemonize")
    print(f"{protocol} is loaded on {interface} and served; `just status` shows its counters, `just unload {interface}` ends it")


def unload(interface: str) -> None:
    """Off the interface; the daemon ends with its last interface."""
    found = [protocol for protocol in built() if interface in interfaces(protocol)]
    if not found:
        raise ServiceError(f"nothing is loaded on {interface}; `just status` shows what is loaded where")
    for protocol in found:
        run(protocol, "unload", interface)
        report = status(protocol)
        if not report["interfaces"] and report["daemon"]["alive"]:
            stop(protocol, report["daemon"]["pid"])


def interfaces(protocol: str) -> list[str]:
    return [each["name"] for each in status(protocol)["interfaces"] if each["here"]]


def stop(protocol: str, process: int) -> None:
    """End the protocol's daemon and wait for it."""
    os.kill(process, signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while status(protocol)["daemon"]["alive"]:
        if time.monotonic() > deadline:
            raise ServiceError(f"the daemon of {protocol} (process {process}) does not end on SIGTERM")
        time.sleep(0.05)
    print(f"the daemon of {protocol} has ended")


def show() -> None:
    if not built():
        print("nothing is built: run `just build`")
    for protocol in built():
        subprocess.run([daemon(protocol), "status"], check=False)


def main() -> int:
    parser = argparse.ArgumentParser(prog="just", description="Load protocols on interfaces.")
    commands = parser.add_subparsers(dest="command", required=True)
    loading = commands.add_parser("load")
    loading.add_argument("protocol")
    loading.add_argument("interface")
    commands.add_parser("unload").add_argument("interface")
    commands.add_parser("status")
    arguments = parser.parse_args()
    try:
        if arguments.command == "load":
            load(arguments.protocol, arguments.interface)
        elif arguments.command == "unload":
            unload(arguments.interface)
        else:
            show()
    except (ServiceError, UnknownProtocol) as error:
        if str(error):
            print(f"{arguments.command}: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
