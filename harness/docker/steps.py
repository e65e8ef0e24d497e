"""Runs the checks of `just docker all`, each in a container that may do only what this check needs."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.docker.engine import Engine, capability_arguments, granted, real_time_arguments
from harness.docker.images import IMAGES

PROGRAMS = ("BPF", "PERFMON", "NET_ADMIN")
LIVE = (*PROGRAMS, "SYS_ADMIN", "NET_RAW", "SYS_NICE", "IPC_LOCK")
RESULTS = "/results"
# A container sees all of /proc/sys read-only, even the part of the network namespaces that a rig makes.
WRITABLE_SYSCTL = "mount -o remount,rw /proc/sys && exec"


@dataclass(frozen=True)
class Step:
    """A check.

    command: for a shell, in the repository. smoke: a shorter version of it.
    capabilities: of Linux, without CAP_.
    sees_host: whether the check reads the host's kernel threads, whose CPU time includes that of packets.
    """

    name: str
    command: str
    smoke: str
    capabilities: tuple[str, ...] = ()
    sees_host: bool = False

    @property
    def in_real_time(self) -> bool:
        return "SYS_NICE" in self.capabilities


STEPS = (
    Step("check", "just check", "just check occ small_validate"),
    Step("conform", "just conform", "just conform limiter --form layout", PROGRAMS),
    Step("veristat", "just veristat", "just veristat", PROGRAMS),
    Step(
        "bench",
        f"{WRITABLE_SYSCTL} just bench --quick --runs 5 --seconds 0.5",
        f"{WRITABLE_SYSCTL} just bench lock --quick --runs 1 --seconds 0.1 --one-core-only",
        LIVE,
        sees_host=True,
    ),
)


@dataclass(frozen=True)
class Granted:
    """Privileges that an engine was seen to allow.

    capabilities: of each step, under the engine's names. real_time: arguments of `docker run`.
    """

    capabilities: dict[str, tuple[str, ...]]
    real_time: list[str]


@dataclass(frozen=True)
class Done:
    """A finished check. status: of the command. seconds: including its container's start and end."""

    step: str
    status: int
    seconds: float


def grant(engine: Engine, image: str) -> Granted:
    """Try the privileges in containers of an image. Raises EngineError, which names the missing ones."""
    capabilities = {step.name: granted(engine, image, step.capabilities) for step in STEPS}
    return Granted(capabilities, real_time_arguments(engine, image) if any(step.in_real_time for step in STEPS) else [])


def arguments_of(step: Step, allowed: Granted, smoke: bool, results: Path, commit: str, name: str) -> list[str | Path]:
    """Return the arguments of `docker run`."""
    command = step.smoke if smoke else step.command
    return [
        "run",
        "--rm",
        "--name",
        name,
        "--init",
        "--network",
        "none",
        *capability_arguments(allowed.capabilities[step.name]),
        *(allowed.real_time if step.in_real_time else []),
        *(["--pid", "host"] if step.sees_host else []),
        "--volume",
        f"{results.resolve()}:{RESULTS}",
        "--env",
        f"STEPWISE_RESULTS={RESULTS}",
        "--env",
        f"STEPWISE_COMMIT={commit}",
        IMAGES["artefacts"],
        "sh",
        "-euc",
        command,
    ]


def run(engine: Engine, step: Step, allowed: Granted, smoke: bool, results: Path, commit: str) -> Done:
    """Run one check. Its output goes to the terminal and to `<step>.log` among the results.

    The container does not outlive this call.
    """
    name = f"stepwise-{step.name}-{os.getpid()}"
    arguments = arguments_of(step, allowed, smoke, results, commit, name)
    print(f"\n{step.name}: {shlex.join(engine.argv(*arguments))}", flush=True)
    began = time.monotonic()
    try:
        status = engine.stream(arguments, results / f"{step.name}.log")
    finally:
        engine.remove_container(name)
    return Done(step.name, status, time.monotonic() - began)


def table(done: Sequence[Done], image_bytes: dict[str, int | None]) -> str:
    """Format the status and time of each step, and the size of each image."""
    lines = [
        f"{each.step:<20} {'passed' if each.status == 0 else f'FAILED ({each.status})':<12} {each.seconds:7.0f} s"
        for each in done
    ]
    lines += [
        f"{name:<20} {'image':<12} {size / 1e6:7,.0f} MB" for name, size in image_bytes.items() if size is not None
    ]
    return "\n".join(lines)


def first_failure(done: Sequence[Done]) -> int:
    """Return the status of the first step that failed, or 0."""
    return next((each.status for each in done if each.status), 0)
