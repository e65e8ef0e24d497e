"""No module of harness/ imports itself by way of others."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter

from harness.protocols import REPOSITORY


def test_no_imports_in_a_circle() -> None:
    modules = {
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (REPOSITORY / "harness").rglob("*.py")
    }
    arrows: dict[str, set[str]] = {}
    for module, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                inner = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
                names = {name if name in modules else node.module for name in inner.values()}
            elif isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
            else:
                continue
            arrows.setdefault(module, set()).update(names & (set(modules) - {module}))
    assert sum(map(len, arrows.values())) > len(modules)
    TopologicalSorter(arrows).prepare()
