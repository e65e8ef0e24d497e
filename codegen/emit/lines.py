"""Collects and wraps lines of C."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


class Lines:
    """Statements, indented with tabs."""

    def __init__(self, depth: int = 1):
        self.lines: list[str] = []
        self.depth = depth

    def nested(self) -> Lines:
        """Returns empty statements for a block inside this one; the caller adds them later."""
        return Lines(self.depth + 1)

    def add(self, text: str) -> None:
        self.lines.append("\t" * self.depth + text if text else "")

    def declare(self, text: str) -> None:
        """Adds a declaration, with the blank line that follows it."""
        self.add(text)
        self.add("")

    def extend(self, nested: list[str]) -> None:
        """Adds statements of a block inside this one, which have their indentation already."""
        self.lines += nested

    def mark(self, directive: str) -> None:
        """Adds a directive for the preprocessor."""
        self.lines.append(directive)

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.depth += 1
        yield
        self.depth -= 1

    @contextmanager
    def block(self, head: str, tail: str = "}") -> Iterator[None]:
        self.add(head + " {")
        with self.indented():
            yield
        self.add(tail)


# --- Lines with their origin ----------------------------------------------------------------------

LINE_DIRECTIVE = re.compile(r'^#line (\d+) "(.*)"$')
HERE = "here"
"""Stands for the generated file itself, in place of a file's name."""


def line_directive(line: int, file: str) -> str:
    return f'#line {line} "{file}"'


def quoted(lines: list[str]) -> list[str]:
    """Puts the directive with its origin before each statement of a function.

    After a directive, the compiler counts up with each line of C, but several lines of C come from one line of TLA+.
    So every line has its own directive, and long lines are not wrapped.
    """
    found: list[str] = []
    current = ""
    for line in lines:
        if LINE_DIRECTIVE.match(line):
            current = line
        elif line:
            found += [current, line] if current else [line]
    return [*found, line_directive(0, HERE)]


def resumed(text: str, file: str) -> str:
    """Replaces directives to HERE, in the text of a whole file, by the file's name and the next line's number."""
    here = line_directive(0, HERE)
    lines = text.split("\n")
    return "\n".join(line_directive(number + 1, file) if line == here else line for number, line in enumerate(lines, 1))


# --- Long lines -----------------------------------------------------------------------------------

COLUMNS_MAX = 120
TAB_COLUMNS = 8


def wrapped(line: str) -> str:
    """Wraps a long line after the outermost `&&` or `||` that fits, or else after an operator that binds tighter."""
    text = line.lstrip("\t")
    indent = line[: len(line) - len(text)]
    first, room = True, COLUMNS_MAX - TAB_COLUMNS * len(indent)
    pieces = []
    while len(text) > room - (0 if first else 4):
        at = _break(text, room - (0 if first else 4))
        if at is None:
            break
        pieces.append(text[:at].rstrip())
        text, first = text[at:], False
    pieces.append(text)
    return indent + f"\n{indent}    ".join(pieces)


_BREAKS = (" && ", " || "), (" | ", " & "), (" == ", " != ", ", ", " ? ", " : ")
"""Texts after which a line may be broken, the preferred ones first."""


def _break(text: str, room: int) -> int | None:
    """Returns the last of the least nested places where a line of `room` columns may end; None if there is none."""
    for separators in _BREAKS:
        depth, best = 0, None
        for at, character in enumerate(text[:room]):
            depth += (character == "(") - (character == ")")
            for separator in separators:
                if (
                    text.startswith(separator, at)
                    and at + len(separator) - 1 <= room
                    and (best is None or depth <= best[0])
                ):
                    best = (depth, at + len(separator))
        if best is not None:
            return best[1]
    return None
