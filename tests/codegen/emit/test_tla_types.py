"""Tests types of the layout as TLA+: the sets and conditions of <P>Hooks.tla that models check."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen import ir
from codegen.emit.tla_types import LINE_MAX, TlaTypes
from harness.tla import tlc

TYPED = TlaTypes(frozenset({"Room", "Ways"}))
COLOUR = ir.Enum("door.colour", ("Red", "Blue"))


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (ir.UInt(1), "0..1"),
        (ir.UInt(31), "0..2147483647"),
        (ir.UInt(32), "Wide"),
        (ir.Bytes(8), "Wide"),
        (ir.Bool(), "BOOLEAN"),
        (COLOUR, '{"Red", "Blue"}'),
        (ir.Set(ir.UInt(3), 4, "Room"), "SUBSET (0..7)"),
        (ir.Set(COLOUR, 4), 'SUBSET {"Red", "Blue"}'),
        (ir.Set(ir.Bytes(8), 4), "SUBSET Wide"),
        (ir.Bits(16), "SUBSET (0..15)"),
        (ir.Bits(4, "Ways"), "SUBSET (0..(Ways - 1))"),
        (ir.Bits(4, "OfTheLayoutOnly"), "SUBSET (0..3)"),
        (ir.Array(ir.UInt(2), 4, "Ways"), "[1..Ways -> 0..3]"),
        (ir.Array(ir.UInt(2), 4, "OfTheLayoutOnly"), "[1..4 -> 0..3]"),
        (ir.Sequence(ir.Bool(), 2), "Seq(BOOLEAN)"),
        (ir.Record("pair", (("a", ir.Bool()), ("b", ir.UInt(2)))), "[a : BOOLEAN, b : 0..3]"),
    ],
)
def test_the_set_of_a_type(type_: ir.Type, text: str) -> None:
    assert TYPED.text(type_) == text


def test_conditions_that_no_set_has() -> None:
    full = ir.Set(ir.UInt(3), 4, "Room")
    inner = ir.Record("inner", (("some", full), ("queue", ir.Sequence(ir.UInt(2), 3))))
    outer = ir.Record("outer", (("flag", ir.Bool()), ("each", ir.Array(ir.Array(inner, 2), 4, "Ways"))))
    assert TYPED.fits(ir.Record("plain", (("flag", ir.Bool()),)), "cell") == []
    assert TYPED.fits(full, "cell.some") == ["Cardinality(cell.some) <= Room"]
    assert TYPED.fits(outer, "cell") == [
        f"(\\A i0 \\in DOMAIN cell.each : (\\A i1 \\in DOMAIN cell.each[i0] : {condition}))"
        for condition in ("Cardinality(cell.each[i0][i1].some) <= Room", "Len(cell.each[i0][i1].queue) <= 3")
    ]


def test_a_wide_record_takes_several_lines() -> None:
    record = ir.Record("wide", tuple((f"field_{number}", COLOUR) for number in range(12)))
    lines = TYPED.record(record, "  wide |-> ").splitlines()
    assert len(lines) > 1
    assert all(len(line) <= LINE_MAX for line in lines)
    assert "".join(lines).replace(" ", "") == f"wide|->{TYPED.text(record)}".replace(" ", "")


def test_tlc_agrees(tmp_path: Path) -> None:
    """The sets hold the initial value, and not a value that is too wide, too big, or of another size."""
    record = ir.Record(
        "cell",
        (
            ("few", ir.Set(ir.UInt(14), 2, "Room")),
            ("ways", ir.Array(ir.UInt(2), 3, "Ways")),
            ("queue", ir.Sequence(COLOUR, 2)),
            ("wide", ir.UInt(48)),
        ),
    )
    others = [
        "[c EXCEPT !.few = {16384}]",
        "[c EXCEPT !.few = {1, 2, 3}]",
        "[c EXCEPT !.ways = <<0, 4, 0>>]",
        "[c EXCEPT !.ways = <<0, 0>>]",
        '[c EXCEPT !.queue = <<"Red", "Red", "Red">>]',
        '[c EXCEPT !.queue = <<"Green">>]',
        "[c EXCEPT !.wide = -1]",
        "[few |-> {}]",
    ]
    good = ["c", "[c EXCEPT !.few = {0, 16383}, !.ways[3] = 3]", "[c EXCEPT !.wide = 2147483647]"]
    fits = " /\\ ".join(TYPED.fits(record, "cell"))
    module = "\n".join(
        [
            "---- MODULE Types ----",
            "EXTENDS Integers, FiniteSets, Sequences, TLC",
            "Room == 2",
            "Ways == 3",
            "Wide == Nat",
            f"c == {TYPED.zero(record)}",
            TYPED.record(record, "Cells == "),
            f"OK(cell) == cell \\in Cells /\\ {fits}",
            f"ASSUME PrintT(<<{', '.join(f'OK({each})' for each in [*good, *others])}>>)",
            "====",
        ]
    )
    (printed,) = tlc.evaluate(tmp_path, module, [])
    assert printed == f"<<{', '.join(['TRUE'] * len(good) + ['FALSE'] * len(others))}>>"
