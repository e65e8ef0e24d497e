"""Tests sets of an enum's members, which are kept as bits if that takes no more room."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen import ir
from codegen.emit import generate
from codegen.errors import SpecErrors
from tests.codegen.emit import native

LAYOUT = native.layout(
    message={"x": "u8", "p": "bool", "state": "cell.state", "where": "u8"},
    cell={
        "a": "u8",
        "open": "bool",
        "state": {"enum": ["Idle", "Busy", "Gone"]},
        "states": {"set": "cell.state", "max": 3},
        "pair": {"set": "cell.state", "max": 2},
        "wide": {"set": {"enum": [f"Member{number}" for number in range(20)]}, "max": 2},
        "marks": {"bits": 3},
        "slots": {"array": "cell.state", "size": 4},
    },
)

INTO = {
    "states": [
        r"cell.states \cup {msg.state}",
        r"(cell.states \ {msg.state}) \cup {" + '"Gone"}',
        r"cell.states \cup cell.pair",
        r"cell.states \cap cell.pair",
        r"cell.pair \ cell.states",
        r'{s \in cell.states : s # "Idle"}',
        r'{s \in cell.states : s = msg.state \/ s \in {"Busy", "Gone"}}',
        r"{s \in cell.states : s \notin cell.pair /\ msg.p}",
        r'{IF s = "Idle" THEN msg.state ELSE s : s \in cell.states}',
        r"{cell.slots[i] : i \in 1..4}",
        r'LET a == cell.pair \cup {msg.state} IN IF "Idle" \in a THEN a ELSE a \cup {"Idle"}',
        r"IF msg.p THEN cell.pair ELSE {}",
    ],
    "pair": [
        r"IF Cardinality(cell.states) <= 2 THEN cell.states ELSE {}",
        r"IF Cardinality(cell.pair) < 2 THEN cell.pair \cup {msg.state} ELSE cell.pair",
        r"cell.pair \cap cell.states",
    ],
    "state": [
        r'IF "Busy" \in cell.states THEN "Busy" ELSE msg.state',
        r'IF \E s \in cell.states : s # msg.state THEN "Gone" ELSE "Idle"',
    ],
    "a": [
        r"Cardinality(cell.states) + Cardinality(cell.pair \cup {msg.state})",
        r"Cardinality({i \in 1..4 : cell.slots[i] \in cell.states})",
        r"CountIndex(1, 4, LAMBDA i : cell.slots[i] \notin cell.pair)",
    ],
    "open": [
        r"cell.states = cell.pair",
        r'cell.states = {"Idle", "Gone"}',
        r"cell.pair \subseteq cell.states",
        r'{msg.state, "Busy"} \subseteq cell.states',
        r"cell.states \cap cell.pair # {}",
        r"\A s \in cell.states : s \in cell.pair",
        r"\E s \in cell.states \cup {msg.state} : s = cell.state",
        r"msg.state \in cell.states /\ cell.state \notin cell.states",
        r"(IF msg.p THEN cell.states ELSE cell.pair) = {msg.state}",
    ],
}


@pytest.mark.parametrize("field", INTO)
def test_sets_of_members(tmp_path: Path, field: str) -> None:
    native.compare_values(tmp_path, LAYOUT, field, INTO[field])


def test_which_sets_are_bits(tmp_path: Path) -> None:
    cell = dict(native.compiled(tmp_path, LAYOUT, "!.open = TRUE").tables[0].cell.fields)
    assert cell["states"] == ir.Bits(3, enum=cell["state"])
    assert (cell["states"].most, cell["pair"].most) == (3, 2)
    assert isinstance(cell["wide"], ir.Set)
    assert cell["marks"] != cell["states"]


def test_a_filter_is_a_mask(tmp_path: Path) -> None:
    texts = generate(native.compiled(tmp_path, LAYOUT, r'!.states = {s \in @ : s # "Idle" /\ s # msg.state}'))
    assert "for (" not in texts["made_steps.h"]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (r"!.pair = cell.states", "pair may get 3 elements, but holds at most 2"),
        (r"!.marks = cell.states", "expected bits of 3, found a set of enum cell.state"),
        (r"!.open = (cell.marks = cell.states)", "found a set of enum cell.state"),
        (r'!.states = {"Idle", "Lost"}', 'enum cell.state has no member "Lost"'),
        (r"!.states = {1}", "expected enum cell.state, found an integer"),
    ],
)
def test_they_keep_their_bounds(tmp_path: Path, value: str, found: str) -> None:
    with pytest.raises(SpecErrors) as refused:
        native.compiled(tmp_path, LAYOUT, value)
    assert found in str(refused.value)
