"""Reads the list of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

HERE = Path(__file__).parent
LIST = HERE / "kernels.yaml"
HOST = "host"


class UnknownKernel(ValueError):
    """A name that is not in the list; the message has the known ones."""


@dataclass(frozen=True)
class Listed:
    """One kernel of the list. package: the kernel image that apt knows; None for the running kernel."""

    name: str
    package: str | None


def listed() -> list[Listed]:
    return [Listed(each["name"], each.get("package")) for each in yaml.safe_load(LIST.read_text(encoding="utf-8"))]


def chosen(names: list[str]) -> list[Listed]:
    """Returns the named kernels, or all. Raises UnknownKernel."""
    known = {each.name: each for each in listed()}
    for name in names:
        if name not in known:
            raise UnknownKernel(f"there is no kernel {name!r} in {LIST.name}; choose from: {', '.join(known)}")
    return [known[name] for name in names or known]
