"""harness/ is in rooms, and imports go one way: a room uses the rooms below it."""

from __future__ import annotations

from graphlib import TopologicalSorter

import pytest

from harness.base.protocols import REPOSITORY
from tests.import_graph import graph, imported, modules

HARNESS = REPOSITORY / "harness"
SHARED = ("base", "data", "rig", "results", "tla", "builds", "histories", "veristat", "live", "fuzz_targets")
"""Rooms that several commands use, from the ground up. Some of them have a command too."""

COMMANDS = {
    *("bench", "check", "conform", "demo", "docker", "fill", "fuzz", "kernels", "lint", "mutants", "nightly"),
    *("fuzz_generator", "operate", "prove", "report"),
}
"""Rooms that nobody else uses, except for reasons."""

REASONS = {
    ("fill", "bench"): "fills tables with the client of the benchmarks, which sends from the kernel",
    ("fuzz", "fuzz_generator"): "has its command",
    ("fuzz_generator", "conform"): "compares made-up protocols with TLC",
    ("kernels", "conform"): "runs conformance on other kernels",
    ("mutants", "conform"): "runs conformance of mutants in one warm process",
    ("report", "kernels"): "names the kernels that were not measured",
    ("report", "mutants"): "names the mutants that were not hunted",
}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def forbidden(module: str, others: set[str]) -> list[str]:
    """Returns the imports of a module that go up, or to another command without a reason."""

    def is_allowed(above: str, below: str) -> bool:
        if above == below or (above, below) in REASONS:
            return True
        return below in SHARED and (above in COMMANDS or SHARED.index(below) < SHARED.index(above))

    return [f"{module} imports {other}" for other in sorted(others) if not is_allowed(room(module), room(other))]


def test_no_imports_in_a_circle() -> None:
    arrows = graph(HARNESS)
    assert sum(map(len, arrows.values())) > len(arrows)
    TopologicalSorter(arrows).prepare()


def test_every_module_is_in_a_room() -> None:
    assert {room(module) for module in modules(HARNESS)} == {"", *SHARED, *COMMANDS}


def test_a_room_imports_only_rooms_below_it() -> None:
    wrong = [line for module, others in graph(HARNESS).items() for line in forbidden(module, others)]
    assert not wrong, "\n".join(sorted(wrong))


def test_every_reason_is_needed() -> None:
    arrows = {(room(module), room(other)) for module, others in graph(HARNESS).items() for other in others}
    assert REASONS.keys() <= arrows


@pytest.mark.parametrize(
    "module, other",
    [
        ("harness.data.cells", "harness.live.server"),
        ("harness.live.server", "harness.fuzz.machine"),
        ("harness.demo.steps", "harness.fuzz.kill"),
        ("harness.conform.campaign", "harness.kernels.run"),
    ],
)
def test_an_import_upwards_is_found(tmp_path, module: str, other: str) -> None:
    path = tmp_path / "module.py"
    package, _, name = other.rpartition(".")
    path.write_text(f"def late() -> None:\n    from {package} import {name}\n    from harness.base import command\n")
    assert forbidden(module, imported(module, path, modules(HARNESS))) == [f"{module} imports {other}"]
