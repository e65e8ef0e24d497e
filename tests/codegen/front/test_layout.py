"""Tests the layout: how files are merged, what names refer to, and where errors are located."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from codegen import ir
from codegen.compile import load
from codegen.display import Display
from codegen.errors import Errors, SpecErrors
from codegen.ir import Span
from codegen.ir.measure import width_bits
from codegen.layout import files
from codegen.layout.schema import Layout, json_schema
from codegen.layout.source import Source
from tests.codegen.front import kit

REPOSITORY = Path(__file__).resolve().parents[3]
STEP = "Step(cell, msg) == Reply(cell, msg)"


def read(path: Path, override: dict | None = None) -> tuple[Layout, Source]:
    errors = Errors()
    found = files.read(path, [], override, Display(path.parent, {}), errors)
    errors.raise_if_any()
    assert found is not None
    return found


@pytest.fixture
def folder(tmp_path) -> Path:
    return kit.write(tmp_path / "sample", STEP, ["Step"])


def test_use_merges_and_enums_are_joined(folder):
    text = yaml.safe_load((folder / "layout.yaml").read_text())
    (folder / "layout.yaml").rename(folder / "base.yaml")
    over = {
        "use": ["base.yaml"],
        "tables": {"cell": {"cell": {"state": {"enum": ["Late"]}, "extra": "u3"}, "capacity": 7}},
        "wire": {"order": text["wire"]["order"][::-1]},
    }
    (folder / "layout.yaml").write_text(yaml.safe_dump(over))
    protocol = load(folder)
    cell = protocol.tables[0].cell
    assert cell.field("state") == ir.Enum("cell.state", ("Idle", "Busy", "Gone", "Late"))
    assert cell.field("extra") == ir.UInt(3)
    assert protocol.tables[0].capacity == 7
    assert list(protocol.wire) == text["wire"]["order"][::-1]
    assert [Path(source).name for source in protocol.sources] == [
        "base.yaml",
        "layout.yaml",
        "Offload.tla",
        "SampleSteps.tla",
    ]


def test_an_override_replaces(folder):
    override = {
        "tables": {"cell": {"capacity": 3, "atomic": "res_spin_lock", "cell": {"state": {"enum": ["Idle", "Busy"]}}}}
    }
    table = load(folder, override).tables[0]
    assert (table.capacity, table.atomic) == (3, "res_spin_lock")
    assert table.cell.field("state").members == ("Idle", "Busy")


def test_an_override_may_be_wrong(folder):
    with pytest.raises(SpecErrors, match="override:1:1: error: tables.cell.capacity is"):
        load(folder, {"tables": {"cell": {"capacity": []}}})


def test_an_override_that_a_program_makes_has_the_place_that_it_is_given(folder):
    override = Source.placed({"tables": {"cell": {"capacity": []}}}, Span("conform.yaml", 7, 3))
    with pytest.raises(SpecErrors, match="conform.yaml:7:3: error: tables.cell.capacity is a list"):
        load(folder, override)


def test_references_are_the_types_they_name(folder):
    message = load(folder).message
    assert message.field("state") == ir.Enum("cell.state", ("Idle", "Busy", "Gone"))
    assert message.field("client") == ir.UInt(14)
    assert [name for name, _ in message.fields] == [
        "client",
        "state",
        "delta",
        "number",
        "where",
        "key",
        "seen",
        "chosen",
    ]


def test_constants_are_bounds(folder):
    override = {
        "constants": {"Most": 2},
        "tables": {"cell": {"cell": {"members": {"max": "Most"}}, "capacity": "Most"}},
        "local": {"here": {"type": "u1", "from": "hash(msg.number, cell.capacity)"}},
    }
    protocol = load(folder, override)
    assert protocol.tables[0].cell.field("members") == ir.Set(ir.UInt(14), 2)
    assert protocol.tables[0].capacity == 2
    assert protocol.hashes == (ir.HashIndex("here", "number", 2),)


def test_env(folder):
    protocol = load(folder)
    assert protocol.env.fields == (("now", ir.UInt(25)), ("random", ir.Bytes(8)), ("index", ir.UInt(32)))
    assert protocol.tick_ns == 1024


def test_sweep(tmp_path):
    folder = kit.write(tmp_path / "sample", "Step(cell, msg) == Continue(cell, msg)", ["Step"])
    override = {
        "hooks": {"xdp": [{"cell": "Step"}]},
        "budget": {"sweep": {"insns": 10, "states": 10, "stack": 10}},
        "sweep": {"period_ms": 5, "passes": [{"each": "cell", "sections": [{"cell": "Step"}, {"cell": "Step"}]}]},
    }
    protocol = load(folder, override)
    assert protocol.sweep_period_ms == 5
    assert [section.index for section in protocol.sweep[0].sections] == [None, None]
    assert protocol.xdp[0].index == "where"
    assert not protocol.xdp[0].writes
    assert dict(protocol.budgets)["sweep"] == ir.Budget(10, 10, 10)


def test_lines_and_columns(tmp_path):
    path = tmp_path / "layout.yaml"
    path.write_text("protocol: sample\ntables:\n  cell:\n    cell: {open: bool}\n    colour: red\n")
    with pytest.raises(SpecErrors) as raised:
        read(path)
    lines = str(raised.value).splitlines()
    assert "layout.yaml:5:5: error: unknown key tables.cell.colour; see docs/reference/layout.md" in lines
    assert "layout.yaml:3:3: error: tables.cell has no capacity; add it" in lines
    assert "layout.yaml:1:1: error: the layout has no message; add it" in lines


def test_an_error_in_a_used_file_is_said_to_be_there(tmp_path):
    (tmp_path / "base.yaml").write_text("wire:\n  port: 99999\n")
    path = tmp_path / "layout.yaml"
    path.write_text("use: [base.yaml]\nprotocol: sample\n")
    with pytest.raises(SpecErrors) as raised:
        read(path)
    assert "base.yaml:2:3: error: wire.port is 99999" in str(raised.value)


def test_a_layout_that_uses_itself(tmp_path):
    (tmp_path / "base.yaml").write_text("use: [layout.yaml]\n")
    path = tmp_path / "layout.yaml"
    path.write_text("use: [base.yaml]\n")
    with pytest.raises(SpecErrors, match="the layout layout.yaml uses this one"):
        read(path)


def test_a_folder_without_a_layout(tmp_path):
    with pytest.raises(SpecErrors, match="has no layout.yaml"):
        load(tmp_path)


def test_the_schema_is_up_to_date_and_admits_every_layout():
    committed = (REPOSITORY / "spec" / "layout.schema.json").read_text()
    assert committed == json_schema(), "run `python -m codegen schema`"
    properties = json.loads(committed)["properties"]
    layouts = sorted(REPOSITORY.glob("spec/*/layout.yaml"))
    assert layouts
    for path in layouts:
        assert set(yaml.safe_load(path.read_text())) <= set(properties)


def test_widths():
    client = ir.UInt(14)
    assert width_bits(ir.Set(client, 3)) == 2 + 42
    assert width_bits(ir.Set(client, 4)) == 3 + 56
    assert width_bits(ir.Enum("e", ("A",))) == 1
    assert width_bits(ir.Enum("e", tuple("ABCDE"))) == 3
    assert width_bits(ir.Array(ir.Record("r", (("a", ir.Bool()), ("b", ir.Bytes(2)))), 3)) == 51
    assert width_bits(ir.Sequence(ir.Bits(5), 7)) == 3 + 35


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("\tx: 1", 1, 1, "this is not valid YAML: found character"),
        ("x: [\n", 2, 1, "this is not valid YAML: expected the node content"),
        ("# \N{BULLET}\nx: \a", 2, 4, "this is not valid YAML: the character U+0007; remove it"),
        ("x: 1\n---\ny: 2", 2, 1, "this is not valid YAML: but found another document"),
        ("x: *y", 1, 4, "this is not valid YAML: found undefined alias 'y'"),
        ("x: &y [*y]", 1, 4, "this value contains itself; write the value out"),
        ("x:\n  <<: {}", 2, 3, "the merge key << is not supported; write the keys out"),
        ("x:\n  [a]: 1", 2, 3, "a key cannot be a list or a mapping; write a name"),
        ("x: !!python/tuple y", 1, 4, "the tag !!python/tuple is not supported; remove it"),
        ("x: 2001-99-99", 1, 4, "YAML takes 2001-99-99 for the type timestamp, which it cannot be; quote it"),
        ("x: 0b_", 1, 4, "YAML takes 0b_ for the type int, which it cannot be; quote it"),
        ("[" * 5000, 1, 1, "this YAML is nested too deep to read"),
        ("- x", 1, 1, "the layout must be a mapping; start it with `protocol: name`"),
    ],
)
def test_what_is_no_yaml_has_a_place_and_no_traceback(tmp_path, text, line, column, message):
    path = tmp_path / "layout.yaml"
    path.write_text(text)
    with pytest.raises(SpecErrors) as raised:
        load(tmp_path)
    first = raised.value.errors[0]
    assert (first.span.line, first.span.column) == (line, column)
    assert message in str(first) and str(first).count("\n") == 0 and "<unicode string>" not in str(first)


def test_what_is_no_utf_8_has_a_place(tmp_path):
    (tmp_path / "layout.yaml").write_bytes("protocol: caf\N{LATIN SMALL LETTER E WITH ACUTE}\n# ".encode() + b"\xe9\n")
    with pytest.raises(SpecErrors, match=":2:3: error: the byte 0xe9 is not valid UTF-8; save the file as UTF-8"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        ({"message": {5: "u8"}}, ["the key 5 must be text; quote words that YAML takes for a number or a truth value"]),
        ({"message": {None: "u8"}}, ["the key null must be text; quote words"]),
        ({"message": {"a-b": "u8"}}, ['the key "a-b" is not allowed; it must match ^[A-Za-z]']),
        ({"types": {"some": {"set": "u8"}}}, ["types.some has no max; add it"]),
        (
            {"types": {"some": {"sets": "u8"}}},
            ["types.some is not a type; write a name such as u8, or a mapping with enum, bytes, set"],
        ),
        ({"types": {"some": {"enum": []}}}, ["types.some.enum has 0 entries; it needs at least 1"]),
        ({"types": {"some": {"bytes": -1}}}, ["types.some.bytes is -1; it must be at least 0 or a name"]),
        (
            {"constants": {"Some": 1.5}},
            ["constants.Some is 1.5; it must be true or false, a whole number, a name or a list"],
        ),
        (
            {"hooks": {"xdp": [{"cell": "Step", "contended": "skip", "more": "More", "most": "Most"}]}},
            ["hooks.xdp.0 has too many entries; at most 3"],
        ),
        (
            {
                "sweep": {
                    "period_ms": 1,
                    "passes": [{"each": "cell", "sections": [{"cell": "Step", "contended": "skip", "more": "More"}]}],
                }
            },
            ["sweep.passes.0.sections.0 has too many entries; at most 2"],
        ),
        ({"use": [{"a": "b"}]}, ["use.0 is a mapping; it must be text"]),
        ({"wire": None}, ["wire is null; it must be a mapping"]),
    ],
)
def test_the_schema_complains_once_a_place_in_our_words(folder, change, messages):
    text = yaml.safe_load((folder / "layout.yaml").read_text())
    for key, value in change.items():
        text[key] = {**text[key], **value} if isinstance(text.get(key), dict) and isinstance(value, dict) else value
    (folder / "layout.yaml").write_text(yaml.safe_dump(text, sort_keys=False))
    with pytest.raises(SpecErrors) as raised:
        load(folder)
    found = [str(error) for error in raised.value.errors]
    assert len(found) == len(messages), found
    for one, message in zip(found, messages):
        assert f": error: {message}" in one and "pydantic" not in one
