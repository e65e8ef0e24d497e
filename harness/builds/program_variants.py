"""Chooses the form of a protocol's programs: the layout itself, or its changes for older kernels."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegen.layout.older_kernels import has_programs, is_before, older_of, override

SHIPPED, OLDER = "shipped", "older"


@dataclass(frozen=True)
class Form:
    """A form of a protocol's programs.

    name: SHIPPED or OLDER. laid_over: changes to the layout for this form. since: the oldest kernel with programs; None
    unless the kernel asked for is older still.
    """

    name: str
    laid_over: dict[str, Any] = field(default_factory=dict)
    since: str | None = None


def merged(base: Mapping[str, Any], *more: Mapping[str, Any]) -> dict[str, Any]:
    """Merges changes to a layout, in order: mappings merge key by key, all else is replaced."""
    result = dict(base)
    for over in more:
        for key, value in over.items():
            known = result.get(key)
            result[key] = merged(known, value) if isinstance(value, Mapping) and isinstance(known, Mapping) else value
    return result


def form_for(spec: Path, release: str | None = None) -> Form:
    """Returns the form that a kernel (the running one) can load. Raises SpecErrors."""
    older = older_of(spec)
    release = release or os.uname().release
    if older is None or not is_before(release, older):
        return Form(SHIPPED)
    return Form(OLDER, override(older), None if has_programs(release, older) else older.since)
