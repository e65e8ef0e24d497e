"""Specifications that must be refused are refused with exactly the expected errors.

Every folder beside this file is a case. Its errors are written on the offending line, as `\\* error: ...` in TLA+ and
`# error: ...` in the layout, several one after the other.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codegen.errors import SpecErrors
from codegen.compile import load

HERE = Path(__file__).resolve().parent
CASES = sorted(path.parent.name for path in HERE.glob("*/layout.yaml"))
MARKER = re.compile(r"(?:\\\*|#) error: ")


def expected(folder: Path) -> list[tuple[str, int, str]]:
    """File, line and the text that each message must contain."""
    found = []
    for path in sorted(folder.iterdir()):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found += [(path.name, number, text.strip()) for text in MARKER.split(line)[1:]]
    return found


def test_there_are_cases():
    assert len(CASES) >= 40


@pytest.mark.parametrize("case", CASES)
def test_refused(case: str):
    marked = expected(HERE / case)
    assert marked, f"{case} has no line with an error"
    with pytest.raises(SpecErrors) as raised:
        load(HERE / case)
    messages = {str(error): (Path(error.span.file).name, error.span.line, str(error)) for error in raised.value.errors}
    unexpected = dict(messages)
    for file, line, text in marked:
        matching = [
            key for key, (name, at, message) in messages.items() if (name, at) == (file, line) and text in message
        ]
        assert matching, f"{file}:{line}: nothing says {text!r}; found:\n" + "\n".join(messages)
        for key in matching:
            unexpected.pop(key, None)
    assert not unexpected, "unexpected:\n" + "\n".join(unexpected)


@pytest.mark.parametrize("case", ["mismatch", "layout_types"])
def test_messages_have_the_form_of_a_compiler(case: str):
    with pytest.raises(SpecErrors) as raised:
        load(HERE / case)
    for line in str(raised.value).splitlines():
        assert re.match(rf"tests/reject/{case}/\S+:\d+:\d+: error: \S", line), line
