"""`just load`, `unload`, `serve`, `purge` and `status`: one set of commands for the daemons of all protocols.

Interfaces are those of the network namespace in which the command runs. STEPWISE_BPFFS and STEPWISE_RUN are the
daemon's, see `build/<protocol>/<protocol>d --help`. A protocol that drains to files has a folder of its name in
STEPWISE_STATE.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from harness.base import command
from harness.base.protocols import UnknownProtocol, chosen, daemon, protocols
from harness.builds.freshness import CannotTell, staleness
from harness.builds.make import BuildError
from harness.builds.protocol import build, lacking

EXIT_PRIVILEGE = 4  # the daemon's exit code if it lacks a privilege
# With this variable, the daemon's messages recommend recipes.
ENVIRONMENT = {"STEPWISE_BY_RECIPE": "1"}
# The default folder for files that must survive a reboot. STEPWISE_STATE names another one.
STATE = "/var/lib/stepwise"


class ServiceError(RuntimeError):
    """A command cannot be carried out; the message says why, or is empty if the daemon has said so."""


# --- The daemons ---------------------------------------------------------------------------------------


def ask(protocol: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the protocol's daemon; return its status and output."""
    words = [str(daemon(protocol)), *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | ENVIRONMENT)
    if done.returncode == EXIT_PRIVILEGE:
        raise ServiceError(
            "only root can see loaded programs, because the BPF file system belongs to root; run it as root"
        )
    return done


def run(protocol: str, *arguments: str) -> None:
    """Run a command of the protocol's daemon, which prints its own messages."""
    sys.stdout.flush()
    words = [str(daemon(protocol)), *arguments]
    if subprocess.run(words, check=False, env=os.environ | ENVIRONMENT).returncode != 0:
        raise ServiceError("")


def status(protocol: str) -> dict[str, Any]:
    """Return the output of the daemon's `status --json`."""
    done = ask(protocol, "status", "--json")
    if done.returncode != 0:
        print(done.stderr, end="", file=sys.stderr)
        raise ServiceError("")
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def built() -> list[str]:
    return [protocol for protocol in protocols() if daemon(protocol).exists()]


def require_built(protocol: str) -> None:
    chosen([protocol])
    if not daemon(protocol).exists():
        raise ServiceError(f"{protocol} is not built: run `just build {protocol}`")


def serve_options(protocol: str, segments: str | None) -> list[str]:
    """Return `--segments DIR` if the protocol drains to files. A default folder is made for root alone."""
    if segments is not None:
        return ["--segments", segments]
    if not status(protocol)["drains"]:
        return []
    folder = Path(os.environ.get("STEPWISE_STATE") or STATE) / protocol
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        why = f"cannot make {folder}, the folder for the files of {protocol}: {error.strerror}"
        raise ServiceError(
            f"{why}; name another folder, with --segments DIR or for all protocols in STEPWISE_STATE"
        ) from None
    return ["--segments", str(folder)]


def stop(protocol: str) -> None:
    """Stop the protocol's daemon and wait for it.

    The daemon's own command finds the process by its claim. A process number that was read earlier may belong to
    another process by now.
    """
    run(protocol, "stop", "--quiet")
    print(f"the daemon of {protocol} has ended")


# --- Commands ------------------------------------------------------------------------------------------


def bring_up_to_date(protocol: str, stale: bool) -> None:
    """Build the generated code. stale: accept code that is generated from an older specification."""
    try:
        sentence = staleness(protocol)
    except CannotTell as unknown:
        print(f"load: warning: {unknown}", file=sys.stderr)
        sentence = None
    if sentence and not stale:
        raise ServiceError(f"{sentence}; or add --stale to load the generated files as they are")
    if sentence:
        print(f"load: warning: {sentence}", file=sys.stderr)
    if lacks := lacking(protocol):
        raise ServiceError(f"{lacks}; boot a newer kernel")
    build(protocol)


def load(protocol: str, interface: str, options: list[str], stale: bool, segments: str | None = None) -> None:
    """Attach the programs, and start the daemon unless it runs, even if the programs are already attached."""
    chosen([protocol])
    if not interface:
        raise ServiceError("the name of the interface is empty; `ip link` lists them")
    if daemon(protocol).exists() and loaded_already(protocol, interface, segments):
        return
    bring_up_to_date(protocol, stale)
    run(protocol, "load", interface, *options)
    if not status(protocol)["daemon"]["alive"]:
        start(protocol, segments, f"{protocol} is loaded on {interface}, but no daemon answers forwarded requests")
    print(
        f"{protocol} is loaded on {interface} and served; `just status` shows its counters, `just unload {interface}` "
        "ends it"
    )


def loaded_already(protocol: str, interface: str, segments: str | None) -> bool:
    """Return whether the programs were already attached. In that case, start the missing daemon."""
    report = status(protocol)
    if not any(each["here"] and each["name"] == interface for each in report["interfaces"]):
        return False
    if report["daemon"]["alive"]:
        already = f"{protocol} is already loaded on {interface}, and its daemon runs"
        raise ServiceError(f"{already}; `just unload {interface}` first to load it again")
    start(protocol, segments, f"{protocol} is still loaded on {interface}, without its daemon")
    print(f"{protocol} is already loaded on {interface}; its daemon was not running and is started")
    return True


