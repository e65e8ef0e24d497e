"""Makes up results of every kind, as each command would leave them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from harness.results import FORMAT

COMMIT = "0123456789abcdef0123456789abcdef01234567"
BEGAN = 1_760_000_000.0
TICKET = """---- MODULE TicketSteps ----
OnTake(roll, msg) ==
  CASE msg.kind # "Take" ->
         NotARequest :: Drop(roll, msg)
    [] roll.torn = Last -> Reply(roll, [msg EXCEPT !.kind = "Sold out <b>"])
    [] OTHER ->
         Reply([roll EXCEPT !.torn = IF Fast THEN @ + 2 ELSE @ + 1],
               [msg EXCEPT !.kind = "Taken"])
====
"""
FILE = "spec/ticket/TicketSteps.tla"


def _model(name: str, **other: Any) -> dict[str, Any]:
    model = {
        "name": name,
        "module": "Ticket",
        "size": "small",
        "must_fail": False,
        "expected": "holds",
        "verdict": "holds",
        "violated": None,
        "surprises": [],
        "shows": "",
        "states": 25_000,
        "distinct": 4_000,
        "depth": 17,
        "seconds": 4.2,
        "properties": ["NoTicketTwice", "Ends"],
        "steps": [],
    }
    return model | other


def _steps() -> list[dict[str, Any]]:
    steps = [
        (1, "client a", "XDP", "asks", "Take number=0", ["clients[a].waiting: FALSE -> TRUE"]),
        (2, "XDP", "XDP", "for client a: OnTake on roll[0]: Reply", "", ["roll[0].torn: 0 -> 1"]),
        (2, "XDP", "client a", "answers", 'Taken number=1 note="<script>alert(1)</script>"', []),
        (3, "network", "daemon", "again", "Take number=0 " + "and so on " * 12, []),
        (4, "model", "model", "and so on for ever, from step 2 again", "", []),
    ]
    return [dict(zip(("number", "source", "target", "title", "sent", "changes"), step, strict=True)) for step in steps]


def _branch(label: str, place: tuple[int, int, int, int], times: int, excused: bool = False) -> dict[str, Any]:
    """place: first line and column, last line and column."""
    names = ("line", "column", "last_line", "last_column")
    return {"label": label, "file": FILE, **dict(zip(names, place, strict=True)), "times": times, "excused": excused}


def _build(name: str, is_form: bool, factor: int) -> dict[str, Any]:
    taken = [
        _branch("on_take.not_a_request", (4, 25, 4, 39), 120 * factor),
        _branch("on_take.2", (5, 28, 5, 76), 4 * factor),
        _branch("on_take.3", (7, 10, 8, 44), 1_100 * factor),
        _branch("on_take.choice.then", (7, 51, 7, 55), 0),
        _branch("on_take.choice.else", (7, 62, 7, 66), 0 if name != "layout" else 7, excused=name != "layout"),
    ]
    inputs = {"xdp": 900 * factor, "sweep 1": 40}
    return {
        "name": name,
        "is_form": is_form,
        "inputs": inputs,
        "seconds": 3.5,
        "mismatches": [],
        "steps": {"on_take": 1_224 * factor} if is_form else {},
        "branches": taken if is_form else [],
    }


def _mutant(name: str, caught: bool = True) -> dict[str, Any]:
    how = "NoTicketTwice is violated after 44 states" if caught else "SURVIVES: model fail_twice holds (44 states)"
    named = "model fail_twice: NoTicketTwice"
    return {
        "name": name,
        "protocol": "ticket",
        "place": "templates/hooks.h.j2",
        "named": named,
        "caught": caught,
        "how": how,
        "seconds": 8.0,
    }


def _steps_of_ticket() -> dict[str, Any]:
    counts = {
        "comparison": (9, 9, 0, 0, 0),
        "off by one": (6, 3, 0, 1, 2),
        "other index": (3, 2, 1, 0, 0),
        "modulus dropped": (0, 0, 0, 0, 0),
    }
    kinds = [
        {"name": name, **dict(zip(("faults", "killed", "stopped", "refused", "survive"), figures, strict=True))}
        for name, figures in counts.items()
    ]
    stopped = {
        "name": "OnTake: other index: roll[0] -> roll[<i>]",
        "place": f"{FILE}:5:10",
        "model": "ticket/small",
        "complaint": "Attempted to apply a function to 7.",
    }
    refused = {
        "name": "OnTake: off by one: Tickets -> (Tickets + 1)",
        "place": f"{FILE}:6:10",
        "complaint": "the index lies in 1..8, the array has 1..7",
    }
    survivors = [
        ("OnTake: off by one: a < b -> a <= b", 5, 2, 0, "Equal numbers are the same number."),
        ("OnTake: off by one: 2 -> 1", 7, 3, 1, "Only the large model has so many tickets."),
    ]
    names = ("name", "place", "models", "given_up", "reason")
    return {
        "protocol": "ticket",
        "seconds": 93.4,
        "kinds": kinds,
        "stopped": [stopped],
        "refused": [refused],
        "survivors": [
            dict(zip(names, (name, f"{FILE}:{line}:19", *rest), strict=True)) for name, line, *rest in survivors
        ],
        "stale": [],
    }


def _proofs() -> dict[str, Any]:
    def leaf(arms: str, proved: bool, why: str = "") -> dict[str, Any]:
        fixed = {"name": f"TicketSteps.tla:{arms}", "verdict": "Reply", "seconds": 0.3, "jumps": 13}
        return {"arms": arms, "proved": proved, "why": why, **fixed}

    leaves = [leaf("1", True), leaf("2.1", True), leaf("2.2", False, "timeout: <i>Cardinality</i> of all tickets")]
    steps = [
        {"step": "OnTake", "seconds": 73.1, "leaves": leaves, "why": ""},
        {"step": "OnReturn", "seconds": 0.4, "leaves": [leaf("0", True)], "why": ""},
    ]
    return {"protocol": "ticket", "problems": [], "steps": steps}


def _program(name: str, insns: int, **other: Any) -> dict[str, Any]:
    program = {
        "protocol": "ticket",
        "program": name,
        "form": "older",
        "verdict": "success",
        "insns": insns,
        "states": 70,
        "stack": 128,
        "jited_bytes": 2_100,
        "budget": {"insns": 1_500, "states": 90, "stack": 256},
        "baseline": {"insns": 1_200, "states": 70, "stack": 128},
        "declared": True,
        "faults": [],
    }
    return program | other


def _kernel(release: str, insns: int, boot_seconds: float | None) -> dict[str, Any]:
    nothing = {"states": 0, "stack": 0, "jited_bytes": 0, "budget": None, "baseline": None}
    programs = [_program("ticket_xdp", insns), _program("ticket_wide", 0, verdict="none", declared=False, **nothing)]
    compared = [{"protocol": "ticket", "form": "layout", "inputs": 900, "mismatches": 0, "seconds": 12.0}]
    return {"kernel": release, "boot_seconds": boot_seconds, "programs": programs, "conformance": compared}


def spread(median: float) -> dict[str, Any]:
    return {"median": median, "low": median * 0.97, "high": median * 1.04, "count": 5}


def _points(values: list[tuple[float, float]]) -> list[dict[str, Any]]:
    return [{"x": x, "y": y, "low": y * 0.9, "high": y * 1.2} for x, y in values]


def _curves() -> list[dict[str, Any]]:
    rates = [20_000 * at for at in range(1, 9)]
    latency = {
        "generated": _points([(rate, 9 + rate / 30_000) for rate in rates]),
        "kernel UDP": _points([(rate, 30 * 1.35 ** (rate / 20_000)) for rate in rates]),
        "AF_XDP": _points([(rate, 18 * 1.18 ** (rate / 20_000)) for rate in rates]),
        "reflector": _points([(rate, 8 + rate / 40_000) for rate in rates]),
    }
    sizes = {"generated": _points([(2.0**at, 1.2e6 - 30_000 * max(0, at - 16)) for at in range(10, 26)])}
    limited = ["from 140,000 packets/s on the generator limited kernel UDP"]
    return [
        {
            "title": "Latency against load",
            "sentence": "p99 of an open loop.",
            "series": latency,
            "notes": limited,
            "x": {"title": "offered rate", "unit": "packets/s", "log": False},
            "y": {"title": "p99", "unit": "µs", "log": True},
        },
        {
            "title": "Throughput against table size",
            "sentence": "",
            "series": sizes,
            "notes": [],
            "x": {"title": "cells", "unit": "", "log": True},
            "y": {"title": "throughput", "unit": "operations/s", "log": False},
        },
    ]


def _bench() -> dict[str, Any]:
    figures = {
        "operations/s": spread(1_200_000),
        "of reflector": spread(0.83),
        "p50 µs": spread(9.1),
        "p99 µs": spread(31),
    }
    slower = {"operations/s": spread(310_000)}
    rows = [
        {"workload": "take", "server": "generated", "figures": figures, "notes": []},
        {"workload": "take", "server": "kernel UDP", "figures": slower, "notes": ["the generator was the limit"]},
    ]
    return {
        "protocol": "ticket",
        "settings": {"runs": 5, "seconds": 2.0},
        "sections": {"Closed loop": rows},
        "targets": ["met: take, of reflector: 0.83, at least 0.8"],
        "curves": _curves(),
    }


def _verified(name: str, insns: int) -> dict[str, Any]:
    figures = {"insns": insns, "states": 61, "stack": 96, "budget": {"insns": 1_500, "states": 90, "stack": 256}}
    return {"program": name, "verdict": "success", **figures, "faults": []}


def _fill() -> dict[str, Any]:
    passes = [
        {"title": title, "seconds": 31.0, "requests": 7_654_321, "complaints": {}, "again": 12, "rare_share": 0.031}
        for title in ("filled", "read")
    ]
    loaded = {"load_seconds": 1.5, "reload_seconds": 6.5, "kills": 2}
    return {"protocol": "ticket", "keys": 7_654_321, "table_bytes": 1_250_000_000, **loaded, "passes": passes}


def _docker() -> dict[str, Any]:
    steps = [{"name": "build stepwise", "status": 0, "seconds": 61.0}, {"name": "check", "status": 0, "seconds": 33.0}]
    sizes: dict[str, int | None] = {"stepwise": 912_000_000}
    return {
        "smoke": False,
        "engine": "Engine 27.5",
        "image_bytes": sizes,
        "capabilities": {"check": [], "conform": ["BPF"]},
        "steps": steps,
    }


def everything() -> dict[str, dict[str, Any]]:
    """Returns findings by `command/subject`. All are good, except branches that conformance does not take."""
    failing = _model(
        "fail_twice",
        must_fail=True,
        expected="invariant NoTicketTwice",
        verdict="invariant",
        violated="NoTicketTwice",
        distinct=44,
        properties=["NoTicketTwice"],
        shows="a ticket is torn off twice",
        steps=_steps(),
    )
    properties = [
        {"name": "NoTicketTwice", "sentence": "No two clients have tickets of the same number."},
        {"name": "Ends", "sentence": "All of them are sold in the end."},
    ]
    builds = [_build("layout", True, 10), _build("spin_lock", True, 9), _build("as shipped, seed 1", False, 1)]
    problems = ["layout: 1 of 5 branches were not taken"]
    mutants = [_mutant("the roll is torn twice"), _mutant("the last ticket is sold again")]
    stages = [{"name": "operations", "count": 120_000, "unit": "operations", "seconds": 58.0, "faults": 0}]
    found = {
        "check/ticket": {
            "protocol": "ticket",
            "tlc": "TLC",
            "properties": properties,
            "models": [_model("small"), failing],
        },
        "conform/ticket": {
            "protocol": "ticket",
            "seed": 1,
            "problems": problems,
            "builds": builds,
            "sources": {FILE: TICKET},
        },
        "prove/ticket": _proofs(),
        "mutants/all": {"witness": "ticket", "mutants": mutants},
        "steps/ticket": _steps_of_ticket(),
        "kernels/6.1": _kernel("6.1.0-40-cloud-amd64", 1_410, 7.3),
        "kernels/6.12": _kernel("6.12.30-cloud-amd64", 1_200, None),
        "bench/ticket": _bench(),
        "fuzz/ticket": {"seed": 77, "minutes": 1.0, "stages": stages, "failures": []},
        "veristat/ticket": {
            "protocol": "ticket",
            "programs": [_verified("ticket_xdp", 1_390), _verified("ticket_tc", 820)],
        },
        "fill/ticket": _fill(),
        "docker/all": _docker(),
    }
    return copy.deepcopy(found)


def of(protocol: str) -> dict[str, dict[str, Any]]:
    """The same of another protocol."""
    text: dict[str, dict[str, Any]] = json.loads(json.dumps(everything()).replace("ticket", protocol))
    return text


def write(folder: Path, found: dict[str, dict[str, Any]], commit: str = COMMIT, began: float = BEGAN) -> Path:
    """As a folder of results."""
    for at, (name, content) in enumerate(found.items()):
        command, subject = name.split("/")
        run = {"commit": commit, "kernel": "6.12.0", "began": began + at, "seconds": 12.5}
        kept = {"format": FORMAT, "command": command, "subject": subject, **run, "found": content}
        path = folder / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept))
    return folder
