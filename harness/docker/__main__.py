"""just docker all|build|base|compose|clean: runs the checks, and the servers of compose.yaml, in containers.

docs/how-to/containers.md has the details.

all: build the images, and run model checking, conformance, veristat and a benchmark in them; results go to
build/docker/results.
build: build the images only.
base: make the base image with debootstrap, where none can be pulled.
compose: run three servers and a client on networks of their own; the client asks each server.
clean: remove the images and build/docker.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from harness import results as kept
from harness.base import command
from harness.base.protocols import BUILD
from harness.docker import base, compose, engine, images, steps
from harness.docker.engine import Engine, EngineError
from harness.results.models import Containers, ContainerStep

WORK = BUILD / "docker"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="just docker", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = made.add_subparsers(dest="command", required=True)
    checking = commands.add_parser("all", help="build the images and run the checks in them")
    checking.add_argument("--smoke", action="store_true", help="run a little of each check, to save time")
    checking.add_argument(
        "--results",
        type=Path,
        default=WORK / "results",
        metavar="DIR",
        help="folder for the findings (build/docker/results)",
    )
    commands.add_parser("build", help="build the images")
    making = commands.add_parser("base", help="make the base image with debootstrap and import it")
    making.add_argument("--mirror", metavar="URL", help="mirror of Debian; default: the one that apt on this host uses")
    commands.add_parser("compose", help="run three servers, and a client that asks each of them")
    cleaning = commands.add_parser("clean", help="remove the images and build/docker")
    cleaning.add_argument("--base", action="store_true", help="also remove the base image")
    return made


def build(using: Engine) -> dict[str, float]:
    """Build both images; return the seconds that each took."""
    images.require_base(using)
    seconds = {}
    for stage, image in images.IMAGES.items():
        began = time.monotonic()
        print(f"\nbuilding {image}", flush=True)
        images.build(using, stage, WORK)
        seconds[image] = time.monotonic() - began
    return seconds


def check_all(using: Engine, smoke: bool, results: Path) -> int:
    """Run all checks. Test what containers may do first, because building the images takes long."""
    run = kept.begin()
    images.require_base(using)
    allowed = steps.grant(using, images.base_image())
    building = build(using)
    results.mkdir(parents=True, exist_ok=True)
    done = [steps.Done(f"build {image}", 0, seconds) for image, seconds in building.items()]
    done += [steps.run(using, step, allowed, smoke, results, run.commit) for step in steps.STEPS]
    sizes = {image: using.image_bytes(image) for image in building}
    found = Containers(
        smoke=smoke,
        engine=using.version,
        image_bytes=sizes,
        capabilities={name: list(names) for name, names in allowed.capabilities.items()},
        steps=[ContainerStep(name=each.step, status=each.status, seconds=round(each.seconds, 1)) for each in done],
    )
    run.keep("docker", "all", found)
    # The containers' own results are in another folder, and a report on that folder shows this one too.
    os.environ["STEPWISE_RESULTS"] = str(results)
    run.keep("docker", "all", found)
    print(f"\n{steps.table(done, sizes)}\n{run.seconds:.0f} s in all; results and logs are in {results}")
    return steps.first_failure(done)


def clean(using: Engine, with_base: bool) -> None:
    removed = images.remove(using)
    if with_base and using.image_bytes(images.base_image()) is not None:
        using.run(["image", "rm", images.base_image()], "removing the base image")
        removed.append(images.base_image())
    shutil.rmtree(WORK, ignore_errors=True)
    print(
        f"removed {', '.join(removed) or 'no image'}; BuildKit's cache stays: `docker builder prune` removes it, "
        "for all projects"
    )


def main() -> int:
    arguments = parser().parse_args()
    try:
        using = engine.find()
        match arguments.command:
            case "all":
                return check_all(using, arguments.smoke, arguments.results)
            case "build":
                build(using)
            case "base":
                print(base.make(using, WORK, arguments.mirror))
            case "compose":
                build(using)
                return compose.run(using)
            case "clean":
                clean(using, arguments.base)
    except (EngineError, kept.ResultsError) as error:
        print(f"docker: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(command.run("docker", main))
