"""Hands the host's settings for package managers to a build, as secrets that no layer of an image keeps.

apt, pip and Maven need the same sources, proxies and certificate authorities in a container as on its host. The
settings are written neither into the repository nor into an image. `with-host-settings`, beside this file, reads them.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

AUTHORITIES = Path("/usr/local/share/ca-certificates")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY")
# Options that name places on the network. A host's path, as in `find-links` or `cert`, means nothing in a container.
PIP_OPTIONS = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "default-timeout", "retries")
LIST_FORMAT = "deb $(SITE) $(RELEASE) $(COMPONENT)"


def said(*command: str | Path) -> str:
    """Return a command's output; empty if it is not installed or fails."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def apt_sources(release: str) -> str:
    """Return the host's sources of one Debian release (`bookworm`) and its updates, a line each.

    The text is empty on another system.
    """
    printed = said("apt-get", "indextargets", "--format", LIST_FORMAT, "Created-By: Packages", "Origin: Debian")
    lines = sorted({line for line in printed.splitlines() if line.split()[2].partition("-")[0] == release})
    return "".join(f"{line}\n" for line in lines)


def apt_proxies() -> str:
    """Return `Acquire::http::Proxy` and its like, as apt.conf writes them."""
    printed = said("apt-config", "dump", "Acquire")
    return "".join(f"{line}\n" for line in printed.splitlines() if "::Proxy" in line and '""' not in line)


def pip_conf(listed: str) -> str:
    """Make a configuration file from the output of `pip config list`.

    Settings from the environment come last, so they override those of files.
    """
    found: dict[str, str] = {}
    for line in sorted(listed.splitlines(), key=lambda line: line.startswith(":env:")):
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2]
        if option in PIP_OPTIONS:
            found[option] = value.strip("'\"").replace("\\n", "\n    ")
    return "[global]\n" + "".join(f"{name} = {value}\n" for name, value in found.items()) if found else ""


def authorities(folder: Path = AUTHORITIES) -> str:
    """Return the certificates that were added to this host's."""
    return "".join(path.read_text(encoding="ascii").strip() + "\n" for path in sorted(folder.glob("**/*.crt")))


def write(folder: Path, release: str) -> list[str]:
    """Write the settings into a folder; return the arguments of `docker build` that hand them over."""
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
    """Return the arguments that give a build the environment's proxies. No layer keeps them."""
    return [
        word
        for name in PROXIES
        for each in (name, name.lower())
        if environment.get(each)
        for word in ("--build-arg", each)
    ]
