"""Tests names of C, Python and the generator in each place of a specification: refused by name, or it compiles.

Most names come from the headers of the generated files, as the preprocessor shows them. Every seventh of them is
tried here. All are tried with STEPWISE_EVERY_NAME=1, in five minutes.
"""

from __future__ import annotations

import keyword
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from codegen.c.builtin_names import HEADER_MACROS, LIBRARY_FUNCTIONS
from codegen.c.generated_names import FUNCTIONS
from codegen.c.names import C_KEYWORDS
from codegen.compile import load
from codegen.emit import generate
from codegen.errors import SpecErrors
from tests.codegen.compiling import INCLUDE, RUNTIME

LOG = RUNTIME.parent / "generated" / "log"
MULTIARCH = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
BPF = ["clang-19", "-target", "bpf", "-mcpu=v3", "-idirafter", f"/usr/include/{MULTIARCH}"]
USER = ["gcc", "-std=gnu11", "-D_GNU_SOURCE"]
CHECKED = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-fsyntax-only", *INCLUDE]
ALWAYS = (
    "i xdp tc license message environment element before outcome index tables payload value count items bytes encode "
    "stepwise_drop stepwise_reply sample_slot_element sample_message_decode sample_u8_set_4_has errno linux s6_addr "
    "rt0_type register class lambda print self time_t size_t"
).split()
NOT_IN_TLA = {"True", "False", "None"}

Made = tuple[dict[str, Any], str]
BASE = r"""
protocol: sample
module: SampleSteps
constants: {}
types: {}
message: {kind: {enum: [Ask, Told]}, at: u8, x: u8}
local: {}
tables:
  slot: {cell: {a: u8, b: u16}, capacity: 256, index: msg.at, atomic: spin_lock}
  mark: {cell: {n: u8}, capacity: 256, index: msg.at, atomic: word}
hooks: {xdp: [], user: {mark: Find}, tc: [{slot: Done}]}
wire: {transport: udp, port: 4242}
budget: {xdp: {insns: 99999, states: 999, stack: 512}, tc: {insns: 99999, states: 999, stack: 512}}
"""
OTHER_STEPS = r"""
Find(marks, msg) == IF msg.kind = "Ask" THEN Reply(marks, [msg EXCEPT !.kind = "Told"]) ELSE Drop(marks, msg)
Done(slot, msg) == IF msg.kind = "Told" THEN Reply([slot EXCEPT !.a = msg.x], msg) ELSE Drop(slot, msg)
"""
START = r'Final(slot, msg) == IF msg.kind # "Ask" THEN Drop(slot, msg) ELSE IF msg.x = 1 THEN Forward(slot, msg) ELSE '
FINAL = START + 'Reply([slot EXCEPT !.a = msg.x], [msg EXCEPT !.x = slot.a, !.kind = "Told"])'


def layout() -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load(BASE)
    made["hooks"]["xdp"] = [{"slot": "Final", "contended": "skip"}]
    return made


def bound(names: list[str]) -> Made:
    made = layout()
    made["tables"]["slot"]["cell"]["q"] = {"array": "u8", "size": 3}
    tests = [rf"(\E {name} \in 1..3 : slot.q[{name}] > msg.x + {at})" for at, name in enumerate(names)]
    return made, START.replace("msg.x = 1", " /\\ ".join(tests)) + "Drop(slot, msg)"


def let(names: list[str]) -> Made:
    defined = "\n  ".join(f"{name} == (msg.x * {2 * at + 3}) % {251 + at}" for at, name in enumerate(names))
    total = " + ".join(names)
    tests = " /\\ ".join(f"{name} > slot.a" for name in names)
    end = f"LET {defined}\n  IN IF {tests} THEN Reply([slot EXCEPT !.b = ({total}) % 65536], msg) ELSE Drop(slot, msg)"
    return layout(), START + end


