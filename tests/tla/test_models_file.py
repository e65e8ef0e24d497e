"""A models.yaml: the .cfg of each model, what models inherit, mistakes and where they are, and recording."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from harness.check import __main__ as command
from harness.tla import config, models, models_file
from harness.tla.model import Model
from harness.tla.tlc import Outcome, Simulation, TlcError

TICKET = """# Tickets.
base:
  module: Ticket
  faults: Faults
  specification: Spec
  view: View
  constants:
    - Last = 5
    - Clients = {a, b}
    - Draw <- DrawChecked
  constraints: [Few]
  invariants: [NoTicketTwice, Small]
  properties: [Ends]
  always: [TypeOK]
  check_deadlock: false

models:

  small:
    about: Two clients draw five tickets.
    recorded: {distinct: 7, seconds: 1.5}

  live:
    about: "They go on: for ever."
    module: Live
    specification: null
    init: Init
    next: Next
    view: null
    symmetry: Symmetry
    constants: [Last = 9]
    constraints: []
    action_constraints: [Slow]
    invariants: []
    check_deadlock: true

  # The mistake that everyone makes.
  fail_draw:
    about: >-
      a ticket is drawn
      without a look
    like: small
    constants:
      - More = {1,
        2}
    wrong: [Draw <- DrawUnchecked]
    fails: invariant NoTicketTwice

  # Of the live ones.
  fail_live:
    size: large
    like: live
    constants: []
    wrong: [Last = 3]
    fails: property Ends
  fail_all: {like: fail_draw, invariants: [NoTicketTwice, Small], wrong: [Draw <- DrawAny], fails: invariant Small}
  fail_stuck: {wrong: [Last = 0], fails: deadlock}
"""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of a protocol `ticket`, with the modules that TICKET names."""
    for module in ("Ticket", "Faults", "Live"):
        (tmp_path / f"{module}.tla").touch()
    monkeypatch.setattr(models, "folder_of", lambda protocol: tmp_path)
    monkeypatch.setattr(models, "CONFIGS", tmp_path / "build")
    return tmp_path


def _write(folder: Path, text: str) -> Path:
    path = folder / models_file.FILE
    path.write_text(text)
    return path


def _models(folder: Path, text: str = TICKET) -> dict[str, Model]:
    _write(folder, text)
    return {model.name: model for model in models.models_of("ticket")}


def _statements(model: Model) -> list[str]:
    """The lines of the written .cfg, without the first, which names the file that it comes from."""
    config.write(model)
    return model.config.read_text().splitlines()[1:]


def test_the_cfg_of_a_model_that_only_has_the_base(folder: Path) -> None:
    model = _models(folder)["small"]
    config.write(model)
    assert model.config == folder / "build/ticket/small.cfg"
    assert model.config.read_text() == (
        f"\\* `just check ticket small` writes this from {folder}/models.yaml.\n"
        "\\* Two clients draw five tickets.\n"
        "SPECIFICATION Spec\n"
        "VIEW View\n"
        "CONSTANTS\n"
        "  Last = 5\n"
        "  Clients = {a, b}\n"
        "  Draw <- DrawChecked\n"
        "CONSTRAINTS Few\n"
        "INVARIANTS NoTicketTwice Small TypeOK\n"
        "PROPERTIES Ends\n"
        "CHECK_DEADLOCK FALSE\n"
    )
    assert (model.module.name, model.size, model.verdict, model.distinct) == ("Ticket.tla", "small", "holds", 7)
    assert [path.name for path in model.config.parent.iterdir()] == ["small.cfg"]


def test_a_model_says_what_differs(folder: Path) -> None:
    model = _models(folder)["live"]
    assert model.module.name == "Live.tla"
    assert _statements(model) == [
        "\\* They go on: for ever.",
        "INIT Init",
        "NEXT Next",
        "SYMMETRY Symmetry",
        "CONSTANTS",
        "  Last = 9",
        "  Clients = {a, b}",
        "  Draw <- DrawChecked",
        "ACTION_CONSTRAINTS Slow",
        "INVARIANTS TypeOK",
        "PROPERTIES Ends",
    ]


def test_a_model_that_must_fail_checks_only_what_must_break(folder: Path) -> None:
    model = _models(folder)["fail_draw"]
    assert (model.module.name, model.verdict, model.violates) == ("Faults.tla", "invariant", "NoTicketTwice")
    assert _statements(model) == [
        "\\* a ticket is drawn without a look",
        "SPECIFICATION Spec",
        "VIEW View",
        "CONSTANTS",
        "  Last = 5",
        "  Clients = {a, b}",
        "  Draw <- DrawUnchecked",
        "  More = {1, 2}",
        "CONSTRAINTS Few",
        "INVARIANTS NoTicketTwice TypeOK",
        "CHECK_DEADLOCK FALSE",
    ]


