"""The tail that follows the fixed part of a message, and the opaque values that go with it.

The message gives its tail's length. A number of the model stands for that many bytes in the program, followed by zeros.
This holds in the packet, and in every cell that may store a tail.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cached_property
from typing import Any

from codegen import ir
from harness.conform.cases import Case
from harness.data.cells import CellCodec
from harness.data.model_values import Patterns, tail_size


class ShortPatterns(Patterns):
    """Patterns in which one type's values are cut short.

    whole: the patterns without cuts.
    size: the bytes that are left.
    """

    def __init__(self, whole: Patterns, kind: ir.Bytes, size: int) -> None:
        self._whole = whole
        self._kind = kind
        self._mask = (1 << 8 * size) - 1

    def real(self, kind: ir.Type, number: int) -> int:
        """Does what Patterns does, with cut values of the one type."""
        value = self._whole.real(kind, number)
        return value & self._mask if kind == self._kind else value

    def model(self, kind: ir.Type, value: int) -> int | str:
        """Does what Patterns does, with cut values of the one type."""
        if kind != self._kind or value == 0:
            return self._whole.model(kind, value)
        return next(
            (number for number, pattern in self._whole.known(kind) if pattern & self._mask == value), hex(value)
        )


class Tails:
    """The tails of one protocol, which may have none.

    tables: the cells' codecs for patterns without cuts.
    """

    def __init__(self, protocol: ir.Protocol, patterns: Patterns, tables: dict[str, CellCodec]) -> None:
        self._layout = protocol.tail
        self._message = protocol.message
        self._patterns: dict[int, Patterns] = {0: patterns}
        self._tables: dict[int, dict[str, CellCodec]] = {0: tables}

    @cached_property
    def _field(self) -> str:
        """The message's field that is the tail; used only if the protocol has tails."""
        return ir.expect(self._layout, ir.TailLayout).field

    @cached_property
    def _kind(self) -> ir.Bytes:
        return ir.expect(self._message.field(self._field), ir.Bytes)

    def size(self, message: dict[str, Any]) -> int:
        """Bytes of a message's tail, if it has one; 0 if it cannot have one."""
        return tail_size(self._layout, message) if self._layout else 0

    def tables(self, size: int) -> dict[str, CellCodec]:
        """The cells' codecs for tails of that size."""
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
        """The bytes that follow a case's message.

        xdp receives a full tail. The daemon receives one if the model has one. tc receives one or none.
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
        """The bytes that follow the daemon's answer; none if the request had a tail."""
        count = self.size(case.answer)
        return self._bytes(self.size(case.message), case.answer[self._field], count) if count and not came else b""