def field(part: str) -> Callable[[list[str]], Made]:
    def make(names: list[str]) -> Made:
        made = layout()
        (made["tables"]["slot"]["cell"] if part == "cell" else made[part]).update(dict.fromkeys(names, "u8"))
        place = "slot" if part == "cell" else "msg"
        changes = ", ".join(f"!.{name} = ({place}.{name} + msg.x) % 256" for name in names)
        return made, START + f"Reply([slot EXCEPT {changes if part == 'cell' else '!.a = 1'}], [msg EXCEPT " + (
            f'{changes}, !.kind = "Told"])' if part != "cell" else '!.kind = "Told"])'
        )

    return make


def member(names: list[str]) -> Made:
    made = layout()
    made["message"]["kind"]["enum"] += names
    return made, FINAL


def constant(names: list[str]) -> Made:
    made = layout()
    made["constants"] = {name: at + 3 for at, name in enumerate(names)}
    return made, f"CONSTANTS {', '.join(names)}\n" + FINAL.replace("msg.x = 1", f"msg.x < ({' + '.join(names)}) % 256")


def of_type(kind: dict[str, Any], change: str) -> Callable[[list[str]], Made]:
    def make(names: list[str]) -> Made:
        made = layout()
        made["types"] = dict.fromkeys(names, kind)
        made["tables"]["slot"]["cell"] |= {f"f{at}": name for at, name in enumerate(names)}
        changes = ", ".join(f"!.f{at}{change}" for at in range(len(names)))
        return made, FINAL.replace("!.a = msg.x", f"!.a = msg.x, {changes}")

    return make


def steps(table: str, change: str, text: str) -> Callable[[list[str]], Made]:
    """A step for each name; NAME in the text is the name, and NUMBER its position."""

    def make(names: list[str]) -> Made:
        made = layout()
        called = [re.sub("NUMBER", str(at), text.replace("NAME", name)) for at, name in enumerate(names)]
        sections = [{table: step.split("(")[0], "contended": "skip"} for step in called]
        made["hooks"]["xdp"] = [*sections, *made["hooks"]["xdp"]]
        end = "IF MSG.x > 9 THEN Continue([CELL EXCEPT CHANGE], MSG) ELSE Drop(CELL, MSG)".replace("CHANGE", change)
        bodies = []
        for step in called:
            cell, message = step.split("(")[1].rstrip(")").split(", ")
            bodies.append(f"{step} == " + end.replace("CELL", cell).replace("MSG", message))
        return made, "\n".join(bodies) + "\n" + FINAL

    return make


def operator(names: list[str]) -> Made:
    ends = [f'[] msg.x = {at} -> Reply([slot EXCEPT !.a = {at}], [msg EXCEPT !.kind = "Told"])' for at in range(9)]
    body = f"CASE msg.x = 200 -> Drop(slot, msg) {' '.join(ends)} [] OTHER -> Drop(slot, msg)"
    uses = " ".join(f"[] slot.a = {at} -> {name}(slot, msg)" for at, name in enumerate(names))
    end = f'CASE msg.kind # "Ask" -> Drop(slot, msg) {uses} [] msg.x = 1 -> Forward(slot, msg) [] OTHER -> Drop(slot, msg)'
    return layout(), "\n".join(f"{name}(slot, msg) == {body}" for name in names) + f"\nFinal(slot, msg) == {end}"


def label(names: list[str]) -> Made:
    ends = " ".join(
        f"[] slot.a = {at} -> {name} :: Drop([slot EXCEPT !.b = {at}], msg)" for at, name in enumerate(names)
    )
    end = f'CASE msg.kind # "Ask" -> Drop(slot, msg) {ends} [] msg.x = 1 -> Forward(slot, msg) [] OTHER -> Drop(slot, msg)'
    return layout(), f"Final(slot, msg) == {end}"


