"""Tests the stack of 512 bytes: the largest step that is accepted builds and loads, and a larger one is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from codegen.c.names import Names
from codegen.compile import load
from codegen.emit import generate
from codegen.emit.branch_numbers import Leaves
from codegen.emit.stack import Stack
from codegen.errors import SpecErrors, StackTooSmall
from harness.rig import bpf
from tests.codegen.compiling import compile_bpf

GOLDEN = Path(__file__).resolve().parents[2] / "golden"

RARE = r"""
Tally(small, msg) ==
  CASE msg.kind # "Ask" -> Drop(small, msg)
    [] msg.x = 7 -> Forward(small, msg)
    [] OTHER -> Continue([small EXCEPT !.many = (@ + 1) % 65536], [msg EXCEPT !.x = small.n])
Find(small, msg) == IF msg.kind = "Ask" THEN Reply(small, [msg EXCEPT !.x = small[msg.at].n]) ELSE Drop(small, msg)
Again(small, msg) ==
  IF msg.kind = "Ask" THEN Continue([small EXCEPT !.many = (@ + 1) % 65536], [msg EXCEPT !.x = small.n])
  ELSE Drop(small, msg)
"""
STEPS = {
    "a value that is exchanged": (
        r'On(cell, msg) == Reply([cell EXCEPT !.kept = msg.given], [msg EXCEPT !.given = cell.kept, !.kind = "Told"])'
    ),
    "an array": (
        r"On(cell, msg) == LET a == [cell.parts EXCEPT ![(msg.x % SIZE) + 1] = msg.x] IN IF a[1] > a[2] "
        r'THEN Reply([cell EXCEPT !.parts = a], [msg EXCEPT !.kind = "Told"]) ELSE Drop(cell, msg)'
    ),
    "a filter": (
        r"On(cell, msg) == LET a == {w \in cell.members : w > msg.x} IN IF msg.x \in a "
        r'THEN Reply([cell EXCEPT !.members = a], [msg EXCEPT !.kind = "Told"]) ELSE Drop(cell, msg)'
    ),
    "a value that a lost swap restores": (
        r'On(word, msg) == Reply([word EXCEPT !.n = msg.x], [msg EXCEPT !.given = msg.taken, !.kind = "Told"])'
    ),
}
SIZES = {
    "a value that is exchanged": (144, 152),
    "an array": (36, 37),
    "a filter": (35, 36),
    "a value that a lost swap restores": (128, 136),
}
"""The largest size that is accepted, and one that is refused."""


def layout(case: str, size: int, over: dict[str, Any]) -> dict[str, Any]:
    """A protocol whose step runs in xdp and in tc, after a word that is retried."""
    message = {"kind": {"enum": ["Ask", "Told"]}, "at": "u8", "x": "u8", **over}
    values = {"given": {"bytes": size}, "taken": {"bytes": size}}
    message |= {name: kind for name, kind in values.items() if f".{name}" in STEPS[case]}
    cell = {"kept": {"bytes": size}, "parts": {"array": "u32", "size": size}, "members": {"set": "u20", "max": size}}
    table = {"capacity": 256, "index": "msg.at"}
    section = {"word" if "word" in STEPS[case] else "cell": "On", "contended": "skip"}
    budget = {"insns": 1000000, "states": 10000, "stack": 512}
    used = {name: kind for name, kind in cell.items() if f".{name}" in STEPS[case]}
    return {
        "protocol": "sample",
        "module": "SampleSteps",
        "message": message,
        "tables": {
            "cell": {"cell": {"n": "u8", **used}, "atomic": "spin_lock", **table},
            "word": {"cell": {"n": "u8"}, "atomic": "word", **table},
            "small": {"cell": {"n": "u8", "many": "u30"}, "atomic": "word", **table},
        },
        "hooks": {"xdp": [{"small": "Tally"}, section], "user": {"small": "Find"}, "tc": [{"small": "Again"}, section]},
        "wire": {"transport": "udp", "port": 4242, "order": list(message)},
        "budget": {"xdp": budget, "tc": budget},
    }


def generated(folder: Path, case: str, size: int, over: dict[str, Any] | None = None) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    (folder / "layout.yaml").write_text(yaml.safe_dump(layout(case, size, over or {}), sort_keys=False))
    steps = STEPS[case].replace("SIZE", str(size))
    head, _, body = steps.partition(" == ")
    cell = head.split("(")[1].split(",")[0]
    guarded = f'{head} == IF msg.kind # "Ask" THEN Drop({cell}, msg) ELSE {body}'
    (folder / "SampleSteps.tla").write_text(f"---- MODULE SampleSteps ----\nEXTENDS Offload\n{guarded}\n{RARE}====\n")
    files = generate(load(folder))
    for name, text in files.items():
        (folder / name).write_text(text)
    return files


def loads(folder: Path) -> None:
    with bpf.Object.open(compile_bpf(folder, "sample.bpf.c")) as loaded:
        assert {"sample_xdp", "sample_tc"} <= {program.name for program in loaded.programs()}


@pytest.mark.parametrize("case", SIZES)
@pytest.mark.parametrize("more", [{}, {"other": {"bytes": 700}}], ids=["", "large message"])
def test_the_largest_loads(case: str, more: dict[str, Any], tmp_path: Path) -> None:
    generated(tmp_path, case, SIZES[case][0], more)
    loads(tmp_path)


@pytest.mark.parametrize("size", [15, 17, 18])
def test_bytes_of_odd_size_load(size: int, tmp_path: Path) -> None:
    generated(tmp_path, "a value that is exchanged", size)
    loads(tmp_path)


@pytest.mark.parametrize("case", SIZES)
def test_a_larger_one_is_refused(case: str, tmp_path: Path) -> None:
    with pytest.raises(SpecErrors) as raised:
        generated(tmp_path, case, SIZES[case][1])
    (error,) = raised.value.errors
    assert error.span.line == 3
    assert isinstance(error, StackTooSmall) and "but of its 512 bytes a step can have 288" in error.found


@pytest.mark.parametrize(
    ("fields", "in_map"),
    [
        ({"other": {"bytes": 200}}, False),
        ({"other": {"bytes": 257}}, True),
        ({"other": {"bytes": 620}, "more": {"bytes": 616}}, True),
        ({f"f{number}": "u8" for number in range(30)}, False),
        ({f"f{number}": "u8" for number in range(70)}, True),
        ({f"f{number}": {"bytes": 9} for number in range(40)}, True),
    ],
    ids=["200 bytes", "257 bytes", "1255 bytes", "30 fields", "70 fields", "40 values"],
)
def test_a_large_message_is_in_a_map(fields: dict[str, Any], in_map: bool, tmp_path: Path) -> None:
    files = generated(tmp_path, "a value that is exchanged", 8, fields)
    assert ("message_state" in files["sample.bpf.c"]) == in_map
    loads(tmp_path)


def test_fields_that_only_groups_use_take_no_room() -> None:
    """Their message is in a map, or not there: xdp and tc leave these fields out."""
    protocol = load(GOLDEN / "meters" / "spec")
    names = Names(protocol.name)
    stack = Stack(protocol, names, Leaves(protocol, names).steps)
    assert stack.only_grouped() == {"count", "by", "place", "failed", "noted"}
