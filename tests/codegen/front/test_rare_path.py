"""Tests what the daemon's sections, a message's tail and forwarded messages may be; errors name the offending line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codegen import ir
from codegen.compile import load
from codegen.display import Display
from codegen.errors import Errors, SpecErrors
from codegen.layout import files, resolve
from tests.codegen import locker

ROW = locker.LAYOUT["hooks"]["user"]
FIND, RESERVE, KEEP = ROW


def test_what_is_read_and_what_is_stepped(tmp_path: Path) -> None:
    protocol = load(locker.write(tmp_path / "locker"))
    assert [(section.step.name, section.table, section.reads, section.writes) for section in protocol.user] == [
        ("Find", "rack", "cell", False),
        ("Reserve", "boxes", "", True),
        ("Keep", "content", "", True),
    ]
    assert protocol.user_row and protocol.forwards == ("version", "length")
    assert protocol.tail == ir.TailLayout("body", "length", 12, 48)
    assert protocol.message.fields[-1] == ("body", ir.Bytes(48))
    assert protocol.wire == ("kind", "number", "length", "version", "slip")


def test_one_section_may_be_a_row(tmp_path: Path) -> None:
    steps = locker.STEPS.replace(
        "CASE msg.box \\notin", 'CASE msg.kind \\notin {"Put", "Get"} \\/ msg.box \\notin'
    ).replace('"Done", "Full"}', '"Done"}')
    protocol = load(locker.write(tmp_path / "locker", {"hooks": {"user": [KEEP]}}, steps))
    assert protocol.user_row and [section.step.name for section in protocol.user] == ["Keep"]


@pytest.mark.parametrize(
    ("over", "said", "instead"),
    [
        (
            {"hooks": {"user": [{"rack": "Find"}, RESERVE, KEEP]}},
            "the user section steps a cell of rack, which is guarded",
            "reads: cell",
        ),
        (
            {"hooks": {"user": [FIND, {"boxes": "Reserve", "reads": "cell"}, KEEP]}},
            "only reads a cell of boxes, which the user hook can step",
            "remove `reads`",
        ),
        (
            {"hooks": {"user": [FIND, {"boxes": "Reserve", "reads": "table"}, KEEP]}},
            "one section of several reads a whole table",
            "read one cell",
        ),
        (
            {"hooks": {"user": [FIND, RESERVE, {"content": "Keep", "reads": "cell"}]}},
            "only reads a cell of content",
            "remove `reads`",
        ),
        (
            {"hooks": {"user": [FIND, RESERVE, {"content": "Keep", "reads": "box"}]}},
            "`reads` is box",
            "it must be table or cell",
        ),
        (
            {"hooks": {"user": {"content": "Keep"}}},
            "reads the whole of content, which is `atomic: user`",
            "user: [{content: Step}]",
        ),
        ({"hooks": {"user": []}}, "hooks.user has 0 entries", "at least 1"),
        ({"hooks": {"user": [FIND, {"cupboard": "Keep"}]}}, "there is no table cupboard", "rack, boxes, content"),
        (
            {"hooks": {"tc": [{"content": "Close"}]}},
            "only the daemon can access content",
            "move the section to hooks.user",
        ),
        (
            {"tables": {"rack": {"atomic": "res_spin_lock"}}},
            "reads a cell of rack, which res_spin_lock protects",
            "choose word or spin_lock",
        ),
        ({"tail": {"field": "slip"}}, "`message` already has a field slip", "rename"),
        ({"tail": {"field": "turn"}}, "`handover` already has a field turn", "rename"),
        ({"tail": {"field": "row"}}, "`local` already has a field row", "rename"),
        ({"tail": {"field": "union"}}, "union is a keyword of C or Python", "another name"),
        ({"tail": {"length": "box"}}, "`message` has no field box", "kind, number"),
        ({"tail": {"length": "kind"}}, "message.kind cannot be the length of a tail", "hold 48"),
        (
            {"tail": {"over": 10, "max": 300, "length": "version"}},
            "message.version cannot be the length of a tail",
            "hold 300",
        ),
        ({"tail": {"max": 8, "over": 0}}, "tail.max is 8", "9..1024"),
        ({"tail": {"max": 1025}}, "tail.max is 1025", "9..1024"),
        ({"tail": {"over": 48}}, "tail.over is 48", "0..47"),
        ({"tail": {"longest": 4}}, "unknown key tail.longest", ""),
        (
            {"wire": {"order": ["kind", "number", "length", "version", "slip", "body"]}},
            "body is not a field of the message, so it cannot be on the wire",
            "",
        ),
        (
            {"constants": {"TailMax": 48}},
            "TailMax becomes TAIL_MAX in C, which the header already defines",
            "another name",
        ),
        ({"message": {"size": "u8"}}, "size becomes WIRE_SIZE in C, which the header already defines", "another name"),
        ({"forwards": ["turn"]}, "turn is a handover field, so it is forwarded already", "remove it"),
        ({"forwards": ["place"]}, "`message` has no field place", "kind, number"),
        ({"forwards": ["body"]}, "`message` has no field body", "kind, number"),
        ({"forwards": ["length", "length"]}, "`forwards` has length twice", "keep one of them"),
        ({"hooks": {"user": None}}, "there is `forwards`, but no user hook", "add hooks.user"),
        ({"hooks": {"user": None}}, "there is a tail, but no user hook", "add hooks.user"),
    ],
)
def test_a_layout_is_refused(tmp_path: Path, over: dict[str, Any], said: str, instead: str) -> None:
    folder, errors = locker.write(tmp_path / "locker", over), Errors()
    read = files.read(folder / "layout.yaml", [], None, Display(folder, {}), errors)
    if read is not None:
        resolve.resolve(*read, errors)
    line = next((line for line in map(str, errors.found) if said in line), "")
    assert line, list(map(str, errors.found))
    assert instead in line
    place = line.split(": ")[0].split(":")
    assert place[0].endswith("layout.yaml") and all(number.isdigit() for number in place[1:3]), line


STEP_LINES = locker.STEPS.splitlines()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            '!.kind = "Done"])\n    [] OTHER -> Drop(rack, msg)',
            "!.body = 0])\n    [] OTHER -> Drop(rack, msg)",
            "OnRequest uses the message's body, which no program sees",
        ),
        (
            'msg.kind = "Ask" -> Reply',
            'msg.kind = "Ask" /\\ msg.body # 0 -> Reply',
            "OnRequest uses the message's body, which no program sees",
        ),
        (
            "THEN Reply([boxes EXCEPT",
            "THEN Reply([boxes EXCEPT !.turn = IF msg.body = 0 THEN 1 ELSE 2,",
            "Close uses the message's body",
        ),
        (
            "[msg EXCEPT !.box = loose,",
            "[msg EXCEPT !.body = 0, !.box = loose,",
            "Reserve changes the message's body and a word in one branch",
        ),
        ('Reply(boxes, [msg EXCEPT !.kind = "Full"])', "Forward(boxes, msg)", "the user step ends with Forward"),
        (
            "Continue(rack, [msg EXCEPT !.row = rack.row])",
            "Continue([rack EXCEPT !.row = 1], msg)",
            "the user step Find changes a cell that it only reads",
        ),
        (
            "Reply(content, [msg EXCEPT !.body = content.bytes[msg.box]])",
            "Reply(content, [msg EXCEPT !.body = msg.slip])",
            "bytes",
        ),
    ],
)
def test_a_step_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert locker.STEPS.count(old) == 1
    steps = locker.STEPS.replace(old, new)
    with pytest.raises(SpecErrors) as refused:
        load(locker.write(tmp_path / "locker", steps=steps))
    line = next((line for line in str(refused.value).splitlines() if said in line), str(refused.value))
    assert said in line
    file, number, *_ = line.split(":")
    assert file.endswith("LockerSteps.tla") and steps.splitlines()[int(number) - 1] not in STEP_LINES, line


def test_one_section_alone_ends_with_an_answer(tmp_path: Path) -> None:
    with pytest.raises(SpecErrors, match="the user step ends with Continue; it must end with Reply or Drop"):
        load(locker.write(tmp_path / "locker", {"hooks": {"user": FIND}}))


def test_a_tail_is_given_back_as_it_is(tmp_path: Path) -> None:
    """A whole record, as a step may make one, names the tail without looking at it."""
    old = 'Reply(rack, [msg EXCEPT !.kind = "Done"])'
    fields = [name for name, _ in load(locker.write(tmp_path / "plain")).message.fields]
    record = ", ".join(f"{name} |-> msg.{name}" for name in fields)
    assert locker.STEPS.count(old) == 1
    protocol = load(locker.write(tmp_path / "locker", steps=locker.STEPS.replace(old, f"Reply(rack, [{record}])")))
    assert protocol.tail is not None
