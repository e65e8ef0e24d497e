"""The imports between modules of a package, from their text."""

from __future__ import annotations

import ast
from pathlib import Path


def modules(package: Path) -> dict[str, Path]:
    """Returns the modules of a package of the repository, by their dotted names; a folder has its own name."""
    return {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in package.rglob("*.py")
    }


def imported(module: str, path: Path, known: dict[str, Path]) -> set[str]:
    """Returns the modules among `known` that a module imports, also within functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level and node.module, f"{module} has a relative import"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in inner}
    return found & (known.keys() - {module})


def graph(package: Path) -> dict[str, set[str]]:
    known = modules(package)
    return {module: imported(module, path, known) for module, path in known.items()}
