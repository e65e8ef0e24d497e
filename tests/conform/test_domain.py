"""Tests conform.yaml: what it declares, what it must not, and what is generated from the types."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from codegen import ir
from codegen.compile import load
from codegen.emit.identity import terms
from harness.base.protocols import SPEC, protocols
from harness.conform.cases import Family
from harness.conform.domain import CASES_MAX, PAIRS_MIN, Domain, DomainError, DomainText, load_text
from harness.conform.places import Place
from harness.data.model_values import Patterns, hash_index, layout_text

SPAN = ir.Span("OrderSteps.tla", 1, 1)
KIND = ir.Enum("message.kind", ("Buy", "Sold"))
MESSAGE = ir.Record(
    "message",
    (
        ("kind", KIND),
        ("key", ir.UInt(64)),
        ("amount", ir.UInt(16)),
        ("slot", ir.UInt(32)),
        ("seen", ir.Set(ir.UInt(8), 2)),
        ("urgent", ir.Bool()),
        ("ticket", ir.UInt(8)),
        ("bit", ir.UInt(3)),
        ("deep", ir.UInt(1)),
    ),
)
STATE = ir.Enum("order.state", ("Open", "Shut"))
PART = ir.Record("part", (("state", STATE), ("key", ir.UInt(64)), ("size", ir.UInt(10))))
CELL = ir.Record(
    "order_cell",
    (
        ("state", STATE),
        ("left", ir.UInt(10)),
        ("flags", ir.Bits(3)),
        ("parts", ir.Array(PART, 2)),
        ("limits", ir.Array(ir.UInt(4), 2)),
    ),
)
ENV = ir.Record("env", (("now", ir.UInt(20)), ("random", ir.Bytes(8)), ("index", ir.UInt(32))))
ORDER = ir.TableLayout("order", CELL, "array", 4, "slot", "word")


def step(name: str, writes: bool) -> ir.Step:
    cell = (ir.Assign(("left",), ir.Int(0, ir.UInt(10), SPAN), SPAN),) if writes else ()
    leaf = ir.Leaf(f"{name}.1", "Continue", cell, (), name, SPAN)
    return ir.Step(name, "cell", "msg", "env", CELL, leaf, SPAN)


PROTOCOL = ir.Protocol(
    name="order",
    module="OrderSteps",
    constants=(),
    declared=frozenset(),
    message=MESSAGE,
    wire=("kind", "key", "amount", "urgent"),
    handover=("ticket",),
    port=1,
    hashes=(ir.HashIndex("slot", "key", 4), ir.HashIndex("bit", "key", 8, lower=True), ir.HashIndex("deep", "slot", 2)),
    env=ENV,
    tick_ns=1,
    tables=(ORDER,),
    xdp=(
        ir.Section("order", step("Look", False), "slot", "drop", False),
        ir.Section("order", step("Take", True), "slot", "drop", True),
    ),
    tc=(),
    user=(),
    sweep_period_ms=10,
    sweep=(ir.Pass("order", (ir.Section("order", step("Tidy", True), None, "drop", True),), "sweep_1"),),
    budgets=(),
    sources=(),
)


def domain(*families: dict, values: dict | None = None, build: str = "small", **options) -> Domain:
    text = DomainText.model_validate({"small": {}, "values": values or {}, "families": list(families), **options})
    return Domain(text, PROTOCOL, Patterns(PROTOCOL), "conform.yaml", build)


def cases_of(family: Family) -> list[dict[str, object]]:
    """Returns the values that each case of a sampled family gives to the places."""
    return [{str(place): value for place, value in sample} for sample in family.dimensions[0]]


def values_of(place: str, **options) -> list:
    """Returns the values of a family that varies one place over `all`."""
    made = domain({"name": "one", "hook": "xdp", "vary": {place: "all"}}, **options).families[0]
    home, field = place.split(".")
    return [dict(assignment)[Place(home, None, field)] for assignment in made.dimensions[0]]


@pytest.mark.parametrize(
    "place, expected",
    [
        ("message.kind", ["Buy", "Sold"]),
        ("message.urgent", [False, True]),
        ("message.amount", [0, 1, 65_534, 65_535]),
        ("order.left", [0, 1, 1022, 1023]),
        ("env.random", [0, 1, 2]),
        ("message.key", [0, 1, 2, 3, 4]),
    ],
)
def test_all_is_generated_from_the_type(place, expected):
    assert values_of(place) == expected


def test_all_sets_over_the_items():
    seen = values_of("message.seen", values={"message.seen": [1, 5, 9]})
    assert len(seen) == len(set(seen)) == 1 + 3 + 3
    assert frozenset({5, 9}) in seen and frozenset({1, 5, 9}) not in seen
    assert len(values_of("order.flags", values={"order.flags": [0, 1, 2]})) == 8


def test_keys_reach_every_cell_and_share_one():
    made = domain({"name": "keys", "hook": "xdp", "vary": {"message.key": "all"}})
    slots = [dict(assignment)[Place("message", None, "slot")] for assignment in made.families[0].dimensions[0]]
    assert slots == [0, 1, 2, 3, 0]
    assert slots == [hash_index(made.patterns.real(ir.UInt(64), key), 4) for key in range(5)]


@pytest.mark.parametrize(
    "family, complaint",
    [
        ({"vary": {"nowhere.kind": "all"}}, "'nowhere' is not one of message, env, order"),
        ({"vary": {"message.price": "all"}}, "'price' is not one of kind, key"),
        ({"vary": {"kind": "all"}}, "'kind' is not a place"),
        ({"given": {"message.kind": "Steal"}}, "'Steal' is not a member of {enum: [Buy, Sold]}"),
        ({"given": {"message.amount": 65_536}}, "65536 is not a value of u16, which holds 0..65535"),
        (
            {"given": {"message.slot": 4_000_000_000}},
            "a value of u32, but TLC cannot compute with it: its integers end at 2147483647",
        ),
        ({"given": {"message.seen": [1, 2, 3]}}, "is not a value of {set: u8, max: 2}"),
        ({"vary": {"message.slot": "all"}}, "message.slot is the hash of message.key; vary that instead"),
        ({"vary": {"message.kind": []}}, "has 0 cases"),
        ({"given": {"message.ticket": 1}}, "message.ticket is a handover field, zero in xdp"),
        ({"given": {"order.parts.1.state": "Open", "order.parts": []}}, "[] is not a value of {array: {record: {state"),
        ({"given": {"order.limits.2": 1, "order.limits": [1, 2]}}, "order.limits and order.limits.2: give one of them"),
        ({"given": {"order.limits.3": 1}}, "there is no element 3; elements are numbered from 1 to 2"),
        ({"given": {"order.parts.1.price": 1}}, "'price' is not one of state, key, size"),
        ({"given": {"order.left.1": 1}}, "u10 has no part 1"),
        ({"given": {"order.parts.1.state.x-y": 1}}, "is not a place: write message.FIELD"),
        ({"given": {"order.left": "=message.amount"}}, "'=message.amount' is u16, not u10"),
        ({"given": {"message.amount": "=message.amount"}}, "'=message.amount' refers to nothing"),
        ({"given": {"order.left": "=order.left"}}, "'=order.left' refers to nothing"),
        ({"only": ["tiny"]}, "`only` names 'tiny'; choose from small, shipped"),
        ({"together": [[{"message.kind": "Buy"}, {"message.amount": 1}]]}, "must name the same places"),
        ({"hook": "tc"}, "the layout has no hook tc"),
        ({"hook": 2}, "the layout has no hook 2"),
        ({"contended": 1}, "section 1 of xdp locks no cell"),
        ({"contended": 3}, "section 3 of xdp"),
        (
            {"vary": {"message.amount": list(range(1000)), "order.left": list(range(1000))}},
            f"it must have 1 to {CASES_MAX}",
        ),
    ],
)
def test_what_a_family_may_not_say(family, complaint):
    with pytest.raises(DomainError) as error:
        domain({"name": "wrong", "hook": "xdp", **family})
    assert complaint in str(error.value) and "conform.yaml" in str(error.value)


@pytest.mark.parametrize(
    "text, complaint",
    [
        (
            "families: [{name: a, hook: xdp}]\nfamilys: []\n",
            ":2:1: error: unknown key familys (did you mean families?); known here: use, small, shipped, variants, values, families, samples, "
            "variant_samples, pairs_min; see docs/reference/conform.md",
        ),
        (
            "families: [{name: a, hook: xdp, varies: {}}]\n",
            ":1:33: error: unknown key families.0.varies (did you mean vary?); known here: name, hook, only, sample, given",
        ),
        ("families:\n  - {name: a}\n", ":2:5: error: families.0 has no hook; add it: see docs/reference/conform.md"),
        (
            "families:\n  - {name: a, hook: xpd}\n",
            ':2:15: error: families.0.hook is "xpd"; it must be xdp, tc, user, restore, takes, written, synced, '
            "begins, recover, or the number",
        ),
        ("families:\n  - {name: a, hook: xdp, vary: {message.kind: some}}\n", "it must be all, or a list of values"),
        ("families: []\n", "families"),
        ("families: [{name: a, hook: xdp}]\npairs_min: 0\n", ":2:1: error: pairs_min is 0"),
        ("families: [\n", ":2:1: error: this is not valid YAML: "),
        (
            "- families\n",
            ":1:1: error: the file must be a mapping; its keys are use, small, shipped, variants, values, families",
        ),
        ("", "the file must be a mapping"),
    ],
)
def test_a_file_that_is_wrong(tmp_path, text, complaint):
    """With its place, in the words of the layout's errors: none of pydantic's, none of YAML's own."""
    path = tmp_path / "conform.yaml"
    path.write_text(text)
    with pytest.raises(DomainError) as error:
        load_text(path)
    assert f"{path}:" in str(error.value) and complaint in str(error.value)
    assert "pydantic" not in str(error.value) and "unicode string" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DomainError, match="cannot be read: No such file"):
        load_text(tmp_path / "conform.yaml")


