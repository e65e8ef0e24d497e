"""What follows the fixed part of a message, and what its opaque values are in a case.

A tail is as long as the message says, and what the model has one number for has so many bytes in the program, and zeros
behind
them: in the packet, and in every cell that holds what may have come with one.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cached_property
from typing import Any

from codegen import ir
from harness.conform.cells import CellCodec
from harness.conform.oracle import Case
from harness.conform.values import Patterns, tail_size


class ShortPatterns(Patterns):
    """Patterns of which those of one type end early. whole: all of them; size: bytes that are left."""

    def __init__(self, whole: Patterns, kind: ir.Bytes, size: int) -> None:
        self._whole = whole
        self._kind = kind
        self._mask = (1 << 8 * size) - 1

    def real(self, kind: ir.Type, number: int) -> int:
        """As of all patterns."""
        value = self._whole.real(kind, number)
        return value & self._mask if kind == self._kind else value

    def model(self, kind: ir.Type, value: int) -> int | str:
        """As of all patterns."""
        if kind != self._kind or value == 0:
            return self._whole.model(kind, value)
        return next(
            (number for number, pattern in self._whole.known(kind) if pattern & self._mask == value), hex(value)
        )


class Tails:
    """Of one protocol, which may have none.

    tables: the cells' codecs, of all patterns.
    """

    def __init__(self, protocol: ir.Protocol, patterns: Patterns, tables: dict[str, CellCodec]) -> None:
        self._layout = protocol.tail
        self._message = protocol.message
        self._patterns: dict[int, Patterns] = {0: patterns}
        self._tables: dict[int, dict[str, CellCodec]] = {0: tables}

    @cached_property
    def _field(self) -> str:
        """The message's field that is the tail: asked for only where there is one."""
        return ir.expect(self._layout, ir.TailLayout).field

    @cached_property
    def _kind(self) -> ir.Bytes:
        return ir.expect(self._message.field(self._field), ir.Bytes)

    def size(self, message: dict[str, Any]) -> int:
        """Bytes that a message's tail has if it has one, and 0 where it has none."""
        return tail_size(self._layout, message) if self._layout else 0

    def tables(self, size: int) -> dict[str, CellCodec]:
        """The cells' codecs where tails are of that size."""
        if size not in self._tables:
            patterns = self._of(size)
            self._tables[size] = {
                name: replace(codec, patterns=patterns, _packed={}) for name, codec in self._tables[0].items()
            }
        return self._tables[size]

    def _of(self, size: int) -> Patterns:
        if size not in self._patterns:
            self._patterns[size] = ShortPatterns(self._patterns[0], self._kind, size)
        return self._patterns[size]

    def _bytes(self, size: int, number: int, count: int) -> bytes:
        return self._of(size).real(self._kind, number).to_bytes(self._kind.size, "little")[:count]

    def sent(self, case: Case, number: int) -> bytes:
        """What follows a case's message: to xdp all that there must be, to the daemon what the model has, to tc
        anything.
        """
        size = self.size(case.message)
        if not size:
            return b""
        value = case.message[self._field]
        match case.family.hook:
            case "user":
                return self._bytes(size, value, size) if value else b""
            case "tc" if number % 2:
                return b""
        return random.Random(number).randbytes(size) if value == 0 else self._bytes(size, value, size)

    def answered(self, case: Case, came: bytes) -> bytes:
        """What follows the daemon's answer: nothing where something came."""
        count = self.size(case.answer)
        return self._bytes(self.size(case.message), case.answer[self._field], count) if count and not came else b""
