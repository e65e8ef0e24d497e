"""Rounds of fuzzing: one seed each, on each variant of the layout in turn."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from codegen.errors import SpecErrors
from harness.command import counted
from harness.fuzz import plugin
from harness.fuzz.build import build
from harness.fuzz.machine import Stage, machine_on
from harness.fuzz.plugin import LiveError
from harness.fuzz.server import Server
from harness.rig.errors import RigError
from harness.rig.netns import Rig

EXAMPLES_A_ROUND = 20
RULES_AN_EXAMPLE = 50
NO_PACKETS = ("examples", "late", "kills")
NO_PACKETS_KINDS = (*NO_PACKETS, "garbled")
NOT_OF_THE_SEED = (LiveError, RigError, SpecErrors)
"""Before anything was played: the build or the rig could not be made."""


def fuzz(
    protocol: str,
    seconds: float,
    seed: int,
    rounds: int | None = None,
    examples: int = EXAMPLES_A_ROUND,
    receive_buffer: int | None = None,
) -> bool:
    """Play rounds until the time is over (or that many rounds). Prints what fails and the seed that replays it."""
    spec = plugin.workload(protocol).fuzz
    if not spec:
        raise LiveError(f"{protocol} cannot be fuzzed: spec/{protocol}/workload.yaml has no `fuzz`")
    variants = spec.get("variants") or [{}]
    end = time.monotonic() + seconds
    total: Counter[str] = Counter()
    played = 0
    print(f"{protocol}: fuzzing from seed {seed}", flush=True)
    while (played < rounds) if rounds is not None else (played == 0 or time.monotonic() < end):
        variant = variants[(seed + played) % len(variants)]
        try:
            total += play(protocol, variant, spec.get("actors", 3), seed + played, examples, receive_buffer=receive_buffer)
        except Exception as error:
            if isinstance(error, NOT_OF_THE_SEED) and not total:
                raise
            _print_failure(protocol, seed + played, error)
            return False
        played += 1
        if sys.stderr.isatty():
            left = max(end - time.monotonic(), 0)
            print(f"\r{protocol}: {played} rounds, {total['examples']} examples, {left:.0f} s to go ", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r", end="", file=sys.stderr)
    print(f"{protocol}: {counted(played, 'round')} from seed {seed}: {_summary(total)}")
    return True


def play(
    protocol: str,
    variant: dict[str, Any],
    actor_count: int,
    seed: int,
    examples: int,
    shrink: bool = True,
    receive_buffer: int | None = None,
) -> Counter[str]:
    """One round. Returns what the packets were counted as; raises what fails."""
    built = build(protocol, variant)
    with Rig("fuzz") as rig, Server(rig, built, receive_buffer) as server:
        stage = Stage(server, plugin.reference(protocol), actor_count)
        machine = hypothesis.seed(seed)(machine_on(stage))
        try:
            run_state_machine_as_test(machine, settings=_settings(examples, shrink))
        except Flaky as error:
            for failure in stage.failures[:1]:
                error.add_note(f"failed once, and not again when it was replayed: {failure}")
            raise
        finally:
            stage.close()
        stage.packet_count["kills"] += server.kill_count
        return stage.packet_count


def _settings(examples: int, shrink: bool) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=RULES_AN_EXAMPLE,
        deadline=None,
        database=None,
        derandomize=False,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.normal,
        print_blob=False,
        report_multiple_bugs=False,
    )


def _print_failure(protocol: str, seed: int, error: Exception) -> None:
    print(f"{protocol}: FAILED with seed {seed}: {error}")
    for line in getattr(error, "__notes__", []):
        print(f"  {line}")
    print(f"replay: python -m harness.fuzz {protocol} --seed {seed} --rounds 1")


def _summary(total: Counter[str]) -> str:
    packets = sum(value for name, value in total.items() if name not in NO_PACKETS)
    kinds = len([name for name in total if name not in NO_PACKETS_KINDS])
    return (
        f"{counted(total['examples'], 'example')}, {counted(packets, 'packet')} of {kinds} kinds ({total['garbled']} garbled, "
        f"{total['late']} answered late), {counted(total['kills'], 'restart')} of the daemon after kill -9, all as the reference says"
    )
