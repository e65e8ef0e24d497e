"""Reads what a layout says about older kernels.

For kernels before a version the programs are generated from the layout with an override. Kernels before
another version have no programs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from codegen.layout.read import layout_of
from codegen.layout.schema import Older
from codegen.layout.versions import version


def older_of(spec: Path) -> Older | None:
    """Returns the key `older` of a protocol's layout; None if the same programs serve every kernel.

    Raises SpecErrors.
    """
    return layout_of(spec).older


def override(older: Older) -> dict[str, Any]:
    """Returns the override of the layout for kernels before `before`."""
    return {"older": None, "tables": {name: table.model_dump() for name, table in older.tables.items()}}


def is_before(release: str, older: Older) -> bool:
    """Whether a kernel lacks a feature that the layout needs."""
    return version(release) < version(older.before)


def has_programs(release: str, older: Older) -> bool:
    """Whether a kernel has programs at all."""
    return older.since is None or version(release) >= version(older.since)
