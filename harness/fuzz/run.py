"""Has Hypothesis play a round of examples: one seed on one variant of the layout."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from harness.base.command import counted
from harness.data.hash_seed import PLAIN
from harness.fuzz.machine import Move, Stage, machine_on
from harness.live import plugin
from harness.live.build import build
from harness.live.server import Server
from harness.rig.netns import Rig

RULES_AN_EXAMPLE = 50
NO_PACKETS = ("examples", "late", "kills")
NO_PACKETS_KINDS = (*NO_PACKETS, "garbled")


@dataclass(frozen=True)
class Played:
    """A finished round."""

    counts: Counter[str]
    """Packets by counter."""
    digest: str
    """A digest of the moves of all examples, hexadecimal."""
    error: Exception | None = None
    """The failure, if there is one."""
    moves: list[Move] = field(default_factory=list)
    """The moves of the last example that failed, which is the shortest that was found."""


def play(
    protocol: str, variant: dict[str, Any], actor_count: int, seed: int, examples: int, shrink: bool = True
) -> Counter[str]:
    """Play a round and return its packets by counter. Raises the failure, if there is one."""
    played = play_round(protocol, variant, actor_count, seed, examples, shrink)
    if played.error is not None:
        raise played.error
    return played.counts


def play_round(
    protocol: str,
    variant: dict[str, Any],
    actor_count: int,
    seed: int,
    examples: int,
    shrink: bool = True,
    receive_buffer: int | None = None,
) -> Played:
    """Play a round. Raises only errors that keep it from being played; a failure is part of the result."""
    built = build(protocol, variant)
    with Rig("fuzz") as rig, Server(rig, built, receive_buffer, PLAIN) as server:
        stage = Stage(server, plugin.reference(protocol), actor_count)
        machine = hypothesis.seed(seed)(machine_on(stage))
        error, moves = None, []
        try:
            run_state_machine_as_test(machine, settings=_settings(examples, shrink))
        except Exception as caught:
            error = caught
            for failure in stage.failures[-1:]:
                moves = failure.moves
                if isinstance(caught, Flaky):
                    caught.add_note(f"failed once, but not when it was replayed: {failure.error}")
        finally:
            stage.close()
        stage.packet_count["kills"] += server.kill_count
        return Played(stage.packet_count, stage.played.hexdigest(), error, moves)


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


def summary(counts: Counter[str]) -> str:
    """The packets of rounds by counter, in words."""
    packets = sum(value for name, value in counts.items() if name not in NO_PACKETS)
    kinds = len([name for name in counts if name not in NO_PACKETS_KINDS])
    return (
        f"{counted(counts['examples'], 'example')}, {counted(packets, 'packet')} of {kinds} kinds ({counts['garbled']} "
        "garbled, "
        f"{counts['late']} answered late), {counted(counts['kills'], 'restart')} of the daemon after kill -9"
    )
