"""The forms of a protocol's programs: as the layout gives them, and what it has instead for older kernels."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegen.older import has_programs, is_before, older_of, override

SHIPPED, OLDER = "shipped", "older"


@dataclass(frozen=True)
class Form:
    """name: SHIPPED or OLDER. laid_over: the layout, for it. since: the oldest kernel with programs, where the one
    asked for is older still.
    """

    name: str
    laid_over: dict[str, Any] = field(default_factory=dict)
    since: str | None = None


def merged(base: Mapping[str, Any], *more: Mapping[str, Any]) -> dict[str, Any]:
    """What is laid over a layout, one after the other: mappings key by key, all else is replaced."""
    result = dict(base)
    for over in more:
        for key, value in over.items():
            known = result.get(key)
            result[key] = merged(known, value) if isinstance(value, Mapping) and isinstance(known, Mapping) else value
    return result


def form_for(spec: Path, release: str | None = None) -> Form:
    """What a kernel (the one that runs here) can load of a protocol. Raises SpecErrors."""
    older = older_of(spec)
    release = release or os.uname().release
    if older is None or not is_before(release, older):
        return Form(SHIPPED)
    return Form(OLDER, override(older), None if has_programs(release, older) else older.since)
