"""Tests arrays of records and large bytes in a cell under a lock: stepped in place, and searched without a branch.

Each step is run natively on random cells and compared with the interpreter of the intermediate representation.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml

from codegen import ir
from codegen.compile import load
from codegen.emit import generate
from tests.codegen.emit import native
from tests.codegen.front import interpreter

CASES = 400
VERDICTS = ("Continue", "Reply", "Forward", "Drop")

LAYOUT = {
    "protocol": "shelf",
    "module": "ShelfSteps",
    "types": {
        "tone": {"enum": ["Low", "Mid", "High"]},
        "book": {"record": {"number": "u64", "tone": "tone", "note": {"bytes": 12}, "pages": "u16"}},
    },
    "message": {
        "number": "u64",
        "at": "u3",
        "pages": "u16",
        "tone": "tone",
        "note": {"bytes": 12},
        "small": "u3",
        "loud": "bool",
        "where": "u8",
    },
    "local": {"book": "book", "place": "u3", "found": "bool", "count": "u8", "marks": {"bits": 16}},
    "tables": {
        "shelf": {
            "cell": {
                "books": {"array": "book", "size": 4},
                "spare": {"array": "book", "size": 3},
                "numbers": {"array": "u64", "size": 4},
                "tones": {"array": "tone", "size": 4},
                "marks": {"bits": 16},
                "epoch": "u32",
                "note": {"bytes": 12},
                "open": "bool",
            },
            "capacity": 256,
            "index": "msg.where",
            "atomic": "spin_lock",
        }
    },
    "hooks": {"xdp": []},
    "wire": {
        "transport": "udp",
        "port": 4242,
        "order": ["number", "at", "pages", "tone", "note", "small", "loud", "where"],
    },
    "budget": {"xdp": {"insns": 100000, "states": 10000, "stack": 512}},
}


def answering(**fields: str) -> str:
    return "Reply(cell, [msg EXCEPT " + ", ".join(f"!.{name} = {value}" for name, value in fields.items()) + "])"


def where(condition: str, result: str) -> str:
    return f"IF {condition} THEN {result} ELSE Drop(cell, msg)"


HERE, THERE = "msg.at \\in 1..4", "msg.small \\in 1..4"

STEPS = {
    "FirstOfMany": answering(
        place='FirstIndex(1, 4, 0, LAMBDA i : cell.tones[i] # "Low" /\\ cell.numbers[i] = msg.number)'
    ),
    "FirstFromZero": answering(place="FirstIndex(0, 3, 7, LAMBDA i : i \\in cell.marks /\\ ~ (i \\in msg.marks))"),
    "FirstOfEither": answering(
        place='FirstIndex(1, 4, 5, LAMBDA i : cell.tones[i] \\in {"Low", "High"} \\/ (cell.books[i].pages > msg.pages /\\ cell.open))'
    ),
    "FirstCompared": answering(
        place="FirstIndex(1, 3, 0, LAMBDA i : cell.spare[i].pages >= msg.pages /\\ cell.spare[i].number # msg.number)"
    ),
    "FirstOfNothing": answering(place="FirstIndex(1, 4, msg.small, LAMBDA i : i - 1 \\in cell.marks)"),
    "ChosenByTheFirst": """
      LET idle == FirstIndex(1, 4, 0, LAMBDA i : cell.tones[i] = "Low")
          loud == FirstIndex(1, 4, 0, LAMBDA i : cell.tones[i] = "High")
      IN  """
    + answering(place="IF idle > 0 THEN idle ELSE loud", found="idle = loud"),
    "ChosenNumbers": answering(
        count="IF msg.loud THEN msg.small ELSE msg.at",
        pages="IF cell.epoch < 100 THEN msg.pages ELSE msg.small + 3",
        tone='IF cell.epoch = 3 THEN "High" ELSE IF msg.loud THEN "Mid" ELSE msg.tone',
    ),
    "ChosenInTheCell": """
      Reply([cell EXCEPT !.epoch = IF msg.pages > @ THEN msg.pages ELSE @, !.open = IF msg.loud THEN ~ @ ELSE @,
                         !.marks = IF msg.loud THEN @ \\cup {msg.small} ELSE msg.marks], msg)""",
    "Taken": where(
        HERE,
        answering(
            number="cell.books[msg.at].number",
            note="cell.books[msg.at].note",
            pages="cell.books[msg.at].pages",
            tone="cell.tones[msg.at]",
            book="cell.books[msg.at]",
            found="cell.numbers[msg.at] = msg.number",
        ),
    ),
    "TakenOfThree": where("msg.at \\in 1..3", answering(book="cell.spare[msg.at]", pages="cell.spare[msg.at].pages")),
    "Put": where(
        HERE,
        """
      Reply([cell EXCEPT !.books[msg.at].note = msg.note, !.books[msg.at].pages = (@ + 1) % 65536, !.numbers[msg.at] = msg.number,
                         !.tones[msg.at] = msg.tone, !.note = cell.books[msg.at].note],
            [msg EXCEPT !.pages = cell.books[msg.at].pages, !.note = cell.note])""",
    ),
    "PutOfThree": where(
        "msg.at \\in 1..3", 'Reply([cell EXCEPT !.spare[msg.at] = msg.book, !.spare[msg.at].tone = "High"], msg)'
    ),
    "PutWhole": where(
        HERE,
        """
      Reply([cell EXCEPT !.books[msg.at] = [number |-> msg.number, tone |-> "Mid", note |-> 0, pages |-> cell.books[1].pages]], msg)""",
    ),
    "Moved": where(HERE + " /\\ " + THERE, "Reply([cell EXCEPT !.books[msg.at] = cell.books[msg.small]], msg)"),
    "Exchanged": where(
        HERE + " /\\ " + THERE,
        """
      Reply([cell EXCEPT !.books[msg.at] = cell.books[msg.small], !.books[msg.small] = cell.books[msg.at]], msg)""",
    ),
    "TheLaterWins": where(
        HERE + " /\\ " + THERE,
        """
      Reply([cell EXCEPT !.books[msg.at].tone = "High", !.books[msg.small] = [msg.book EXCEPT !.tone = "Low"],
                         !.books[msg.at].pages = 7], [msg EXCEPT !.tone = cell.books[msg.small].tone])""",
    ),
    "Notes": "CASE cell.note = msg.note -> "
    + answering(count="1")
    + """
        [] cell.note = 0 -> Reply(cell, [msg EXCEPT !.count = 2])
        [] \\E i \\in 1..4 : cell.books[i].note = msg.note -> Reply(cell, [msg EXCEPT !.count = 3])
        [] OTHER -> Reply([cell EXCEPT !.note = msg.note, !.books[1].note = 0], msg)""",
    "BitsOfSome": answering(
        marks="{cell.books[i].pages % 16 : i \\in {j \\in 1..4 : cell.tones[j] = msg.tone /\\ j # msg.small}}"
    ),
    "BitsOfAll": answering(marks="{cell.books[i].pages % 16 : i \\in 1..4}"),
    "BitsOfBits": answering(marks="{15 - i : i \\in {j \\in cell.marks : j > msg.small}}"),
    "BitsTwice": """
      LET some == {i * 3 : i \\in {j \\in 1..4 : cell.tones[j] # "Low"}}
      IN  CASE msg.small = 0 -> """
    + answering(marks="some")
    + """
            [] OTHER -> Reply([cell EXCEPT !.marks = some \\cup {msg.small}], msg)""",
}


@pytest.fixture(scope="module")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> ir.Protocol:
    folder = tmp_path_factory.mktemp("spec") / "shelf"
    folder.mkdir()
    layout = {**LAYOUT, "hooks": {"xdp": [{"shelf": name, "contended": "skip"} for name in STEPS]}}
    (folder / "layout.yaml").write_text(yaml.safe_dump(layout, sort_keys=False))
    bodies = "\n".join(f"{name}(cell, msg) == {body}" for name, body in STEPS.items())
    (folder / "ShelfSteps.tla").write_text(f"---- MODULE ShelfSteps ----\nEXTENDS Offload\n{bodies}\n====\n")
    return load(folder)


def test_every_step_does_what_it_says(protocol: ir.Protocol, tmp_path: Path) -> None:
    draw = random.Random(11)
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


def step_text(protocol: ir.Protocol, name: str) -> str:
    """The C of one step."""
    text = generate(protocol)["shelf_steps.h"]
    return text[text.index(f"/* {name}, ") :].partition("\n}\n")[0]


@pytest.mark.parametrize(
    "name",
    [
        "FirstOfMany",
        "FirstFromZero",
        "FirstOfEither",
        "FirstCompared",
        "FirstOfNothing",
        "ChosenByTheFirst",
        "ChosenNumbers",
    ],
)
def test_no_branch_where_none_is_needed(protocol: ir.Protocol, name: str) -> None:
    text = step_text(protocol, name)
    assert "stepwise_choose(" in text
    assert "if (" not in text and "?" not in text and "break" not in text


def test_bits_are_set_in_one_loop(protocol: ir.Protocol) -> None:
    text = step_text(protocol, "BitsOfSome")
    assert text.count("for (") == 1 and "|= 1U <<" in text


def test_items_are_not_copied_to_change_a_part(protocol: ir.Protocol) -> None:
    text = step_text(protocol, "Put")
    assert "shelf_book item" not in text and "books.items[at].pages = " in text
