"""The user hook and tc must say Drop for messages that xdp cannot forward and the daemon cannot reply with."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from codegen.compile import load
from codegen.errors import SpecErrors
from tests.codegen.front import kit

FIRST, LAST = {"cell": "First", "contended": "never"}, {"cell": "Last", "contended": "never"}
ASKS_IDLE = 'First(cell, msg) == IF msg.state = "Idle" THEN Forward(cell, msg) ELSE Drop(cell, msg)'
REPLIES = "Find(entry, msg) == Reply(entry, msg)"
PASSES = "First(cell, msg) == Continue(cell, msg)"
TURNS = 'First(cell, msg) == Continue(cell, [msg EXCEPT !.state = IF @ = "Idle" THEN "Busy" ELSE "Gone"])'
LAST_BUSY = 'Last(cell, msg) == IF msg.state = "Busy" THEN Forward(cell, msg) ELSE Drop(cell, msg)'


def said(folder: Path, steps: str, xdp: list[dict], over: dict[str, Any] | None = None) -> list[str]:
    """Returns the errors of a protocol with the user hook Find, then Serve if given, and the tc hook Keep if given."""
    layout = copy.deepcopy(kit.LAYOUT)
    user = [{"entry": name} for name in ("Find", "Serve") if f"{name}(" in steps]
    layout["hooks"] = {"xdp": xdp, "user": user, **({"tc": [{"entry": "Keep"}]} if "Keep(" in steps else {})}
    layout["budget"] = {program: layout["budget"]["xdp"] for program in ("xdp", "tc") if program in layout["hooks"]}
    for key, value in (over or {}).items():
        layout[key] = {**layout.get(key, {}), **value} if isinstance(value, dict) else value
    folder.mkdir(exist_ok=True)
    (folder / "layout.yaml").write_text(yaml.safe_dump(layout, sort_keys=False))
    (folder / "SampleSteps.tla").write_text(f"---- MODULE SampleSteps ----\nEXTENDS Offload\n{steps}\n====\n")
    try:
        load(folder)
    except SpecErrors as refused:
        return [error.found for error in refused.errors]
    return []


LOST = (
    "First forwards a message whose state it changed, but xdp does not write state into a packet that it forwards, "
    "so the change is lost"
)


def replies(*states: str) -> str:
    return f"Find replies to messages whose state is {' or '.join(states)}, but no section of xdp forwards these"


@pytest.mark.parametrize(
    ("steps", "xdp", "refused"),
    [
        ([ASKS_IDLE], [FIRST], [replies("Busy", "Gone")]),
        ([PASSES], [FIRST], [replies("Idle, Busy", "Gone")]),
        ([TURNS, LAST_BUSY], [FIRST, LAST], [replies("Busy", "Gone")]),
        ([TURNS, LAST_BUSY], [{**FIRST, "contended": "skip"}, LAST], [replies("Gone")]),
        ([TURNS, LAST_BUSY], [FIRST, {**LAST, "contended": "skip"}], [replies("Busy", "Gone")]),
        (
            [
                LAST_BUSY,
                'First(cell, msg) == CASE msg.state = "Gone" -> Drop(cell, msg) [] msg.state = "Idle" -> '
                'Continue(cell, [msg EXCEPT !.state = "Busy"])'
                " [] OTHER -> Continue(cell, msg)",
            ],
            [{**FIRST, "when": {"state": ["Idle", "Gone"]}}, LAST],
            # Each message that Last gets is Busy, so it need not look, and nobody sees the change.
            [
                "First changes state, and then Last forwards the packet as it came, so the change is lost",
                replies("Gone"),
            ],
        ),
        (["First(cell, msg) == Continue(cell, [msg EXCEPT !.state = cell.state])", LAST_BUSY], [FIRST, LAST], []),
    ],
)
def test_the_daemon_sees_a_message_as_it_came(
    tmp_path: Path, steps: list[str], xdp: list[dict], refused: list[str]
) -> None:
    assert said(tmp_path, "\n".join([*steps, REPLIES]), xdp) == refused


@pytest.mark.parametrize(
    ("over", "refused"),
    [
        ({}, [LOST, replies("Busy", "Gone")]),
        ({"forwards": ["state"]}, [replies("Idle", "Gone")]),
    ],
)
def test_but_for_what_xdp_writes_into_it(tmp_path: Path, over: dict[str, Any], refused: list[str]) -> None:
    steps = 'First(cell, msg) == IF msg.state = "Idle" THEN Forward(cell, [msg EXCEPT !.state = "Busy"]) ELSE Drop(cell, msg)'
    assert said(tmp_path, f"{steps}\n{REPLIES}", [FIRST], over) == refused


def test_what_is_handed_over_is_zero_when_it_comes(tmp_path: Path) -> None:
    over = {"handover": {"mood": {"enum": ["Calm", "Bold", "Lost"]}}}
    forwards = 'First(cell, msg) == IF msg.mood = "Lost" THEN Forward(cell, msg) ELSE Forward(cell, [msg EXCEPT !.mood = "Bold"])'
    assert said(tmp_path, f"{forwards}\n{REPLIES}", [FIRST], over) == [
        "Find replies to messages whose mood is Calm or Lost, but no section of xdp forwards these"
    ]


@pytest.mark.parametrize(
    ("serve", "refused"),
    [
        (
            'Find(entry, msg) == IF msg.state # "Idle" THEN Strange :: Drop(entry, msg) ELSE Continue([entry EXCEPT '
            "!.used = TRUE], msg)",
            [],
        ),
        ('Find(entry, msg) == IF msg.state \\in {"Busy", "Gone"} THEN Drop(entry, msg) ELSE Continue(entry, msg)', []),
        (
            "Find(entry, msg) == IF entry.used THEN Drop(entry, msg) ELSE Continue(entry, msg)",
            ["Serve replies to messages whose state is Busy or Gone, but no section of xdp forwards these"],
        ),
        (
            'Find(entry, msg) == IF msg.state = "Busy" THEN Drop([entry EXCEPT !.used = TRUE], msg) ELSE IF msg.state '
            '= "Gone" THEN Drop(entry, msg) ELSE Continue(entry, msg)',
            ["Find changes its cell for messages whose state is Busy, but no section of xdp forwards these"],
        ),
        (
            'Find(entry, msg) == Continue([entry EXCEPT !.used = msg.state = "Idle"], msg)',
            ["Find changes its cell for messages whose state is Busy or Gone, but no section of xdp forwards these"],
        ),
    ],
)
def test_sections_of_the_daemon_change_nothing_before(tmp_path: Path, serve: str, refused: list[str]) -> None:
    assert said(tmp_path, f"{ASKS_IDLE}\n{serve}\nServe(entry, msg) == Reply(entry, msg)", [FIRST]) == refused


@pytest.mark.parametrize(
    ("find", "keep", "refused"),
    [
        (
            '[msg EXCEPT !.state = "Gone"]',
            'IF msg.state = "Gone" THEN Reply([entry EXCEPT !.used = TRUE], msg) ELSE Drop(entry, msg)',
            [],
        ),
        ("msg", 'IF msg.state = "Idle" THEN Reply([entry EXCEPT !.used = TRUE], msg) ELSE Drop(entry, msg)', []),
        (
            'IF msg.delta = 0 THEN msg ELSE [msg EXCEPT !.state = "Busy"]',
            'IF msg.state # "Idle" THEN Drop(entry, msg) ELSE Reply(entry, msg)',
            [],
        ),
        (
            '[msg EXCEPT !.state = "Gone"]',
            'IF msg.state # "Busy" THEN Reply(entry, msg) ELSE Continue(entry, msg)',
            ["Keep replies to messages whose state is Idle, but no section of user replies with these"],
        ),
        (
            "msg",
            "Forward([entry EXCEPT !.used = TRUE], msg)",
            [
                "Keep forwards, but only tc runs it, and tc has nobody to forward to",
                "Keep changes its cell for messages whose state is Busy or Gone, but no section of user replies with these",
            ],
        ),
    ],
)
def test_tc_gets_what_the_daemon_replies(tmp_path: Path, find: str, keep: str, refused: list[str]) -> None:
    steps = f'Find(entry, msg) == IF msg.state = "Idle" THEN Reply(entry, {find}) ELSE Drop(entry, msg)\nKeep(entry, msg) == {keep}'
    assert said(tmp_path, f"{ASKS_IDLE}\n{steps}", [FIRST]) == refused
