"""Lines of C under construction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


class Lines:
    """Statements, with tabs."""

    def __init__(self, depth: int = 1):
        self.lines: list[str] = []
        self.depth = depth

    def nested(self) -> Lines:
        """Statements for a block in this one, yet to be added."""
        return Lines(self.depth + 1)

    def add(self, text: str) -> None:
        self.lines.append("\t" * self.depth + text if text else "")

    @contextmanager
    def block(self, head: str, tail: str = "}") -> Iterator[None]:
        self.add(head + " {")
        self.depth += 1
        yield
        self.depth -= 1
        self.add(tail)


# --- Lines that say where they come from ----------------------------------------------------------

LINE_DIRECTIVE = re.compile(r'^#line (\d+) "(.*)"$')
HERE = "here"
"""Instead of a file's name: from there on, lines are those of the generated file itself."""


def line_directive(line: int, file: str) -> str:
    return f'#line {line} "{file}"'


def quoted(lines: list[str]) -> list[str]:
    """The statements of a function, each behind the directive that says where it comes from.

    A directive counts on from line to line of C, which TLA+ does not: so every line has its own, and none is broken in
    two.
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
    """The text of a whole file, in which directives to HERE name the file and the line that follows them."""
    here = line_directive(0, HERE)
    lines = text.split("\n")
    return "\n".join(line_directive(number + 1, file) if line == here else line for number, line in enumerate(lines, 1))


# --- Long lines -----------------------------------------------------------------------------------

COLUMNS_MAX = 120
TAB_COLUMNS = 8


def wrapped(line: str) -> str:
    """A long line on as many as it takes, broken after the outermost `&&` or `||` that fit, or after what binds
    tighter.
    """
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
"""After which a line may be broken: the first of these that there is."""


def _break(text: str, room: int) -> int | None:
    """Where a line of `room` columns may end: the last of the least nested places."""
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
