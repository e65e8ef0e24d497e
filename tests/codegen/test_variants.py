"""Variants of a protocol are constants of its specification: each is generated, compiled and verified.

The protocol has cells under locks; the meaning of its constants does not matter here.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from codegen.compile import load
from codegen.emit import generate
from codegen.ir import Protocol
from harness.base.protocols import RUNTIME_INCLUDE
from harness.rig import bpf
from tests.codegen.compiling import compile_bpf

SPEC = Path(__file__).resolve().parents[2] / "spec" / "kv"
VARIANTS = {
    "as it is": {},
    "without filter": {"Filtered": False},
    "write-through": {"WriteBack": False},
    "write-through without filter": {"Filtered": False, "WriteBack": False},
    "no second chance": {"SparesUsed": False},
    **{f"{ways} ways": {"Ways": ways} for ways in (1, 2, 3, 8)},
    "short values": {"SlotSize": 2},
    "values of odd size": {"SlotSize": 13},
    "small pages": {"PageSize": 2},
}


def made(folder: Path, constants: dict[str, object]) -> Protocol:
    protocol = load(SPEC, {"constants": constants})
    for name, text in generate(protocol).items():
        (folder / name).write_text(text)
    return protocol


@pytest.mark.parametrize("variant", VARIANTS)
def test_it_loads(variant: str, tmp_path: Path) -> None:
    made(tmp_path, VARIANTS[variant])
    with bpf.Object.open(compile_bpf(tmp_path, "kv.bpf.c")) as loaded:
        names = {program.name for program in loaded.programs()}
    assert {"kv_xdp", "kv_tc"} <= names


def test_a_constant_that_is_off_leaves_nothing_behind(tmp_path: Path) -> None:
    full, plain = tmp_path / "full", tmp_path / "plain"
    for folder, constants in ((full, {}), (plain, {"Filtered": False, "SparesUsed": False})):
        folder.mkdir()
        made(folder, constants)
    sizes = [len((folder / "kv_steps.h").read_text()) for folder in (full, plain)]
    assert sizes[1] < sizes[0]


def test_a_cell_of_four_ways_fills_four_lines(tmp_path: Path) -> None:
    made(tmp_path, {})
    (tmp_path / "run.c").write_text(
        '#include "kv.h"\n_Static_assert(sizeof(struct kv_bucket_cell) == 256, "");\nint main(void)\n{\n\treturn '
        "0;\n}\n"
    )
    command = ["cc", *(f"-I{folder}" for folder in RUNTIME_INCLUDE), "run.c", "-o", "run"]
    done = subprocess.run(list(map(str, command)), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
