"""Reads a protocol's layout, with the layouts that it uses and with an override."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from codegen.errors import Errors, FileMissing, LayoutInconsistent
from codegen.ir import Span
from codegen.layout import files
from codegen.layout.folders import Folders
from codegen.layout.schema import Layout
from codegen.layout.source import Source


def read_layout(
    folders: Folders, override: dict[str, Any] | Source | None, name: str | None, errors: Errors
) -> tuple[Layout, Source] | None:
    """Returns the layout and the places of its keys; None after reporting errors.

    name: the required name of the protocol, if any.
    """
    if not folders.layout.is_file():
        here = Span(folders.display.name(folders.layout), 1, 1)
        errors.add(
            FileMissing(
                here,
                f"{folders.spec.name} has no layout.yaml",
                "every protocol has one: see docs/reference/layout.md",
            )
        )
        return None
    found = files.read(folders.layout, folders.others, override, folders.display, errors)
    if found is not None and name not in (None, found[0].protocol):
        errors.add(
            LayoutInconsistent(
                found[1].span("protocol"),
                f"the protocol is called {found[0].protocol}, but its folder {name}",
                f"write `protocol: {name}`, or rename the folder",
            )
        )
    return found


def layout_of(spec: Path) -> Layout:
    """Returns the layout of the protocol in a folder. Raises SpecErrors."""
    errors = Errors()
    found = read_layout(Folders.of(spec), None, None, errors)
    errors.raise_if_any()
    assert found is not None, "an error says why there is no layout"
    return found[0]
