"""Tests steps whose plain C would make a compiler warn: generated code has none of these, for clang and for gcc.

native.run compiles with -Wall -Wextra -Werror, by both.
"""

from __future__ import annotations

from pathlib import Path

from codegen.emit.unused import used
from tests.codegen.emit import native

LAYOUT = native.layout(
    message={"x": "u8", "z": "u4", "p": "bool", "big": "u32", "huge": "u64", "where": "u8"},
    cell={
        "a": "u8",
        "t": "u16",
        "s": {"bits": 16},
        "state": {"enum": ["Idle", "Busy"]},
        "ids": {"set": "u14", "max": 4},
        "bytes": {"array": "u8", "size": 4},
        "wides": {"array": "u32", "size": 4},
        "longs": {"array": "u64", "size": 4},
        "open": "bool",
    },
    protocol="quiet",
)

CONDITIONS = {
    "parentheses": [
        r"(msg.x > cell.a) <=> (msg.z < 7)",
        r"(msg.x > cell.a) = (msg.z < 7)",
        r"(msg.x > cell.a) # (msg.z < 7)",
        r"~ (msg.x > cell.a) = msg.p",
        r"((msg.x > cell.a) <=> (msg.z < 7)) <=> (msg.x < 3)",
        r"(msg.x > cell.a) <=> ((msg.z = 7) <=> (msg.x # 3))",
        r"(msg.x > cell.a) <=> (msg.z < 7 /\ msg.p)",
        r"(msg.x \in {1, cell.a}) <=> msg.z \in cell.s",
    ],
    "comparisons of a value with itself": [
        r"cell.s = cell.s /\ msg.p",
        r"cell.state = cell.state /\ msg.p",
        r"msg.p => \E v \in {cell.a, msg.x} : v = cell.a /\ v > 3",
        r"\A v \in {cell.s, {1}} : v = cell.s",
        r"msg.z \in {v \in {1, msg.z, 3} : v = msg.z /\ msg.p}",
        r"msg.z \in (IF msg.p THEN {msg.z, 3} ELSE {2})",
        r"\E i \in 1..4 : cell.bytes[i] = cell.bytes[i] /\ cell.wides[i] > msg.big",
        r"IF msg.p THEN (\E v \in {cell.t, msg.x, 7} : v = cell.t /\ v > 8) ELSE cell.open",
        r"cell.ids = cell.ids /\ msg.p",
        r"(IF msg.p THEN cell.s ELSE {1}) = cell.s",
    ],
    "numbers that no value of the type reaches": [
        r"msg.x \in {1, 300, cell.t}",
        r"msg.x \in {300} \/ msg.p",
        r"(msg.x % 16) \in {1, 300}",
        r"cell.bytes[(msg.x % 4) + 1] \in ({20000} \cup {30000}) \/ msg.p",
        r"msg.x \in 0..255 /\ msg.p",
        r"msg.x \in 0..msg.big",
    ],
    "names that nothing reads": [
        r"cell.bytes[(msg.x % 4) + 1] \in (IF msg.p THEN {} ELSE {}) \/ msg.p",
        r"(msg.x * 3) \in ((cell.ids \ cell.ids) \cap {}) \/ msg.p",
        r"LET e == cell.bytes[(msg.x % 4) + 1] IN e \in {cell.bytes[(msg.x % 4) + 1], 3} /\ msg.p",
    ],
    "signs": [
        r"(IF msg.x > cell.a THEN msg.x - cell.a ELSE 0 - 4) < msg.big",
        r"(IF msg.p THEN msg.x - cell.a ELSE msg.big) = msg.big",
        r"(msg.big - msg.x) \in {3, cell.a, msg.big}",
        r"(cell.t - msg.x) \in {v - 4 : v \in cell.ids}",
    ],
}

DIFFERENCE = "IF msg.x > cell.a THEN msg.x - cell.a ELSE"
CHANGES = [
    f"!.wides[(msg.x % 4) + 1] = {DIFFERENCE} msg.big",
    f"!.wides[2] = {DIFFERENCE} cell.wides[1]",
    f"!.longs[(msg.x % 4) + 1] = {DIFFERENCE} cell.longs[1]",
    f"!.longs[(msg.x % 4) + 1] = IF msg.p THEN ({DIFFERENCE} 4) ELSE cell.longs[1]",
    f"!.longs = [i \\in 1..4 |-> {DIFFERENCE} @[i]]",
    f"!.t = ({DIFFERENCE} msg.big) % 77",
    f"!.ids = {{{DIFFERENCE} msg.big % 100}}",
    "!.ids = {v \\in @ : TRUE}",
    "!.a = LET d == msg.x - cell.a IN IF msg.x > cell.a THEN (IF msg.p THEN d ELSE msg.x) ELSE 3",
    "!.a = IF cell.state = cell.state THEN 3 ELSE 4",
]


def test_conditions(tmp_path: Path) -> None:
    texts = [text for group in CONDITIONS.values() for text in group]
    steps = {f"Test{at}": f"Reply([cell EXCEPT !.open = ({text})], msg)" for at, text in enumerate(texts)}
    steps |= {f"If{at}": f"IF {text} THEN Reply(cell, msg) ELSE Continue(cell, msg)" for at, text in enumerate(texts)}
    native.compare(tmp_path, LAYOUT, steps)


def test_changes(tmp_path: Path) -> None:
    steps = {f"Change{at}": f"Reply([cell EXCEPT {text}], msg)" for at, text in enumerate(CHANGES)}
    native.compare(tmp_path, LAYOUT, steps)


def test_a_name_that_nothing_reads_is_used() -> None:
    lines = ["\tconst __u8 one = 1;", "\t__u8 two;", "", "\tif (cell->a) {", "\t\tbool three = false;", ""]
    lines += ["\t\tthree = true;", "\t\ttwo = one;", "\t}", "\treturn 0;"]
    found = used(lines, ["cell", "message"], ["one", "two", "three"])
    assert [line for line in found if line not in lines] == ["\t(void)message;", "\t(void)two;", "\t\t(void)three;"]
    assert found.index("\t\t(void)three;") == found.index("\t\tbool three = false;") + 2
