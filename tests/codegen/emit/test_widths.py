"""Tests numbers of different widths together, also of more bits than the model checker can count with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codegen.emit import native

LAYOUT = native.layout(
    message={"x": "u16", "y": "u16", "a": "u64", "b": "u64", "h": "u40", "p": "u32", "q": "u32", "k": "u6", "f": "bool"}
    | {"where": "u8"},
    cell={
        "pair": {"set": "u5", "max": 2},
        "one": {"set": "u5", "max": 1},
        "several": {"set": "u12", "max": 3},
        "many": {"set": "u7", "max": 12},
        "bits": {"bits": 64},
        "few": {"set": "u3", "max": 4},
        "queue": {"sequence": "u5", "max": 2},
        "backlog": {"sequence": "u12", "max": 3},
        "row": {"array": "u5", "size": 2},
    },
)

MEMBERS = [
    r"msg.x \in cell.pair",
    r"msg.x \in cell.one",
    r"msg.y - 5 \in cell.pair",
    r"msg.x \in cell.several",
    r"msg.y - 5 \in cell.several",
    r"msg.x \in cell.many",
    r"msg.a \in cell.many",
    r"msg.a \in cell.bits",
    r"msg.x - 5 \in cell.bits",
    r"{msg.x, msg.y} \subseteq cell.few",
    r"cell.several # {} /\ cell.several \subseteq cell.pair",
    r"cell.pair # {} /\ cell.pair \subseteq cell.several",
    r"cell.pair # {} /\ cell.several = cell.pair",
    r"cell.pair # {} /\ cell.pair = cell.few",
    r"msg.x \in cell.pair \cup cell.several",
    r"msg.x \in cell.several \ cell.pair",
    r"msg.x \in cell.several \cap cell.pair",
    r"Cardinality(cell.several \ cell.pair) = 1",
    r"Cardinality(cell.several \cap cell.pair) = 1",
    r"Cardinality(cell.many \ cell.several) = 1",
    r"\E item \in cell.several : item \in cell.pair",
    r"{item \in cell.several : item \in cell.pair} # {}",
    r"msg.x \in {item \in cell.pair : item > 2}",
    r"msg.x \in {item + 1 : item \in cell.pair}",
    r"msg.x \in (IF msg.f THEN cell.pair ELSE cell.several)",
    r"cell.queue # << >> /\ cell.queue = cell.backlog",
    r"cell.row[1] = msg.x",
]

NUMBERS = [
    "msg.p < msg.x - 5",
    "msg.p - msg.q < 0",
    "msg.p + msg.q < msg.a",
    "msg.p + msg.q > 4294967295",
    "msg.p - msg.q + 7 >= msg.x - 9",
    "msg.p * 3 > msg.q",
    "msg.p * msg.x > msg.q * 5",
    r"(msg.p + msg.q) \div 16 < msg.y",
    "(msg.p + msg.q) % 4294967296 = msg.p",
    "(msg.p + msg.q) % 1000 < 500",
    r"msg.p - msg.q \in 0..10",
    r"msg.a \in 5..4294967300",
    "-msg.p < msg.q - 300",
    "(IF msg.f THEN msg.x - 5 ELSE msg.p) < msg.q",
    "(IF msg.f THEN msg.a ELSE msg.x) > msg.p",
    r"LET d == msg.p - msg.q IN d > msg.x - 5 /\ d < 100",
    "LET d == msg.x - msg.y IN d * d > msg.p",
    "LET d == msg.p - msg.q IN d * msg.x < 0 - 1000",
    r"msg.a \div 2 > msg.b",
    "msg.a % 65536 = msg.x",
    "msg.a < 9223372036854775808",
    r"msg.a \in {1, 4294967296, 18446744073709551615}",
    "msg.h * 3 > msg.a",
    "msg.h - msg.p > msg.x",
    "msg.h + msg.h + msg.h > msg.a",
    "-msg.h < msg.x - 5",
    r"\A i \in cell.bits : i - 5 < msg.y - 9",
    "Cardinality(cell.bits) * msg.p > msg.q",
    r"Cardinality({i \in 1..20 : i + msg.p > msg.q}) > msg.k",
    "FirstIndex(1, 20, 100, LAMBDA i : i - 30 > msg.x - 40) - 50 < msg.y - 60",
]


@pytest.mark.parametrize("texts", [MEMBERS, NUMBERS], ids=["members", "numbers"])
def test_widths(tmp_path: Path, texts: list[str]):
    steps = {f"Asks{at}": f"IF {text} THEN Reply(cell, msg) ELSE Drop(cell, msg)" for at, text in enumerate(texts)}
    native.compare(tmp_path, LAYOUT, steps, number=2500, numbers=native.at_ends)
