"""Tests a message of 1,255 bytes, which the programs have in a map: it conforms in every hook, and with retries."""

from __future__ import annotations

import shutil
from pathlib import Path

from codegen.compile import load
from codegen.emit import generate
from harness.conform import __main__ as command
from harness.conform.build import ROOT
from harness.conform.campaign import Campaign
from harness.data.cells import LAYOUT

STEPS = """---- MODULE ParcelSteps ----
EXTENDS Offload
Ask(door, msg) ==
  CASE msg.kind # "Put" -> NotARequest :: Drop(door, msg)
    [] door.open -> Forward(door, msg)
    [] OTHER -> Continue([door EXCEPT !.open = TRUE, !.last = msg.x], [msg EXCEPT !.x = door.last, !.note = msg.label])
Keep(shelf, msg) ==
  IF msg.x = 3 THEN Reply(shelf, [msg EXCEPT !.kind = "Full"])
  ELSE Reply([shelf EXCEPT !.label = msg.note], [msg EXCEPT !.note = shelf.label, !.kind = "Kept", !.body = msg.rest])
Look(door, msg) == IF msg.kind = "Put" THEN Reply(door, [msg EXCEPT !.x = door.last, !.kind = "Kept"]) ELSE Drop(door, msg)
Done(shelf, msg) ==
  IF msg.kind # "Kept" THEN Drop(shelf, msg)
  ELSE Reply([shelf EXCEPT !.label = msg.label], [msg EXCEPT !.note = shelf.label, !.rest = msg.body])
Shut(door, msg) == Continue([door EXCEPT !.open = FALSE], [msg EXCEPT !.x = door.last])
Clear(shelf, msg) == IF msg.x = 3 THEN Drop(shelf, msg) ELSE Continue([shelf EXCEPT !.label = msg.note], msg)
====
"""
LAYOUT_TEXT = """
protocol: parcel
module: ParcelSteps
constants: {Doors: 8}
message:
  kind: {enum: [Put, Kept, Full]}
  number: u3
  x: u2
  label: {bytes: 11}
  note: {bytes: 11}
  body: {bytes: 615}
  rest: {bytes: 615}
local: {seen: {sequence: u16, max: 40}}
tables:
  door: {cell: {open: bool, last: u2}, map: array, capacity: Doors, index: msg.number, atomic: word}
  shelf: {cell: {label: {bytes: 11}}, map: array, capacity: Doors, index: msg.number, atomic: spin_lock}
hooks:
  xdp: [{door: Ask}, {shelf: Keep, contended: skip}]
  user: {door: Look, reads: cell}
  tc: [{shelf: Done}]
sweep: {period_ms: 1000, passes: [{each: door, sections: [{door: Shut}, {shelf: Clear, contended: skip}]}]}
wire: {transport: udp, port: 20297, order: [kind, number, x, label, note, body, rest]}
budget:
  xdp: {insns: 9000, states: 200, stack: 256}
  tc: {insns: 9000, states: 200, stack: 256}
  sweep: {insns: 9000, states: 200, stack: 256}
"""
CONFORM = """
small: {constants: {Doors: 2}, message: {number: u1}}
families:
  - name: put
    hook: xdp
    vary: {message.kind: all, message.number: all, message.x: [0, 3], message.label: [0, 1], message.note: [0, 2], message.body: [0, 3], message.rest: [1, 4], door.open: all, door.last: [0, 2, 3], shelf.label: [0, 5]}
  - name: look
    hook: user
    vary: {message.kind: all, message.number: all, message.rest: [0, 4], door.open: all, door.last: all}
  - name: done
    hook: tc
    vary: {message.kind: all, message.number: all, message.label: [0, 1], message.body: [0, 3], shelf.label: [0, 5]}
  - name: in the evening
    hook: 1
    first: 0
    count: 2
    vary: {door.0.open: all, door.0.last: [0, 3], door.1.open: all, door.1.last: [0, 1], shelf.0.label: [0, 5], shelf.1.label: [0, 6]}
samples: 60
pairs_min: 100
"""


def test_it_conforms(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "spec/lib", tmp_path / "spec/lib")
    spec = tmp_path / "spec/parcel"
    spec.mkdir()
    for name, text in (("ParcelSteps.tla", STEPS), ("layout.yaml", LAYOUT_TEXT), ("conform.yaml", CONFORM)):
        (spec / name).write_text(text)
    files = generate(load(spec))
    assert "} message_state SEC" in files["parcel.bpf.c"] and "parcel_ask_on_door_again" in files["parcel_hooks.h"]
    campaign = Campaign(spec, tmp_path / "work")
    results = campaign.results((LAYOUT, "spin_lock"))
    assert [command.show("parcel", result) for result in results] == [[]] * 3
    assert command.show_pairs("parcel", results[:2], campaign.text.pairs_min) == []
