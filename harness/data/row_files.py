"""Writes files of rows, as a daemon's `restore` reads them: see runtime/abi/stepwise_rows.h.

The checksum is that of a library, and not of runtime/base/crc32c.c, so that a mistake in the daemon's shows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crc32c import crc32c

HEAD = struct.Struct("<8sIIIIQ")
FIELD = struct.Struct("<32sIIII")
MAGIC = b"\x89steprw\n"
VERSION = 1


@dataclass(frozen=True)
class Column:
    """One field of each row. size: in bytes. opaque: the value is bytes, not an integer."""

    name: str
    size: int
    opaque: bool = False

    def encode(self, value: int | bytes) -> bytes:
        """Encodes a value as it stands in a row."""
        return value.ljust(self.size, b"\0") if isinstance(value, bytes) else int(value).to_bytes(self.size, "little")


def encode(columns: Sequence[Column], rows: Iterable[Mapping[str, int | bytes]]) -> bytes:
    """Encodes a whole file."""
    encoded = [b"".join(column.encode(row[column.name]) for column in columns) for row in rows]
    fields, offset = [], 0
    for column in columns:
        fields.append(FIELD.pack(column.name.encode(), offset, column.size, column.opaque, 0))
        offset += column.size
    content = HEAD.pack(MAGIC, VERSION, len(columns), offset, 0, len(encoded)) + b"".join(fields) + b"".join(encoded)
    return content + crc32c(content).to_bytes(4, "little")
