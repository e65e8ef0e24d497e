"""A step is compiled for the messages that may reach it, without branches for what earlier sections consume."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from codegen.compile import load
from codegen.ir.walk import leaves
from tests.codegen.front import kit

STEPS = """
Turn(cell, msg) ==
  CASE msg.state = "Idle" -> Continue(cell, [msg EXCEPT !.state = "Busy"])
    [] msg.state = "Gone" -> Left :: Drop(cell, msg)
    [] OTHER -> Continue(cell, msg)
Choose(cell, msg) ==
  Continue([cell EXCEPT !.count = 1], [msg EXCEPT !.state = IF cell.open THEN "Idle" ELSE IF msg.delta = 0 THEN "Busy" ELSE msg.state])
Copied(cell, msg) == Continue(cell, [msg EXCEPT !.state = cell.state])
Same(cell, msg) == Continue(cell, msg)
Moved(cell, msg) == Continue(cell, [msg EXCEPT !.where = msg.delta * 4])
Other(cell, msg) == Continue(cell, [msg EXCEPT !.state = IF msg.state = "Gone" THEN "Idle" ELSE "Gone"])
Kept(entry, msg) == Continue(entry, [msg EXCEPT !.number = 1])
Told(cell, msg) ==
  CASE msg.state = "Idle" -> ToldIdle :: Reply(cell, msg)
    [] msg.state = "Busy" -> ToldBusy :: Reply(cell, msg)
    [] OTHER -> ToldGone :: Reply(cell, msg)
"""
SOME = {"cell": "Same", "contended": "skip", "when": {"state": ["Idle", "Gone"]}}


def told(folder: Path, *sections: dict) -> list[str]:
    """The branches of Told, as the last section after others."""
    kit.write(folder, STEPS, ["Told"])
    layout = yaml.safe_load((folder / "layout.yaml").read_text())
    layout["hooks"]["xdp"] = [*sections, {"cell": "Told", "contended": "skip"}]
    (folder / "layout.yaml").write_text(yaml.safe_dump(layout, sort_keys=False))
    step = next(section.step for section in load(folder).xdp if section.step.name == "Told")
    return [leaf.name.removeprefix("Told") for leaf in leaves(step.body)]


@pytest.mark.parametrize(
    ("sections", "branches"),
    [
        ([], ["Idle", "Busy", "Gone"]),
        ([{"cell": "Turn", "contended": "never"}], ["Busy"]),
        ([{"cell": "Turn", "contended": "skip"}], ["Idle", "Busy", "Gone"]),
        ([{"cell": "Turn", "contended": "never"}, SOME], ["Busy"]),
        ([{"cell": "Turn", "contended": "never"}, {"cell": "Choose", "contended": "never"}], ["Idle", "Busy"]),
        ([{"cell": "Turn", "contended": "never"}, {"cell": "Copied", "contended": "never"}], ["Idle", "Busy", "Gone"]),
        ([{"cell": "Turn", "contended": "never"}, {"cell": "Other", "contended": "never"}], ["Gone"]),
        ([{"cell": "Moved"}, {"cell": "Turn"}], ["Idle", "Busy", "Gone"]),
        ([{"entry": "Kept"}, {"cell": "Turn"}], ["Busy"]),
    ],
)
def test_what_no_message_comes_to_is_not_compiled(tmp_path: Path, sections: list[dict], branches: list[str]) -> None:
    assert told(tmp_path, *sections) == branches


def test_a_step_of_a_section_for_some_is_compiled_for_these(tmp_path: Path) -> None:
    kit.write(
        tmp_path,
        STEPS.replace("Turn(cell, msg) ==\n", "Unused(cell, msg) ==\n")
        + """
Turn(cell, msg) ==
  CASE msg.state = "Idle" -> TurnsIdle :: Drop(cell, msg)
    [] msg.state = "Busy" -> TurnsBusy :: Drop(cell, msg)
    [] OTHER -> Continue(cell, msg)
""",
        ["Told"],
    )
    layout = yaml.safe_load((tmp_path / "layout.yaml").read_text())
    layout["hooks"]["xdp"] = [
        {"cell": "Turn", "contended": "skip", "when": {"state": ["Idle", "Busy"]}},
        {"cell": "Told", "contended": "skip"},
    ]
    (tmp_path / "layout.yaml").write_text(yaml.safe_dump(layout, sort_keys=False))
    turn = load(tmp_path).xdp[0].step
    assert [leaf.name for leaf in leaves(turn.body)] == ["TurnsIdle", "TurnsBusy"]
