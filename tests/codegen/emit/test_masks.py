"""Tests loops over bits that become masks, shifts and counts of a word, for shifts beyond the word too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.codegen.emit import native

LAYOUT = native.layout(
    message={"x": "u8", "z": "u4", "n": "u32", "far": "u64", "p": "bool", "where": "u8"},
    cell={
        "a": "u8",
        "last": "u32",
        "open": "bool",
        "s": {"bits": 16},
        "odd": {"bits": 9},
        "wide": {"bits": 64},
        "half": {"set": "u5", "max": 32},
        "acks": {"set": "u3", "max": 8},
        "offsets": {"set": "u6", "max": 64},
        "numbers": {"array": "u8", "size": 8},
    },
)

WIDE = [
    r"{o + msg.x : o \in {w \in cell.wide : w + msg.x < 64}}",
    r"{msg.x + o : o \in {w \in cell.wide : msg.x + w <= 63}}",
    r"{o - msg.x : o \in {w \in cell.wide : w >= msg.x}}",
    r"{o - msg.x : o \in {w \in cell.wide : msg.x <= w}}",
    r"{o + 5 : o \in {w \in cell.wide : w < 59}}",
    r"{o - 63 : o \in {w \in cell.wide : w = 63}}",
    r"IF msg.z > 2 THEN {o + (msg.z - 3) : o \in {w \in cell.wide : w + (msg.z - 3) < 64}} ELSE {}",
    r"{o + (msg.x - msg.z) : o \in {w \in cell.wide : w + (msg.x - msg.z) \in 0..63}}",
    r"{o - (msg.x - msg.z) : o \in {w \in cell.wide : w - (msg.x - msg.z) \in 0..63}}",
    r"IF msg.n > cell.last THEN LET by == msg.n - cell.last IN {0} \cup {o + by : o \in {w \in cell.wide : w + by < 64}} ELSE cell.wide",
    r"{w \in cell.wide : w < msg.x}",
    r"{w \in cell.wide : w <= msg.n}",
    r"{w \in cell.wide : w > msg.n}",
    r"{w \in cell.wide : w + msg.z >= msg.x}",
    r"{w \in cell.wide : w - msg.z < msg.x}",
    r"{w \in cell.wide : w # msg.x}",
    r"{w \in cell.wide : w = msg.n}",
    r"{w \in cell.wide : w = msg.z - 4}",
    r"{w \in cell.wide : w < msg.far}",
    r"{w \in cell.wide : msg.x - 20 < w}",
    r"{w \in cell.wide : w \in cell.s}",
    r"{w \in cell.wide : w \notin cell.s /\ w \notin {msg.z, 40}}",
    r"{w \in cell.wide : (w > 3 /\ w < msg.x) \/ ~ (w <= 60)}",
    r"{w \in cell.wide : msg.p => w > 7}",
    r"{w \in cell.wide : msg.x < 9 \/ w \in 5..msg.z}",
    r"{w \in cell.wide : w % 3 = 1}",
    r"{w \in cell.wide : w + w < 64}",
    r"{w * 4 : w \in cell.s}",
    r"{63 - w : w \in cell.wide}",
    r"{(w * 7 + msg.x) % 64 : w \in cell.wide}",
    r"{(w + 1) % 64 : w \in {v \in cell.wide : v # msg.x}}",
    r"{w : w \in cell.s} \cup {w + 40 : w \in cell.acks}",
    r"{w \in cell.wide : w \notin cell.half}",
    r"{w \in cell.wide : w \notin cell.half \cup {msg.z}}",
    r"{w + 32 : w \in cell.half} \cup cell.half",
]
NARROW = [
    r"{o + msg.x : o \in {w \in cell.s : w + msg.x < 16}}",
    r"{o - msg.n : o \in {w \in cell.s : w >= msg.n}}",
    r"{w \in cell.wide : w < 16}",
    r"{o - 48 : o \in {w \in cell.wide : w >= 48}}",
    r"{w \in cell.s : w \notin cell.acks /\ w \notin cell.odd}",
    r"{w \in cell.odd : w # msg.z}",
    r"{(w * 3) % 16 : w \in cell.s}",
    r"{(w * 3) % 16 : w \in {v \in cell.s : v > msg.z}}",
    r"{o + msg.z : o \in {w \in cell.odd : w + msg.z < 16}}",
]
ACKS = [
    r"{o + msg.z : o \in {w \in cell.acks : w + msg.z < 8}}",
    r"{o - msg.x : o \in {w \in cell.acks : w >= msg.x}}",
    r"{w \in cell.offsets : w < 8}",
    r"{(w + msg.z) % 8 : w \in cell.acks}",
]
COUNTS = [
    r"Cardinality({w \in cell.wide : w < msg.x})",
    r"Cardinality({w \in cell.acks : w # msg.z /\ w \notin cell.s})",
    r"Cardinality({w \in cell.wide : w % 5 = 1})",
    r"Cardinality({w \in cell.offsets : msg.p})",
]
TESTS = [
    r"\E w \in cell.wide : w >= msg.x",
    r"\A w \in cell.wide : w < msg.x",
    r"\A w \in cell.acks : w \in cell.s",
    r"\E w \in cell.s : w \notin cell.acks /\ w # msg.z",
    r"\A w \in cell.wide : w <= msg.n \/ w \in cell.s",
    r"\E w \in cell.odd : w + msg.n = cell.last",
    r"\E w \in cell.wide : w = msg.far",
    r"\A w \in cell.acks : cell.numbers[w + 1] > 3 /\ w < msg.x",
    r"\A w \in cell.wide : (w > msg.z) <=> (w > msg.x)",
    r"~ \E w \in {v \in cell.wide : v > msg.z} : w < msg.x",
]


@pytest.mark.parametrize(
    ("field", "texts"),
    [("wide", WIDE), ("s", NARROW), ("acks", ACKS), ("a", COUNTS), ("open", TESTS)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_words(tmp_path: Path, field: str, texts: list[str]) -> None:
    native.compare_values(tmp_path, LAYOUT, field, texts)


LOOPS = {
    r"{w \in cell.wide : w % 3 = 1}",
    r"{w \in cell.wide : w < msg.far}",
    r"{w \in cell.wide : w + w < 64}",
}
"""Predicates that no mask is known for."""


def test_there_is_no_branch_for_each_bit(tmp_path: Path) -> None:
    texts = [text for text in (*WIDE, *NARROW) if text not in LOOPS]
    steps = {f"Only{at}": f"Reply([cell EXCEPT !.wide = ({text})], msg)" for at, text in enumerate(texts)}
    native.compare(tmp_path, LAYOUT, steps, number=20)
    assert not re.search(r"if \(.*>> \w+\) & 1\)", (tmp_path / "made_steps.h").read_text())
