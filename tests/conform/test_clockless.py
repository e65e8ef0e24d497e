"""A user's own protocol conforms without a clock and with few declarations; a missing one is reported in words."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from codegen.compile import load
from codegen.emit import generate
from harness.base import protocols
from harness.conform import __main__ as command
from harness.conform.build import ROOT
from harness.conform.campaign import Campaign
from harness.data.cells import LAYOUT

STEPS = """---- MODULE CounterSteps ----
EXTENDS Offload
CONSTANTS Last
OnRequest(counter, msg) ==
  CASE msg.kind = "Count" /\\ counter.number < Last ->
         Reply([counter EXCEPT !.number = @ + 1], [msg EXCEPT !.kind = "Counted", !.number = counter.number + 1])
    [] msg.kind = "Count" -> Full :: Reply(counter, [msg EXCEPT !.kind = "Full"])
    [] OTHER -> NotARequest :: Drop(counter, msg)
====
"""
LAYOUT_TEXT = """
protocol: counter
module: CounterSteps
constants: {Last: 1_000_000}
message: {kind: {enum: [Count, Counted, Full]}, queue: u32, number: u32}
local: {slot: {type: u32, from: "hash(msg.queue, counter.capacity)"}}
tables: {counter: {cell: {number: u32}, map: array, capacity: 64, index: msg.slot, atomic: word}}
hooks: {xdp: [{counter: OnRequest}]}
wire: {transport: udp, port: 20299, order: [kind, queue, number]}
budget: {xdp: {insns: 2000, states: 100, stack: 256}}
"""
CONFORM = """
small: {constants: {Last: 9}, tables: {counter: {capacity: 2}}}
families:
  - name: count
    hook: xdp
    vary: {message.kind: all, message.queue: all, message.number: all, counter.number: [0, 1, 8, 9, 10]}
"""
PAIRS = 3 * 3 * 4 * 5


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The protocol, in a spec/ of its own."""
    shutil.copytree(ROOT / "spec/lib", tmp_path / "spec/lib")
    spec = tmp_path / "spec/counter"
    spec.mkdir()
    for name, text in (("CounterSteps.tla", STEPS), ("layout.yaml", LAYOUT_TEXT), ("conform.yaml", CONFORM)):
        (spec / name).write_text(text)
    monkeypatch.setattr(protocols, "SPEC", tmp_path / "spec")
    return spec


def test_it_has_no_clock(counter):
    assert not re.search(r"stepwise_now|coarse", generate(load(counter))["counter.bpf.c"])


def test_it_conforms(counter, tmp_path, capsys):
    campaign = Campaign(counter, tmp_path / "work")
    results = campaign.results((LAYOUT,))
    assert [command.show("counter", result) for result in results] == [[], []]
    word = results[0]
    assert sum(word.inputs.values()) == PAIRS and sum(word.evaluations().values()) == 2 * PAIRS, (
        "in the kernel and in userspace"
    )
    assert results[1].inputs["xdp"] == campaign.text.samples
    (few,) = command.show_pairs("counter", [word], campaign.text.pairs_min)
    assert "360 pairs are too few, it needs 10,000" in few and "pairs_min" in few
    assert command.show_pairs("counter", [word], 360) == []
    assert "100% of 3 branches" in capsys.readouterr().out


@pytest.mark.parametrize("number, said", [(360, []), (361, ["it needs 361"])])
def test_pairs_min_is_the_file_s(counter, tmp_path, number, said):
    path = counter / "conform.yaml"
    path.write_text(path.read_text() + f"pairs_min: {number}\n")
    campaign = Campaign(counter, tmp_path / "work")
    problems = command.show_pairs("counter", [campaign.small(LAYOUT)], campaign.text.pairs_min)
    assert len(problems) == len(said) and all(text in problem for text, problem in zip(said, problems))


def test_without_a_domain_it_is_a_sentence(counter, tmp_path, monkeypatch, capsys):
    (counter / "conform.yaml").unlink()
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["conform"])
    assert command.main(["counter"]) == 1
    assert "spec/counter/conform.yaml does not exist" in capsys.readouterr().err
