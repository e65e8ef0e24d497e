"""Protocols that people write without thinking of the generator build, conform, and stay within their budgets."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from harness import veristat
from harness.conform.__main__ import show, show_pairs
from harness.conform.build import ROOT
from harness.conform.campaign import Campaign, Trial
from harness.data.cells import LAYOUT

NATURAL = sorted(path for path in (Path(__file__).parent / "natural").iterdir() if path.is_dir())


@pytest.mark.parametrize("protocol", NATURAL, ids=lambda path: path.name)
def test_a_natural_protocol_conforms_within_its_budget(protocol: Path, tmp_path: Path):
    spec = tmp_path / "spec" / protocol.name
    shutil.copytree(protocol, spec)
    (tmp_path / "spec/lib").symlink_to(ROOT / "spec/lib")
    tried = Campaign(spec, tmp_path / "build")
    budgets, release = veristat.budgets(protocol.name, spec), os.uname().release
    for variant in ("", *tried.text.variants):
        stage = tried.stage(LAYOUT, variant)
        judged = [
            veristat.judge(protocol.name, each, budgets, release) for each in veristat.measure(stage.build.object)
        ]
        assert [fault for each in judged for fault in each.faults] == [], variant
        result = Trial(stage, variant or LAYOUT).run(stage.cases)
        assert show(protocol.name, result) == [], variant
        if not variant:
            assert show_pairs(protocol.name, [result], tried.text.pairs_min) == []
            assert result.uncovered() == []
