"""Reads the values that TLC prints.

| TLA+                          | Python                                  |
| ----------------------------- | --------------------------------------- |
| integers, booleans, strings   | int, bool, str                          |
| sets, intervals               | frozenset                               |
| tuples, sequences             | tuple                                   |
| records, functions            | Mapping (a dict that can be hashed)     |
| model values                  | ModelValue (a str)                      |

All of them can be hashed, because TLA+ puts anything into a set.
"""

from __future__ import annotations

import re
from typing import Any


class TlaValueError(ValueError):
    """Text that is not a TLA+ value."""


class ModelValue(str):
    """A model value. It equals only itself and is printed without quotes."""

    def __repr__(self) -> str:
        return str(self)


class Mapping(dict[Any, Any]):
    """A TLA+ record or function. It is never changed after it was read."""

    def __hash__(self) -> int:  # type: ignore[override] # a dict has no hash
        return hash(frozenset(self.items()))


_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<number>-?\d+)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<mark><<|>>|\|->|:>|@@|\.\.|[\[\](){},])
    )""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


class _Reader:
    """Parses by recursive descent over the tokens. `kind` and `text` are those of the next token."""

    def __init__(self, text: str) -> None:
        self.source = text
        self.end = 0
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.source, self.end)
        if match is None:
            rest = self.source[self.end :].strip()
            if rest:
                raise TlaValueError(f"cannot read a TLA+ value from {rest[:40]!r}")
            self.kind, self.text = "end", ""
            return
        self.end = match.end()
        self.kind = match.lastgroup or ""
        self.text = match[self.kind]

    def expect(self, mark: str) -> None:
        if self.text != mark:
            found = self.text or "the end"
            raise TlaValueError(f"expected {mark!r}, found {found!r} in {self.source[:80]!r}")
        self.advance()

    def items(self, close: str, read: Any) -> list[Any]:
        """Reads items with `read`, separated by commas, up to the mark `close`."""
        found = []
        self.advance()
        while self.text != close:
            found.append(read())
            if self.text != close:
                self.expect(",")
        self.advance()
        return found

    def value(self) -> Any:
        kind, text = self.kind, self.text
        if kind == "number":
            self.advance()
            if self.text == "..":
                self.advance()
                high = int(self.text)
                self.advance()
                return frozenset(range(int(text), high + 1))
            return int(text)
        if kind == "string":
            self.advance()
            return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1])
        if kind == "name":
            self.advance()
            return text == "TRUE" if text in ("TRUE", "FALSE") else ModelValue(text)
        if text == "<<":
            return tuple(self.items(">>", self.value))
        if text == "{":
            return frozenset(self.items("}", self.value))
        if text == "[":
            return Mapping(self.items("]", self.field))
        if text == "(":
            return self.function()
        raise TlaValueError(f"expected a value, found {text or 'the end'!r} in {self.source[:80]!r}")

    def field(self) -> tuple[str, Any]:
        name = self.text
        self.advance()
        self.expect("|->")
        return name, self.value()

    def function(self) -> Mapping:
        found = Mapping()
        self.expect("(")
        while True:
            key = self.value()
            self.expect(":>")
            found[key] = self.value()
            if self.text != "@@":
                break
            self.advance()
        self.expect(")")
        return found


def parse(text: str) -> Any:
    """Returns the value of a text that TLC printed."""
    reader = _Reader(text)
    value = reader.value()
    if reader.kind != "end":
        raise TlaValueError(f"{reader.text!r} is left over after a TLA+ value in {text[:80]!r}")
    return value


def show(value: Any) -> str:
    """Shows a value on one line, in TLA+ notation, with records and sets in a fixed order."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, ModelValue):
        return str(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, tuple):
        return "<<" + ", ".join(map(show, value)) + ">>"
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(show, value))) + "}"
    if isinstance(value, dict):
        if all(isinstance(key, str) and not isinstance(key, ModelValue) for key in value):
            return "[" + ", ".join(f"{key} |-> {show(item)}" for key, item in value.items()) + "]"
        return "(" + " @@ ".join(f"{show(key)} :> {show(item)}" for key, item in value.items()) + ")"
    return str(value)
