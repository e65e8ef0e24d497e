"""Turns the oracle's cases into inputs of a program, and compares the outputs."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codegen import ir
from codegen.c import names as c_names
from harness.conform import drain_cases, gathered
from harness.conform.cases import Case
from harness.conform.kernel import Input, Output
from harness.conform.native import Surroundings
from harness.conform.tails import Tails
from harness.data import frames
from harness.data.cells import CellCodec, show_record
from harness.data.model_values import Patterns, steps_of, zero
from harness.data.packing import (
    NotCanonical,
    Struct,
    StructCodec,
    WireCodec,
    WordCodec,
    fields_size,
    wire_message,
    wire_noise,
)
from harness.rig import bpf

VERDICTS: dict[str, dict[str, tuple[int, ...]]] = {
    "xdp": {"Reply": (bpf.XDP_TX,), "Forward": (bpf.XDP_PASS,), "Drop": (bpf.XDP_DROP,)},
    "tc": {"Reply": (bpf.TC_ACT_OK, bpf.TC_ACT_UNSPEC), "Forward": (bpf.TC_ACT_SHOT,), "Drop": (bpf.TC_ACT_SHOT,)},
    "ahead": {"Reply": (bpf.XDP_PASS,), "Forward": (bpf.XDP_DROP,), "Drop": (bpf.XDP_DROP,)},
    "native": {"Reply": (1,), "Forward": (2,), "Drop": (3,)},
}
"""The results that each verdict allows, by side.

The sides are a hook's own program, `ahead` and `native`. `ahead` is the program that runs xdp's sections where cells
are read ahead; the daemon receives a copy from it, so a Forward drops the packet. `native` is a hook's form in
userspace, which has neither headers nor counters.
"""

AGAIN = 4
"""The daemon's handler returns this for a message that it drops and must look at again. The model says Drop."""

XDP_NAMES = {0: "XDP_ABORTED", 1: "XDP_DROP", 2: "XDP_PASS", 3: "XDP_TX", 4: "XDP_REDIRECT"}
NAMES: dict[str, dict[int, str]] = {
    "xdp": XDP_NAMES,
    "tc": {-1: "TC_ACT_UNSPEC", 0: "TC_ACT_OK", 2: "TC_ACT_SHOT"},
    "ahead": XDP_NAMES,
    "native": {
        0: "STEPWISE_CONTINUE",
        1: "STEPWISE_REPLY",
        2: "STEPWISE_FORWARD",
        3: "STEPWISE_DROP",
        AGAIN: "STEPWISE_AGAIN",
    },
}
SIDE_LABELS = {"native": ", userspace", "ahead": ", read ahead"}
SWEEP_HEAD = struct.Struct("<IIII")  # struct stepwise_sweep: first, count, visited, continued


@dataclass(frozen=True)
class Mismatch:
    """A case whose result differs from the model's."""

    form: str
    case: Case
    problems: tuple[str, ...]

    def __str__(self) -> str:
        case = self.case
        hook = f"pass {case.family.sweep_pass} of the sweep" if case.family.hook == "sweep" else case.family.hook
        lines = [f"{hook}, {self.form}, family {case.family.name!r}:", f"  message  {show_record(case.message)}"]
        lines += [f"  {table}[{index}]  {show_record(cell)}" for (table, index), cell in case.cells.items()]
        lines.append(f"  env      {show_record(case.env)}")
        lines.append(f"  the model ends with {case.verdict} after section {case.ended}")
        return "\n".join([*lines, *(f"  {problem}" for problem in self.problems)])


