"""`just docker compose`: runs compose.yaml until its client has asked every server, then removes all of it."""

from __future__ import annotations

import shutil
import subprocess

from harness.base.command import child
from harness.base.protocols import REPOSITORY
from harness.docker.engine import Engine, EngineError

PROJECT = "stepwise"


def find(using: Engine) -> list[str]:
    """Return the command of Compose, of which there are two generations. Raises EngineError."""
    if subprocess.run(using.argv("compose", "version"), capture_output=True, check=False).returncode == 0:
        return using.argv("compose")
    if found := shutil.which("docker-compose"):
        return [found]
    raise EngineError(
        "there is neither `docker compose` nor `docker-compose`: on Debian, run `apt-get install docker-compose`"
    )


def run(using: Engine) -> int:
    """Run the services; return the client's status. Nothing that was started is left."""
    command = [*find(using), "--project-name", PROJECT, "--file", str(REPOSITORY / "compose.yaml")]
    try:
        with child(
            subprocess.Popen([*command, "up", "--exit-code-from", "client"], stdin=subprocess.DEVNULL)
        ) as process:
            return process.wait()
    finally:
        subprocess.run(
            [*command, "down", "--volumes", "--timeout", "5"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
