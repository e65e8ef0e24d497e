"""The check of prose reports what it should, and nothing else."""

import pytest

from harness import prose


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
