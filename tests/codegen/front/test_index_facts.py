"""Tests which indices are known to have a cell because of what an earlier step has told the message."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from codegen.compile import load
from codegen.errors import SpecErrors

LAYOUT = {
    "protocol": "sample",
    "module": "SampleSteps",
    "message": {"key": "u64", "x": "u12", "y": "u13", "p": "bool"},
    "local": {
        "slot": {"type": "u32", "from": "hash(msg.key, page.capacity)"},
        "other": "u32",
    },
    "tables": {
        "first": {"cell": {"count": "u8"}, "capacity": 8192, "index": "msg.y", "atomic": "word"},
        "page": {"cell": {"count": "u8"}, "capacity": 3000, "index": "msg.slot", "atomic": "word"},
        "last": {"cell": {"count": "u8"}, "capacity": 4096, "index": "msg.other", "atomic": "word"},
    },
    "wire": {"transport": "udp", "port": 4242, "order": ["key", "x", "y", "p"]},
    "budget": {"xdp": {"insns": 1000, "states": 100, "stack": 256}},
}


def compiled(folder: Path, step: str, first: dict[str, object] | None = None) -> None:
    """Compiles a hook whose last lookup has the index `other`, after a change of another cell."""
    sections = [
        {"first": "Change", "contended": "never"},
        {"first": "Tell", "contended": "never"} | (first or {}),
        {"last": "Note", "contended": "never"},
    ]
    (folder / "layout.yaml").write_text(yaml.safe_dump(LAYOUT | {"hooks": {"xdp": sections}}))
    (folder / "SampleSteps.tla").write_text(
        "---- MODULE SampleSteps ----\nEXTENDS Offload\n"
        "Change(cell, msg) == Continue([cell EXCEPT !.count = 1], msg)\n"
        f"Tell(cell, msg) == {step}\n"
        "Note(cell, msg) == Reply([cell EXCEPT !.count = 2], msg)\n====\n"
    )
    load(folder)


@pytest.mark.parametrize(
    "step",
    [
        "Continue(cell, [msg EXCEPT !.other = msg.slot])",
        "Continue(cell, [msg EXCEPT !.other = msg.x])",
        "Continue(cell, [msg EXCEPT !.other = msg.y % 4096])",
        "IF msg.y < 4096 THEN Continue(cell, [msg EXCEPT !.other = msg.y]) ELSE Drop(cell, msg)",
        "IF msg.p THEN Continue(cell, [msg EXCEPT !.other = msg.x]) ELSE Continue(cell, [msg EXCEPT !.other = 7])",
        "IF msg.p THEN Continue(cell, [msg EXCEPT !.other = msg.slot]) ELSE Drop(cell, msg)",
    ],
)
def test_a_step_tells_an_index_that_has_a_cell(tmp_path: Path, step: str) -> None:
    compiled(tmp_path, step)


@pytest.mark.parametrize(
    ("step", "first"),
    [
        ("Continue(cell, [msg EXCEPT !.other = msg.y])", {}),
        ("Continue(cell, [msg EXCEPT !.slot = msg.y, !.other = 4096])", {}),
        ("IF msg.p THEN Continue(cell, [msg EXCEPT !.other = msg.x]) ELSE Continue(cell, msg)", {}),
        ("Continue(cell, [msg EXCEPT !.other = msg.x])", {"contended": "skip"}),
    ],
    ids=["too wide", "one too many", "not in every leaf", "left out if contended"],
)
def test_an_index_that_may_be_beyond_the_table_is_refused(tmp_path: Path, step: str, first: dict[str, object]) -> None:
    with pytest.raises(SpecErrors, match="may be beyond the 4096 cells of last"):
        compiled(tmp_path, step, first)
