"""codegen/ is in rooms, and imports go one way: a room uses the rooms before it in the list."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import codegen

ROOT = Path(codegen.__file__).parent
ROOMS = ("ir", "", "c", "layout", "tla", "analysis", "checks", "assemble", "emit", "compile", "cli", "__main__")
"""From the ground up. The empty name stands for the modules beside the rooms that every room may use."""

SHARED = {"__init__", "errors", "display", "broken_pipe"}
COMPILE_LINES_MAX = 80


def modules() -> dict[str, Path]:
    return {".".join(path.relative_to(ROOT.parent).with_suffix("").parts): path for path in ROOT.rglob("*.py")}


def room(module: str) -> str:
    head = module.split(".")[1] if "." in module else "__init__"
    return "" if head in SHARED else head


def imported(module: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of codegen that a module imports, also within functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module} has a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if {inner, f"{inner}.__init__"} & set(known) else str(node.module))
    found = {name if name in known else f"{name}.__init__" for name in found if name.split(".")[0] == "codegen"}
    return {name for name in found if name in known and name != module}


def test_every_module_is_in_a_room() -> None:
    assert {room(module) for module in modules()} == set(ROOMS)


def test_a_room_imports_only_rooms_before_it() -> None:
    known = modules()
    wrong = [
        f"{module} imports {other}"
        for module, path in known.items()
        for other in imported(module, path, known)
        if ROOMS.index(room(other)) > ROOMS.index(room(module))
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_no_imports_in_a_circle() -> None:
    known = modules()
    TopologicalSorter({module: imported(module, path, known) for module, path in known.items()}).prepare()


def test_compile_py_is_short() -> None:
    assert len((ROOT / "compile.py").read_text().splitlines()) <= COMPILE_LINES_MAX


def test_the_order_of_rooms_is_looked_at(tmp_path: Path) -> None:
    """A module that imports upwards is found."""
    path = tmp_path / "walk.py"
    path.write_text("def late() -> None:\n    from codegen.emit import types\n    from codegen import compile\n")
    assert imported("codegen.ir.walk", path, modules()) == {"codegen.emit.types", "codegen.compile"}
