"""Tests the copy that quotes the TLA+: it has the same C, and a directive names the origin of every line of a step."""

from __future__ import annotations

import re

import pytest

from codegen.c.format import formatted as format_c
from codegen.compile import load
from codegen.emit import generate
from codegen.emit.lines import LINE_DIRECTIVE
from harness.base.protocols import REPOSITORY, SPEC


@pytest.fixture(scope="module")
def lock() -> tuple[str, str]:
    """The steps as they are committed, and as they are quoted."""
    protocol = load(SPEC / "lock")
    return generate(protocol)["lock_steps.h"], generate(protocol, quoting=True)["lock_steps.h"]


def code(text: str) -> str:
    """Without directives and comments, and however lines are broken. Only the plain text is formatted."""
    kept = [line for line in text.splitlines() if not line.startswith(("#line", "#pragma"))]
    plain = format_c({"steps.h": re.sub(r"/\*.*?\*/", "", "\n".join(kept), flags=re.DOTALL)})["steps.h"]
    return re.sub(r"\s+", "", plain)


def test_the_code_is_the_same(lock):
    plain, quoted = lock
    assert "#line" not in plain and code(quoted) == code(plain)


def test_directives_name_lines_of_the_specification(lock):
    sources: dict[str, list[str]] = {}
    named = 0
    for found in re.finditer(LINE_DIRECTIVE.pattern, lock[1], re.MULTILINE):
        if "/" in found[2]:
            lines = sources.setdefault(found[2], (REPOSITORY / found[2]).read_text().splitlines())
            assert lines[int(found[1]) - 1].strip(), f"{found[0]} names an empty line"
            named += 1
    assert named > 100 and set(sources) == {"spec/lock/LockSteps.tla", "spec/lib/SessionSteps.tla"}


def test_behind_a_step_lines_are_those_of_the_file_itself(lock):
    lines = lock[1].splitlines()
    back = [(at, LINE_DIRECTIVE.match(line)) for at, line in enumerate(lines, 1) if line.endswith('"lock_steps.h"')]
    assert len(back) > 10
    assert all(found is not None and int(found[1]) == at + 1 for at, found in back)


def test_a_step_ends_where_its_leaf_stands(lock):
    text = (SPEC / "lock/LockSteps.tla").read_text().splitlines()
    number = next(at for at, line in enumerate(text, 1) if "NotClaimed ::" in line)
    near = lock[1][: lock[1].index("return stepwise_continue(LOCK_LEAF_CLAIM_NOT_CLAIMED)")].splitlines()[-2]
    found = LINE_DIRECTIVE.match(near)
    assert found is not None and found[2] == "spec/lock/LockSteps.tla" and abs(int(found[1]) - number) <= 1
