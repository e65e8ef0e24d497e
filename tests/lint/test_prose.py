"""The check of prose reports what it should, and nothing else."""

import pytest

from harness.lint import prose


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("The daemon answers a request once.", []),
        ("What is not ours leaves before there is a message.", ["begins with What"]),
        ("Of memory that all tables together take.", ["begins with Of"]),
        ("That it is whole is shown by its checksum.", ["begins with That"]),
        ("What is a page?", []),
        ("What to do", []),
        ("A cell that one section has to do with.", ["'has to do with'"]),
        ("The client is told Full.", ["'is told'"]),
        ("It is no mapping.", ["'is no m'"]),
        ("It is no longer there.", []),
        (" ".join(["word"] * 30) + ".", []),
        (" ".join(["word"] * 31) + ".", ["31 words"]),
    ],
)
def test_faults_of_a_sentence(sentence, wrong):
    found = list(prose.faults(sentence))
    assert len(found) == len(wrong) and all(each.startswith(start) for each, start in zip(found, wrong)), found


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("unknown key colour (did you mean color?)", []),
        ("there is no table cells", []),
        ("colour is no key of a layout", ["'is no k'"]),
        ("answers that are none: excluded", ["'that are none:'"]),
        ("a seed; a random one is told", ["'is told'"]),
        ("the path has to be absolute", ["'has to be'"]),
        ("48 digits are wanted here", ["'are wanted'"]),
        ("packets were lost and nobody knows why", ["'nobody knows'"]),
        ("Whether the file is there", ["begins with Whether"]),
        ("is told", []),
    ],
)
def test_faults_of_a_string(message, wrong):
    found = list(prose.faults_of_string(message))
    assert len(found) == len(wrong) and all(each.startswith(start) for each, start in zip(found, wrong)), found


def test_strings_of_python_are_those_that_are_no_docstrings():
    text = 'def f(x):\n    """A docstring."""\n    print(f"{x} is no {x:>{x}} of it", "other")\n'
    assert [(each.line, each.text) for each in prose.strings_of_python(text)] == [
        (3, "`code` is no `code` of it"),
        (3, "other"),
    ]


def test_strings_of_c():
    text = '#include "base/log.h"\n/* a \'comment\' */\nlog_error("a \\"quoted\\" word", "%s is no number");\n'
    assert [(each.line, each.text) for each in prose.strings_of_c(text)] == [
        (3, 'a \\"quoted\\" word'),
        (3, "%s is no number"),
    ]


def test_a_wrong_message_in_the_repository_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(prose, "REPOSITORY", tmp_path)
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime/p.c").write_text('void f(void)\n{\n\tlog_error("%s is no number", x);\n}\n')
    (tmp_path / "p.py").write_text('raise ValueError("the path has to be absolute")\n')
    assert [str(each).split(": ")[0] for name in ("runtime/p.c", "p.py") for each in prose.findings(name)] == [
        "runtime/p.c:3",
        "p.py:1",
    ]
    assert not prose.has_strings("tests/p.py") and prose.is_read("runtime/p.c")


def test_sentences_end_at_stops_and_colons_before_a_capital():
    text = "It has two parts, e.g. a head. Both are read: the head first. Note: The tail may be missing."
    assert list(prose.sentences(text)) == [
        "It has two parts, e.g. a head.",
        "Both are read: the head first.",
        "Note:",
        "The tail may be missing.",
    ]


def test_code_is_no_prose():
    blocks = "A `what is this` here.\n\n    What is this code\n\n```\nOf course\n```\n\n"
    text = blocks + "| What | so |\n| --- | --- |\n| a | b |\n"
    assert [each.text for each in prose.of_markdown(text)] == ["A `code` here.", "What", "so", "a", "b"]


def test_docstrings_of_modules_functions_and_attributes():
    text = '"""One.\n\nTwo.\n"""\n\nX = 1\n"""Three."""\n\n\ndef f():\n    """Four,\n    and five."""\n'
    assert sorted(each.text for each in prose.of_python(text)) == ["Four, and five.", "One.", "Three.", "Two."]


def test_long_lines_of_running_text_alone():
    long = "word " * 25
    found = list(prose.long_lines("a.md", f"{long}\n| {long} |\n    {long}\n```\n{long}\n```\n"))
    assert [each.line for each in found] == [1]
