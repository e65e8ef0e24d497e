"""Names the files of a protocol in spans and in generated text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Display:
    """Names files in spans."""

    repository: Path
    """Names are relative to it."""
    outside: dict[Path, str]
    """Names for other folders, which replace their paths."""

    def name(self, path: Path) -> str:
        path = path.resolve()
        for folder, name in self.outside.items():
            if path.is_relative_to(folder):
                return f"{name}/{path.relative_to(folder)}"
        if path.is_relative_to(self.repository):
            return str(path.relative_to(self.repository))
        return str(path)