def test_what_a_model_inherits_from_another(folder: Path) -> None:
    """The settings, and neither the way to fail, nor size and counts; a module of one's own hides that of faults."""
    found = _models(folder)
    live, everything, stuck = found["fail_live"], found["fail_all"], found["fail_stuck"]
    assert (live.module.name, live.size, live.settings.constants[0]) == ("Live.tla", "large", "Last = 3")
    assert models.properties_of(live) == ["TypeOK", "Ends"]
    assert "Draw <- DrawAny" in everything.settings.constants
    assert models.properties_of(everything) == ["NoTicketTwice", "Small", "TypeOK", "Ends"]
    assert (everything.size, everything.distinct, everything.violates) == ("small", None, "Small")
    assert (stuck.verdict, stuck.violates) == ("deadlock", None)
    assert models.properties_of(stuck) == ["NoTicketTwice", "Small", "TypeOK", "Ends"]


def test_the_base_inherits_from_a_file_that_it_uses(folder: Path) -> None:
    (folder / "more.yaml").write_text("constants: [Rooms = 3, Last = 4]\nalways: [Tidy]\nproperties: [Never]\n")
    found = _models(folder, TICKET.replace("base:\n", "use: more.yaml\nbase:\n", 1).replace("  always: [TypeOK]\n", ""))
    settings = found["small"].settings
    assert settings.constants == ["Rooms = 3", "Last = 5", "Clients = {a, b}", "Draw <- DrawChecked"]
    assert (settings.invariants, settings.properties) == (["NoTicketTwice", "Small", "Tidy"], ["Ends"])
    assert found["fail_draw"].settings.invariants == ["NoTicketTwice", "Tidy"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "more.yaml:1:1: error: .*cannot be read: No such file"),
        ("constants: [Rooms]\n", "more.yaml:1:13: error: .*'Rooms' does not set a constant"),
        ("models: {}\n", "more.yaml:1:1: error: .*unknown key models"),
    ],
)
def test_a_mistake_in_a_file_that_is_used_is_named_with_its_place(
    folder: Path, text: str | None, complaint: str
) -> None:
    if text is not None:
        (folder / "more.yaml").write_text(text)
    with pytest.raises(TlcError, match=complaint):
        _models(folder, "use: more.yaml\n" + TICKET)


def test_an_invariant_of_always_comes_after_all_others(folder: Path) -> None:
    found = _models(folder, TICKET.replace("like: small", "like: small\n    always: []"))
    assert found["fail_all"].settings.invariants == ["NoTicketTwice", "Small"]
    assert found["fail_live"].settings.invariants == ["TypeOK"]
    assert found["fail_stuck"].settings.invariants == ["NoTicketTwice", "Small", "TypeOK"]


