"""`python -m harness.docker.client PROTOCOL=NAME...`: asks each server of compose.yaml, for a second each.

It sends the load of the protocol's first demonstration. It exits with 1 if a server answered nothing.
"""

from __future__ import annotations

import argparse
import functools
import json
import socket
import subprocess
import sys

from codegen.errors import SpecErrors
from harness.base import command
from harness.base.protocols import UnknownProtocol, chosen
from harness.live import plugin
from harness.live.build import build
from harness.live.plugin import LiveError

MICROSECOND_NS = 1000


def target(text: str) -> tuple[str, str]:
    protocol, _, name = text.partition("=")
    if not (protocol and name):
        raise argparse.ArgumentTypeError(f"{text!r} is not PROTOCOL=NAME")
    return protocol, name


@functools.cache
def load_of(protocol: str) -> str:
    """Return the path of the compiled load. Raises LiveError."""
    return str(build(protocol).load_program())


def ask(protocol: str, name: str, seconds: float) -> dict[str, float]:
    """Put the load on one server; return its summary. Raises LiveError."""
    try:
        address = str(socket.getaddrinfo(name, None, socket.AF_INET)[0][4][0])
    except OSError as error:
        raise LiveError(f"cannot look up the address of {name}: {error.strerror}") from error
    phases = plugin.workload(protocol).demo.get("phases", [])
    if not phases:
        raise LiveError(f"{protocol} has no load: add phases under `demo` to spec/{protocol}/live/workload.yaml")
    arguments = ["--server", address, "--seconds", str(seconds), *plugin.load_arguments(phases[0])]
    done = subprocess.run([load_of(protocol), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LiveError(f"the load on {name} ended with {done.returncode}: {done.stderr.strip()}")
    summary: dict[str, float] = json.loads(done.stdout)
    return summary


def main(values: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m harness.docker.client", description=__doc__.split("\n")[0])
    parser.add_argument(
        "targets", nargs="+", type=target, metavar="PROTOCOL=NAME", help="a protocol, and its server's name"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="length of each load (1)")
    arguments = parser.parse_args(values)
    silent = []
    try:
        chosen([protocol for protocol, _ in arguments.targets])
        for protocol, name in arguments.targets:
            summary = ask(protocol, name, arguments.seconds)
            latency = f", p50 {summary['p50_ns'] / MICROSECOND_NS:.0f} µs" if summary["operations"] else ""
            print(f"{protocol} on {name}: {summary['operations']:,} operations answered{latency}", flush=True)
            silent += [] if summary["operations"] else [name]
    except (LiveError, SpecErrors, UnknownProtocol) as error:
        print(f"client: error: {error}", file=sys.stderr)
        return 2
    if silent:
        print(f"client: no answer from {', '.join(silent)}", file=sys.stderr)
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(command.run("client", main))
