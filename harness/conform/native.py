"""Runs cases through the userspace handler: the same steps, compiled for the host."""

from __future__ import annotations

import ctypes
import itertools
import mmap
from dataclasses import dataclass
from pathlib import Path

from codegen import ir
from harness.conform.drain_cases import Handlers
from harness.conform.kernel import Input, Output, RunnerError

STALE = b"\xa5"  # fills the room behind a payload


class _Environment(ctypes.Structure):
    """struct stepwise_environment"""

    _fields_ = [
        ("now_ns", ctypes.c_uint64),
        ("random", ctypes.c_uint64),
        ("age_ns", ctypes.c_uint64),
        ("peer", ctypes.c_uint64),
        ("token", ctypes.c_uint64),
        ("validated", ctypes.c_bool),
        ("cpu", ctypes.c_uint32),
    ]


@dataclass(frozen=True)
class Surroundings:
    """The values that steps read besides their cell and their message.

    A value is 0 if the layout's env lacks the field. now and age are in ticks.
    """

    now: int = 0
    random: int = 0
    cpu: int = 0
    age: int = 0
    peer: int = 0
    token: int = 0
    validated: bool = False

    def environment(self, tick_ns: int) -> _Environment:
        return _Environment(
            self.now * tick_ns, self.random, self.age * tick_ns, self.peer, self.token, self.validated, self.cpu
        )


_ReadCell = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint32, ctypes.c_void_p)
_Cell = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint32)


class _Tables(ctypes.Structure):
    """struct stepwise_tables"""

    _fields_ = [("memory", ctypes.POINTER(ctypes.c_void_p)), ("read_cell", _ReadCell), ("cell", _Cell)]


_Handler = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.POINTER(_Tables),
    ctypes.POINTER(_Environment),
    ctypes.POINTER(ctypes.c_ubyte),
    ctypes.POINTER(ctypes.c_size_t),
)


class _Protocol(ctypes.Structure):
    """struct stepwise_protocol of runtime/abi/stepwise.h"""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("port", ctypes.c_uint16),
        ("wire_size", ctypes.c_uint16),
        ("tail_max", ctypes.c_uint16),
        ("sweep_size", ctypes.c_uint32),
        ("sweep_period_ms", ctypes.c_uint32),
        ("compares_addresses", ctypes.c_bool),
        ("layout_id", ctypes.c_uint64),
        ("seed", ctypes.c_void_p),
        ("young_ns", ctypes.c_uint64),
        ("tells_peers", ctypes.c_bool),
        ("terms", ctypes.c_uint64),
        ("takes_tokens", ctypes.c_bool),
        ("token_at", ctypes.c_uint16),
        ("tables", ctypes.c_void_p),
        ("table_count", ctypes.c_uint32),
        ("counters", ctypes.POINTER(ctypes.c_char_p)),
        ("counter_count", ctypes.c_uint32),
        ("passes", ctypes.c_void_p),
        ("pass_count", ctypes.c_uint32),
        ("restore", ctypes.c_void_p),
        ("xdp_program", ctypes.c_char_p),
        ("tc_program", ctypes.c_char_p),
        ("ahead_program", ctypes.c_char_p),
        ("gathered_program", ctypes.c_char_p),
        ("on_forwarded", _Handler),
        ("run_xdp", _Handler),
        ("run_tc", _Handler),
        ("drain", ctypes.c_void_p),
        ("recovery", ctypes.c_void_p),
    ]


