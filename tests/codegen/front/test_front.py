"""Tests the front end as a whole: every protocol of the repository loads, fast, and always with the same result."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codegen import ir
from codegen.compile import load
from codegen.errors import SpecErrors
from codegen.ir.walk import leaves
from tests.codegen.front import kit

REPOSITORY = Path(__file__).resolve().parents[3]
PROTOCOLS = sorted(path.parent for path in REPOSITORY.glob("spec/*/layout.yaml"))


@pytest.mark.parametrize("folder", PROTOCOLS, ids=lambda folder: folder.name)
def test_protocol_loads(folder: Path):
    protocol = load(folder)
    assert protocol.name == folder.name
    sections = [*protocol.xdp, *protocol.tc, *(section for one in protocol.sweep for section in one.sections)]
    assert protocol.xdp and len({section.step.name for section in sections}) >= 1
    for section in sections:
        names = [leaf.name for leaf in leaves(section.step.body)]
        assert names and len(names) == len(set(names))
        assert section.writes == any(leaf.cell for leaf in leaves(section.step.body))


@pytest.mark.parametrize("folder", PROTOCOLS, ids=lambda folder: folder.name)
def test_the_hash_seed_changes_nothing(folder: Path):
    """Compares whole protocols: their repr is short, and a set has no order."""
    program = (
        "import sys, pathlib; from dataclasses import asdict; from codegen.compile import load; "
        "found = asdict(load(pathlib.Path(sys.argv[1]))); print({**found, 'declared': sorted(found['declared'])})"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program, str(folder)],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "4242")
    }
    assert len(found) == 1
    assert next(iter(found)).startswith("{'name': ")


def test_a_copy_elsewhere_is_the_same_protocol(tmp_path):
    """So that a changed copy gives C that differs only where the change shows."""
    folder = PROTOCOLS[0]
    copy = tmp_path / "spec" / folder.name
    shutil.copytree(folder, copy)
    assert load(copy) == load(folder)


def test_errors_of_a_copy_name_the_copy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kit.write(tmp_path / "sample", "Step(cell, msg) == Reply(cell)", ["Step"])
    with pytest.raises(SpecErrors, match=r"^sample/SampleSteps.tla:3:25: error: "):
        load(tmp_path / "sample")


def test_errors_of_all_steps_are_collected(tmp_path):
    steps = "\n".join(
        [
            "One(cell, msg) == Reply([cell EXCEPT !.count = @ + 1, !.total = @ + 1], msg)",
            "Two(cell, msg) == IF cell.lost THEN Reply(cell, msg) ELSE Drop([cell EXCEPT !.open = 3], msg)",
            "Three(cell, msg) == Reply(cell, CHOOSE m : TRUE)",
        ]
    )
    with pytest.raises(SpecErrors) as raised:
        load(kit.write(tmp_path, steps, ["One", "Two", "Three", "Four"]))
    assert [error.span.line for error in raised.value.errors if error.span.file.endswith(".tla")] == [3, 3, 4, 4, 5]
    assert "no operator Four" in str(raised.value)


def test_a_user_step_sees_the_whole_table(tmp_path):
    steps = r"""
Step(cell, msg) == Forward(cell, msg)
Find(entries, msg, env) ==
  LET free == FirstIndex(0, 63, 64, LAMBDA i : ~ entries[i].used)
  IN  IF free < 64 THEN Reply(entries, [msg EXCEPT !.where = free, !.key = env.random])
      ELSE Full :: Drop(entries, msg)
"""
    step = kit.compile_steps(tmp_path, steps, ["Step"], user="Find")["Find"]
    assert isinstance(step.cell_type, ir.Table)
    assert (step.cell, step.message, step.env) == ("entries", "msg", "env")
    assert kit.tree(step.body) == [
        "free = (first i in 0..63: not entries[i].used or 64)",
        "if (free < 64)",
        "  Reply Find.1: msg.where = free; msg.key = env.random;",
        "else",
        "  Drop Full:",
    ]
