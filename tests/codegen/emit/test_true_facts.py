"""Tests facts that the generator takes from tests of a step: what it then accepts is right for every input."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.errors import SpecErrors
from tests.codegen.emit import native

LAYOUT = native.layout(
    message={"x": "u8", "z": "u4", "p": "bool", "where": "u8"},
    cell={
        "a": "u8",
        "at": "u3",
        "acks": {"set": "u3", "max": 8},
        "some": {"set": "u3", "max": 5},
        "fews": {"set": "u4", "max": 2},
        "ids": {"set": "u14", "max": 4},
        "marks": {"bits": 16},
        "slots": {"array": {"record": {"used": "bool", "owner": "u8"}}, "size": 4},
    },
)

USED = r"LAMBDA i : cell.slots[i].used"
SOME = r"\E i \in 1..4 : cell.slots[i].used"
LEAST = r"CHOOSE i \in 1..4 : cell.slots[i].used /\ \A j \in 1..(i - 1) : ~ cell.slots[j].used"


def set_to(field: str, value: str) -> str:
    return f"Reply([cell EXCEPT !.{field} = {value}], msg)"


def free(index: str) -> str:
    return f"Reply([cell EXCEPT !.slots[{index}].used = FALSE], msg)"


ELSE = "ELSE Drop(cell, msg)"
SEARCHES = [
    rf"IF {SOME} THEN {free(f'FirstIndex(1, 4, 0, {USED})')} {ELSE}",
    rf"IF {SOME} THEN {set_to('a', f'cell.slots[FirstIndex(1, 4, 9, {USED})].owner')} {ELSE}",
    rf"IF {SOME} THEN {set_to('at', f'FirstIndex(1, 4, 300, {USED})')} {ELSE}",
    rf"LET f == FirstIndex(1, 4, 0, {USED}) IN IF {SOME} THEN {free('f')} ELSE Reply([cell EXCEPT !.a = f], msg)",
    rf"LET f == FirstIndex(1, 4, 9, {USED}) IN IF f # 9 THEN {free('f')} {ELSE}",
    rf"LET f == FirstIndex(1, 4, 9, {USED}) IN IF f = 9 THEN Drop(cell, msg) ELSE {set_to('at', 'f')}",
    rf"LET f == FirstIndex(1, 4, 9, {USED}) IN IF f < 9 THEN {free('f')} {ELSE}",
    rf"LET f == FirstIndex(1, 4, 2, {USED}) IN IF f # 2 THEN LET k == {LEAST} IN {free('k')} {ELSE}",
    rf"LET f == FirstIndex(1, 4, msg.x, {USED}) IN IF f = msg.x THEN Drop(cell, msg) ELSE {free('f')}",
    rf"IF FirstIndex(1, 4, 9, {USED}) # 9 THEN {free(f'({LEAST})')} {ELSE}",
    rf"LET f == FirstIndex(1, 4, -1, {USED}) IN IF f < 0 THEN Drop(cell, msg) ELSE {set_to('at', 'f')}",
    rf"IF FirstIndex(1, 4, -300, {USED}) + 1 < 0 THEN Reply(cell, msg) {ELSE}",
]
SIZES = [
    rf"IF Cardinality(cell.ids) < 4 THEN LET a == cell.ids \cup {{msg.x}} IN IF \A r \in a : r < 5 THEN {set_to('ids', 'a')} {ELSE} {ELSE}",
    rf"IF Cardinality(cell.some) < 5 THEN LET a == cell.some \cup {{2}} IN IF \A r \in a : r < 5 THEN Reply(cell, msg) ELSE {set_to('some', 'a')} {ELSE}",
    rf"LET a == cell.ids \cup {{msg.x}} IN IF Cardinality(a) <= 4 THEN {set_to('ids', 'a')} {ELSE}",
    rf"IF Cardinality({{w \in cell.acks : w > msg.z}}) < 5 THEN {set_to('some', '{w ∈ cell.acks : w > msg.z}')} {ELSE}",
    rf"IF Cardinality({{w \in cell.ids : w > msg.z}}) < 2 THEN {set_to('fews', '{o % 16 : o ∈ {w ∈ cell.ids : w > msg.z}}')} {ELSE}",
    rf"IF Cardinality({{w \in cell.ids : w > msg.z}}) < 4 THEN {set_to('ids', '{w ∈ cell.ids : w > msg.z} ∪ {msg.x}')} {ELSE}",
]
IMAGES = [
    set_to("ids", r"{o + msg.x : o \in {w \in cell.ids : w + msg.x < 16384}}"),
    set_to("ids", r"{o - msg.x : o \in {w \in cell.ids : w >= msg.x}}"),
    set_to("fews", r"{o - msg.x : o \in {w \in cell.ids \cup {msg.x} : w >= msg.x /\ w < msg.x + 2}}"),
    set_to("ids", r"{o * 2 : o \in {w - 1 : w \in {v \in cell.ids : v > 0 /\ v < 90}}}"),
    r"LET f == {(v + msg.x) % 16 : v \in {w \in cell.ids : w > 3}} IN " + set_to("marks", r"IF 3 \in f THEN f ELSE {}"),
    r"LET f == {v % 16 : v \in {w * 3 : w \in {u \in 1..4 : cell.slots[u].used}}} IN " + set_to("marks", "f"),
]


@pytest.mark.parametrize("texts", [SEARCHES, SIZES, IMAGES], ids=["searches", "sizes", "images"])
def test_what_is_accepted_is_right(tmp_path: Path, texts: list[str]) -> None:
    spelled = [text.replace("∈", r"\in").replace("∪", r"\cup") for text in texts]
    native.compare(tmp_path, LAYOUT, {f"Step{at}": text for at, text in enumerate(spelled)})


@pytest.mark.parametrize(
    "text",
    [
        rf"LET f == FirstIndex(1, 4, 9, {USED}) IN IF f # 8 THEN {free('f')} {ELSE}",
        rf"LET f == FirstIndex(1, 4, 9, {USED}) IN IF f > 2 THEN {free('f')} {ELSE}",
        rf"LET f == FirstIndex(1, 4, msg.x, {USED}) IN IF f # msg.z THEN {free('f')} {ELSE}",
        rf"IF \E i \in 1..4 : ~ cell.slots[i].used THEN {free(f'FirstIndex(1, 4, 0, {USED})')} {ELSE}",
        rf"IF FirstIndex(1, 4, 2, {USED}) = 2 THEN {free(f'({LEAST})')} {ELSE}",
        set_to("ids", r"{o + msg.x : o \in {w \in cell.ids : w + msg.z < 16384}}"),
        rf"LET a == cell.ids \cup {{msg.x}} IN IF Cardinality(cell.ids) < 5 THEN {set_to('ids', 'a')} {ELSE}",
    ],
)
def test_what_does_not_follow_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SpecErrors):
        native.compare(tmp_path, LAYOUT, {"Only": text})