def table(names: list[str]) -> Made:
    made = layout()
    made["tables"] |= {name: {**made["tables"]["mark"], "cell": {"z": "u8"}} for name in names}
    sections = [{name: f"Use{at}x", "contended": "skip"} for at, name in enumerate(names)]
    made["hooks"]["xdp"] = [*sections, *made["hooks"]["xdp"]]
    texts = [f"Use{at}x(c, msg) == Continue([c EXCEPT !.z = msg.x], msg)" for at in range(len(names))]
    return made, "\n".join(texts) + "\n" + FINAL


PLACES: dict[str, tuple[Callable[[list[str]], Made], int]] = {
    "bound variable": (bound, 60),
    "LET": (let, 60),
    "field of the message": (field("message"), 400),
    "local field": (field("local"), 400),
    "field of a cell": (field("cell"), 400),
    "member": (member, 200),
    "constant": (constant, 100),
    "record": (of_type({"record": {"p": "u8"}}, ".p = msg.x"), 100),
    "enum": (of_type({"enum": ["Low", "High"]}, ' = "High"'), 100),
    "step": (steps("slot", "!.a = 1", "NAME(slot, msg)"), 60),
    "parameter": (steps("slot", "!.a = 1", "UseNUMBERx(NAME, msg)"), 60),
    "parameter with a word": (steps("mark", "!.n = 1", "UseNUMBERx(NAME, m)"), 60),
    "parameter with a message": (steps("slot", "!.a = 1", "UseNUMBERx(slot, NAME)"), 60),
    "operator": (operator, 30),
    "label": (label, 100),
    "table": (table, 40),
}
"""How a protocol has some names in this place, and how many at once."""


def of_headers() -> set[str]:
    """Returns the names in small letters that the headers of generated files define as macros."""
    bpf = [*BPF, *INCLUDE, f"-I{LOG}", "-E", "-dM", str(LOG / "log.bpf.c")]
    user = [*USER, *INCLUDE, f"-I{LOG}", "-E", "-dM", "-x", "c", "-"]
    source = "\n".join(
        line
        for line in (LOG / "log_user.c").read_text().splitlines()
        if line.startswith("#include") and "skel" not in line
    )
    texts = [
        subprocess.run(bpf, capture_output=True, text=True, check=True).stdout,
        subprocess.run(user, input=source, capture_output=True, text=True, check=True).stdout,
    ]
    return set(re.findall(r"^#define ([a-z][a-z0-9_]*)\b(?!\()", "\n".join(texts), re.MULTILINE))


def names_tried() -> list[str]:
    every = {*LIBRARY_FUNCTIONS, *C_KEYWORDS, *keyword.kwlist, *FUNCTIONS, *(f"sample_{name}" for name in FUNCTIONS)}
    every |= of_headers()
    some = sorted(every - NOT_IN_TLA - {"NULL"})
    if not os.environ.get("STEPWISE_EVERY_NAME"):
        some = some[::7]
    return sorted({*some, *ALWAYS})


def names_of(message: str) -> set[str]:
    return set(re.findall(r"\w+", message.partition("error:")[2]))


def compiles(folder: Path) -> list[str]:
    """Returns what the compilers and Python say of generated files."""
    (folder / "run.c").write_text('#include <stdbool.h>\n#include "sample_codec.h"\n#include "sample_steps.h"\n')
    commands = [[*BPF, *CHECKED, "sample.bpf.c"], [*USER, *CHECKED, "run.c"], ["clang-19", *CHECKED, "run.c"]]
    commands.append([sys.executable, "-W", "error", "-c", "import sample_codec"])
    done = [subprocess.run(each, cwd=folder, capture_output=True, text=True, check=False) for each in commands]
    return [each.stderr[:2000] for each in done if each.returncode]