@pytest.mark.parametrize(
    ("old", "new", "place", "complaint"),
    [
        (
            "size: large",
            "scale: large",
            "scale",
            "unknown key models.fail_live.scale; known here: module, .*about, like",
        ),
        ("view: View", "sight: View", "sight", "unknown key base.sight; known here: module, "),
        ("size: large", "size: tiny", "size: tiny", "models.fail_live.size is \"tiny\"; it must be 'small' or 'large'"),
        ("distinct: 7", "distinct: many", "distinct", 'models.small.recorded.distinct is "many"'),
        (
            "distinct: 7",
            "states: 7",
            "states",
            "unknown key models.small.recorded.states; known here: distinct, generated, seconds",
        ),
        (
            "like: live",
            "like: life",
            "like: life",
            "`like` names 'life', which is not a model; choose from: small, live, fail",
        ),
        (
            "like: small",
            "like: fail_all",
            "like: fail_all",
            "these models are like each other, in a circle: fail_draw, which is like fail_all, w",
        ),
        ("like: small", "like: fail_draw", "like: fail_draw\n", "a circle: fail_draw, which is like fail_draw; remove"),
        ("fails: deadlock", "fails: never", "fails: never", "models.fail_stuck.fails is 'never'; write `invariant "),
        ("property Ends", "property", "fails: property", "models.fail_live.fails is 'property'; write "),
        ("invariant Small", "invariant Tiny", "fails: invariant Tiny", "does not check Tiny; it checks NoTicketTwice,"),
        (
            "module: Live",
            "module: Absent",
            "module: Absent",
            r"module is 'Absent', but \S+/Absent.tla does not exist; na",
        ),
        (
            "faults: Faults",
            "faults: Absent",
            "faults: Absent",
            r"faults is 'Absent', but \S+/Absent.tla does not exist",
        ),
        ("  module: Ticket\n", "", "small:", "models.small has no module; add `module` to it or to `base`"),
        ("- Last = 5", "- Last 5", "Last 5", "'Last 5' does not set a constant; write `NAME = VALUE` or `NAME <- O"),
        (
            "- More = {1,",
            "- More = {2}\n      - More = {1,",
            "More = {1",
            "there are two values for the constant More; keep one of them",
        ),
        (
            "wrong: [Last = 0], ",
            "",
            "fails: deadlock",
            "models.fail_stuck must fail, but does not say why; move the const",
        ),
        (
            "wrong: [Last = 0], ",
            "wrong: [Last], ",
            "Last], ",
            "'Last' does not set a constant; write `NAME = VALUE` or",
        ),
        (
            ", fails: deadlock",
            "",
            "wrong: [Last = 0]",
            "models.fail_stuck must hold, but has `wrong`; remove it, or add",
        ),
        (
            ", fails: deadlock",
            ", fails: deadlock, possible: [Full]",
            "possible: [Full]",
            "models.fail_stuck must fail, and need not come to what `possible` names; remove `possible`, or",
        ),
        (
            ", fails: deadlock",
            ", fails: deadlock, simulated: {behaviours: 3, depth: 4}",
            "simulated: {",
            "models.fail_stuck is simulated, but only a large model that must hold may be; remove `simulated`, so",
        ),
        (
            "models:\n",
            "model:\n",
            "model:",
            r"unknown key model \(did you mean models\?\); known here: use, base, models; see docs/reference/models.md",
        ),
        (
            TICKET,
            "[]",
            "[]",
            "the file must be a mapping; its keys are use, base, models; see docs/reference/models.md",
        ),
        (TICKET, "base: }", "}", "this is not valid YAML: "),
    ],
)
def test_a_mistake_is_named_with_its_place(folder: Path, old: str, new: str, place: str, complaint: str) -> None:
    """place: the text that begins there."""
    assert TICKET.count(old) == 1
    text = TICKET.replace(old, new)
    before = text[: text.index(place)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    with pytest.raises(TlcError, match=rf"models.yaml:{line}:{column}: error: .*{complaint}"):
        _models(folder, text)


def test_a_circle_is_named_once_and_what_is_like_a_part_of_it_is_not(folder: Path) -> None:
    text = TICKET.replace("like: small", "like: fail_all").replace("like: live", "like: fail_draw")
    with pytest.raises(TlcError) as refused:
        _models(folder, text)
    assert str(refused.value).count("error:") == 1


def test_the_command_names_the_place_of_a_mistake(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(folder, TICKET.replace("like: live", "like: life"))
    monkeypatch.setattr(sys, "argv", ["check", "limiter"])
    assert command.main() == 1
    assert re.search(
        r"^\S+/models.yaml:\d+:5: error: `like` names 'life', which is not a model",
        capsys.readouterr().err,
        re.MULTILINE,
    )


RECORD = "recorded: {distinct: 41, seconds: 2.3}"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("small", "recorded: {distinct: 7, seconds: 1.5}", RECORD),
        ("live", "    check_deadlock: true\n", f"    check_deadlock: true\n    {RECORD}\n"),
        ("fail_draw", "NoTicketTwice\n\n  # Of", f"NoTicketTwice\n    {RECORD}\n\n  # Of"),
        ("fail_all", "invariant Small}", f"invariant Small, {RECORD}}}"),
    ],
)
def test_a_record_changes_nothing_else(folder: Path, name: str, old: str, new: str) -> None:
    assert TICKET.count(old) == 1
    models.record(_models(folder)[name], Outcome("holds", distinct=41, seconds=2.345))
    assert (folder / models_file.FILE).read_text() == TICKET.replace(old, new)
    model = next(each for each in models.models_of("ticket") if each.name == name)
    assert (model.distinct, model.seconds) == (41, 2.3)


def test_a_record_that_is_a_block_is_replaced(folder: Path) -> None:
    block = "recorded:\n      distinct: 7\n      seconds: 1.5"
    model = _models(folder, TICKET.replace("recorded: {distinct: 7, seconds: 1.5}", block))["small"]
    models.record(model, Outcome("holds", distinct=41, seconds=2.345))
    found = {model.name: model for model in models.models_of("ticket")}
    assert (found["small"].distinct, found["small"].seconds) == (41, 2.3)
    assert found["live"].about == "They go on: for ever."


