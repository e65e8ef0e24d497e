"""Reads the module of a protocol's steps."""

from __future__ import annotations

from codegen.errors import Errors, FileMissing
from codegen.ir import Span
from codegen.layout.folders import Folders
from codegen.tla import sany


def read_module(folders: Folders, name: str, named: Span, errors: Errors) -> sany.Module | None:
    """Parses the module `name` of a protocol's folder. Returns None after reporting errors.

    named: the place in the layout that names the module.
    """
    path = folders.spec / f"{name}.tla"
    if not path.is_file():
        errors.add(FileMissing(named, f"there is no {name}.tla beside the layout", "name the steps module"))
        return None
    for standard in sorted(sany.STANDARD_MODULES):
        for folder in (folders.spec, *folders.others):
            if (folder / f"{standard}.tla").is_file():
                span = Span(folders.display.name(folder / f"{standard}.tla"), 1, 1)
                errors.add(FileMissing(span, f"{standard} is a standard module", "rename this module"))
                return None
    return sany.read(path, folders.others, folders.display, errors)
