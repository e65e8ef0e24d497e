"""The documentation quotes the generator correctly."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from codegen.compile import load
from codegen.errors import SpecErrors

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_error_of_the_worked_example(tmp_path: Path) -> None:
    for name in ("lib", "limiter"):
        shutil.copytree(REPOSITORY / "spec" / name, tmp_path / "spec" / name)
    steps = tmp_path / "spec" / "limiter" / "LimiterSteps.tla"
    changed, times = re.subn(
        r"LET level == Least\(Burst, (.*)\)$", r"LET level == \1", steps.read_text(), flags=re.MULTILINE
    )
    assert times == 1
    steps.write_text(changed)
    with pytest.raises(SpecErrors) as refused:
        load(steps.parent)
    said = str(refused.value)
    shown = re.search(
        r"^    (spec/limiter/\S+ error: .*)$",
        (REPOSITORY / "docs/tutorial/first-protocol.md").read_text(),
        re.MULTILINE,
    )
    assert shown is not None and said.endswith(shown[1])
    assert said.count("error:") == 1


def test_the_error_of_what_is_not_forwarded(tmp_path: Path) -> None:
    for name in ("lib", "kv"):
        shutil.copytree(REPOSITORY / "spec" / name, tmp_path / "spec" / name)
    steps = tmp_path / "spec" / "kv" / "StoreSteps.tla"
    changed, times = re.subn(
        r"ReadCompletions (?=-> NotForwarded)", r"ReadCompletions \\cup ReadAnswers ", steps.read_text()
    )
    assert times == 1
    steps.write_text(changed)
    with pytest.raises(SpecErrors) as refused:
        load(steps.parent)
    shown = re.search(
        r"^spec/kv/StoreSteps.tla:\d+:\d+: (error: .*)$",
        (REPOSITORY / "docs/reference/layout.md").read_text(),
        re.MULTILINE,
    )
    assert shown is not None and str(refused.value).endswith(shown[1])  # whichever line that is by now
    assert str(refused.value).count("error:") == 1
