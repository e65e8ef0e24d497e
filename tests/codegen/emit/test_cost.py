"""Tests the estimate of what a step costs the verifier, and that sets and counts do not multiply its paths."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from codegen import ir
from codegen.analysis.cost import cost, estimates
from codegen.compile import load
from codegen.emit import generate
from harness.base.protocols import REPOSITORY, protocols
from harness.veristat import measure
from tests.codegen.compiling import compile_bpf

FRAME = 500
"""The instructions of the program around the step."""

FACTOR = 4
"""By which an estimate may be wrong."""

LAYOUT = """
protocol: sample
module: SampleSteps
constants: {SIZE: 24}
message: {at: u8, x: u8, y: u8, many: u16}
tables:
  cell:
    cell:
      bytes: {array: u8, size: SIZE}
      numbers: {array: u16, size: 200}
      members: {set: u20, max: SIZE}
      half: {set: u20, max: 12}
      eight: {set: u10, max: 8}
      other: {set: u10, max: 8}
      longer: {set: u8, max: 35}
      longest: {set: u8, max: 200}
      many: {set: u14, max: 50}
      more: {set: u14, max: 50}
      bits: {bits: 40}
      rows: {array: {record: {a: u8, s: {set: u10, max: 4}}}, size: 8}
    capacity: 256
    index: msg.at
    atomic: spin_lock
hooks: {xdp: [{cell: Step}]}
wire: {transport: udp, port: 4242, order: [at, x, y, many]}
budget: {xdp: {insns: 99999, states: 999, stack: 512}}
"""
CONDITIONS = {
    "a search": r"\E i \in 1..SIZE : cell.bytes[i] = msg.x",
    "a long search": r"\E i \in 1..200 : cell.numbers[i] = msg.x",
    "a search in a set": r"\E i \in cell.members : i > msg.x",
    "two searches in sets": r"\E i \in cell.members : \E j \in cell.members : i = j + 1",
    "two searches in small sets": r"\E i \in cell.eight : \E j \in cell.other : i = j + 1",
    "two long searches in sets": r"\E i \in cell.many : \E j \in cell.more : i = j + msg.x",
    "two long searches": r"\E i \in 1..200 : \E j \in 1..SIZE : cell.numbers[i] = cell.bytes[j] + 1",
    "two counts": r"Cardinality({i \in 1..SIZE : cell.bytes[i] > msg.x}) > Cardinality({i \in 1..SIZE : cell.bytes[i] < msg.y})",
    "a subset": r"cell.half \subseteq cell.members",
    "sets in records": r"\E i \in 1..8 : cell.rows[i].a = msg.x /\ \E r \in cell.rows[i].s : r > msg.y",
    "bits": r"\E b \in cell.bits : b * 2 > msg.x",
}
SETS = {
    "a filter": r"!.members = {i \in cell.members : i > msg.x}",
    "a filter of a filter": r"!.half = {i \in {j \in cell.half : j > msg.x} : i < 1000}",
    "a filter that searches": r"!.half = {j \in cell.half : \E k \in cell.eight : j > k}",
    "a filter that searches long": r"!.half = {j \in cell.half : \E k \in cell.members : j > k + msg.x}",
    "a filter of many": r"!.longer = {i \in cell.longer : i > msg.x}",
    "an image": r"!.members = {i \div 2 : i \in cell.members}",
    "an image of many": r"!.longer = {i \div 2 : i \in cell.longer}",
    "a difference": r"!.members = cell.members \ cell.half",
    "one less": r"!.longest = @ \ {msg.x}",
}
STEPS = {
    **{name: f"IF {condition} THEN Reply(cell, msg) ELSE Drop(cell, msg)" for name, condition in CONDITIONS.items()},
    **{name: f"Reply([cell EXCEPT {change}], msg)" for name, change in SETS.items()},
    "a union": (
        r"LET u == cell.eight \cup cell.other IN IF Cardinality(u) > 8 THEN Drop(cell, msg) "
        r"ELSE Reply([cell EXCEPT !.eight = u], msg)"
    ),
    "few of many": (
        r"IF Cardinality({i \in cell.longest : i > msg.x}) <= 4 "
        r"THEN Reply([cell EXCEPT !.other = {i \in cell.longest : i > msg.x}], msg) ELSE Drop(cell, msg)"
    ),
}


def compiled(folder: Path, step: str) -> ir.Protocol:
    (folder / "layout.yaml").write_text(yaml.safe_dump(yaml.safe_load(LAYOUT), sort_keys=False))
    text = f"---- MODULE SampleSteps ----\nEXTENDS Offload\nCONSTANTS SIZE\nStep(cell, msg) == {step}\n====\n"
    (folder / "SampleSteps.tla").write_text(text)
    protocol = load(folder)
    for name, made in generate(protocol).items():
        (folder / name).write_text(made)
    return protocol


@pytest.mark.parametrize("case", STEPS)
def test_an_estimate_is_right_within_a_factor(case: str, tmp_path: Path) -> None:
    protocol = compiled(tmp_path, STEPS[case])
    [found] = [each for each in measure(compile_bpf(tmp_path, "sample.bpf.c")) if each.program == "sample_xdp"]
    assert found.verdict == "success", found.log
    estimated = FRAME + cost(protocol.xdp[0].step.body).instructions
    assert estimated / FACTOR <= found.insns <= estimated * FACTOR


@pytest.mark.parametrize("name", protocols())
def test_estimates_of_programs_are_near_their_budgets(name: str) -> None:
    protocol = load(REPOSITORY / "spec" / name, name=name)
    budgets = {program: budget.insns for program, budget in protocol.budgets}
    for program, estimated in estimates(protocol).items():
        assert budgets[program] / FACTOR <= estimated <= budgets[program] * FACTOR, program
