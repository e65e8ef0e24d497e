"""Tests words on cache lines of their own: a user step reads one or all of them, and the programs step them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from codegen.compile import load
from codegen.emit import generate
from harness.conform import __main__ as command
from harness.conform.build import ROOT
from harness.conform.campaign import Campaign
from harness.data.cells import LAYOUT

STEPS = """---- MODULE RankSteps ----
EXTENDS Offload
CONSTANTS Seats
Sit(seat, msg) ==
  CASE msg.kind # "Sit" -> NotARequest :: Drop(seat, msg)
    [] seat.taken -> Forward(seat, msg)
    [] OTHER -> Reply([seat EXCEPT !.taken = TRUE, !.guest = msg.guest], [msg EXCEPT !.kind = "Sat"])
FindFree(seats, msg) ==
  LET free == FirstIndex(0, Seats - 1, Seats, LAMBDA i : ~ seats[i].taken)
  IN  IF msg.kind # "Sit" \\/ free = Seats THEN Full :: Drop(seats, msg) ELSE Reply(seats, [msg EXCEPT !.seat = free, !.kind = "Elsewhere"])
TellGuest(seat, msg) == IF msg.kind = "Sit" /\\ seat.taken THEN Reply(seat, [msg EXCEPT !.guest = seat.guest, !.kind = "Elsewhere"]) ELSE Free :: Drop(seat, msg)
Rise(seat, msg) == IF seat.guest = 0 THEN Drop(seat, msg) ELSE Continue([seat EXCEPT !.taken = FALSE], [msg EXCEPT !.guest = seat.guest])
====
"""
LAYOUT_TEXT = """
protocol: rank
module: RankSteps
constants: {Seats: 8}
message: {kind: {enum: [Sit, Sat, Elsewhere]}, seat: u3, guest: u32}
tables:
  seat: {cell: {taken: bool, guest: u32}, map: array, capacity: Seats, index: msg.seat, atomic: word, own_line: true}
hooks:
  xdp: [{seat: Sit}]
  user: USER
sweep: {period_ms: 1000, passes: [{each: seat, sections: [{seat: Rise}]}]}
wire: {transport: udp, port: 20295, order: [kind, seat, guest]}
budget: {xdp: {insns: 2000, states: 100, stack: 256}, sweep: {insns: 2000, states: 100, stack: 256}}
"""
CONFORM = """
small: {constants: {Seats: 2}, message: {seat: u1}}
families:
  - name: sit down
    hook: xdp
    vary: {message.kind: all, message.seat: all, message.guest: [1, 2], seat.taken: all, seat.guest: [0, 5]}
  - name: where else
    hook: user
    vary: {message.kind: all, message.seat: all, seat.0.taken: all, seat.0.guest: [0, 5], seat.1.taken: all, seat.1.guest: [0, 7]}
  - name: in the evening
    hook: 1
    first: 0
    count: 2
    vary: {seat.0.taken: all, seat.0.guest: [0, 5], seat.1.taken: all, seat.1.guest: [0, 7]}
samples: 60
pairs_min: 200
"""
USERS = {
    "the whole table": "{seat: FindFree}",
    "one cell": "{seat: TellGuest, reads: cell}",
    "one cell of a row": "[{seat: TellGuest}]",
}


@pytest.mark.parametrize("user", USERS)
def test_it_conforms(tmp_path: Path, user: str):
    shutil.copytree(ROOT / "spec/lib", tmp_path / "spec/lib")
    spec = tmp_path / "spec/rank"
    spec.mkdir()
    for name, text in (
        ("RankSteps.tla", STEPS),
        ("layout.yaml", LAYOUT_TEXT.replace("USER", USERS[user])),
        ("conform.yaml", CONFORM),
    ):
        (spec / name).write_text(text)
    assert "__type(value, struct stepwise_lined_word);" in generate(load(spec))["rank.bpf.c"]
    campaign = Campaign(spec, tmp_path / "work")
    results = campaign.results((LAYOUT, "spin_lock"))
    assert [command.show("rank", result) for result in results] == [[]] * 3
    assert command.show_pairs("rank", results[:2], campaign.text.pairs_min) == []
