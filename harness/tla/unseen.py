"""Reads what the models of a protocol cannot see, each with its reason: the unseen.yaml beside its models.yaml.

    arms:
      - {arm: "OnForwarded, CASE: NotForwarded", why: "defensive: XDP passes on no other kind"}
    faults:
      - {fault: "Least: off by one: a < b -> a <= b", why: "equal numbers are the same number"}

`arm` and `fault` are names as the commands print them, or patterns with `*`. An entry that fits nothing any more is an
error, so that the file says no more than is true.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pydantic

from codegen.errors import SpecErrors
from harness.base import yaml_documents
from harness.tla import models
from harness.tla.tlc import TlcError

FILE = "unseen.yaml"
DESCRIBED_IN = "docs/reference/models.md"


class UnseenArm(yaml_documents.Strict):
    """Arms that no small model reaches."""

    arm: str
    why: str = pydantic.Field(min_length=1)


class UnseenFault(yaml_documents.Strict):
    """Faults in the steps that no small model notices."""

    fault: str
    why: str = pydantic.Field(min_length=1)


class Unseen(yaml_documents.Strict):
    """The content of an unseen.yaml."""

    arms: list[UnseenArm] = pydantic.Field(default_factory=list)
    faults: list[UnseenFault] = pydantic.Field(default_factory=list)


@dataclass(frozen=True)
class Compared:
    """reasons: the reason for each listed name. unlisted: names without one. stale: entries that fit no name."""

    reasons: dict[str, str]
    unlisted: list[str]
    stale: list[str]


def file_of(protocol: str) -> str:
    """Returns the name of a protocol's file, for messages."""
    return yaml_documents.name_of(models.folder_of(protocol) / FILE)


def is_there(protocol: str) -> bool:
    return (models.folder_of(protocol) / FILE).exists()


def unseen_of(protocol: str) -> Unseen:
    """Reads the file of a protocol; without one, nothing is excepted. Raises TlcError with its mistakes."""
    path = models.folder_of(protocol) / FILE
    if not path.exists():
        return Unseen()
    try:
        return yaml_documents.read(path, Unseen, DESCRIBED_IN)
    except SpecErrors as error:
        raise TlcError(f"the exceptions cannot be read:\n{error}") from None


def compared(names: Iterable[str], entries: Iterable[tuple[str, str]]) -> Compared:
    """Compares what was not seen with the entries of a list: pairs of a pattern and a reason."""
    patterns = [
        (pattern, re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL), why) for pattern, why in entries
    ]
    reasons: dict[str, str] = {}
    unlisted = []
    used: set[str] = set()
    for name in names:
        fitting = [(pattern, why) for pattern, expression, why in patterns if expression.fullmatch(name)]
        used |= {pattern for pattern, _ in fitting}
        if fitting:
            reasons[name] = fitting[0][1]
        else:
            unlisted.append(name)
    return Compared(reasons, unlisted, [pattern for pattern, _, _ in patterns if pattern not in used])
