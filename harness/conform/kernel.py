"""Runs cases through a loaded program: the Python side of runner.c."""

from __future__ import annotations

import ctypes
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.rig import bpf

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
NO_COUNTER = 2**32 - 1


class RunnerError(Exception):
    """The runner could not be compiled, or one of its system calls failed."""


class _Watch(ctypes.Structure):
    _fields_ = [("map_fd", ctypes.c_int32), ("offset", ctypes.c_uint32), ("size", ctypes.c_uint32)]


class _Batch(ctypes.Structure):
    _fields_ = [
        ("program_fd", ctypes.c_int32),
        ("counters_fd", ctypes.c_int32),
        ("counters_stride", ctypes.c_uint32),
        ("cpu_count", ctypes.c_uint32),
        ("watch_count", ctypes.c_uint32),
        ("image_size", ctypes.c_uint32),
        ("packet_size", ctypes.c_uint32),
        ("environment_size", ctypes.c_uint32),
        ("watches", ctypes.POINTER(_Watch)),
        ("environment", ctypes.c_void_p),
        ("clear", ctypes.c_uint8),
    ]


class _Outcome(ctypes.Structure):
    _fields_ = [
        ("verdict", ctypes.c_int32),
        ("length", ctypes.c_uint32),
        ("counter", ctypes.c_uint32),
        ("first_counter", ctypes.c_uint32),
        ("rises", ctypes.c_uint32),
    ]


@dataclass(frozen=True)
class Input:
    """One input of a program.

    indexes: the index of each watched cell.
    image: the bytes of these cells, one after the other.
    payload_at: the payload's offset in the packet.
    """

    indexes: tuple[int, ...]
    image: bytes
    environment: bytes
    packet: bytes
    payload_at: int = 0


@dataclass(frozen=True)
class Output:
    """One output of a program.

    counter, first_counter: the highest and the lowest number of a counter that rose.
    rises: the sum of all rises.
    """

    verdict: int
    packet: bytes
    image: bytes
    counter: int | None
    rises: int
    first_counter: int | None = None


def library() -> ctypes.CDLL:
    """Loads runner.c, compiled again if the source is newer."""
    source, target = HERE / "runner.c", ROOT / "build" / "conform" / "runner.so"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}")
        command = [
            "clang-19",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
            "-o",
            str(partial),
            str(source),
        ]
        run = subprocess.run(command, check=False, capture_output=True, text=True)
        if run.returncode:
            raise RunnerError(f"compiling {source.name}:\n{run.stderr}")
        partial.replace(target)
    library = ctypes.CDLL(str(target))
    library.conform_nonzero.restype = ctypes.c_int64
    return library


class Runner:
    """Runs one program of a loaded object and watches cells.

    watched: the map of each watched cell, in the order of an Input's indexes.
    data: the map of the object's global variables, which an Input's environment fills as a whole; None if there is
    none.
    clear: whether to zero the cells after each case, for tables too large to be set as a whole.
    """

    def __init__(
        self, program: bpf.Program, watched: list[bpf.Map], counters: bpf.Map, data: bpf.Map | None, clear: bool = False
    ) -> None:
        self._library = library()
        self._watched = watched
        self.image_size = sum(each.value_size for each in watched)
        self._watches = (_Watch * max(1, len(watched)))()
        environment_size = data.value_size if data else 0
        self._environment = (ctypes.c_char * environment_size).from_buffer(data.mmap() if data else bytearray())
        offset = 0
        for watch, each in zip(self._watches, watched):
            watch.map_fd, watch.offset, watch.size = each.fd, offset, each.value_size
            offset += each.value_size
        self._batch = _Batch(
            program_fd=program.fd,
            counters_fd=counters.fd,
            counters_stride=(counters.value_size + 7) // 8 * 8,
            cpu_count=bpf.possible_cpu_count(),
            watch_count=len(watched),
            image_size=self.image_size,
            environment_size=environment_size,
            watches=ctypes.cast(self._watches, ctypes.POINTER(_Watch)),
            environment=ctypes.addressof(self._environment),
            clear=clear,
        )
        self._name = program.name

    def run(self, inputs: list[Input]) -> list[Output]:
        """Runs each input once, in order."""
        outputs: list[Output] = []
        for start in range(0, len(inputs), 20_000):
            outputs += self._run(inputs[start : start + 20_000])
        return outputs

    def _run(self, inputs: list[Input]) -> list[Output]:
        batch, count = self._batch, len(inputs)
        batch.packet_size = stride = max(len(each.packet) for each in inputs) + 64
        indexes = (ctypes.c_uint32 * max(1, count * len(self._watched)))(*(i for each in inputs for i in each.indexes))
        images = ctypes.create_string_buffer(b"".join(each.image for each in inputs), max(1, count * self.image_size))
        environments = b"".join(each.environment for each in inputs)
        packets = b"".join(each.packet.ljust(stride, b"\0") for each in inputs)
        lengths = (ctypes.c_uint32 * count)(*(len(each.packet) for each in inputs))
        packets_out = ctypes.create_string_buffer(count * stride)
        outcomes = (_Outcome * count)()
        failed = ctypes.c_uint32()
        error = self._library.conform_run(
            ctypes.byref(batch),
            count,
            indexes,
            images,
            environments,
            packets,
            lengths,
            packets_out,
            outcomes,
            ctypes.byref(failed),
        )
        if error:
            raise RunnerError(f"running {self._name} on input {failed.value} of {count}: {os.strerror(-error)}")
        all_packets, all_images, size = packets_out.raw, images.raw, self.image_size
        return [
            Output(
                outcome.verdict,
                all_packets[at * stride : at * stride + outcome.length],
                all_images[at * size : at * size + size],
                None if outcome.counter == NO_COUNTER else outcome.counter,
                outcome.rises,
                None if outcome.first_counter == NO_COUNTER else outcome.first_counter,
            )
            for at, outcome in enumerate(outcomes)
        ]


def cells_not_zero(table: bpf.Map) -> int:
    """Counts the cells of a table that are not all zero."""
    found: int = library().conform_nonzero(table.fd, table.capacity, table.value_size)
    if found < 0:
        raise RunnerError(f"reading table {table.name}: {os.strerror(-found)}")
    return found
