"""Uses the parameters and locals of a function that nothing reads, because compilers warn of these.

A step may bind a name that only branches read which cannot be reached. So it is the text that tells what is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"(?<![\w>.])\w+")
"""A name, unless it is a member of a struct."""

_TYPE = r"(?:const )?(?:(?:struct|enum) )?\w+ \*?"
"""A type, up to the name that is declared."""

_DECLARATION = re.compile(rf"(?!return |goto ){_TYPE}\w+(?: = |\[|;)|#")
"""The begin of a declaration, or a directive."""


def used(lines: list[str], parameters: Iterable[str], local_names: Iterable[str]) -> list[str]:
    """Returns the lines of a function, with a `(void)name;` for each parameter and local that they never read."""
    read = _read(lines)
    unread = [name for name in parameters if name not in read]
    found = [f"\t(void){name};" for name in unread] + lines
    for name in sorted(set(local_names) - set(unread) - read):
        found = _voided(found, name)
    return found


def _read(lines: list[str]) -> set[str]:
    """Returns the words of all lines, but for a name that a line declares or assigns to."""
    found: set[str] = set()
    for line in lines:
        text = line.strip()
        if text.startswith(("/*", "#")):
            continue
        assigned = re.match(rf"(?:{_TYPE})?(\w+)(?: \|?= |\+\+;|;)", text)
        start = assigned.end(1) if assigned and not text.startswith(("return ", "break;")) else 0
        found.update(_WORD.findall(text[start:]))
    return found


def _voided(lines: list[str], name: str) -> list[str]:
    """Adds a use of a local after the declarations of its block."""
    declares = re.compile(rf"\t+{_TYPE}{name}(?: = .*)?;")
    for at, line in enumerate(lines):
        if declares.fullmatch(line):
            indent = line[: len(line) - len(line.lstrip("\t"))]
            end = next(later for later in range(at + 1, len(lines)) if not _goes_on(lines[later], indent))
            end += not lines[end]
            return [*lines[:end], f"{indent}(void){name};", *lines[end:]]
    return lines


def _goes_on(line: str, indent: str) -> bool:
    """Whether a line is one more declaration of a block, or the rest of one."""
    return line.startswith(f"{indent}\t") or (line.startswith(indent) and _DECLARATION.match(line.strip()) is not None)
