"""Plays a round of examples in a process of its own, so that the same seed always plays the same examples.

Hypothesis sometimes draws a constant that it finds in the loaded modules. In a shared process, the rounds before would
change its examples.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from codegen.errors import SpecErrors
from harness.base import command
from harness.base.protocols import REPOSITORY
from harness.fuzz.machine import Move
from harness.fuzz.run import play_round
from harness.live import plugin
from harness.live.plugin import LiveError, NotPlayed
from harness.rig import leftovers
from harness.rig.errors import RigError

END_SECONDS_MAX = 10


@dataclass(frozen=True)
class Order:
    """A round to play."""

    protocol: str
    variant: int
    """An index of the variants in the protocol's workload."""
    seed: int
    examples: int
    receive_buffer: int | None = None


@dataclass(frozen=True)
class Told:
    """The result of a round."""

    counts: Counter[str]
    digest: str
    failure: str
    """In words; empty if nothing failed."""
    moves: list[Move]
    """The moves of the shortest example that failed."""


def variants(protocol: str) -> list[dict[str, Any]]:
    """The overrides of the layout that rounds take in turn. Raises LiveError if the workload has no `fuzz`."""
    spec = plugin.workload(protocol).fuzz
    if not spec:
        raise LiveError(f"{protocol} cannot be fuzzed: spec/{protocol}/live/workload.yaml has no `fuzz`")
    return spec.get("variants") or [{}]


def actors(protocol: str) -> int:
    count: int = plugin.workload(protocol).fuzz.get("actors", 3)
    return count


def play_alone(order: Order) -> Told:
    """Play a round in a fresh interpreter. Raises NotPlayed if it cannot be played."""
    argv = [sys.executable, "-m", "harness.fuzz.round", json.dumps(asdict(order))]
    # Fixes the order of sets of strings, which otherwise differs in each process.
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    # In a session of its own, a Ctrl-C does not reach it. It gets one SIGINT from here, and removes its namespaces.
    process = subprocess.Popen(
        argv,
        cwd=REPOSITORY,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            leftovers.clean()
        raise
    if process.returncode != 0:
        raise NotPlayed(f"playing examples of {order.protocol}: {errors.strip().removeprefix('fuzz: ')}")
    said = json.loads(output.splitlines()[-1])
    return Told(
        Counter(said["counts"]),
        said["digest"],
        said["failure"],
        [(name, arguments) for name, arguments in said["moves"]],
    )


def _main(text: str) -> int:
    order = Order(**json.loads(text))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the parent may ignore SIGINT, which is inherited
    try:
        variant = variants(order.protocol)[order.variant]
        played = play_round(
            order.protocol,
            variant,
            actors(order.protocol),
            order.seed,
            order.examples,
            receive_buffer=order.receive_buffer,
        )
    except (LiveError, RigError, SpecErrors, OSError) as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2
    failure = "" if played.error is None else "\n".join([str(played.error), *getattr(played.error, "__notes__", [])])
    print(json.dumps({"counts": played.counts, "digest": played.digest, "failure": failure, "moves": played.moves}))
    return 0


if __name__ == "__main__":
    sys.exit(command.run("fuzz", lambda: _main(sys.argv[1])))
