"""Collects and wraps lines of C."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


class Lines:
    """Statements of a block, indented with tabs. A block starts with its declarations, as in the kernel."""

    def __init__(self, depth: int = 1):
        self.lines: list[str] = []
        self.depth = depth
        self._first = 0  # the first line of the block that is being written
        self._declarations = 0  # number of its lines with declarations
        self._alive = 0  # bytes of the structs that are declared where the text is
        self.stack = 0
        """The most bytes of structs that are alive at once."""
        self._named = 0  # numbers that are declared where the text is
        self.numbers = 0
        """The most numbers that are alive at once."""

    def nested(self) -> Lines:
        """Returns empty statements for a block inside this one; the caller adds them later."""
        return Lines(self.depth + 1)

    def add(self, text: str) -> None:
        self.lines.append("\t" * self.depth + text if text else "")

    def define(self, declared: str, value: object, const: bool = False) -> None:
        """Declares a variable with a value: `define("__u32 at", 5)`.

        After the first statement of its block, the declaration goes to the block's start without the value, and the
        statement that comes here assigns it.
        """
        self._named += 1
        self.keep(0)
        if self._only_declared():
            self._declare(f"{'const ' if const else ''}{declared} = {value};", self.lines[self._end :])
        else:
            self._declare(f"{declared};", [])
            self.add(f"{declared.rpartition(' ')[2].lstrip('*')} = {value};")

    def declare(self, declared: str, size: int = 0) -> None:
        """Declares a variable without a value, at the start of its block. `size`: the bytes of a struct."""
        self.keep(size)
        self._declare(f"{declared};", self.lines[self._end :] if self._only_declared() else [])

    def keep(self, size: int) -> None:
        """Counts bytes that are on the stack until the block ends."""
        self._alive += size
        self.stack = max(self.stack, self._alive)
        self.numbers = max(self.numbers, self._named)

    def call(self, other: Lines) -> None:
        """Counts what other lines need, which run here."""
        self.stack = max(self.stack, self._alive + other.stack)
        self.numbers = max(self.numbers, self._named + other.numbers)

    @property
    def _end(self) -> int:
        """The line after the declarations."""
        return self._first + self._declarations

    def _only_declared(self) -> bool:
        """Returns true if the block has no statement yet."""
        return all(LINE_DIRECTIVE.match(line) for line in self.lines[self._end :])

    def _declare(self, text: str, origin: list[str]) -> None:
        """Adds a declaration behind those that there are. `origin`: directives that belong to it."""
        at = self._end + len(origin)
        self.lines.insert(at, "\t" * self.depth + text)
        self._declarations += len(origin) + 1

    def finished(self) -> list[str]:
        """Returns all lines, with a blank line between declarations and statements."""
        if self._declarations and self._end < len(self.lines):
            self.lines.insert(self._end, "")
            self._declarations += 1
        return self.lines

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
        outer = self._first, self._declarations, self._alive, self._named
        self._first, self._declarations = len(self.lines), 0
        with self.indented():
            yield
        self.finished()
        self._first, self._declarations, self._alive, self._named = outer
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
