"""Talks to the Docker engine: finds its client, sees that it answers, and tests what containers may do."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.base.command import child

BUILDKIT_INSIDE_BEFORE = 23  # the client's version; later clients use a plugin, buildx
# The kernel's numbers of the capabilities that containers get here.
CAPABILITIES = {
    "NET_ADMIN": 12,
    "NET_RAW": 13,
    "IPC_LOCK": 14,
    "SYS_ADMIN": 21,
    "SYS_NICE": 23,
    "PERFMON": 38,
    "BPF": 39,
}
REAL_TIME_US = 800_000  # of each second
ENGINE_REAL_TIME_US = 900_000
IN_SYS_ADMIN = ("BPF", "PERFMON")  # older engines have no names for these
# An engine's AppArmor profile refuses every mount, whatever capabilities the container has.
UNCONFINED_MOUNTS = ("--security-opt", "apparmor=unconfined")


class EngineError(RuntimeError):
    """The engine is absent, does not answer, or cannot do what is needed; the message says what would help."""


@dataclass(frozen=True)
class Engine:
    """A client that builds with BuildKit, and the engine that it talks to.

    command: the client. version: the engine's.
    """

    command: str
    version: str

    def run(self, arguments: Sequence[str | Path], doing: str, stdin: IO[bytes] | None = None) -> str:
        """Run a short command; return its output. stdin: the command's input. Raises EngineError."""
        done = subprocess.run(self.argv(*arguments), capture_output=True, text=True, check=False, stdin=stdin)
        if done.returncode != 0:
            raise EngineError(
                f"{doing}: `{shlex.join(self.argv(*arguments))}` failed with {done.returncode}: "
                f"{last_words(done.stderr)}"
            )
        return done.stdout.strip()

    def argv(self, *arguments: str | Path) -> list[str]:
        return [self.command, *map(str, arguments)]

    def image_bytes(self, image: str) -> int | None:
        """Return the size of an image; None if the engine lacks it."""
        done = subprocess.run(
            self.argv("image", "inspect", "--format", "{{.Size}}", image), capture_output=True, text=True, check=False
        )
        return int(done.stdout) if done.returncode == 0 else None

    def remove_container(self, name: str) -> None:
        """Remove a container, even a running one. Does nothing if there is none."""
        subprocess.run(self.argv("rm", "--force", name), capture_output=True, check=False)

    def stream(self, arguments: Sequence[str | Path], log: Path) -> int:
        """Run a long command; its output goes to a file and to the terminal. Returns its status."""
        log.parent.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "DOCKER_BUILDKIT": "1"}
        with log.open("wb") as sink:
            started = subprocess.Popen(
                self.argv(*arguments),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            assert started.stdout is not None, "it is a pipe"
            with child(started):
                for line in started.stdout:
                    sink.write(line)
                    print("  " + line.decode(errors="replace").rstrip(), flush=True)
                return started.wait()


def last_words(text: str) -> str:
    """Return the last line that is neither empty nor a hint at --help."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and "--help" not in line]
    return lines[-1] if lines else "it printed nothing"


def find() -> Engine:
    """Find the engine, through the first client on the PATH that can build. Raises EngineError."""
    clients = [path for folder in os.get_exec_path() if os.access(path := os.path.join(folder, "docker"), os.X_OK)]
    if not clients:
        raise EngineError(
            "there is no `docker` on the PATH: install an engine (on Debian `apt-get install docker.io`) and start it"
        )
    engine_version = ask_version(clients[0])
    for client in clients:
        if can_build(client):
            return Engine(client, engine_version)
    raise EngineError(
        f"{clients[0]} cannot build with BuildKit, as the Dockerfile needs: install its plugin buildx "
        "(Debian's own client, of the package docker.io, has it built in)"
    )


def ask_version(client: str) -> str:
    done = subprocess.run(
        [client, "version", "--format", "{{.Server.Version}}"], capture_output=True, text=True, check=False
    )
    if done.returncode == 0 and done.stdout.strip():
        return done.stdout.strip()
    if "permission denied" in done.stderr:
        raise EngineError(
            "this user may not speak to the Docker engine: run it as root, or as a member of the group docker"
        )
    raise EngineError(
        f"the Docker engine does not answer ({last_words(done.stderr)}): start it with `systemctl start docker`, "
        "or, where there is no systemd, as root with `dockerd &`"
    )


def can_build(client: str) -> bool:
    said = subprocess.run([client, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"version (\d+)\.", said)
    if version and int(version[1]) < BUILDKIT_INSIDE_BEFORE:
        return True
    return subprocess.run([client, "buildx", "version"], capture_output=True, check=False).returncode == 0


# --- Capabilities ----------------------------------------------------------------------------------


def capability_arguments(capabilities: Sequence[str]) -> list[str]:
    """Return arguments that grant these capabilities and drop all others. Set-user-id bits add none."""
    given = [word for name in capabilities for word in ("--cap-add", name)]
    mounts = UNCONFINED_MOUNTS if "SYS_ADMIN" in capabilities else ()
    return ["--cap-drop", "ALL", *given, *mounts, "--security-opt", "no-new-privileges"]


def granted(engine: Engine, image: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the capabilities under this engine's names, once a container has shown that it has them.

    Raises EngineError.
    """
    names = named_here(engine, image, wanted)
    missing = [name for name in names if not has(engine, image, name)]
    if missing:
        raise EngineError(
            f"containers of this engine cannot have {', '.join(missing)}: the engine itself must run as root, in no "
            "user namespace, "
            "with these capabilities (`grep CapBnd /proc/$(pidof dockerd)/status` shows its own)"
        )
    return names


def named_here(engine: Engine, image: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """Replace those parts of SYS_ADMIN that the engine has no names for by SYS_ADMIN itself."""
    unknown = [name for name in wanted if name in IN_SYS_ADMIN and not is_known(engine, image, name)]
    names = [name for name in wanted if name not in unknown] + (["SYS_ADMIN"] if unknown else [])
    return tuple(dict.fromkeys(names))


def is_known(engine: Engine, image: str, capability: str) -> bool:
    done = probe(engine, image, capability)
    return not (done.returncode and "unknown capability" in done.stderr)


def has(engine: Engine, image: str, capability: str) -> bool:
    """True if a process of a container has the capability in its effective set."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)", probe(engine, image, capability).stdout, re.MULTILINE)
    return bool(found and int(found[1], 16) >> CAPABILITIES[capability] & 1)


def real_time_arguments(engine: Engine, image: str) -> list[str]:
    """Return the arguments with which a container may run a process in real time. Raises EngineError.

    Some kernels share real time out to control groups (CONFIG_RT_GROUP_SCHED). There a new group has no real time
    unless it gets some explicitly.
    """
    for arguments in ([], ["--cpu-rt-runtime", str(REAL_TIME_US)]):
        wanted = ["run", "--rm", "--network", "none", *capability_arguments(["SYS_NICE"]), *arguments]
        done = subprocess.run(
            engine.argv(*wanted, "--entrypoint", "chrt", image, "--fifo", "1", "true"), capture_output=True, check=False
        )
        if done.returncode == 0:
            return arguments
    raise EngineError(
        "containers of this engine cannot have processes in real time, which a benchmark's are: this kernel shares "
        "real time out to "
        f"control groups; give the engine some to hand on, `dockerd --cpu-rt-runtime={ENGINE_REAL_TIME_US}`"
    )


def probe(engine: Engine, image: str, capability: str) -> subprocess.CompletedProcess[str]:
    arguments = [
        "run",
        "--rm",
        "--network",
        "none",
        *capability_arguments([capability]),
        "--entrypoint",
        "cat",
        image,
        "/proc/self/status",
    ]
    return subprocess.run(engine.argv(*arguments), capture_output=True, text=True, check=False)
