"""Runs cases through the userspace handler: the same steps, compiled for the host."""

from __future__ import annotations

import ctypes
import itertools
from pathlib import Path

from codegen import ir
from harness.conform.kernel import Input, Output, RunnerError


class _Environment(ctypes.Structure):
    """struct stepwise_environment"""

    _fields_ = [("now_ns", ctypes.c_uint64), ("random", ctypes.c_uint64)]


_ReadCell = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint32, ctypes.c_void_p)


class _Tables(ctypes.Structure):
    """struct stepwise_tables"""

    _fields_ = [("memory", ctypes.POINTER(ctypes.c_void_p)), ("read_cell", _ReadCell)]


_Handler = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(_Tables), ctypes.POINTER(_Environment), ctypes.POINTER(ctypes.c_ubyte)
)


class _Protocol(ctypes.Structure):
    """struct stepwise_protocol of runtime/stepwise.h"""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("port", ctypes.c_uint16),
        ("wire_size", ctypes.c_uint16),
        ("sweep_size", ctypes.c_uint32),
        ("sweep_period_ms", ctypes.c_uint32),
        ("layout_id", ctypes.c_uint64),
        ("tables", ctypes.c_void_p),
        ("table_count", ctypes.c_uint32),
        ("counters", ctypes.POINTER(ctypes.c_char_p)),
        ("counter_count", ctypes.c_uint32),
        ("passes", ctypes.c_void_p),
        ("pass_count", ctypes.c_uint32),
        ("xdp_program", ctypes.c_char_p),
        ("tc_program", ctypes.c_char_p),
        ("on_forwarded", _Handler),
        ("run_xdp", _Handler),
        ("run_tc", _Handler),
    ]


class Native:
    """lib<protocol>_user.so of one build, with tables of its own in ordinary memory."""

    def __init__(self, path: Path, protocol: ir.Protocol) -> None:
        try:
            self._library = ctypes.CDLL(str(path))
            self._descriptor = _Protocol.in_dll(self._library, "stepwise_protocol")
        except (OSError, ValueError) as error:
            raise RunnerError(f"loading the userspace handler {path}: {error}") from None
        self._tick_ns = protocol.tick_ns or 1
        self._names = [table.name for table in protocol.tables]
        self._memory = {table.name: ctypes.create_string_buffer(8 * table.capacity) for table in protocol.tables}
        self._pointers = (ctypes.c_void_p * len(self._names))(*(ctypes.addressof(self._memory[name]) for name in self._names))
        self._tables = _Tables(self._pointers, _ReadCell())
        self._words = words = {table.name for table in protocol.tables if table.atomic == "word"}
        self.hooks = [hook for hook, handler in (("xdp", "run_xdp"), ("tc", "run_tc"))
                      if words == set(self._names) and getattr(self._descriptor, handler)]  # fmt: skip
        if protocol.user is not None and protocol.user.table in words:
            self.hooks.append("user")

    def counters(self) -> list[str]:
        """The names of the counters, by number."""
        return [self._descriptor.counters[at].decode() for at in range(self._descriptor.counter_count)]

    def coverage(self, branch_count: int) -> list[int]:
        """How often each branch was taken since the library was loaded."""
        return list((ctypes.c_uint64 * branch_count).in_dll(self._library, "stepwise_coverage"))

    def run(
        self, hook: str, columns: list[tuple[str, int]], inputs: list[Input], clocks: list[tuple[int, int]], payload_size: int
    ) -> list[Output]:
        """Each input once, at its clock (ticks and random bytes).

        columns: table and element size of each watched cell. Only words are set; other cells come out as they
        went in, and so do packets but for the payload. Counters are the kernel's alone.
        """
        handler = {"xdp": self._descriptor.run_xdp, "tc": self._descriptor.run_tc, "user": self._descriptor.on_forwarded}[hook]
        offsets = list(itertools.accumulate((size for _, size in columns), initial=0))
        words = [(at, offset, self._memory[name]) for at, (offset, (name, _)) in enumerate(zip(offsets, columns))
                 if name in self._words]  # fmt: skip
        outputs = []
        for given, (ticks, random) in zip(inputs, clocks, strict=True):
            offset = len(given.packet) - payload_size
            places = [(memory, 8 * given.indexes[at], where) for at, where, memory in words]
            for memory, start, where in places:
                memory[start : start + 8] = given.image[where : where + 8]
            environment = _Environment(ticks * self._tick_ns, random)
            payload = (ctypes.c_ubyte * payload_size).from_buffer_copy(given.packet, offset)
            verdict = handler(ctypes.byref(self._tables), ctypes.byref(environment), payload)
            image = bytearray(given.image)
            for memory, start, where in places:
                image[where : where + 8] = memory[start : start + 8]
            for memory, start, _ in places:
                memory[start : start + 8] = bytes(8)
            outputs.append(Output(verdict, given.packet[:offset] + bytes(payload), bytes(image), None, 1))
        return outputs
