"""The daemon's drain and recovery, for conformance: the inputs of their steps, and checks of the outputs.

They have no packet. `takes` receives a lane and takes a family's `count` of records from it; the last record is
compared. `written`, `synced` and `begins` receive a place for each of their sections. `recover` receives a cell and an
entry.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import replace
from functools import cached_property
from typing import Any

from codegen import ir
from codegen.c import names as c_names
from codegen.emit.types import memory_layout
from codegen.layout.drain import ENTRY
from harness.conform.cases import Case
from harness.conform.kernel import Input, Output, RunnerError
from harness.data.cells import show_record
from harness.data.model_values import Patterns, zero
from harness.data.packing import Member, NotCanonical, Struct, StructCodec, WordCodec, wire_size

MARKS = ("written", "synced", "begins")
HOOKS = ("takes", *MARKS, "recover")
PLACE = struct.Struct("<QQII")
"""struct stepwise_place, followed by the number of records that fit into the buffer."""


def hooks(protocol: ir.Protocol) -> tuple[str, ...]:
    """The hooks of HOOKS that the layout has."""
    return (*(HOOKS[:-1] if protocol.drain else ()), *(HOOKS[-1:] if protocol.recovery else ()))


def with_entry(protocol: ir.Protocol) -> ir.Protocol:
    """Adds recovery's cell to the protocol as a table of one cell, so that families can name it."""
    if protocol.recovery is None:
        return protocol
    table = ir.TableLayout(ENTRY, protocol.recovery.cell, "array", 1, protocol.recovery.key, "user")
    return replace(protocol, tables=(*protocol.tables, table))


def message_fields(protocol: ir.Protocol, hook: str) -> tuple[str, ...]:
    """The fields that may be nonzero in the message with which one of HOOKS starts."""
    drain = ir.expect(protocol.drain, ir.Drain)
    if hook == "recover":
        return drain.entry
    return (drain.lane,) if hook == "takes" else (ir.EPOCH, drain.number, drain.lane)


def sections(protocol: ir.Protocol, hook: str) -> tuple[ir.Section, ...]:
    """The sections of one of MARKS."""
    drain = ir.expect(protocol.drain, ir.Drain)
    return {"written": (drain.written,), "synced": (drain.synced,), "begins": drain.begins}[hook]


def evaluation(protocol: ir.Protocol, hook: str, count: int) -> str:
    """Returns the TLA+ expression that evaluates one of HOOKS."""
    if hook == "takes":
        return f"O!RunTakes(DrainTakes, DrainStep, {max(count, 1)}, cells, msg)"
    if hook == "recover":
        step = ir.expect(protocol.recovery, ir.Recovery).step
        return f'O!RunRecovery("{ENTRY}", LAMBDA c, m : {step.name}(c, m), cells, msg)'
    listed = "DrainBegins" if hook == "begins" else f"<<Drain{hook.capitalize()}>>"
    steps = " [] ".join(
        f"at = {at} -> {section.step.name}(c, m)" for at, section in enumerate(sections(protocol, hook), 1)
    )
    return f"O!RunMarks({listed}, LAMBDA at, c, m : CASE {steps}, cells, msg)"


