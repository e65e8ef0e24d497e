"""Compares generated/ with spec/ for commands that build or load it. `just fresh` is the check itself."""

from __future__ import annotations

import shutil
import sys

from codegen.cli import files_of
from codegen.errors import SpecErrors
from codegen.tla.sany import tools_jar
from harness.base.protocols import GENERATED, REPOSITORY


class CannotTell(RuntimeError):
    """The tools that read specifications are missing; the message says which."""


def staleness(protocol: str) -> str | None:
    """Says in a sentence why generated/<protocol> does not match spec/<protocol>; None if it does."""
    if not tools_jar(REPOSITORY).is_file() or shutil.which("java") is None:
        raise CannotTell(
            f"cannot compare generated/{protocol} with spec/{protocol}: the TLA+ tools or Java are missing"
        )
    try:
        files = files_of(protocol)
    except SpecErrors as errors:
        first = str(errors.errors[0])
        return (
            f"spec/{protocol} does not compile, so generated/{protocol} is of an older one; the first error is {first}"
        )
    folder = GENERATED / protocol
    differing = [
        name for name, text in files.items() if not (folder / name).is_file() or (folder / name).read_text() != text
    ]
    if not differing:
        return None
    named = ", ".join(sorted(differing)[:3]) + (" and more" if len(differing) > 3 else "")
    return f"generated/{protocol} is older than spec/{protocol} ({named}): run `just generate {protocol}`"


def warn(protocol: str) -> None:
    """Warns on standard error if generated/<protocol> does not match spec/<protocol>, or if that is unknown."""
    try:
        sentence = staleness(protocol)
    except CannotTell as unknown:
        sentence = str(unknown)
    if sentence:
        print(f"warning: {sentence}", file=sys.stderr)