class Comparison:
    """Inputs and expectations of one build of a protocol.

    tables: the cells' codecs in the order of the layout.
    data, variables: the first contents of the program's global variables, and the place of each variable.
    noise: the contents of cells that a case does not name. If it is empty, they are zero and only the case's cells are
    watched.
    """

    def __init__(
        self,
        protocol: ir.Protocol,
        form: str,
        patterns: Patterns,
        tables: dict[str, CellCodec],
        record: Struct | None,
        noise: dict[str, list[dict[str, Any]]],
        counters: list[str],
        data: bytes,
        variables: dict[str, tuple[int, int]],
    ) -> None:
        self.protocol = protocol = gathered.with_operations(protocol)
        self.form = form
        self.patterns = patterns
        self.tables = tables
        self.record = record
        self.counters = counters
        self._gathered = gathered.Gathered(protocol, patterns)
        self._tails = Tails(protocol, patterns, tables)
        self._drained = drain_cases.Drained(protocol, patterns)
        not_swept = (ir.OPERATIONS, protocol.tail.field if protocol.tail else "")
        self._swept = ir.Record("message", tuple(each for each in protocol.message.fields if each[0] not in not_swept))
        self._wire = WireCodec(protocol, patterns, protocol.wire)
        self._handover = WireCodec(protocol, patterns, protocol.handover)
        self._handed_kinds = [protocol.message.field(name) for name in protocol.handover]
        self._handed_size = fields_size(protocol, protocol.handover)
        self._frames: dict[int, frames.Frame] = {}
        self._labels = {step.name: c_names.snake(step.name) for step in steps_of(protocol)}
        self._data = data
        self._variables = variables
        self._watch_all = bool(noise)
        self._noise = noise
        self._noise_images: dict[int, bytes] = {}
        self._offsets: dict[tuple[str, int], int] = {}
        size = 0
        for name, cells in noise.items():
            for index in range(len(cells)):
                self._offsets[name, index] = size
                size += tables[name].size

    # --- Which cells are watched -----------------------------------------------------------

    def columns(self, cases: list[Case]) -> list[str]:
        """The table of each watched cell, the same for all cases."""
        if self._watch_all:
            return [table for table, _ in self._offsets]
        most: dict[str, int] = {}
        for case in cases:
            count: dict[str, int] = {}
            for table, _ in self._touched(case):
                count[table] = count.get(table, 0) + 1
            most = {name: max(most.get(name, 0), count.get(name, 0)) for name in self.tables}
        return [name for name in self.tables for _ in range(most.get(name, 0))]

    @staticmethod
    def _touched(case: Case) -> list[tuple[str, int]]:
        return list(dict.fromkeys([*case.cells, *((table, index) for table, index, *_ in case.writes)]))

    def places(self, case: Case, columns: list[str]) -> list[tuple[str, int]]:
        """The watched cells of one case, in the order of the columns. A surplus column watches a spare cell."""
        if self._watch_all:
            return list(self._offsets)
        waiting: dict[str, list[int]] = {}
        for table, index in self._touched(case):
            waiting.setdefault(table, []).append(index)
        return [
            (table, (waiting[table].pop() if waiting.get(table) else self._spare(case, table))) for table in columns
        ]

    @staticmethod
    def _spare(case: Case, table: str) -> int:
        taken = {index for home, index in Comparison._touched(case) if home == table}
        return next(index for index in range(len(taken) + 1) if index not in taken)

    # --- Inputs ----------------------------------------------------------------------------

    def _noise_image(self, tail_size: int) -> bytes:
        if tail_size not in self._noise_images:
            tables = self._tails.tables(tail_size)
            cells = [
                (name, cell, bool(index % 2)) for name, cells in self._noise.items() for index, cell in enumerate(cells)
            ]
            self._noise_images[tail_size] = b"".join(tables[name].pack(cell, flip) for name, cell, flip in cells)
        return self._noise_images[tail_size]

    def image(self, case: Case, places: list[tuple[str, int]], flip: bool) -> bytes:
        """The watched cells before the run."""
        size = self._tails.size(case.message)
        tables = self._tails.tables(size)
        if self._watch_all:
            image = bytearray(self._noise_image(size))
            for where, cell in case.cells.items():
                if where not in self._offsets:
                    continue  # recovery's cell, which is not in a table
                packed = tables[where[0]].pack(cell, flip)
                image[self._offsets[where] : self._offsets[where] + len(packed)] = packed
            return bytes(image)
        blank = {name: zero(codec.table.cell) for name, codec in tables.items()}
        return b"".join(tables[where[0]].pack(case.cells.get(where, blank[where[0]]), flip) for where in places)

    def surroundings(self, case: Case) -> Surroundings:
        """The fields of env, with the program's values."""
        plain = ("now", "cpu", "age", "peer", "validated")
        given: dict[str, Any] = {name: case.env[name] for name in plain if name in case.env}
        for name, kind in self.protocol.env.fields:
            if name in ("random", "token"):
                given[name] = self.patterns.real(kind, case.env[name])
        return Surroundings(**given)

    def environment(self, case: Case, flip: bool) -> bytes:
        """The program's global variables: clock, random bytes, processor, and the section that loses its races."""
        data = bytearray(self._data)
        surroundings = self.surroundings(case)
        for name, numbers in (
            ("stepwise_conform_env", (surroundings.now, surroundings.random, surroundings.cpu)),
            ("conform_interference", self._interference(case, flip)),
        ):
            if name in self._variables:
                offset, size = self._variables[name]  # shorter if the protocol lacks env.cpu
                data[offset : offset + size] = struct.pack(f"<{len(numbers)}Q", *numbers)[:size]
        return bytes(data)

    def _interference(self, case: Case, flip: bool) -> tuple[int, int, int, int]:
        """The fields losses, victim, rival and refused of interfere.h."""
        trouble = case.family.trouble
        if not trouble.section:
            return 0, 0, 0, 0
        sections = self.protocol.xdp if case.family.hook == "xdp" else self.protocol.tc
        section = sections[trouble.section - 1]
        time = gathered.Time(trouble.section, trouble.operation if section.group else 0)
        if trouble.always:
            atomic = {table.name: table.atomic for table in self.protocol.tables}
            guards = gathered.guards_taken(
                self.protocol, sections, case.message, time, lambda each: atomic[each.table] == "res_spin_lock"
            )
            return 0, 0, 0, guards
        if time.operation > gathered.count_of(self.protocol, case.message):
            return 0, 0, 0, 0  # there is no such operation
        codec = WordCodec(self.patterns)
        cell_type = self.tables[section.table].table.cell
        where = (section.table, self._gathered.index(case.message, section, time.operation))
        if where[1] >= self.tables[section.table].table.capacity:
            return 0, 0, 0, 0  # the section is left out
        written = [
            cell
            for table, index, cell, number in case.writes
            if (table, index) == where and gathered.Time.of(sections, number).before(time, sections)
        ]
        victim = codec.pack(cell_type, written[-1] if written else case.cells[where], flip)
        if trouble.rival is None:
            return 1 << 32, victim, victim, 0
        return 1, victim, codec.pack(cell_type, dict(trouble.rival)), 0

    def frame(self, case: Case, number: int) -> frames.Frame:
        """The packet of a case: IPv4 and IPv6 in turn, some without a UDP checksum where that is allowed."""
        if number not in self._frames:
            self._frames[number] = self._frame(case, number)
        return self._frames[number]

    def _frame(self, case: Case, number: int) -> frames.Frame:
        payload = self._wire.encode(case.message) + self._handed(case, number) + self._tails.sent(case, number)
        if case.family.hook == "xdp":
            payload += self._gathered.encode(case.message, case.message)
        version = 4 if number % 2 else 6
        unchecked = 0 if version == 4 and number % 14 == 1 else None
        frame = frames.Frame(
            payload,
            self.protocol.port,
            version=version,
            udp_checksum=unchecked,
            source_port=1024 + number * 7919 % 64_000,
        )
        return frame.turned(payload) if case.family.hook == "tc" else frame

    def _handed(self, case: Case, number: int) -> bytes:
        """Encodes the fields that hooks hand over. In xdp's packets their sender chose them, so they hold anything."""
        if case.family.hook != "xdp" or number % 5 == 0:
            return self._handover.encode(case.message)
        generator = random.Random(number)
        match number % 5:
            case 1:
                return bytes([0xFF]) * self._handed_size
            case 2:
                return generator.randbytes(self._handed_size)
        return b"".join(wire_noise(kind, generator) for kind in self._handed_kinds)  # valid, in case it is believed

    def _record_packet(self, case: Case, flip: bool) -> bytes:
        """The input of a program of the sweep, or of a function of the drain."""
        if case.family.hook in drain_cases.HOOKS:
            return self._drained.packet(case)
        head = SWEEP_HEAD.pack(case.family.first, case.family.count, 0, 0)
        return head + StructCodec(self.patterns).pack(self._swept, case.message, ir.expect(self.record, Struct), flip)

    def inputs(self, cases: list[Case], columns: list[str]) -> list[Input]:
        """Makes an input for each case."""
        made = []
        self._frames.clear()
        for number, case in enumerate(cases):
            places, flip = self.places(case, columns), bool(number % 2)
            at = self.frame(case, number).payload_offset() if case.family.arrives else 0
            packet = self.frame(case, number).to_bytes() if case.family.arrives else self._record_packet(case, flip)
            indexes = tuple(index for _, index in places)
            made.append(Input(indexes, self.image(case, places, flip), self.environment(case, flip), packet, at))
        return made

    # --- Outputs ---------------------------------------------------------------------------

    def compare(
        self,
        cases: list[Case],
        columns: list[str],
        inputs: list[Input],
        outputs: Sequence[Output | None],
        side: str,
        stop: Callable[[Mismatch], bool],
    ) -> list[Mismatch]:
        """Returns the mismatches on one side; stops looking once stop() returns true.

        outputs: of each case, or None if the side does not run it.
        """
        wrong: list[Mismatch] = []
        for number, (case, given, found) in enumerate(zip(cases, inputs, outputs, strict=True)):
            if found is None:
                continue
            if case.family.hook == "sweep":
                problems = self._check_sweep(case, given, found)
            elif case.family.hook in drain_cases.HOOKS:
                problems = self._drained.check(case, found)
            else:
                problems = self._check_packet(case, number, given, found, side)
            problems += self._check_cells(case, columns, given, found.image)
            if problems:
                wrong.append(Mismatch(self.form + SIDE_LABELS.get(side, ""), case, tuple(problems)))
                if stop(wrong[-1]):
                    break
        return wrong

    def _check_packet(self, case: Case, number: int, given: Input, found: Output, side: str) -> list[str]:
        native = side == "native"
        verdict = str(case.verdict) if case.verdict in VERDICTS[side] else "Drop"
        if verdict == "Forward" and case.family.hook == "xdp" and gathered.count_of(self.protocol, case.message):
            verdict = "Drop"  # the daemon handles one operation at a time
        allowed = VERDICTS[side][verdict]
        if case.family.hook == "user" and verdict == "Drop" and case.ended and self.protocol.user[case.ended - 1].again:
            allowed = (*allowed, AGAIN)
        problems = []
        if found.verdict not in allowed:
            names = NAMES[side]
            wanted, got = names[allowed[0]], names.get(found.verdict, found.verdict)
            problems.append(f"verdict: expected {wanted}, found {got}")
        elif verdict == "Reply" or (verdict == "Forward" and case.family.hook != "tc"):
            expected = self._answer(case, number, given, verdict, native)
            problems += self._check_bytes(expected, found.packet, self.frame(case, number))
        return problems if native else problems + self._check_counter(case, found)

    def _answer(self, case: Case, number: int, given: Input, verdict: str, native: bool) -> bytes:
        """The packet that must come out.

        If xdp forwards a packet, its handed-over and its forwarded fields are new, and the rest is as it came. In a
        packet to a client the handed-over fields are zero.
        """
        frame, hook = self.frame(case, number), case.family.hook
        tail, handed = self._tails.sent(case, number), self._handover.encode(case.answer)
        if verdict == "Forward":
            passed_on = case.message | {name: case.answer[name] for name in self.protocol.forwards}
            return self._with_payload(frame, given, self._wire.encode(passed_on) + handed + tail, native)
        goes_on = hook == "user" and self.protocol.tc
        payload = self._wire.encode(case.answer) + (handed if goes_on else bytes(len(handed)))
        payload += self._tails.answered(case, tail) if hook == "user" else tail
        if hook == "xdp":
            payload += self._gathered.encode(case.answer, case.message)
        if native:
            return self._with_payload(frame, given, payload, native)
        answer = frame.turned(payload)  # turning twice gives the same frame with the new payload
        return (answer.turned(payload) if hook == "tc" else answer).to_bytes()

    @staticmethod
    def _with_payload(frame: frames.Frame, given: Input, payload: bytes, native: bool) -> bytes:
        """Replaces a frame's payload. Userspace has no headers to correct."""
        if native or payload == frame.payload:
            return given.packet[: given.payload_at] + payload
        return replace(frame, payload=payload).to_bytes()

    def _check_bytes(self, expected: bytes, found: bytes, frame: frames.Frame) -> list[str]:
        if found == expected:
            return []
        problems = [f"packet: {text}" for text in frames.differences(expected, found, frame.version)]
        for word, packet in (("expected", expected), ("found", found)):
            message = wire_message(self.protocol, packet[frame.payload_offset() :], self.patterns)
            problems.append(f"message {word}: {show_record(message)}")
        return problems

    def _check_counter(self, case: Case, found: Output) -> list[str]:
        """Checks that the packet was counted once, and at most once more as `skipped`."""
        sections, prefix = (self.protocol.xdp, "") if case.family.hook == "xdp" else (self.protocol.tc, "tc.")
        names = list(
            dict.fromkeys(self._counter(each) for each in (found.first_counter, found.counter) if each is not None)
        )
        if found.rises == len(names) == 2 and f"{prefix}skipped" in names:
            names.remove(f"{prefix}skipped")
        elif found.rises != 1:
            return [f"counted {found.rises} times, not once" + (f": {' and '.join(names)}" if names else "")]
        name = names[0]
        if case.verdict in ("Malformed", "Contended", "Lost"):
            expected = prefix + str(case.verdict).lower()
        else:
            expected = prefix + self._labels[sections[case.ended - 1].step.name]
        if name != expected and not name.startswith(expected + "."):
            return [f"counted as {name}, not as {expected}"]
        return []

    def _counter(self, number: int) -> str:
        return self.counters[number] if number < len(self.counters) else f"number {number}"

    def _check_sweep(self, case: Case, given: Input, found: Output) -> list[str]:
        problems = []
        if found.verdict != bpf.XDP_PASS:
            problems.append(f"verdict: expected XDP_PASS, found {NAMES['xdp'].get(found.verdict, found.verdict)}")
        if len(found.packet) != len(given.packet):
            return [*problems, f"record: expected {len(given.packet)} bytes, found {len(found.packet)}"]
        first, count, visited, continued = SWEEP_HEAD.unpack_from(found.packet)
        for name, wanted, got in (
            ("first", case.family.first, first),
            ("count", case.family.count, count),
            ("visited", case.ended, visited),
            ("continued", case.verdict, continued),
        ):
            if wanted != got:
                problems.append(f"sweep.{name}: expected {wanted}, found {got}")
        try:
            shape = ir.expect(self.record, Struct)
            record = StructCodec(self.patterns).unpack(self._swept, found.packet[SWEEP_HEAD.size :], shape)
        except NotCanonical as error:
            return [*problems, f"record: {error}"]
        if record != {name: case.answer[name] for name in record}:
            problems += [f"record expected: {show_record(case.answer)}", f"record found: {show_record(record)}"]
        return problems

    def _check_cells(self, case: Case, columns: list[str], given: Input, image: bytes) -> list[str]:
        if image == given.image and not case.writes:
            return []
        problems, offset, tables = [], 0, self._tails.tables(self._tails.size(case.message))
        final = {(table, index): cell for table, index, cell, _ in case.writes}
        for where in self.places(case, columns):
            codec = tables[where[0]]
            before, after = (each[offset : offset + codec.size] for each in (given.image, image))
            offset += codec.size
            if before == after and where not in final:
                continue
            expected = final[where] if where in final else codec.unpack(before)
            try:
                if codec.unpack(after) == expected:
                    continue
            except NotCanonical:
                pass
            was = "" if where in final else " (unchanged)"
            problems.append(f"{where[0]}[{where[1]}] expected: {show_record(expected)}{was}")
            problems.append(f"{where[0]}[{where[1]}] found:    {codec.show(after)}")
        return problems