@pytest.mark.parametrize(
    "kind, text",
    [
        (ir.Bytes(8), "{bytes: 8}"),
        (ir.Bits(3), "{bits: 3}"),
        (ir.Array(ir.Bool(), 2), "{array: bool, size: 2}"),
        (ir.Sequence(ir.UInt(7), 2), "{sequence: u7, max: 2}"),
        (ir.Record("r", (("a", ir.UInt(1)), ("b", ir.Bool()))), "{record: {a: u1, b: bool}}"),
    ],
)
def test_types_are_shown_as_a_layout_writes_them(kind, text):
    assert layout_text(kind) == text


def test_a_family_for_one_build():
    text = DomainText.model_validate({"small": {}, "families": [{"name": "far", "hook": "xdp", "only": "shipped"}]})
    assert Domain(text, PROTOCOL, Patterns(PROTOCOL), "conform.yaml").families == []
    assert len(Domain(text, PROTOCOL, Patterns(PROTOCOL), "conform.yaml", "shipped").families) == 1


def test_a_section_that_loses():
    family = domain({"name": "lost", "hook": "xdp", "contended": 2, "rival": {"left": 3}}).families[0]
    assert family.trouble.section == 2 and not family.trouble.always
    nothing = {"state": "Open", "key": 0, "size": 0}
    assert dict(family.trouble.rival) == {
        "state": "Open",
        "left": 3,
        "flags": frozenset(),
        "parts": (nothing, nothing),
        "limits": (0, 0),
    }


