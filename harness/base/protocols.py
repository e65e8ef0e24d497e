"""Lists the protocols: the folders of spec/ that have a layout."""

from __future__ import annotations

import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SPEC = REPOSITORY / "spec"
MODEL, LIVE, BENCH = "model", "live", "bench"
"""The rooms of a protocol's folder: its models, what live tests need, and what benchmarks need."""
GENERATED = REPOSITORY / "generated"
BUILD = REPOSITORY / "build"
RUNTIME = REPOSITORY / "runtime"
RUNTIME_INCLUDE = (RUNTIME, RUNTIME / "abi")
"""Folders of the headers that generated C includes."""


class UnknownProtocol(ValueError):
    """A name without a folder in spec/; the message lists the known ones."""


def protocols() -> list[str]:
    return sorted(layout.parent.name for layout in SPEC.glob("*/layout.yaml"))


def chosen(names: list[str]) -> list[str]:
    """Returns the named protocols, or all. Raises UnknownProtocol."""
    known = protocols()
    for name in names:
        if name not in known:
            raise UnknownProtocol(
                f"there is no protocol {name!r} (no spec/{name}/layout.yaml); choose from: {', '.join(known)}"
            )
    return names or known


def bpf_object(protocol: str) -> Path:
    return BUILD / protocol / f"{protocol}.bpf.o"


def daemon(protocol: str) -> Path:
    return BUILD / protocol / f"{protocol}d"


def main() -> int:
    """`python -m harness.base.protocols [PROTOCOL...]`: prints the chosen protocols, one a line, for scripts."""
    try:
        print("\n".join(chosen(sys.argv[1:])))
    except UnknownProtocol as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
