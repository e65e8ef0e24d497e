"""codegen/ is in rooms, and imports go one way: a room uses the rooms before it in the list."""

from __future__ import annotations

from graphlib import TopologicalSorter
from pathlib import Path

import codegen
from tests.import_graph import graph, imported, modules

ROOT = Path(codegen.__file__).parent
ROOMS = ("ir", "", "c", "layout", "tla", "analysis", "checks", "assemble", "emit", "compile", "cli", "__main__")
"""From the ground up. The empty name stands for the modules beside the rooms that every room may use."""

SHARED = {"__init__", "errors", "display", "broken_pipe"}
COMPILE_LINES_MAX = 80


def room(module: str) -> str:
    head = module.split(".")[1] if "." in module else "__init__"
    return "" if head in SHARED else head


def test_every_module_is_in_a_room() -> None:
    assert {room(module) for module in modules(ROOT)} == set(ROOMS)


def test_a_room_imports_only_rooms_before_it() -> None:
    wrong = [
        f"{module} imports {other}"
        for module, others in graph(ROOT).items()
        for other in others
        if ROOMS.index(room(other)) > ROOMS.index(room(module))
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_no_imports_in_a_circle() -> None:
    TopologicalSorter(graph(ROOT)).prepare()


def test_compile_py_is_short() -> None:
    assert len((ROOT / "compile.py").read_text().splitlines()) <= COMPILE_LINES_MAX


def test_the_order_of_rooms_is_looked_at(tmp_path: Path) -> None:
    """A module that imports upwards is found."""
    path = tmp_path / "walk.py"
    path.write_text("def late() -> None:\n    from codegen.emit import types\n    from codegen import compile\n")
    assert imported("codegen.ir.walk", path, modules(ROOT)) == {"codegen.emit.types", "codegen.compile"}
