"""Tests sets, sequences and arrays in every representation: packed into an integer, in C arrays, of records.

Each step is run natively on random cells and compared with the interpreter of the intermediate representation.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml

from codegen import ir
from codegen.compile import load
from tests.codegen.emit import native
from tests.codegen.front import interpreter

CASES = 300
VERDICTS = ("Continue", "Reply", "Forward", "Drop")

LAYOUT = {
    "protocol": "values",
    "module": "ValuesSteps",
    "types": {"id": "u14", "wide": "u40"},
    "message": {
        "one": "id",
        "other": "wide",
        "small": "u3",
        "at": "u2",
        "tone": {"enum": ["Low", "Mid", "High"]},
        "where": "u8",
    },
    "local": {"few": {"set": "id", "max": 2}, "many": {"set": "id", "max": 9}, "found": "bool", "count": "u8"},
    "tables": {
        "cell": {
            "cell": {
                "packed": {"set": "id", "max": 4},
                "array": {"set": "id", "max": 9},
                "wides": {"set": "wide", "max": 5},
                "full": {"set": "wide", "max": 1},
                "eights": {"set": "u16", "max": 4},
                "tones": {"set": "message.tone", "max": 3},
                "marks": {"bits": 48},
                "queue": {"sequence": "wide", "max": 5},
                "brief": {"sequence": "u3", "max": 6},
                "numbers": {"array": "wide", "size": 4},
                "digits": {"array": "u3", "size": 4},
                "total": "u8",
            },
            "capacity": 256,
            "index": "msg.where",
            "atomic": "spin_lock",
        }
    },
    "hooks": {"xdp": []},
    "wire": {"transport": "udp", "port": 4242, "order": ["one", "other", "small", "at", "tone", "where"]},
    "budget": {"xdp": {"insns": 100000, "states": 10000, "stack": 512}},
}


def setting(**fields: str) -> str:
    return "Reply([cell EXCEPT " + ", ".join(f"!.{name} = {value}" for name, value in fields.items()) + "], msg)"


def unless_dropped(condition: str, result: str) -> str:
    return f"IF {condition} THEN {result} ELSE Drop(cell, msg)"


STEPS = {
    "InsertPacked": unless_dropped("Cardinality(cell.packed) < 4", setting(packed="@ \\cup {msg.one}")),
    "InsertArray": unless_dropped("Cardinality(cell.array) < 9", setting(array="@ \\cup {msg.one}")),
    "InsertWide": unless_dropped("Cardinality(cell.wides) < 5", setting(wides="{msg.other} \\cup @")),
    "RemovePacked": setting(packed="@ \\ {msg.one}"),
    "RemoveArray": setting(array="@ \\ {msg.one}"),
    "RemoveWide": setting(wides="@ \\ {msg.other}"),
    "RemoveFull": setting(full="@ \\ {msg.other}", eights="@ \\ {7, 3}"),
    "Replace": setting(full="{msg.other}", packed="{msg.one, 3, 1}", array="{}"),
    "MinusArray": setting(packed="@ \\ msg.many", array="@ \\ cell.packed"),
    "Intersect": setting(packed="@ \\cap cell.array", array="@ \\cap msg.few"),
    "Exchange": setting(packed="{x \\in msg.few : x < 3}", array="cell.packed \\cup msg.few"),
    "Filters": setting(
        packed="{x \\in @ : x > 1}", wides="{x \\in @ : x # msg.other}", array="{x \\in @ : x \\in msg.few}"
    ),
    "Images": setting(eights="{x % 4 : x \\in cell.packed}", array="{x \\div 2 : x \\in @}"),
    "Tones": "IF msg.tone \\in cell.tones THEN "
    + setting(tones="@ \\ {msg.tone}")
    + " ELSE "
    + unless_dropped("Cardinality(cell.tones) < 3", setting(tones="@ \\cup {msg.tone}")),
    "Compares": """
      CASE cell.packed = msg.few -> Reply(cell, [msg EXCEPT !.count = 1])
        [] cell.array = msg.many -> Reply(cell, [msg EXCEPT !.count = 2])
        [] msg.few \\subseteq cell.array -> Reply(cell, [msg EXCEPT !.count = 3])
        [] cell.packed \\subseteq cell.array -> Reply(cell, [msg EXCEPT !.count = 4])
        [] cell.packed \\subseteq {msg.one} -> Reply(cell, [msg EXCEPT !.count = 5])
        [] cell.packed = {} -> Reply(cell, [msg EXCEPT !.count = 6])
        [] cell.wides = {msg.other} -> Reply(cell, [msg EXCEPT !.count = 7])
        [] OTHER -> Drop(cell, msg)""",
    "Quantifiers": """
      CASE \\E x \\in cell.packed : x \\in msg.many -> Reply(cell, [msg EXCEPT !.count = 1])
        [] \\A x \\in cell.array : x > msg.at -> Reply(cell, [msg EXCEPT !.count = 2])
        [] msg.one > 3 /\\ (\\E x \\in cell.wides : x % 2 = 1 /\\ x # msg.other) -> Reply(cell, [msg EXCEPT !.count = 3])
        [] OTHER -> Reply(cell, [msg EXCEPT !.count = Cardinality({x \\in cell.array : x < msg.one})])""",
    "Bits": setting(marks="(@ \\cup {msg.small, 40}) \\ {msg.at}"),
    "BitsFilter": """
      IF {3, msg.at} \\subseteq cell.marks THEN """
    + setting(marks="{x \\in @ : x > msg.small}")
    + """
      ELSE Reply(cell, [msg EXCEPT !.count = Cardinality(cell.marks)])""",
    "Push": unless_dropped(
        "Len(cell.queue) < 5 /\\ Len(cell.brief) < 6",
        setting(queue="Append(@, msg.other)", brief="Append(@, msg.small)"),
    ),
    "Pop": """
      IF Len(cell.queue) > 0 /\\ Len(cell.brief) > 0
        THEN Reply([cell EXCEPT !.queue = Tail(@), !.brief = Tail(@)], [msg EXCEPT !.other = Head(cell.queue), !.small = Head(cell.brief)])
        ELSE Drop(cell, msg)""",
    "Arrays": """
      Reply([cell EXCEPT !.numbers[msg.at + 1] = msg.other, !.digits[msg.at + 1] = msg.small],
            [msg EXCEPT !.other = cell.numbers[msg.at + 1], !.small = cell.digits[4 - msg.at]])""",
    "WholeArrays": setting(
        numbers="[i \\in 1..4 |-> cell.numbers[5 - i]]", digits="[i \\in 1..4 |-> (cell.digits[i] + 1) % 8]"
    ),
    "Swap": "Reply([cell EXCEPT !.packed = msg.few, !.total = Cardinality(cell.packed)], [msg EXCEPT !.count = cell.total, !.found = msg.one \\in cell.packed])",
}


@pytest.fixture(scope="module")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> ir.Protocol:
    folder = tmp_path_factory.mktemp("spec") / "values"
    folder.mkdir()
    layout = {**LAYOUT, "hooks": {"xdp": [{"cell": name, "contended": "skip"} for name in STEPS]}}
    (folder / "layout.yaml").write_text(yaml.safe_dump(layout, sort_keys=False))
    bodies = "\n".join(f"{name}(cell, msg) == {body}" for name, body in STEPS.items())
    (folder / "ValuesSteps.tla").write_text(f"---- MODULE ValuesSteps ----\nEXTENDS Offload\n{bodies}\n====\n")
    return load(folder)


def test_every_representation(protocol: ir.Protocol, tmp_path: Path) -> None:
    draw = random.Random(7)
    cell, message = protocol.tables[0].cell, protocol.message
    cases = [(native.draw_value(cell, draw), native.draw_value(message, draw)) for _ in range(CASES)]
    steps = [section.step for section in protocol.xdp]
    env = {"now": 0, "random": 0, "index": 0}
    reached = set()
    results = native.run(tmp_path, protocol, steps, cases)
    assert len(results) == CASES * len(STEPS)
    for number, case, verdict, cell_after, message_after in results:
        expected = interpreter.run(steps[number], *cases[case], env)
        context = f"{steps[number].name} on {cases[case]}"
        assert (VERDICTS[verdict], cell_after, message_after) == (expected[0], expected[2], expected[3]), context
        reached.add((steps[number].name, expected[0]))
    assert {name for name, verdict in reached if verdict == "Reply"} == set(STEPS)
