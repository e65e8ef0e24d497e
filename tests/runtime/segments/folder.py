"""Makes segment files for tests: loads the runtime's code, with the entries of probe.c, as a library."""

from __future__ import annotations

import ctypes
import errno
import json
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RUNTIME = HERE.parents[2] / "runtime"
SOURCES = (
    "base/crc32c",
    "base/files",
    "base/json_writer",
    "segments/segment_file",
    "segments/segments",
    "segments/segments_folder",
    "segments/segment_reader",
    "cli/segments_command",
    "cli/print_fields",
    "segments/recovery",
    "cli/recover_command",
    "base/log",
)
LANES = 3
ENTRY = 25
STRIDE = ENTRY + 4
HEADER = 48 + 8 * LANES + 4
KEYS = 1000


def compile_library(folder: Path, compiler: str = "cc") -> Path:
    """The runtime's files on segments, with the probe's entries."""
    path = folder / "libsegments.so"
    sources = [HERE / "probe.c", *(RUNTIME / f"{name}.c" for name in SOURCES)]
    subprocess.run(
        [
            compiler,
            "-std=gnu11",
            "-O2",
            "-g",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-D_GNU_SOURCE",
            f"-I{RUNTIME}",
            f"-I{RUNTIME}/abi",
            "-fPIC",
            "-shared",
            *sources,
            "-lbpf",
            "-o",
            path,
        ],
        check=True,
    )
    return path


class Options(ctypes.Structure):
    """struct segments_options."""

    _fields_ = [
        ("json", ctypes.c_bool),
        ("entries", ctypes.c_bool),
        ("text", ctypes.c_bool),
        ("output", ctypes.c_char_p),
        ("before", ctypes.c_uint64),
    ]


class Library:
    """The functions of the library that the tests call."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.c = ctypes.CDLL(str(path))
        pointer, number = ctypes.c_void_p, ctypes.c_uint64
        for name, result, arguments in (
            ("segments_open", ctypes.c_int, [ctypes.c_char_p, pointer, ctypes.POINTER(pointer)]),
            ("segments_close", None, [pointer]),
            ("segments_epoch", number, [pointer]),
            ("segments_number", number, [pointer, ctypes.c_uint32]),
            ("segments_size", number, [pointer]),
            ("segments_begin_epoch", ctypes.c_int, [pointer, number]),
            ("segments_append", ctypes.c_int, [pointer, pointer, ctypes.c_size_t]),
            ("segments_sync", ctypes.c_int, [pointer]),
            ("segments_rotate", ctypes.c_int, [pointer]),
            ("segments_truncate", ctypes.c_int, [ctypes.c_char_p, pointer, number]),
            ("command_segments", ctypes.c_int, [pointer, ctypes.c_char_p, pointer]),
            ("command_recover", ctypes.c_int, [pointer, pointer, ctypes.c_char_p, pointer]),
            ("crc32c", ctypes.c_uint32, [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t]),
            ("crc32c_by_table", ctypes.c_uint32, [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t]),
            ("crc32c_by_instruction", ctypes.c_uint32, [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t]),
            ("crc32c_in_hardware", ctypes.c_bool, []),
            ("probe_fill", None, [pointer, number, ctypes.c_uint32, number, ctypes.c_uint32, ctypes.c_uint32]),
        ):
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments
        self.libc = ctypes.CDLL(None)

    def entries_of(self, name: str = "probe_entries") -> int:
        return ctypes.addressof(ctypes.c_char.in_dll(self.c, name))

    def open(self, folder: Path, entries: str = "probe_entries") -> Folder | None:
        """None where it was refused, with a message on standard error."""
        handle = ctypes.c_void_p()
        err = self.c.segments_open(str(folder).encode(), self.entries_of(entries), ctypes.byref(handle))
        assert (err == 0) == (handle.value is not None)
        return Folder(self, folder, handle.value) if handle.value else None

    def filled(self, epoch: int, lane: int, first: int, count: int, keys: int = KEYS) -> ctypes.Array[ctypes.c_char]:
        buffer = ctypes.create_string_buffer(max(count, 1) * STRIDE)
        self.c.probe_fill(buffer, epoch, lane, first, count, keys)
        return buffer

    def flush(self) -> None:
        self.libc.fflush(None)

    def report(
        self, folder: Path, capfd: Any, entries: bool = False
    ) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
        """Returns the output of `segments --json`: its result, the report, the entries."""
        capfd.readouterr()
        options = Options(json=True, entries=entries)
        result = self.c.command_segments(self.entries_of(), str(folder).encode(), ctypes.byref(options))
        self.flush()
        lines = capfd.readouterr().out.splitlines()
        objects = [json.loads(line) for line in lines]
        return result, objects[-1] if objects else {}, objects[:-1]


class Folder:
    """An open folder. Each record in it is identified by its lane and its number."""

    def __init__(self, library: Library, path: Path, handle: int) -> None:
        self.library, self.path, self.handle = library, path, handle

    @property
    def epoch(self) -> int:
        return self.library.c.segments_epoch(self.handle)

    @property
    def numbers(self) -> list[int]:
        return [self.library.c.segments_number(self.handle, lane) for lane in range(LANES)]

    @property
    def size(self) -> int:
        return self.library.c.segments_size(self.handle)

    def try_to_append(self, lane: int, count: int, first: int | None = None, epoch: int | None = None) -> int:
        first = self.numbers[lane] + 1 if first is None else first
        buffer = self.library.filled(self.epoch if epoch is None else epoch, lane, first, count)
        return self.library.c.segments_append(self.handle, buffer, count)

    def append(self, lane: int, count: int) -> None:
        assert self.try_to_append(lane, count) == 0

    def begin(self, epoch: int) -> None:
        assert self.library.c.segments_begin_epoch(self.handle, epoch) == 0

    def sync(self) -> None:
        assert self.library.c.segments_sync(self.handle) == 0

    def rotate(self) -> None:
        assert self.library.c.segments_rotate(self.handle) == 0

    def close(self) -> None:
        self.library.c.segments_close(self.handle)


BAD = -errno.EBADMSG