def accepted(folder: Path, make: Callable[[list[str]], Made], names: list[str]) -> list[str]:
    """Writes the files of a protocol with those of the names that are not refused, and returns them."""
    folder.mkdir()
    while True:
        made, text = make(names)
        made["wire"]["order"] = list(made["message"])
        (folder / "layout.yaml").write_text(yaml.safe_dump(made, sort_keys=False))
        (folder / "SampleSteps.tla").write_text(
            f"---- MODULE SampleSteps ----\nEXTENDS Offload\n{text}{OTHER_STEPS}====\n"
        )
        try:
            files = generate(load(folder))
        except SpecErrors as refusal:
            refused = {name for error in refusal.errors for name in names if name in names_of(str(error))}
            assert refused, f"names no name: {refusal}"
            names = [name for name in names if name not in refused]
            continue
        for name, content in files.items():
            (folder / name).write_text(content)
        return names


@pytest.mark.parametrize("place", PLACES)
def test_it_is_refused_or_compiles(place: str, tmp_path: Path) -> None:
    make, at_once = PLACES[place]
    tried = names_tried()
    kept = 0
    for start in range(0, len(tried), at_once):
        folder = tmp_path / str(start)
        names = accepted(folder, make, tried[start : start + at_once])
        assert not compiles(folder), f"{names}: {compiles(folder)}"
        kept += len(names)
    forbidden = LIBRARY_FUNCTIONS if place == "table" else frozenset()  # a map is a variable
    assert kept > len({*tried} - forbidden) // 5, "most names are refused"


@pytest.mark.parametrize(
    ("step", "called"),
    [
        ("On", "Request"),
        ("Message", "Decode"),
        ("Slot", "At"),
        ("Slot", "Element"),
        ("Run", "Xdp"),
        ("A", "OnSlot"),
        ("A_B", "C"),
    ],
)
def test_an_operator_has_a_function_of_its_own(step: str, called: str, tmp_path: Path) -> None:
    """A long operator that a step ends in becomes a function, called after both."""
    _, text = operator([called, "B_C"])
    made = layout()
    steps_ = [step, "OnRequest", "A"] if step != "A" else [step, "OnRequest"]
    made["hooks"]["xdp"] = [*({"slot": name, "contended": "skip"} for name in steps_), *made["hooks"]["xdp"]]
    text += f"\n{step}(slot, msg) == IF msg.x = 3 THEN {called}(slot, msg) ELSE Continue(slot, msg)"
    text += "\nOnRequest(slot, msg) == IF msg.x = 4 THEN Drop(slot, msg) ELSE Continue(slot, msg)"
    if step != "A":
        text += "\nA(slot, msg) == IF msg.x = 3 THEN B_C(slot, msg) ELSE Continue(slot, msg)"
    assert accepted(tmp_path / "made", lambda _: (made, text), []) == []
    assert not compiles(tmp_path / "made")


def test_the_macros_of_headers_are_listed() -> None:
    found = {name for name in of_headers() if not name.endswith("_last_field") and not name.startswith("bpf_")}
    assert found - C_KEYWORDS <= HEADER_MACROS | {"bool", "true", "false"}


@pytest.mark.parametrize(
    "fields",
    [
        ["before", "element", "outcome"],
        ["message", "environment", "attempt", "number"],
        ["now", "turn", "turnAfter", "context"],
    ],
    ids=" ".join,
)
def test_a_swap_that_is_retried_has_fields_of_any_name(fields: list[str], tmp_path: Path) -> None:
    made = layout()
    made["message"].update(dict.fromkeys(fields, "u8"))
    made["env"] = {"now": {"type": "u8", "tick_ns": 1024}}
    made["hooks"]["xdp"] = [{"mark": "Turn", "contended": "skip"}, *made["hooks"]["xdp"]]
    changes = ", ".join(f"!.{name} = (msg.{name} + mark.n + env.now) % 256" for name in fields)
    text = f"Turn(mark, msg, env) == Continue([mark EXCEPT !.n = msg.x], [msg EXCEPT {changes}])\n{FINAL}"
    assert accepted(tmp_path / "made", lambda _: (made, text), []) == []
    assert not compiles(tmp_path / "made")
