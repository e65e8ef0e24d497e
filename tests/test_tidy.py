"""Checks style that no tool of `just lint` checks: sizes, leftovers, misplaced protocol words, names of machines."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from harness.lint.checked_files import repository_files

REPOSITORY = Path(__file__).resolve().parent.parent
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 620  # "near 500" is the aim
TEXT_SUFFIXES = {".py", ".c", ".h", ".go", ".j2", ".tla", ".yaml", ".json", ".toml", ".md", ".sh", ""}
CODE_SUFFIXES = {".py", ".c", ".h", ".go", ".j2"}
NO_PROTOCOL_HERE = ("templates", "codegen", "runtime")
PROTOCOL_WORDS = re.compile(r"\b(locks?|acquire|granted|rejected|exclusive|sharers?)\b", re.IGNORECASE)
# Primitives of C, of the kernel and of its interfaces, not of a protocol.
ATOMICITY = re.compile(
    r"__ATOMIC_ACQUIRE|memory_order_acquire|__(acquire|release)s?\(|\.lock\b|->lock\b|LOCK_(EX|SH|NB)"
    r"|\bacquire load\b|\bexclusive (access|use)\b|\bspin lock\b|\block on\b"
    r"|\b(takes?|gets?|queries|same) (the )?(same )?lock\b",
    re.IGNORECASE,
)
# With a bracket, so that this file is not found itself.
LEFTOVERS = re.compile(r"FIX[M]E|TO[D]O|XX[X]\b|HA[C]K\b")
MACHINE_PATHS = re.compile(r"/wor[k]/|/roo[t]/|/hom[e]/[a-z]|/tmp/bas[h]")
REGISTRY_HOSTS = re.compile(
    r"py[p]i\.org|python[h]osted|repo1?\.[m]aven|maven\.[o]rg|proxy\.[g]olang|deb\.[d]ebian|npm[j]s\.org"
    r"|https?://[a-z0-9.-]*(artifactory|nexus|mirror|registry|proxy)[a-z0-9.-]*"
)


def tracked() -> list[Path]:
    paths = map(REPOSITORY.joinpath, repository_files())
    return [path for path in paths if not path.is_symlink() and path.suffix in TEXT_SUFFIXES]


FILES = tracked()
HAND_WRITTEN = [
    path for path in FILES if path.relative_to(REPOSITORY).parts[0] != "generated" and "golden" not in path.parts
]


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def findings(paths: list[Path], pattern: re.Pattern[str]) -> list[str]:
    """`file:line: text` of every line that matches."""
    return [
        f"{path.relative_to(REPOSITORY)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(lines_of(path), 1)
        if pattern.search(line)
    ]


def test_there_is_something_to_look_at():
    assert len(HAND_WRITTEN) > 50
    assert {path.suffix for path in HAND_WRITTEN} >= {".py", ".c", ".h", ".tla", ".yaml"}


def test_files_are_short():
    too_long = {
        str(path.relative_to(REPOSITORY)): len(lines_of(path))
        for path in HAND_WRITTEN
        if path.suffix in CODE_SUFFIXES and len(lines_of(path)) > FILE_LINES_MAX
    }
    assert not too_long, f"more than {FILE_LINES_MAX} lines: split them"


def python_functions(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def c_functions(path: Path):
    """Functions of a C file: a body is what stands between a `{` and a `}` that begin a line."""
    start = None
    lines = lines_of(path)
    for number, line in enumerate(lines, 1):
        if line.startswith("{") and number > 1 and lines[number - 2].rstrip().endswith(")"):
            start = number - 1
        elif line.startswith("}") and start:
            yield lines[start - 1].strip(), start, number - start + 1
            start = None


@pytest.mark.parametrize("suffixes, functions", [({".py"}, python_functions), ({".c", ".h"}, c_functions)])
def test_functions_are_short(suffixes, functions):
    found = [(path, *function) for path in HAND_WRITTEN if path.suffix in suffixes for function in functions(path)]
    assert len(found) > 100, "the search for functions finds none"
    too_long = [
        f"{path.relative_to(REPOSITORY)}:{line}: {name} has {length} lines"
        for path, name, line, length in found
        if length > FUNCTION_LINES_MAX
    ]
    assert not too_long, "\n".join(too_long)


def test_no_leftovers():
    found = findings(FILES, LEFTOVERS)
    assert not found, "\n".join(found)


def test_no_protocol_in_the_machinery():
    """A decision of a protocol that can be found here is in the wrong place."""
    found = []
    for path in FILES:
        if path.relative_to(REPOSITORY).parts[0] in NO_PROTOCOL_HERE:
            for number, line in enumerate(lines_of(path), 1):
                if PROTOCOL_WORDS.search(ATOMICITY.sub("", line)):
                    found.append(f"{path.relative_to(REPOSITORY)}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


def test_the_search_for_protocol_words_finds_them():
    assert PROTOCOL_WORDS.search("if the Lock is held") and PROTOCOL_WORDS.search("kind == ACQUIRE")
    assert not PROTOCOL_WORDS.search("bpf_spin_lock(&cell->guard)")
    assert not PROTOCOL_WORDS.search(
        ATOMICITY.sub("", "Acquire load; it takes the lock, a spin lock, or a lock on a file")
    )
    assert PROTOCOL_WORDS.search(ATOMICITY.sub("", "the lock is exclusive, and a sharer waits"))


def test_no_machine_and_no_registry_is_named():
    found = findings(FILES, MACHINE_PATHS)
    assert not found, "\n".join(found)
    found = findings(FILES, REGISTRY_HOSTS)
    assert not found, "\n".join(found)


def test_code_says_its_licence():
    missing = [
        str(path.relative_to(REPOSITORY))
        for path in FILES
        if path.suffix in {".c", ".h"}
        and path.relative_to(REPOSITORY).parts[0] in ("runtime", "generated", "harness")
        and not any("SPDX-License-Identifier" in line for line in lines_of(path)[:3])
    ]
    assert missing == []