def start(protocol: str, segments: str | None, otherwise: str) -> None:
    """Start the daemon. otherwise: the state of things if that fails."""
    try:
        run(protocol, "serve", "--daemonize", *serve_options(protocol, segments))
    except ServiceError as error:
        named = f" --segments {segments}" if segments is not None else ""
        reason = f"{error}: {otherwise}" if str(error) else otherwise
        raise ServiceError(
            f"{reason}; once the reason above is removed, `just serve {protocol}{named}` starts it"
        ) from None


def unload(interface: str) -> None:
    """Detach from the interface. The daemon stops with its last interface."""
    if not interface:
        raise ServiceError("the name of the interface is empty; `just status` shows what is loaded where")
    reports = {protocol: status(protocol) for protocol in built()}
    named = {
        protocol: [each for each in report["interfaces"] if each["name"] == interface]
        for protocol, report in reports.items()
    }
    # A deleted interface can be unloaded from anywhere. For one of another namespace, the daemon says how.
    found = [protocol for protocol, entries in named.items() if any(each["here"] or each["gone"] for each in entries)]
    found = found or [protocol for protocol, entries in named.items() if entries]
    if not found:
        raise ServiceError(f"nothing is loaded on {interface}; `just status` shows what is loaded where")
    for protocol in found:
        run(protocol, "unload", interface)
        report = status(protocol)
        if report["daemon"]["alive"] and all(each["gone"] for each in report["interfaces"]):
            stop(protocol)


def serve(protocol: str, options: list[str], segments: str | None) -> None:
    """Become the daemon, so that signals reach it."""
    require_built(protocol)
    sys.stdout.flush()
    words = [str(daemon(protocol)), "serve", *options, *serve_options(protocol, segments)]
    os.execve(words[0], words, os.environ | ENVIRONMENT)


def purge(protocol: str) -> None:
    require_built(protocol)
    run(protocol, "purge")


def show(options: list[str]) -> None:
    if not built():
        print("nothing is built: run `just build`")
    failed = False
    said: set[str] = set()
    for protocol in built():
        done = ask(protocol, "status", *options)
        failed |= done.returncode != 0
        print(done.stdout, end="")
        # Print a reason that all daemons share only once. The text before the colon is the daemon's name.
        sentence = done.stderr.partition(": ")[2]
        if sentence not in said:
            print(done.stderr, end="", file=sys.stderr)
        said.add(sentence)
    if failed:
        raise ServiceError("")


# --- The command line ----------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="just", description="Load protocols on interfaces.")
    commands = made.add_subparsers(dest="command", required=True)
    loading = commands.add_parser("load")
    loading.add_argument("protocol")
    loading.add_argument("interface")
    loading.add_argument(
        "--first",
        action="store_true",
        help="no client relies on grants of earlier tables, so new tables need not wait before they grant",
    )
    loading.add_argument(
        "--generic", action="store_true", help="accept generic XDP mode if the driver has no native mode"
    )
    loading.add_argument("--clsact", action="store_true", help="attach TC as a filter even if the kernel has tcx links")
    add_segments(loading)
    loading.add_argument(
        "--stale", action="store_true", help="load the generated files even if they are older than the specification"
    )
    commands.add_parser("unload").add_argument("interface")
    commands.add_parser("purge").add_argument("protocol")
    serving = commands.add_parser("serve")
    serving.add_argument("protocol")
    serving.add_argument("--daemonize", action="store_true", help="leave the terminal when ready")
    serving.add_argument(
        "--user", metavar="NAME", help="run as this user after everything that needs privilege is open"
    )
    add_segments(serving)
    commands.add_parser("status").add_argument(
        "--all", action="store_true", help="also show the counters that are zero"
    )
    return made


def add_segments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--segments",
        metavar="DIR",
        help=f"folder for the files of a protocol with a drain (STEPWISE_STATE/PROTOCOL, {STATE}/PROTOCOL)",
    )


def flags(arguments: argparse.Namespace, *names: str) -> list[str]:
    """Return the flags that were given, for the daemon."""
    return [f"--{name}" for name in names if getattr(arguments, name)]


def dispatch(arguments: argparse.Namespace) -> None:
    match arguments.command:
        case "load":
            load(
                arguments.protocol,
                arguments.interface,
                flags(arguments, "first", "generic", "clsact"),
                arguments.stale,
                arguments.segments,
            )
        case "unload":
            unload(arguments.interface)
        case "purge":
            purge(arguments.protocol)
        case "serve":
            options = flags(arguments, "daemonize") + (["--user", arguments.user] if arguments.user else [])
            serve(arguments.protocol, options, arguments.segments)
        case "status":
            show(flags(arguments, "all"))


def main(values: list[str] | None = None) -> int:
    arguments = parser().parse_args(values)
    try:
        dispatch(arguments)
    except (BuildError, ServiceError, UnknownProtocol) as error:
        if str(error):
            print(f"{arguments.command}: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(command.run("just", main))