class Native:
    """Runs lib<protocol>_user.so of one build, with maps of its own in ordinary memory.

    sizes: the bytes of an element, by map.
    """

    def __init__(self, path: Path, protocol: ir.Protocol, sizes: dict[str, int]) -> None:
        try:
            self._library = ctypes.CDLL(str(path))
            self._descriptor = _Protocol.in_dll(self._library, "stepwise_protocol")
        except (OSError, ValueError) as error:
            raise RunnerError(f"loading the userspace handler {path}: {error}") from None
        self._tick_ns = protocol.tick_ns or 1
        capacities = {table.name: table.capacity for table in protocol.tables}
        self._names = list(capacities)  # in the order of stepwise_protocol.tables
        self._sizes = sizes
        self._capacities = list(capacities.values())
        # Anonymous memory is zero, and costs nothing until it is touched: tables may have millions of elements.
        self._memory = {name: mmap.mmap(-1, sizes[name] * capacity) for name, capacity in capacities.items()}
        views = (ctypes.c_char.from_buffer(self._memory[name]) for name in self._names)
        self._addresses = list(map(ctypes.addressof, views))
        pointers = (ctypes.c_void_p * len(self._names))(*self._addresses)
        self._tables = _Tables(pointers, _ReadCell(self._read_cell), _Cell(self._cell))
        self._handlers = {
            "xdp": self._descriptor.run_xdp,
            "tc": self._descriptor.run_tc,
            "user": self._descriptor.on_forwarded,
        }
        self._drained = Handlers(self._descriptor.drain, self._descriptor.recovery)
        self.hooks = [*(hook for hook, handler in self._handlers.items() if handler), *self._drained.hooks]

    def _read_cell(self, _tables: object, table: int, index: int, element: int) -> bool:
        """Replaces stepwise_read_cell(), by which the daemon reads a cell from the kernel."""
        if index >= self._capacities[table]:
            return False
        size = self._sizes[self._names[table]]
        ctypes.memmove(element, self._addresses[table] + index * size, size)
        return True

    def _cell(self, _tables: object, table: int, index: int) -> int | None:
        """Replaces stepwise_cell(), which returns a cell that the daemon has mapped for writing."""
        if index >= self._capacities[table]:
            return None
        return self._addresses[table] + index * self._sizes[self._names[table]]

    def counters(self) -> list[str]:
        """The names of the counters, by number."""
        return [self._descriptor.counters[at].decode() for at in range(self._descriptor.counter_count)]

    def coverage(self, branch_count: int) -> list[int]:
        """The counts of each branch since the library was loaded."""
        return list((ctypes.c_uint64 * branch_count).in_dll(self._library, "stepwise_coverage"))

    def run(self, hook: str, columns: list[str], inputs: list[Input], environments: list[Surroundings]) -> list[Output]:
        """Runs each input once, in its environment.

        columns: the map of each watched element. The handler may change only a packet's payload and the payload's size.
        Only the kernel has counters.
        """
        sizes = [self._sizes[name] for name in columns]
        longest = max((len(given.packet) - given.payload_at for given in inputs), default=0)
        room = max(self._descriptor.wire_size + self._descriptor.tail_max, longest)
        watched = list(zip((self._memory[name] for name in columns), sizes, itertools.accumulate(sizes, initial=0)))
        outputs = []
        for given, surroundings in zip(inputs, environments, strict=True):
            places = [
                (memory, index * size, size, where) for index, (memory, size, where) in zip(given.indexes, watched)
            ]
            for memory, start, size, where in places:
                memory[start : start + size] = given.image[where : where + size]
            if hook in self._handlers:
                verdict, packet = self._handle(hook, given, surroundings.environment(self._tick_ns), room)
            else:
                verdict, packet = self._drained.run(hook, ctypes.addressof(self._tables), given)
            image = b"".join(memory[start : start + size] for memory, start, size, _ in places)
            for memory, start, size, _ in places:
                memory[start : start + size] = bytes(size)
            outputs.append(Output(verdict, packet, image, None, 1))
        return outputs

    def _handle(self, hook: str, given: Input, environment: _Environment, room: int) -> tuple[int, bytes]:
        """Runs a hook that receives a packet; returns its verdict and the packet."""
        offset = given.payload_at
        payload = (ctypes.c_ubyte * room).from_buffer_copy(given.packet[offset:].ljust(room, STALE))
        payload_size = ctypes.c_size_t(len(given.packet) - offset)
        verdict = self._handlers[hook](
            ctypes.byref(self._tables), ctypes.byref(environment), payload, ctypes.byref(payload_size)
        )
        return verdict, given.packet[:offset] + bytes(payload)[: payload_size.value]
