"""Tests narrow sets, which are kept as bits, beside each other, beside bits, and beside wider sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen import ir
from codegen.errors import SpecErrors
from tests.codegen.emit import native

LAYOUT = native.layout(
    message={"x": "u8", "z": "u4", "p": "bool", "who": "u3", "where": "u8"},
    cell={
        "a": "u8",
        "open": "bool",
        "acks": {"set": "u3", "max": 8},
        "some": {"set": "u3", "max": 5},
        "more": {"set": "u4", "max": 12},
        "offsets": {"set": "u6", "max": 64},
        "fews": {"set": "u4", "max": 2},
        "ids": {"set": "u14", "max": 4},
        "marks": {"bits": 16},
        "numbers": {"array": "u8", "size": 8},
    },
)

INTO = {
    "acks": [
        r"cell.acks \cup {msg.who}",
        r"(cell.acks \ {msg.who}) \cup {0, 7}",
        r"cell.acks \cup cell.some",
        r"cell.acks \cap cell.ids",
        r"cell.ids \cap cell.acks",
        r"cell.acks \ cell.more",
        r"{v \in cell.more : v < 8}",
        r"{v \in cell.ids : v < 8} \cup {msg.who}",
        r"{o + msg.who : o \in {w \in cell.acks : w + msg.who < 8}}",
        r"{v - msg.who : v \in {w \in cell.acks : w >= msg.who}}",
        r"{7 - v : v \in cell.some}",
        r"{v - 1 : v \in {i \in 1..8 : cell.numbers[i] > 3}}",
        r"IF msg.p THEN cell.some ELSE {v \in cell.acks : v # msg.who}",
        r"LET a == cell.acks \cup {msg.who} IN IF \A r \in a : r < 5 THEN cell.acks ELSE a",
        r"IF msg.z < 8 THEN {msg.z} ELSE {}",
    ],
    "some": [
        r"{v \in cell.acks : v < 5}",
        r"IF Cardinality(cell.acks) <= 5 THEN cell.acks ELSE cell.some",
        r"IF Cardinality(cell.some) < 5 THEN cell.some \cup {msg.who} ELSE {}",
        r"IF Cardinality(cell.some) < 5 THEN LET a == cell.some \cup {msg.who} IN IF \A r \in a : r < 5 THEN a ELSE {} ELSE {}",
        r"cell.some \cap cell.acks",
        r"cell.some \ {msg.who}",
    ],
    "more": [
        r"cell.acks",
        r"{v \in cell.marks : v > 3}",
        r"LET a == {(v * 3) % 16 : v \in cell.acks} IN IF 3 \in a THEN a ELSE a \cup {msg.z} \cup cell.fews",
        r"LET a == cell.acks \cup {msg.z} IN IF Cardinality(a) > 3 THEN a ELSE a \ cell.ids",
    ],
    "offsets": [
        r"{0} \cup {o + msg.x : o \in {w \in cell.offsets : w + msg.x < 64}}",
        r"cell.offsets \cup cell.more \cup {msg.who}",
        r"{o - msg.x : o \in {w \in cell.offsets : w >= msg.x}}",
    ],
    "ids": [
        r"IF Cardinality(cell.acks) < 4 THEN cell.acks ELSE {}",
        r"IF Cardinality(cell.acks) < 3 THEN cell.acks \cup {msg.x} ELSE cell.ids",
        r"cell.ids \ cell.acks",
        r"cell.ids \cap cell.more",
    ],
    "fews": [r"IF Cardinality(cell.acks) = 2 THEN cell.acks ELSE {}"],
    "marks": [r"cell.acks", r"cell.marks \cup cell.acks", r"cell.marks \ cell.more", r"cell.acks \cap cell.marks"],
    "a": [
        r"Cardinality(cell.acks \cup {msg.who}) + Cardinality(cell.some)",
        r"Cardinality({r \in cell.acks : cell.numbers[r + 1] > 3})",
        r"FirstIndex(1, 8, 0, LAMBDA i : i - 1 \in cell.acks)",
    ],
    "open": [
        r"cell.acks = cell.more",
        r"cell.acks = cell.ids",
        r"cell.acks \subseteq cell.ids",
        r"cell.ids \subseteq cell.acks",
        r"{msg.who, 1} \subseteq cell.acks",
        r"cell.acks \cup {msg.x} = cell.ids",
        r"cell.acks \cap cell.ids # {}",
        r"Cardinality(cell.acks \cup {msg.who}) >= 5",
        r"\A r \in cell.acks \cup {msg.who} : r < 5",
        r"\E r \in cell.acks : r \in cell.more /\ r \notin cell.ids",
        r"msg.x \in cell.acks",
        r"msg.x \notin cell.acks \cup {msg.z}",
        r"(IF msg.p THEN cell.acks ELSE cell.more) = {msg.z}",
        r"LET a == cell.acks \cup {msg.x} IN Cardinality(a) > 3 /\ msg.who \in a",
    ],
}


@pytest.mark.parametrize("field", INTO)
def test_narrow_sets(tmp_path: Path, field: str) -> None:
    native.compare_values(tmp_path, LAYOUT, field, INTO[field])


def test_which_sets_are_bits(tmp_path: Path) -> None:
    cell = dict(native.compiled(tmp_path, LAYOUT, "!.open = TRUE").tables[0].cell.fields)
    kept = {name: kind.most if isinstance(kind, ir.Bits) else "items" for name, kind in cell.items() if name != "a"}
    assert {name: most for name, most in kept.items() if isinstance(cell[name], (ir.Set, ir.Bits))} == {
        "acks": 8,
        "some": 5,
        "more": 12,
        "offsets": 64,
        "fews": "items",
        "ids": "items",
        "marks": 16,
    }


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (r"!.some = cell.some \cup {msg.who}", "some may get 6 elements, but holds at most 5"),
        (r"!.some = cell.acks", "some may get 8 elements, but holds at most 5"),
        (r"!.acks = cell.acks \cup {msg.z}", "an element of acks may be anything in 0..15, but u3 holds 0..7"),
        (r"!.acks = cell.more", "an element of acks may be anything in 0..15, but u3 holds 0..7"),
        (r"!.ids = cell.acks", "ids may get 8 elements, but holds at most 4"),
    ],
)
def test_a_narrow_set_keeps_its_bounds(tmp_path: Path, value: str, found: str) -> None:
    with pytest.raises(SpecErrors) as refused:
        native.compiled(tmp_path, LAYOUT, value)
    assert [error.found for error in refused.value.errors] == [found]
