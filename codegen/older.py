"""What a layout says of older kernels: which of its programs they have, and with what laid over it these are
generated for them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from codegen import front, layout
from codegen.errors import Errors
from codegen.layout import Older
from codegen.versions import version


def older_of(spec: Path) -> Older | None:
    """Of a protocol's folder; None where every kernel has its programs as they are. Raises SpecErrors."""
    spec = spec.resolve()
    folders = [*front.used_folders(spec), spec.parent / "lib", front.LIBRARY]
    errors = Errors()
    read = layout.read(spec / "layout.yaml", folders, None, front.display_names(spec, folders), errors)
    errors.raise_if_any()
    return read[0].older if read else None


def override(older: Older) -> dict[str, Any]:
    """What is laid over the layout for kernels before `before`."""
    return {"older": None, "tables": {name: table.model_dump() for name, table in older.tables.items()}}


def is_before(release: str, older: Older) -> bool:
    """Whether a kernel lacks what the layout asks for."""
    return version(release) < version(older.before)


def has_programs(release: str, older: Older) -> bool:
    """Whether there are programs for a kernel at all."""
    return older.since is None or version(release) >= version(older.since)
