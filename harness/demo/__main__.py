"""Demonstrates a protocol from its model to live traffic, with figures. Cleans up after itself.

python -m harness.demo [PROTOCOL...]
"""

from __future__ import annotations

import argparse
import sys
import time

from codegen.errors import SpecErrors
from harness.base import command
from harness.base.protocols import UnknownProtocol, chosen
from harness.demo.live import Live
from harness.demo.screen import Screen
from harness.demo.steps import StepFailed, build_code, check_model, generate_code, load_programs
from harness.histories import HistoriesError
from harness.histories.transactions import TransactionsError
from harness.live import plugin
from harness.live.plugin import LiveError
from harness.live.server import Server
from harness.rig.errors import RigError
from harness.rig.netns import Rig
from harness.tla.tlc import TlcError
from harness.veristat import VeristatError

FAILURES = (
    StepFailed,
    LiveError,
    RigError,
    HistoriesError,
    TransactionsError,
    UnknownProtocol,
    SpecErrors,
    TlcError,
    VeristatError,
    AssertionError,
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="just demo", description=__doc__.split("\n")[0])
    parser.add_argument(
        "protocols", nargs="*", metavar="PROTOCOL", help="default: every protocol that has a demonstration"
    )
    parser.add_argument("--phase-seconds", type=float, help="length of every load")
    parser.add_argument("--without-model", action="store_true", help="skip the model checker")
    arguments = parser.parse_args()
    screen, begun = Screen(), time.monotonic()
    command.need(command.NAMESPACES, "make network namespaces and load programs into the kernel")
    try:
        names = [name for name in chosen(arguments.protocols) if arguments.protocols or plugin.workload(name).demo]
        names.sort(key=lambda name: -len(plugin.workload(name).demo.get("phases", [])))  # most phases first
        good = all([demonstrate(screen, name, arguments) for name in names])
    except FAILURES as error:
        screen.say("failed", str(error), False)
        return 1
    except KeyboardInterrupt:
        screen.say("interrupted", "everything has been taken down")
        return 130
    except SystemExit as ended:  # SIGTERM: see command.run
        screen.say("terminated", "everything has been taken down")
        return ended.code if isinstance(ended.code, int) else 1
    word = "All of it held" if good else "Not all of it held"
    screen.title(f"{word}. {time.monotonic() - begun:.0f} s; nothing is left behind.")
    return 0 if good else 1


def demonstrate(screen: Screen, protocol: str, arguments: argparse.Namespace) -> bool:
    """Demonstrate one protocol, from its model on. Returns whether everything was as it should be."""
    phases = plugin.workload(protocol).demo.get("phases", [])
    if not phases:
        raise LiveError(
            f"{protocol} has no demonstration: add phases under `demo` to spec/{protocol}/live/workload.yaml"
        )
    if arguments.phase_seconds:
        phases = [{**phase, "seconds": arguments.phase_seconds} for phase in phases]
    screen.title(f"{protocol}: from the model to live traffic")
    if not arguments.without_model:
        check_model(screen, protocol)
    generate_code(screen, protocol)
    built = build_code(screen, protocol)
    with Rig("demo") as rig, Server(rig, built) as server:
        good = load_programs(screen, server)
        server.start()
        good &= Live(screen, rig, server).play(phases)
    return good


if __name__ == "__main__":
    sys.exit(command.run("demo", main))
