"""Finds the folders that a protocol's files come from, and names the files in messages."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from codegen.display import Display
from codegen.errors import SpecError
from codegen.layout import files

REPOSITORY = Path(__file__).resolve().parent.parent.parent
LIBRARY = REPOSITORY / "spec" / "lib"


@dataclass(frozen=True)
class Folders:
    """The folders of one protocol."""

    spec: Path
    """The protocol's own folder, with its layout and its steps."""
    others: tuple[Path, ...]
    """Folders of the layouts in `use`, then the libraries: the steps may extend modules there."""
    display: Display

    @classmethod
    def of(cls, spec: Path) -> Folders:
        spec = spec.resolve()
        others = tuple(dict.fromkeys([*used_folders(spec), spec.parent / "lib", LIBRARY]))
        return cls(spec, others, _display(spec, others))

    @property
    def layout(self) -> Path:
        return self.spec / "layout.yaml"

    def real_place(self, error: SpecError) -> SpecError:
        """Returns an error with the path of the file that the user can open."""
        for folder, name in self.display.outside.items():
            if error.span.file.startswith(f"{name}/"):
                path = folder / error.span.file.removeprefix(f"{name}/")
                if path.is_file():
                    return replace(error, span=replace(error.span, file=os.path.relpath(path)))
        return error


def used_folders(spec: Path) -> list[Path]:
    """Returns the folders of the layouts in `use`, because a protocol's steps may extend modules there."""
    return [folder for folder in files.used_folders(spec / "layout.yaml") if folder != spec]


def _display(spec: Path, others: tuple[Path, ...]) -> Display:
    """Names the files of a copy, outside of the repository or in its build/, like those of the protocol itself.

    So the C of a changed copy differs from the original's only because of the change.
    """
    outside: dict[Path, str] = {}
    for folder in (spec, *others):
        if not folder.is_relative_to(REPOSITORY) or folder.is_relative_to(REPOSITORY / "build"):
            outside[folder] = f"spec/{folder.name}"
    return Display(REPOSITORY, outside)