def test_samples_are_seeded_and_within_their_types():
    made = domain(
        {
            "name": "any",
            "hook": "xdp",
            "given": {"message.kind": "Buy"},
            "vary": {"message.key": "all", "order.left": "all", "message.seen": "all", "message.urgent": "all"},
        },
        values={"message.seen": [1, 2]},
    )
    first, again, other = (made.sample(made.families[0], 200, random.Random(seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert first.sampled and first.size() == 200
    left = set()
    for sample in map(dict, first.dimensions[0]):
        assert sample[Place("message", None, "kind")] == "Buy"
        assert len(sample[Place("message", None, "seen")]) <= 2
        left.add(sample[Place("order", None, "left")])
    assert left <= set(range(1024)) and len(left) > 50


def test_samples_of_a_sweep_meet_the_swept_cells():
    made = domain(
        {"name": "sweep", "hook": 1, "count": 2, "vary": {"message.seen": "all", "order.0.left": "all"}},
        values={"message.seen": [1, 2]},
    )
    found = [made.sample(made.families[0], 50, random.Random(seed)) for seed in range(20)]
    assert any(
        index in dict(sample)[Place("message", None, "seen")]
        for family in found
        for sample in family.dimensions[0]
        for index in range(family.first, family.first + 2)
    )


def test_noise_fills_every_cell():
    noise, again = (domain({"name": "any", "hook": "xdp"}, values={"order.flags": [0, 1]}).noise() for _ in range(2))
    assert noise == again
    assert [len(cells) for cells in noise.values()] == [4]
    assert any(cell != noise["order"][0] for cell in noise["order"])


# --- Parts of cells, samples, variants -----------------------------------------------------------


def test_parts_of_a_cell_are_places():
    made = domain(
        {
            "name": "parts",
            "hook": "xdp",
            "vary": {"order.parts.2.size": [1, 2], "order.2.limits.1": "all", "order.limits.2": [3]},
        },
        values={"order.limits": [7, 8]},
    )
    (family,) = made.families
    places = {str(place): len(dimension) for dimension in family.dimensions for place, _ in dimension[0]}
    assert places["order.parts.2.size"] == 2 and places["order.limits.2"] == 1
    assert [value for ((_, value),) in family.dimensions[1]] == [7, 8], "of an array, the values are its elements"


def test_values_of_elements_go_by_their_kind():
    made = domain(
        {
            "name": "parts",
            "hook": "xdp",
            "vary": {"order.parts.1.size": "all", "order.2.parts.2.size": "all", "order.parts.2": "all"},
        },
        values={"order.parts.size": [3, 4, 5], "order.parts.key": [9]},
    )
    one, other, whole = ([value for ((_, value),) in dimension] for dimension in made.families[0].dimensions[:3])
    assert one == other == [3, 4, 5]
    assert whole == [
        {"state": "Open", "key": 9, "size": 3},
        {"state": "Shut", "key": 9, "size": 4},
        {"state": "Open", "key": 9, "size": 5},
    ]


def test_several_hashes_of_one_field_reach_every_pair():
    made = domain({"name": "keys", "hook": "xdp", "vary": {"message.key": list(range(40))}}).families[0]
    pairs = [
        (case["message.slot"], case["message.bit"], case["message.deep"])
        for case in ({str(place): value for place, value in assignment} for assignment in made.dimensions[0])
    ]
    assert [(slot, bit) for slot, bit, _ in pairs[1:]] == [(key % 4, key // 4 % 8) for key in range(1, 40)]
    assert all(deep == hash_index(slot, 2) for slot, _, deep in pairs)


def test_a_sampled_family_has_as_many_cases_as_it_says():
    """Parts are drawn by themselves, from what `all` means for each; the draw is the same every time."""
    text = {
        "name": "any",
        "hook": "xdp",
        "sample": 300,
        "given": {"message.kind": "Buy"},
        "vary": {"message.key": [1, 2], "order.parts": "all", "order.left": [1, 9]},
    }
    values = {"order.parts.size": [3, 4], "order.parts.key": ["=message.key", 7]}
    family, again = (domain(text, values=values).families[0] for _ in range(2))
    assert family == again and family.sampled and family.size() == 300
    cases = cases_of(family)
    parts = [part for case in cases for part in case["order.parts"]]
    assert {part["size"] for part in parts} == {3, 4} and {part["state"] for part in parts} == {"Open", "Shut"}
    assert len({repr(case["order.parts"]) for case in cases}) > 30
    for case in cases:
        assert {part["key"] for part in case["order.parts"]} <= {case["message.key"], 7}, (
            "a reference is to the case's own message"
        )
        assert case["message.slot"] == case["message.key"] % 4 and case["order.left"] in (1, 9)


def test_samples_of_parts_are_within_their_types():
    made = domain({"name": "any", "hook": "xdp", "vary": {"order.parts": "all"}})
    found = made.sample(made.families[0], 300, random.Random(1))
    parts = [part for case in cases_of(found) for part in case["order.parts"]]
    assert len({part["size"] for part in parts}) > 100 and all(0 <= part["size"] < 1024 for part in parts)


def test_a_variant_has_fewer_cases_and_shorter_arrays():
    families = [
        {
            "name": "all",
            "hook": "xdp",
            "vary": {"message.amount": list(range(100)), "order.left": list(range(100)), "order.limits.3": [1, 2]},
        },
        {"name": "few", "hook": "xdp", "vary": {"message.amount": [1, 2]}},
        {"name": "drawn", "hook": "xdp", "sample": 900, "vary": {"order.left": "all"}},
        {"name": "elsewhere", "hook": "xdp", "only": "small"},
    ]
    made = domain(*families, build="odd", variants={"odd": {}}, variant_samples=50).families
    assert [(family.name, family.size(), family.sampled) for family in made] == [
        ("all", 50, True),
        ("few", 2, False),
        ("drawn", 50, True),
    ]
    assert all("order.limits.3" not in case for case in cases_of(made[0]))
    with pytest.raises(DomainError, match="no element 3"):
        domain(*families, variants={"odd": {}})


@pytest.mark.parametrize("protocol", protocols())
def test_every_protocol_declares_a_domain(protocol):
    text = load_text(SPEC / protocol / "conform.yaml")
    names = [family.name for family in text.families]
    assert names and len(set(names)) == len(names)


USED = """
small: {constants: {Last: 3, Most: 5}}
values: {order.left: [1, 2], message.amount: [7]}
families:
  - {name: first, hook: xdp, vary: {message.kind: all}}
  - {name: second, hook: xdp, most: 2, vary: {message.kind: all}}
  - {name: third, hook: xdp}
pairs_min: 3
"""


def written(folder, text: str):
    """A domain beside the one that it uses."""
    (folder / "used.yaml").write_text(USED)
    (folder / "own.yaml").write_text(text)
    return folder / "own.yaml"


def test_a_domain_over_another(tmp_path):
    text = load_text(
        written(
            tmp_path,
            """
use: {domain: used.yaml, without: [third], most: 9}
small: {constants: {Most: 6}}
values: {order.left: [4]}
families: [{name: own, hook: xdp}, {name: third, hook: tc}]
""",
        )
    )
    assert text.small == {"constants": {"Last": 3, "Most": 6}}
    assert text.values == {"order.left": [4], "message.amount": [7]}
    assert [(family.name, family.most) for family in text.families] == [
        ("first", 9),
        ("second", 2),
        ("own", 0),
        ("third", 0),
    ]
    assert text.pairs_min == PAIRS_MIN, "what it must come to is its own"


@pytest.mark.parametrize(
    "text, complaint",
    [
        (
            "use: {domain: used.yaml, without: [fourth]}\nfamilies: [{name: own, hook: xdp}]\n",
            "used.yaml has no family 'fourth'",
        ),
        ("use: {domain: used.yaml}\nfamilies: [{name: first, hook: xdp}]\n", "used.yaml already has a family 'first'"),
        (
            "use: {domain: nowhere.yaml}\nfamilies: [{name: own, hook: xdp}]\n",
            "nowhere.yaml:1:1: error: the file cannot be read",
        ),
        ("use: {without: []}\nfamilies: [{name: own, hook: xdp}]\n", "use has no domain"),
    ],
)
def test_a_domain_that_cannot_be_laid_over_another(tmp_path, text, complaint):
    with pytest.raises(DomainError) as error:
        load_text(written(tmp_path, text))
    assert complaint in str(error.value)


def test_a_large_family_may_stand_for_less():
    family = domain(
        {"name": "few", "hook": "xdp", "most": 5, "vary": {"message.amount": list(range(100)), "message.kind": "all"}}
    ).families[0]
    assert family.sampled and family.size() == 5
    assert domain({"name": "few", "hook": "xdp", "most": 5, "vary": {"message.kind": "all"}}).families[0].size() == 2


def test_a_section_that_loses_is_named_by_its_step():
    by_name, by_number = (
        domain({"name": "lost", "hook": "xdp", "contended": which}).families[0] for which in ("Take", 2)
    )
    assert by_name.trouble == by_number.trouble and by_name.trouble.section == 2
    with pytest.raises(DomainError, match="section Look of xdp locks no cell"):
        domain({"name": "lost", "hook": "xdp", "contended": "Look"})
    with pytest.raises(DomainError, match="section Tidy of xdp"):
        domain({"name": "lost", "hook": "xdp", "contended": "Tidy"})


def test_the_terms_are_a_constant():
    """Number 1 stands for them in every case, as the program has them."""
    golden = Path(__file__).resolve().parents[1] / "golden" / "cloakroom" / "spec"
    protocol = load(golden)
    patterns = Patterns(protocol)
    assert patterns.real(protocol.env.field("terms"), 1) == int.from_bytes(terms(protocol), "little")
    text = DomainText.model_validate({"families": [{"name": "wrong", "hook": "xdp", "given": {"env.terms": 2}}]})
    with pytest.raises(DomainError, match="env.terms is a constant of the program: leave it out"):
        Domain(text, protocol, patterns, "conform.yaml")
