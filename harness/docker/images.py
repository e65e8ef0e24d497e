"""Builds the images of the Dockerfile."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from harness.base.protocols import REPOSITORY
from harness.docker import settings
from harness.docker.engine import Engine, EngineError

DOCKERFILE = REPOSITORY / "Dockerfile"
LABEL = "stepwise"
IMAGES = {"artefacts": "stepwise-artefacts", "daemon": "stepwise-daemon"}
"""Stages of the Dockerfile that become images, and the names of the images."""


def base_image() -> str:
    """Return the image that the Dockerfile starts from. Raises EngineError."""
    found = re.search(r"^FROM (\S+)", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise EngineError(f"looking up the base image: {DOCKERFILE} has no line FROM")
    return found[1]


def require_base(engine: Engine) -> None:
    """Pull the base image unless it is there. Raises EngineError."""
    name = base_image()
    if engine.image_bytes(name) is not None:
        return
    print(f"pulling {name}", flush=True)
    done = subprocess.run(engine.argv("pull", "--quiet", name), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise EngineError(f"{name} does not exist and cannot be pulled: `just docker base` makes it")


def build(engine: Engine, stage: str, logs: Path) -> None:
    """Build a stage into its image, with the host's network and settings. Raises EngineError."""
    with tempfile.TemporaryDirectory() as secrets:
        arguments = [
            "build",
            "--network",
            "host",
            "--progress",
            "plain",
            "--target",
            stage,
            "--tag",
            IMAGES[stage],
            "--label",
            LABEL,
        ]
        arguments += settings.write(Path(secrets), "bookworm")
        log = logs / f"build-{stage}.log"
        status = engine.stream([*arguments, REPOSITORY], log)
    if status != 0:
        raise EngineError(
            f"the image {IMAGES[stage]} could not be built: `docker build` ended with {status}; its output is in {log}"
        )
    prune(engine)


def prune(engine: Engine) -> None:
    """Remove our images whose names now belong to newer ones."""
    engine.run(["image", "prune", "--force", "--filter", f"label={LABEL}"], "removing images without a name")


def remove(engine: Engine) -> list[str]:
    """Remove the images; return their names."""
    present = [name for name in IMAGES.values() if engine.image_bytes(name) is not None]
    for name in present:
        engine.run(["image", "rm", "--force", name], f"removing the image {name}")
    prune(engine)
    return present