def natural(name: str, kind: ir.Record) -> Struct:
    """Lays out the C struct of recovery's cell. No kernel program has it, so BTF does not describe it."""
    members, end = {}, 0
    for field, each in kind.fields:
        size, alignment = memory_layout(each)
        at = -(-end // alignment) * alignment
        members[c_names.field(field)] = Member(at, size)
        end = at + size
    return Struct(name, memory_layout(kind)[0], members)


class Drained:
    """Inputs and expectations of HOOKS in one build."""

    def __init__(self, protocol: ir.Protocol, patterns: Patterns) -> None:
        self.protocol = protocol
        self._words = WordCodec(patterns)
        self._structs = StructCodec(patterns)

    # A layout may lack both, so they are read only in cases of a hook that has them.

    @cached_property
    def _drain(self) -> ir.Drain:
        return ir.expect(self.protocol.drain, ir.Drain)

    @cached_property
    def _recovery(self) -> ir.Recovery:
        return ir.expect(self.protocol.recovery, ir.Recovery)

    @cached_property
    def _cell(self) -> Struct:
        return natural(f"{ENTRY}_cell", self._recovery.cell)

    # --- Inputs ------------------------------------------------------------------------------

    def _number(self, message: dict[str, Any], field: str) -> int:
        return self._words.pack(self.protocol.message.field(field), message[field])

    def packet(self, case: Case) -> bytes:
        """The input of Handlers: a place, or recovery's cell and an entry."""
        message, drain = case.message, self._drain
        if case.family.hook == "recover":
            cell = self._structs.pack(self._recovery.cell, self._before(case), self._cell)
            return cell + b"".join(
                self._number(message, name).to_bytes(wire_size(self.protocol.message.field(name)), "little")
                for name in drain.entry
            )
        epoch, number = (
            (0, 0)
            if case.family.hook == "takes"
            else (self._number(message, name) for name in (ir.EPOCH, drain.number))
        )
        return PLACE.pack(epoch, number, self._number(message, drain.lane), max(case.family.count, 1))

    def _before(self, case: Case) -> dict[str, Any]:
        before = case.cells.get((ENTRY, 0))
        return zero(self._recovery.cell) if before is None else before

    # --- Outputs -----------------------------------------------------------------------------

    def check(self, case: Case, found: Output) -> list[str]:
        """Checks the output, except for the tables; returns the problems found."""
        hook = case.family.hook
        if hook == "recover":
            written = [cell for table, _, cell, _ in case.writes if table == ENTRY]
            key = self._recovery.key
            expected = {key: case.message[key], **(written[-1] if written else self._before(case))}
            kinds = [(key, self.protocol.message.field(key)), *self._recovery.cell.fields]
            return self._compare("row", kinds, expected, found.packet)
        if found.verdict != case.verdict:
            what = "records taken" if hook == "takes" else "sections that wrote"
            return [f"{what}: expected {case.verdict}, found {found.verdict}"]
        if hook == "takes" and case.verdict:
            kinds = [(name, self.protocol.message.field(name)) for name in self._drain.entry]
            return self._compare("entry", kinds, case.answer, found.packet)
        return []

    def _compare(
        self, what: str, kinds: list[tuple[str, ir.Type]], expected: dict[str, Any], packed: bytes
    ) -> list[str]:
        """Compares packed fields, which are little endian."""
        wanted, found, at = {name: expected[name] for name, _ in kinds}, {}, 0
        if len(packed) != sum(wire_size(kind) for _, kind in kinds):
            return [f"{what}: expected {sum(wire_size(kind) for _, kind in kinds)} bytes, found {len(packed)}"]
        for name, kind in kinds:
            raw = packed[at : at + wire_size(kind)]
            at += len(raw)
            try:
                found[name] = self._words.unpack(kind, int.from_bytes(raw, "little"))
            except NotCanonical:
                found[name] = raw.hex()
        return (
            []
            if found == wanted
            else [f"{what} expected: {show_record(wanted)}", f"{what} found:    {show_record(found)}"]
        )


# --- The daemon's functions ------------------------------------------------------------------------


class _Place(ctypes.Structure):
    _fields_ = [("epoch", ctypes.c_uint64), ("number", ctypes.c_uint64), ("lane", ctypes.c_uint32)]


class _Entries(ctypes.Structure):
    _fields_ = [("protocol", ctypes.c_char_p), ("size", ctypes.c_uint32)]


_Mark = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(_Place))


class _Drain(ctypes.Structure):
    """struct stepwise_drain of runtime/abi/stepwise_drain.h"""

    _fields_ = [
        ("entries", ctypes.POINTER(_Entries)),
        ("batch", ctypes.c_uint32),
        ("segment_bytes", ctypes.c_uint64),
        ("sync_ms", ctypes.c_uint32),
        (
            "take",
            ctypes.CFUNCTYPE(
                ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
            ),
        ),
        ("written", _Mark),
        ("synced", _Mark),
        ("marks", ctypes.c_void_p),
        ("begins", ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(_Place))),
        ("begins_count", ctypes.c_uint32),
    ]


class _Recovery(ctypes.Structure):
    """struct stepwise_recovery"""

    _fields_ = [
        ("cell_size", ctypes.c_uint32),
        ("row_size", ctypes.c_uint32),
        ("key", ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)),
        ("begin", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("step", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)),
        ("row", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)),
    ]


class Handlers:
    """Calls the drain's and recovery's functions of a loaded library.

    drain, recovery: the addresses of their structs, from the library's descriptor.
    """

    def __init__(self, drain: int | None, recovery: int | None) -> None:
        self._drain = ctypes.cast(drain, ctypes.POINTER(_Drain)).contents if drain else None
        self._recovery = ctypes.cast(recovery, ctypes.POINTER(_Recovery)).contents if recovery else None
        self.hooks = [*(HOOKS[:-1] if drain else ()), *(HOOKS[-1:] if recovery else ())]

    def run(self, hook: str, tables: int, given: Input) -> tuple[int, bytes]:
        """Runs a hook; returns a number, and an entry or a row: see Drained.check.

        tables: the address of struct stepwise_tables.
        """
        if hook == "recover":
            return 0, self._recover(given.packet)
        drain = ir.expect(self._drain, _Drain)
        *place, room = PLACE.unpack(given.packet)
        if hook == "takes":
            size = drain.entries.contents.size
            entries = ctypes.create_string_buffer(size * room)
            taken = drain.take(tables, place[2], entries, size, room)
            return taken, entries.raw[size * (taken - 1) : size * taken] if taken else b""
        where = ctypes.byref(_Place(*place))
        if hook == "begins":
            return sum(drain.begins(tables, at, where) for at in range(drain.begins_count)), b""
        return int((drain.written if hook == "written" else drain.synced)(tables, where)), b""

    def _recover(self, packet: bytes) -> bytes:
        recovery = ir.expect(self._recovery, _Recovery)
        size = recovery.cell_size
        cell = ctypes.create_string_buffer(size)
        recovery.begin(cell)
        if any(cell.raw):
            raise RunnerError("recovery must start with a blank cell")
        cell.raw = packet[:size]
        entry = ctypes.create_string_buffer(packet[size:])
        recovery.step(cell, entry)
        row = ctypes.create_string_buffer(recovery.row_size)
        recovery.row(row, recovery.key(entry), cell)
        return row.raw
