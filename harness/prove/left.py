"""Reads spec/PROTOCOL/prove.yaml: the leaves that are not proved, each with the reason."""

from __future__ import annotations

from pathlib import Path

from codegen.errors import LayoutInvalid, SpecErrors
from harness.base.protocols import SPEC
from harness.base.yaml_documents import Strict, read_placed

DESCRIBED_IN = "docs/reference/prove.md"


class LeftStep(Strict):
    """A step of which something is not proved. leaves: their arms, such as `2.1`; all leaves if there are none."""

    reason: str
    leaves: tuple[str, ...] = ()

    def has(self, arms: str) -> bool:
        """Whether a leaf is one of those that are left."""
        return not self.leaves or arms in self.leaves


class LeftFile(Strict):
    """The file. left: by the name of the step."""

    left: dict[str, LeftStep]


def path_of(protocol: str) -> Path:
    """Where the file is, if the protocol has one."""
    return SPEC / protocol / "prove.yaml"


def left(protocol: str, steps: list[str], path: Path | None = None) -> dict[str, LeftStep]:
    """The leaves that a protocol leaves, by step.

    Raises SpecErrors for a malformed file, and for a step that does not exist.
    """
    path = path or path_of(protocol)
    if not path.exists():
        return {}
    document, source = read_placed(path, LeftFile, DESCRIBED_IN)
    errors = [
        LayoutInvalid(source.span("left", name), f"{protocol} has no step {name}", f"its steps are {', '.join(steps)}")
        for name in document.left
        if name not in steps
    ]
    if errors:
        raise SpecErrors(list(errors))
    return document.left
