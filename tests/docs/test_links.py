"""Every link of the documents leads somewhere, every page is in the index, and every page that code names is there."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from harness.lint.checked_files import repository_files

REPOSITORY = Path(__file__).resolve().parents[2]
INDEX = REPOSITORY / "docs/README.md"
ELSEWHERE = re.compile(r"[a-z]+:")
NAMED = re.compile(r"\bdocs/[\w/-]+\.md\b")
# Case folders have texts of their own, which belong to no page.
NOT_OURS = ("tests/regressions/", "tests/golden/")


def tracked() -> list[Path]:
    names = [name for name in repository_files() if not name.startswith(NOT_OURS)]
    return [path for path in map(REPOSITORY.joinpath, names) if not path.is_symlink()]


FILES = tracked()
PAGES = [path for path in FILES if path.suffix == ".md"]


def links(text: str) -> Iterator[tuple[int, str]]:
    """Yields each link with its line, but for those in code."""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        for child in token.children or []:
            if child.type in ("link_open", "image"):
                at = "href" if child.type == "link_open" else "src"
                yield (token.map[0] + 1 if token.map else 0), str(child.attrs[at])


def anchors(text: str) -> set[str]:
    """Returns the names that a forge gives to the headings of a page."""
    tokens = MarkdownIt("commonmark").parse(text)
    found = set()
    for opening, heading in itertools.pairwise(tokens):
        if opening.type == "heading_open":
            words = "".join(child.content for child in heading.children or [])
            found.add(re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-"))
    return found


def broken(page: Path) -> Iterator[str]:
    """Yields the links of a page that lead nowhere."""
    for line, link in links(page.read_text(encoding="utf-8")):
        if ELSEWHERE.match(link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists():
            yield f"{page}:{line}: there is no {link}"
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            yield f"{page}:{line}: {name or 'this page'} has no heading for #{anchor}"


def test_there_are_pages():
    assert len(PAGES) > 30 and sum(1 for page in PAGES for _ in links(page.read_text(encoding="utf-8"))) > 100


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_somewhere(page: Path):
    assert not list(broken(page))


def test_the_index_has_every_page():
    linked = {(INDEX.parent / link.partition("#")[0]).resolve() for _, link in links(INDEX.read_text(encoding="utf-8"))}
    decisions = {page for page in PAGES if page.parent.name == "decisions" and page.name != "README.md"}
    pages = {page for page in PAGES if page.is_relative_to(INDEX.parent)} - {INDEX}
    assert pages - decisions - linked == set()
    index = INDEX.parent / "decisions/README.md"
    assert decisions == {
        (index.parent / link).resolve() for _, link in links(index.read_text(encoding="utf-8")) if link[:1].isdigit()
    }


def test_pages_that_code_names_are_there():
    """Messages, comments and docstrings say `see docs/...`."""
    named = {
        (name, path)
        for path in FILES
        if path != Path(__file__) and path.suffix != ".md"
        for name in NAMED.findall(path.read_text(encoding="utf-8", errors="replace"))
    }
    assert len(named) > 20
    assert not [f"{path}: there is no {name}" for name, path in named if not (REPOSITORY / name).is_file()]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("[a](page.md) and [b](page.md#two-words) and [c](#here)\n\n# Here\n", 0),
        ("[a](gone.md)", 1),
        ("[a](page.md#gone)", 1),
        ("[a](#gone)\n\n`[b](gone.md)`\n\n    [c](gone.md)\n", 1),
        ("| a |\n| --- |\n| [b](gone.md) |\n", 1),
        ("[a](https://example.org/gone)", 0),
    ],
)
def test_broken_links_are_found(tmp_path: Path, text: str, faults: int):
    (tmp_path / "page.md").write_text("# Two `words`\n")
    page = tmp_path / "this.md"
    page.write_text(text)
    assert len(list(broken(page))) == faults
