"""Reads a module of TLA+ for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codegen.display import Display
from codegen.errors import Errors
from codegen.tla import sany
from harness.tla.tlc import ROOT


def parsed(path: Path, folders: Sequence[Path] = ()) -> sany.Module:
    """Returns the syntax tree of a module, which may extend others in these folders. It must be correct."""
    errors = Errors()
    module = sany.read(path, folders, Display(ROOT, {}), errors)
    assert module is not None, errors.found
    return module
