"""Tests counts over more items than a loop is unrolled for: their cost is linear, and they are right."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from codegen.compile import load
from codegen.emit import generate
from harness.data.frames import Frame
from harness.rig import bpf
from tests.codegen.compiling import compile_bpf

SIZE = 200
PORT = 4242
COUNTS = {
    "an array": r"{i \in 1..SIZE : cell.bytes[i] < msg.x}",
    "members": r"{m \in cell.members : m > msg.x}",
    "a sequence": r"{i \in 1..Len(cell.queue) : cell.queue[i] = msg.x}",
    "a part": r"{i \in 1..SIZE : i <= msg.x}",
}
LAYOUT = """
protocol: sample
module: SampleSteps
constants: {SIZE: 200}
message: {at: u8, x: u8, many: u16}
tables:
  cell:
    cell:
      bytes: {array: u8, size: SIZE}
      members: {set: u20, max: SIZE}
      queue: {sequence: u20, max: SIZE}
    capacity: 256
    index: msg.at
    atomic: spin_lock
hooks: {xdp: [{cell: Tally}]}
wire: {transport: udp, port: 4242, order: [at, x, many]}
budget: {xdp: {insns: 99999, states: 999, stack: 512}}
"""


@pytest.mark.parametrize("case", COUNTS)
def test_it_loads(case: str, tmp_path: Path) -> None:
    protocol = yaml.safe_load(LAYOUT)
    (tmp_path / "layout.yaml").write_text(yaml.safe_dump(protocol))
    body = f"Reply(cell, [msg EXCEPT !.many = Cardinality({COUNTS[case]})])"
    (tmp_path / "SampleSteps.tla").write_text(
        f"---- MODULE SampleSteps ----\nEXTENDS Offload\nCONSTANTS SIZE\nTally(cell, msg) == {body}\n====\n"
    )
    for name, text in generate(load(tmp_path)).items():
        (tmp_path / name).write_text(text)
    with bpf.Object.open(compile_bpf(tmp_path, "sample.bpf.c")) as loaded:
        program = loaded.program("sample_xdp")
        for x in (0, 7, 255):
            request = Frame(bytes([3, x, 0, 0]), destination_port=PORT, source_port=40000)
            answer = program.test_run(request.to_bytes()).data
            expected = {"a part": min(x, SIZE), "an array": SIZE if x else 0}.get(case, 0)
            assert answer[request.payload_offset() + 2 :][:2] == expected.to_bytes(2, "big")
