"""Lines of C under construction."""

from __future__ import annotations

from contextlib import contextmanager
from collections.abc import Iterator


class Lines:
    """Statements, with tabs."""

    def __init__(self, depth: int = 1):
        self.lines: list[str] = []
        self.depth = depth

    def add(self, text: str) -> None:
        self.lines.append("\t" * self.depth + text if text else "")

    @contextmanager
    def block(self, head: str, tail: str = "}") -> Iterator[None]:
        self.add(head + " {")
        self.depth += 1
        yield
        self.depth -= 1
        self.add(tail)
