"""The host's settings for package managers, as secrets of a build: there while it runs, and in no layer.

What apt, pip and Maven ask on this host, through which proxy, and whose certificates are believed is true in a
container of this host as well. Nothing of it is written into the repository or into an image; `with-host-settings`
beside this file is who reads it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

AUTHORITIES = Path("/usr/local/share/ca-certificates")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY")
# What names places of the network; a path of the host's, as in `find-links` or `cert`, is nothing to a container.
PIP_OPTIONS = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "default-timeout", "retries")
LIST_FORMAT = "deb $(SITE) $(RELEASE) $(COMPONENT)"


def said(*command: str | Path) -> str:
    """What a command prints; nothing where it is not installed or fails."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def apt_sources(release: str) -> str:
    """The host's sources of this release of Debian (`bookworm`), with its updates, a line each; empty on another
    system.
    """
    printed = said("apt-get", "indextargets", "--format", LIST_FORMAT, "Created-By: Packages", "Origin: Debian")
    lines = sorted({line for line in printed.splitlines() if line.split()[2].partition("-")[0] == release})
    return "".join(f"{line}\n" for line in lines)


def apt_proxies() -> str:
    """`Acquire::http::Proxy` and its like, as apt.conf has them."""
    printed = said("apt-config", "dump", "Acquire")
    return "".join(f"{line}\n" for line in printed.splitlines() if "::Proxy" in line and '""' not in line)


def pip_conf(listed: str) -> str:
    """A configuration file of what `pip config list` printed: the environment's settings after, and so over, those of
    files.
    """
    found: dict[str, str] = {}
    for line in sorted(listed.splitlines(), key=lambda line: line.startswith(":env:")):
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2]
        if option in PIP_OPTIONS:
            found[option] = value.strip("'\"").replace("\\n", "\n    ")
    return "[global]\n" + "".join(f"{name} = {value}\n" for name, value in found.items()) if found else ""


def authorities(folder: Path = AUTHORITIES) -> str:
    """The certificates that were added to this host's."""
    return "".join(path.read_text(encoding="ascii").strip() + "\n" for path in sorted(folder.glob("**/*.crt")))


def write(folder: Path, release: str) -> list[str]:
    """Write what there is into a folder; the arguments of `docker build` that hand it over."""
    maven = Path.home() / ".m2/settings.xml"
    texts = {
        "apt_sources": apt_sources(release),
        "apt_conf": apt_proxies(),
        "pip_conf": pip_conf(said("python3", "-m", "pip", "config", "list")),
        "maven_settings": maven.read_text(encoding="utf-8") if maven.is_file() else "",
        "authorities": authorities(),
    }
    arguments = []
    for name, text in texts.items():
        if text:
            path = folder / name
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
            arguments += ["--secret", f"id={name},src={path}"]
    return arguments + proxy_arguments(os.environ)


def proxy_arguments(environment: Mapping[str, str]) -> list[str]:
    """The proxies of the environment, which a build has as its own and leaves in no layer."""
    return [
        word
        for name in PROXIES
        for each in (name, name.lower())
        if environment.get(each)
        for word in ("--build-arg", each)
    ]
