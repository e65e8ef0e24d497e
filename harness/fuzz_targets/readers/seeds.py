"""Inputs that fuzzing of a reader starts from, besides the kept ones."""

from __future__ import annotations

from harness.data import row_files
from harness.data.row_files import Column
from harness.fuzz_targets.parsers import seeds as frames
from harness.fuzz_targets.readers.build import Target

COLUMNS = (
    Column("version", 4),
    Column("key", 8),
    Column("value", 16, opaque=True),
    Column("length", 1),
    Column("deletes", 1),
)


IFINDEX = 7  # as in frames.c


def seeds(target: Target) -> list[bytes]:
    """Returns whole files of rows, and frames that are right or wrong.

    Segments need no seeds, because the target's mutator makes right ones.
    """
    match target.name:
        case "rows":
            return [*(_rows(count) for count in (0, 1, 3)), _rows(2, (*COLUMNS, COLUMNS[0]))]
        case "frames":
            return [_sample(frame, flags) for frame in frames.seeds(target.protocol) for flags in (0, 1, 6)]
    return []


def _rows(count: int, columns: tuple[Column, ...] = COLUMNS) -> bytes:
    return row_files.encode(
        columns, [{"version": 1, "key": key, "value": b"%d" % key, "length": 1, "deletes": 0} for key in range(count)]
    )


def _sample(frame: bytes, flags: int) -> bytes:
    """Makes a piece of an input: flags (frames.c), size, and a sample of the ring buffer."""
    sample = IFINDEX.to_bytes(4, "little") + len(frame).to_bytes(4, "little") + frame
    return bytes([flags]) + len(sample).to_bytes(2, "little") + sample
