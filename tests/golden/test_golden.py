"""Compares the generator's output for small protocols with the expected files.

People review these files to see the effect of a change to the generator.
"""

from __future__ import annotations

import difflib
import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parent
RUNTIME = HERE.parent.parent / "runtime"


def update_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("golden_update", HERE / "update.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


UPDATE = update_module()
CASES = UPDATE.cases()


def test_there_are_cases() -> None:
    assert CASES


@pytest.mark.parametrize("case", CASES)
def test_output_is_as_expected(case: str) -> None:
    expected = {path.name: path.read_text() for path in (HERE / case / "expected").iterdir()}
    made = UPDATE.files(case)
    lines = []
    for name in sorted({*expected, *made}):
        before, after = expected.get(name, "").splitlines(), made.get(name, "").splitlines()
        lines += difflib.unified_diff(before, after, f"expected/{name}", f"generated/{name}", lineterm="", n=2)
    text = "\n".join(lines[:400])
    assert not lines, f"{text}\nif this is what you meant: python tests/golden/update.py {case}"


@pytest.mark.parametrize("case", CASES)
def test_what_is_expected_compiles(case: str, tmp_path: Path) -> None:
    command = ["make", "-s", "-C", RUNTIME, f"PROTOCOL={case}", f"GENERATED={HERE / case / 'expected'}", f"BUILD={tmp_path}", "bpf"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
