"""Reads spec/PROTOCOL/prove.yaml: the leaves that are not proved, each with the reason."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

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


class Reach(Strict):
    """The only messages that reach a step, by their kind; the generator relies on it too."""

    kinds: tuple[str, ...]
    reason: str


class LeftFile(Strict):
    """The file. Both by the name of the step."""

    left: dict[str, LeftStep] = Field(default_factory=dict)
    reached_by: dict[str, Reach] = Field(default_factory=dict)


def path_of(protocol: str) -> Path:
    """Where the file is, if the protocol has one."""
    return SPEC / protocol / "prove.yaml"


def told(protocol: str, steps: list[str], kinds: tuple[str, ...], path: Path | None = None) -> LeftFile:
    """Reads what a protocol leaves and assumes. kinds: all kinds of messages.

    Raises SpecErrors for a malformed file, and for a step or a kind that does not exist.
    """
    path = path or path_of(protocol)
    if not path.exists():
        return LeftFile()
    document, source = read_placed(path, LeftFile, DESCRIBED_IN)
    errors = [
        LayoutInvalid(source.span(key, name), f"{protocol} has no step {name}", f"its steps are {', '.join(steps)}")
        for key in ("left", "reached_by")
        for name in getattr(document, key)
        if name not in steps
    ]
    errors += [
        LayoutInvalid(source.span("reached_by", name), f"there is no kind {kind}", f"the kinds are {', '.join(kinds)}")
        for name, reach in document.reached_by.items()
        for kind in reach.kinds
        if kind not in kinds
    ]
    if errors:
        raise SpecErrors(list(errors))
    return document
