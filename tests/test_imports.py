"""No module of harness/ imports itself by way of others."""

from __future__ import annotations

from graphlib import TopologicalSorter

from harness.protocols import REPOSITORY
from tests.import_graph import graph


def test_no_imports_in_a_circle() -> None:
    arrows = graph(REPOSITORY / "harness")
    assert sum(map(len, arrows.values())) > len(arrows)
    TopologicalSorter(arrows).prepare()
