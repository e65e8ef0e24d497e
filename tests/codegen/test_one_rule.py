"""Changes one rule of a protocol: the C differs where that rule shows, and conforms to the changed model."""

from __future__ import annotations

import difflib
import re
import shutil
from pathlib import Path

import pytest

from codegen.compile import load
from codegen.emit import generate
from harness.conform.campaign import Campaign

ROOT = Path(__file__).parent.parent.parent
RULE = 'ELSE NotHeld :: Answered(lock, msg, "Rejected")'
CHANGED = 'ELSE NotHeld :: Answered(lock, msg, "Released")'


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of spec/lock whose release of what is not held is answered as if it had been."""
    spec = tmp_path_factory.mktemp("changed") / "spec"
    shutil.copytree(ROOT / "spec" / "lib", spec / "lib")
    shutil.copytree(ROOT / "spec" / "lock", spec / "lock")
    steps = spec / "lock" / "LockSteps.tla"
    text = steps.read_text()
    assert text.count(RULE) == 1
    steps.write_text(text.replace(RULE, CHANGED))
    return spec / "lock"


def test_the_c_differs_only_where_the_rule_shows(changed: Path) -> None:
    before, after = generate(load(ROOT / "spec" / "lock")), generate(load(changed))
    differing = [name for name in before if before[name] != after[name]]
    assert differing == ["lock_steps.h"]
    old, new = before["lock_steps.h"].splitlines(), after["lock_steps.h"].splitlines()
    lines = [line for line in difflib.ndiff(old, new) if line[0] in "+-"]
    assert [re.sub(r"\s+", " ", line) for line in lines] == [
        "- message->kind = LOCK_MESSAGE_KIND_REJECTED;",
        "+ message->kind = LOCK_MESSAGE_KIND_RELEASED;",
    ]


def test_it_conforms_to_the_changed_model(changed: Path, tmp_path: Path) -> None:
    result = Campaign(changed, tmp_path).small("layout")
    assert result.mismatches == []
    assert result.uncovered() == []
    assert sum(result.inputs.values()) >= 10_000


def test_it_does_not_conform_to_the_rule_as_it_was(changed: Path, tmp_path: Path) -> None:
    answer = "\t\tmessage->kind = LOCK_MESSAGE_KIND_{};\n\t\treturn stepwise_continue(LOCK_LEAF_ON_REQUEST_NOT_HELD);"
    edits = (("lock_steps.h", answer.format("RELEASED"), answer.format("REJECTED")),)
    assert Campaign(changed, tmp_path, stop_early=True, edits=edits).small("layout").mismatches
