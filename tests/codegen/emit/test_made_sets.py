"""Tests sets that are made on the spot, of literals, bits and other sets, in every combination that may be stored.

No set is built on the way to bits, to a quantifier or to a test of membership.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codegen.emit import native

LAYOUT = native.layout(
    message={"x": "u8", "z": "u4", "p": "bool", "who": "u3", "where": "u8"},
    cell={
        "a": "u8",
        "s": {"bits": 16},
        "wide": {"bits": 64},
        "ids": {"set": "u14", "max": 4},
        "fews": {"set": "u4", "max": 2},
        "numbers": {"array": "u8", "size": 4},
        "open": "bool",
    },
)

BITS = [
    r"{v \in {msg.z} : msg.x > 7}",
    r"{v \in {(w * 3) % 16 : w \in cell.s} : msg.x > 7}",
    r"{v \in {(w * 3) % 16 : w \in cell.s} : v > 7}",
    r"{v \in {msg.z, 3} \cup cell.s : v > 2}",
    r"{1, 2} \cup {v \in {msg.z, 5} : v > 2}",
    r"{v \in {msg.z, 5} : v > 2} \cap cell.s",
    r"cell.s \ {v \in {msg.z, 5} : v > 2}",
    r"{v \in cell.s \cup {msg.z} : v # msg.x} \ {(v + 1) % 16 : v \in cell.fews \cap {msg.z}}",
    r"IF msg.p THEN {msg.z} ELSE {v \in {msg.z, 2} : v > 1}",
    r"{v \in (IF msg.p THEN {msg.z} ELSE cell.fews) : v # 3}",
    r"{v \div 2 : v \in {msg.x % 16, 3}}",
    r"{w % 16 : w \in {u * 5 : u \in {t \in cell.s : t > msg.who}}}",
    r"{v % 16 : v \in {w * 3 : w \in {u \in 1..4 : cell.numbers[u] > 4}}}",
    r"{v \in {w % 16 : w \in cell.ids \ {msg.x}} : v \notin cell.fews}",
    r"{v \in {w % 16 : w \in cell.ids \cap {msg.x, 1, 2}} : msg.p}",
    r"cell.fews",
    r"cell.fews \cup cell.s",
    r"{msg.z : v \in cell.ids}",
    r"{msg.z : v \in {w \in cell.ids : w > 2}}",
    r"LET f == {v \in {msg.z, 2} : v > 1} IN IF 3 \in f THEN f ELSE f \cup {4}",
    r"LET a == cell.s \cup {msg.z}  b == {v \in {msg.z, 2} : v > 1} IN IF a = b THEN a ELSE a \ b",
    r"{v \in {1, msg.z} : \E i \in 0..v : (cell.a + i) = msg.x}",
    r"{v \in cell.ids : v < 16}",
    r"{o + msg.who : o \in {w \in cell.fews : w + msg.who < 16}}",
]

CONDITIONS = [
    r"cell.s \cap cell.fews # {}",
    r"cell.fews \subseteq cell.s",
    r"cell.fews = cell.s",
    r"{msg.z, 1} \subseteq cell.s",
    r"cell.s \subseteq {msg.z, 1}",
    r"cell.s = {v \in {msg.z, 1} : v > 0}",
    r"\E v \in {msg.z, 1} \cup cell.s : v > msg.x",
    r"\A v \in {w * 3 : w \in cell.ids} : v > msg.x",
    r"\E v \in {w \in cell.ids : w > msg.who} : v < 4",
    r"\A v \in {w \in 1..4 : cell.numbers[w] > 1} : v # msg.who",
    r"\E v \in {1, msg.z} : \E i \in 0..v : (cell.a + i) = msg.x",
    r"msg.x \in {w * 3 : w \in cell.ids}",
    r"msg.x \in {w * 3 : w \in {v \in cell.s : v > 1}}",
    r"msg.z \in {v \in {1, msg.z, 3} : v # 3}",
    r"msg.z \in ({1} \cup cell.fews) \ {v \in cell.s : v < 4}",
    r"Cardinality({v \in {msg.z, 1} : v > 2} \cup cell.s) > 2",
    r"Cardinality({msg.z, 1} \cup cell.s) > 2",
]


def test_into_bits(tmp_path: Path) -> None:
    steps = {f"Bits{at}": f"Reply([cell EXCEPT !.s = {text}], msg)" for at, text in enumerate(BITS)}
    native.compare(tmp_path, LAYOUT, steps)


def test_as_conditions(tmp_path: Path) -> None:
    steps = {f"Test{at}": f"Reply([cell EXCEPT !.open = ({text})], msg)" for at, text in enumerate(CONDITIONS)}
    native.compare(tmp_path, LAYOUT, steps)


@pytest.mark.parametrize("text", [r"{v \in {(w * 3) % 16 : w \in cell.s} : v > 7}", r"{v % 16 : v \in cell.ids}"])
def test_no_set_is_built_on_the_way(tmp_path: Path, text: str) -> None:
    native.compare(tmp_path, LAYOUT, {"Only": f"Reply([cell EXCEPT !.s = {text}], msg)"}, number=20)
    assert "struct made_" not in (tmp_path / "made_steps.h").read_text().partition("*message)")[2]