def test_a_simulation_is_recorded_by_the_states_that_it_generated(folder: Path) -> None:
    large = "    size: large\n    simulated: {behaviours: 9, depth: 5}\n"
    text = TICKET.replace("    check_deadlock: true\n", large)
    twin = "twin: {size: large, simulated: {behaviours: 7, depth: 6}"
    text = text.replace("NoTicketTwice\n\n  # Of", f"NoTicketTwice\n    {twin}}}\n\n  # Of")
    found = _models(folder, text)
    assert (found["live"].simulation, found["live"].generated) == (Simulation(9, 5), None)
    models.record(found["live"], Outcome("holds", states=41, seconds=2.345))
    models.record(found["twin_draw"], Outcome("holds", states=42, seconds=2.345))
    counts = "generated: 41, seconds: 2.3}"
    assert f"{large}    recorded: {{{counts}\n" in (folder / models_file.FILE).read_text()
    found = {model.name: model for model in models.models_of("ticket")}
    assert (found["live"].distinct, found["live"].generated) == (None, 41)
    assert (found["twin_draw"].simulation, found["twin_draw"].generated) == (Simulation(7, 6), 42)


# --- Twins ----------------------------------------------------------------------------------------------


def test_each_model_that_must_fail_has_a_twin_with_the_right_rules(folder: Path) -> None:
    found = _models(folder)
    assert models.twins_in("ticket").names == {
        "fail_draw": "twin_draw",
        "fail_live": "live",
        "fail_all": "twin_draw",
        "fail_stuck": "small",
    }
    twin = found["twin_draw"]
    assert twin.settings.constants == ["Last = 5", "Clients = {a, b}", "Draw <- DrawChecked", "More = {1, 2}"]
    assert models.properties_of(twin) == ["NoTicketTwice", "Small", "TypeOK", "Ends"]
    assert (twin.module.name, twin.verdict, twin.violates, twin.size) == ("Ticket.tla", "holds", None, "small")
    assert twin.config.name == "twin_draw.cfg"
    assert twin.about == "The right rules with the constants of fail_draw, fail_all."


def test_a_model_that_does_not_check_the_property_is_no_twin(folder: Path) -> None:
    found = _models(folder, TICKET.replace("fails: property Ends", "properties: [Lasts]\n    fails: property Lasts"))
    assert models.twins_in("ticket").names["fail_live"] == "twin_live"
    assert models.properties_of(found["twin_live"]) == ["TypeOK", "Lasts"]
    assert found["twin_live"].size == "large"


def test_models_that_must_fail_with_the_same_constants_have_one_twin(folder: Path) -> None:
    text = TICKET.replace("fail_stuck: {", "fail_stuck: {like: fail_draw, invariants: [Open], ")
    found = _models(folder, text)
    assert models.twins_in("ticket").names["fail_stuck"] == "twin_draw"
    assert models.properties_of(found["twin_draw"]) == ["NoTicketTwice", "Small", "TypeOK", "Open", "Ends"]
    assert found["twin_draw"].about == "The right rules with the constants of fail_draw, fail_all, fail_stuck."


def test_a_twin_uses_the_module_of_the_faults_if_its_constants_name_what_is_defined_there(folder: Path) -> None:
    (folder / "Faults.tla").write_text("---- MODULE Faults ----\nTwoOrMore == 2\n====\n")
    text = TICKET.replace("      - More = {1,\n        2}\n", "      - More <- TwoOrMore\n")
    assert _models(folder, text)["twin_draw"].module.name == "Faults.tla"


def test_a_twin_is_recorded_with_the_model_that_must_fail(folder: Path) -> None:
    models.record(_models(folder)["twin_draw"], Outcome("holds", distinct=41, seconds=2.345))
    counts = "{distinct: 41, seconds: 2.3}"
    assert (folder / models_file.FILE).read_text() == TICKET.replace(
        "invariant NoTicketTwice\n", f"invariant NoTicketTwice\n    twin: {counts}\n"
    )
    twin = next(each for each in models.models_of("ticket") if each.name == "twin_draw")
    assert (twin.distinct, twin.seconds) == (41, 2.3)


def test_a_large_twin_stays_large_when_it_is_recorded(folder: Path) -> None:
    text = TICKET.replace("invariant NoTicketTwice\n", "invariant NoTicketTwice\n    twin: {size: large}\n")
    models.record(_models(folder, text)["twin_draw"], Outcome("holds", distinct=41, seconds=2.345))
    assert "    twin: {size: large, distinct: 41, seconds: 2.3}\n" in (folder / models_file.FILE).read_text()
