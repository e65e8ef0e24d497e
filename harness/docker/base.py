"""Makes the base image with debootstrap, where no image can be pulled.

The engine imports the image under the name that the Dockerfile uses.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness.base.command import child
from harness.docker import settings
from harness.docker.engine import Engine, EngineError
from harness.docker.images import base_image

RELEASE = "bookworm"
# As in Debian's slim images: licences are the only documents, and there are no translations.
EXCLUDED = ("doc", "info", "locale", "man")
DPKG_EXCLUDES = (
    "".join(f"path-exclude /usr/share/{name}/*\n" for name in EXCLUDED) + "path-include /usr/share/doc/*/copyright\n"
)
# dpkg need not sync its files: if the machine goes down during a build, there is no image anyway.
UNSYNCED = "force-unsafe-io\n"
# Files that debootstrap copied from this host, and folders with its downloads and logs.
HOST_FILES = ("etc/apt/sources.list", "etc/hostname", "etc/resolv.conf")
EMPTIED = ("var/cache/apt", "var/lib/apt/lists", "var/log")


def make(engine: Engine, work: Path, mirror: str | None) -> str:
    """Make the image and import it; return a sentence on it. Raises EngineError.

    mirror: of Debian, instead of the one that apt on this host uses. It stays apt's mirror in the image, because builds
    on such a host may reach no other.
    """
    if os.geteuid() != 0:
        raise EngineError("debootstrap makes a root file system: run it as root")
    if not shutil.which("debootstrap"):
        raise EngineError("debootstrap is not installed: on Debian, run `apt-get install debootstrap`")
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work) as scratch:
        root = Path(scratch) / "root"
        bootstrap(root, mirror or mirror_of_host())
        slim(root)
        if mirror:
            (root / "etc/apt/sources.list").write_text(f"deb {mirror} {RELEASE} main\n", encoding="ascii")
        version = (root / "etc/debian_version").read_text(encoding="ascii").strip()
        load(engine, root)
    wanted = base_image().partition(":")[2].partition("-")[0]
    note = "" if version == wanted else f"; the Dockerfile names {wanted}, but the mirror has {version}"
    size_bytes = engine.image_bytes(base_image())
    if size_bytes is None:
        raise EngineError(f"importing the base image: the engine accepted it, but has no {base_image()}; try again")
    return f"{base_image()} is Debian {version}, {size_bytes / 1e6:.0f} MB{note}"


def mirror_of_host() -> str:
    for line in settings.apt_sources(RELEASE).splitlines():
        _, site, release, component = line.split()
        if (release, component) == (RELEASE, "main"):
            return site
    raise EngineError(
        f"apt on this host has no mirror for Debian's {RELEASE}: name one with --mirror URL (or run `apt-get "
        "update` once)"
    )


def bootstrap(root: Path, mirror: str) -> None:
    command = ["debootstrap", "--variant=minbase", RELEASE, str(root), mirror]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise EngineError(
            f"debootstrap of {RELEASE} failed with {done.returncode}:\n{(done.stdout + done.stderr).strip()[-2000:]}"
        )


def slim(root: Path) -> None:
    """Remove files that the image does not need, and files that belong to this host."""
    (root / "etc/dpkg/dpkg.cfg.d/slim").write_text(DPKG_EXCLUDES, encoding="ascii")
    (root / "etc/dpkg/dpkg.cfg.d/unsynced").write_text(UNSYNCED, encoding="ascii")
    for name in EXCLUDED:
        for path in (root / "usr/share" / name).rglob("*"):
            if (path.is_file() or path.is_symlink()) and path.name != "copyright":
                path.unlink()
    for name in HOST_FILES:
        (root / name).unlink(missing_ok=True)
    for name in EMPTIED:
        for path in (root / name).rglob("*"):
            if path.is_file():
                path.unlink()


def load(engine: Engine, root: Path) -> None:
    """Import the root file system as an image, without devices: the engine makes them."""
    packing = subprocess.Popen(
        ["tar", "-C", root, "--exclude=./dev/*", "--numeric-owner", "-c", "."], stdout=subprocess.PIPE
    )
    with child(packing):
        engine.run(
            ["import", "--change", 'CMD ["bash"]', "-", base_image()], "importing the base image", stdin=packing.stdout
        )
        if packing.wait() != 0:
            raise EngineError(f"packing the base image: tar ended with {packing.returncode}")
