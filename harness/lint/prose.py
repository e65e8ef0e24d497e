"""python -m harness.lint.prose [FILE...]: finds sentences that must be read twice, in documents, docstrings, messages.

A sentence has at most 30 words. It starts with its subject, and not with a clause that stands for one (What ...,
Of ..., Who ..., That ...). A few phrases have a plainer word. Running text in documents wraps at 100 columns.

In strings that programs may print, in Python and in C, only the opening and the phrases count. A string of a test may
quote anything.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from harness.base import command
from harness.base.protocols import REPOSITORY
from harness.lint.checked_files import checked_files

WORDS_MAX = 30
COLUMNS_MAX = 100
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[:;])\s+(?=[A-Z])")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|vs|cf|etc)\.$")
OPENING = re.compile(r"(What|Of|Who|Whose|That|Those)\b")
PHRASES = {
    r"\b(has|have|had|having) to do with\b": "say what it does with it: reads, writes, accesses",
    r"\b(is|are|was|were) told\b": "say receives, is reported as, or learns",
    r"\b(is|are) no (?!longer|more|less|other|different)[a-z]": "say is not, or must be",
}
PHRASES_OF_STRINGS = {
    **{phrase: instead for phrase, instead in PHRASES.items() if " no " not in phrase},
    r"(?<!there )\b(is|are) no (?!longer|more|less|other|different)[a-z]": "say is not, or must be",
    r"\b(that are|is|are) none( of\b|:|$)": "say is not one of, or what it is instead",
    r"\b(has|have) to be\b": "say must be",
    r"\b(is|are) wanted\b": "say what to give",
    r"\bnobody (knows|has|asked|wrote)\b": "say what is unknown, missing or wrong",
}
OPENING_OF_STRINGS = re.compile(r"(What|Whether|Of|Whose|Those)\b")
WORDS_OF_A_SENTENCE_MIN = 3
"""Shorter strings are labels and keys."""
C_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
WITHOUT_MESSAGES = ("tests/", "generated/")
"""Folders whose strings are quotations, code, or faults of the generator."""
GENERATED = re.compile(r"tests/golden/.*/expected/.*")
"""Files that the generator writes, by their names."""


@dataclass(frozen=True)
class Finding:
    """A sentence, where it is, and what is wrong with it."""

    file: str
    line: int
    what: str
    sentence: str

    def __str__(self) -> str:
        shown = self.sentence if len(self.sentence) <= 120 else self.sentence[:117] + "..."
        return f"{self.file}:{self.line}: {self.what}: {shown}"


@dataclass(frozen=True)
class Paragraph:
    """A piece of running text, with `code` in place of its code, and the number of its first line."""

    line: int
    text: str


def of_markdown(text: str) -> Iterator[Paragraph]:
    """Yields paragraphs, items, headings and the cells of tables, without blocks of code."""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type != "inline" or token.map is None:
            continue
        pieces = []
        for child in token.children or []:
            if child.type == "code_inline":
                pieces.append("`code`")
            elif child.type in ("softbreak", "hardbreak"):
                pieces.append(" ")
            else:
                pieces.append(child.content)
        yield Paragraph(token.map[0] + 1, "".join(pieces))


def of_python(text: str) -> Iterator[Paragraph]:
    """Yields the paragraphs of docstrings, those of attributes too."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, str):
            for paragraph in of_markdown(inspect_clean(node.value.value)):
                yield Paragraph(node.lineno + paragraph.line - 1, paragraph.text)


def strings_of_python(text: str) -> Iterator[Paragraph]:
    """Yields the strings of a module that are not docstrings, with `code` in place of what they format."""
    tree = ast.parse(text)
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {part for node in whole for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if node in docstrings or node in inside:
            continue
        if isinstance(node, ast.JoinedStr):
            yield Paragraph(node.lineno, "".join(map(_shown_part, node.values)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield Paragraph(node.lineno, node.value)


def _shown_part(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else "`code`"


def strings_of_c(text: str) -> Iterator[Paragraph]:
    """Yields the strings of a C file, line by line; a long message is one string there."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("#include"):
            for found in C_STRING.finditer(line):
                yield Paragraph(number, found[1])


def inspect_clean(docstring: str) -> str:
    """Removes the indentation of all lines but the first."""
    first, *others = docstring.splitlines() or [""]
    indent = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    return "\n".join([first, *(line[indent:] for line in others)])


def sentences(paragraph: str) -> Iterator[str]:
    """Yields a paragraph's sentences. Words after a colon are one too if they start with a capital."""
    waiting = ""
    for piece in SENTENCE_END.split(paragraph):
        waiting = f"{waiting} {piece}".strip()
        if not ABBREVIATION.search(waiting):
            yield waiting
            waiting = ""
    if waiting:
        yield waiting


def faults(sentence: str) -> Iterator[str]:
    """Yields the faults of a sentence."""
    words = len(sentence.split())
    if words > WORDS_MAX:
        yield f"{words} words, {WORDS_MAX} are enough"
    opening = OPENING.match(sentence)
    if opening and words > 3 and not sentence.endswith("?"):
        yield f"begins with {opening[1]}: put the subject first"
    for phrase, instead in PHRASES.items():
        if found := re.search(phrase, sentence):
            yield f"{found[0]!r}: {instead}"


def faults_of_string(text: str) -> Iterator[str]:
    """Yields the faults of a string that a program may print."""
    if len(text.split()) < WORDS_OF_A_SENTENCE_MIN:
        return
    opening = OPENING_OF_STRINGS.match(text)
    if opening:
        yield f"begins with {opening[1]}: put the subject first"
    for phrase, instead in PHRASES_OF_STRINGS.items():
        if found := re.search(phrase, text):
            yield f"{found[0]!r}: {instead}"


def findings(name: str) -> Iterator[Finding]:
    """Yields the findings in one file of the repository, by its name."""
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    if has_strings(name):
        strings = strings_of_python(text) if name.endswith(".py") else strings_of_c(text)
        for string in strings:
            for what in faults_of_string(string.text):
                yield Finding(name, string.line, what, string.text)
    if name.endswith((".c", ".h")):
        return
    paragraphs = of_markdown(text) if name.endswith(".md") else of_python(text)
    for paragraph in paragraphs:
        for sentence in sentences(paragraph.text):
            for what in faults(sentence):
                yield Finding(name, paragraph.line, what, sentence)
    if name.endswith(".md"):
        yield from long_lines(name, text)


def long_lines(name: str, text: str) -> Iterator[Finding]:
    """Yields long lines of running text. A row of a table, a link and a block of code may be longer."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        if len(line) > COLUMNS_MAX and not is_code and not line.startswith(("|", "    ", "[")):
            yield Finding(name, number, f"{len(line)} columns, wrap at {COLUMNS_MAX}", line)


def has_strings(name: str) -> bool:
    """Returns true if a file has strings that programs print."""
    return name.endswith((".py", ".c", ".h")) and not name.startswith(WITHOUT_MESSAGES)


def is_read(name: str) -> bool:
    return (name.endswith((".md", ".py")) and not GENERATED.fullmatch(name)) or has_strings(name)


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m harness.lint.prose", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help="read only these files, generated or not")
    options = parser.parse_args()
    try:
        names = [str(Path(name).resolve().relative_to(REPOSITORY)) for name in options.files]
        found = [each for name in names or filter(is_read, checked_files()) for each in findings(name)]
    except (OSError, ValueError) as error:
        print(f"error: reading a text: {error}", file=sys.stderr)
        return 2
    for each in found:
        print(each)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(command.run("prose", main))
