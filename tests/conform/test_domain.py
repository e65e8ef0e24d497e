"""conform.yaml: what it declares, what it may not, and what is generated from the types."""

from __future__ import annotations

import random

import pytest

from codegen import ir
from harness.conform.domain import CASES_MAX, Domain, DomainError, DomainText, Place, load_text
from harness.conform.values import Patterns, hash_index, layout_text
from harness.protocols import SPEC, protocols

SPAN = ir.Span("OrderSteps.tla", 1, 1)
KIND = ir.Enum("message.kind", ("Buy", "Sold"))
MESSAGE = ir.Record("message", (("kind", KIND), ("key", ir.UInt(64)), ("amount", ir.UInt(16)), ("slot", ir.UInt(32)),
                                ("seen", ir.Set(ir.UInt(8), 2)), ("urgent", ir.Bool())))  # fmt: skip
CELL = ir.Record("order_cell", (("state", ir.Enum("order.state", ("Open", "Shut"))), ("left", ir.UInt(10)), ("flags", ir.Bits(3))))
ENV = ir.Record("env", (("now", ir.UInt(20)), ("random", ir.Bytes(8)), ("index", ir.UInt(32))))
ORDER = ir.TableLayout("order", CELL, "array", 4, "slot", "word")


def step(name: str, writes: bool) -> ir.Step:
    cell = (ir.Assign(("left",), ir.Int(0, ir.UInt(10), SPAN), SPAN),) if writes else ()
    leaf = ir.Leaf(f"{name}.1", "Continue", cell, (), name, SPAN)
    return ir.Step(name, "cell", "msg", "env", CELL, leaf, SPAN)


PROTOCOL = ir.Protocol(
    name="order", module="OrderSteps", constants=(), message=MESSAGE, wire=("kind", "key", "amount", "urgent"), port=1,
    hashes=(ir.HashIndex("slot", "key", 4),), env=ENV, tick_ns=1, tables=(ORDER,),
    xdp=(ir.Section("order", step("Look", False), "slot", "drop", False), ir.Section("order", step("Take", True), "slot", "drop", True)),
    tc=(), user=None, sweep_period_ms=10, sweep=(ir.Pass("order", (ir.Section("order", step("Tidy", True), None, "drop", True),)),),
    budgets=(), sources=(),
)  # fmt: skip


def domain(*families: dict, values: dict | None = None) -> Domain:
    text = DomainText.model_validate({"small": {}, "values": values or {}, "families": list(families)})
    return Domain(text, PROTOCOL, Patterns(PROTOCOL), "conform.yaml")


def values_of(place: str, **options) -> list:
    """What a family that varies one place over `all` goes through."""
    made = domain({"name": "one", "hook": "xdp", "vary": {place: "all"}}, **options).families[0]
    home, field = place.split(".")
    return [dict(assignment)[Place(home, None, field)] for assignment in made.dimensions[0]]


@pytest.mark.parametrize("place, expected", [
    ("message.kind", ["Buy", "Sold"]),
    ("message.urgent", [False, True]),
    ("message.amount", [0, 1, 65_534, 65_535]),
    ("order.left", [0, 1, 1022, 1023]),
    ("env.random", [0, 1, 2]),
    ("message.key", [0, 1, 2, 3, 4]),
])  # fmt: skip
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


@pytest.mark.parametrize("family, complaint", [
    ({"vary": {"nowhere.kind": "all"}}, "'nowhere' is not one of message, env, order"),
    ({"vary": {"message.price": "all"}}, "'price' is not one of kind, key"),
    ({"vary": {"kind": "all"}}, "'kind' is no place"),
    ({"given": {"message.kind": "Steal"}}, "'Steal' is no member of {enum: [Buy, Sold]}"),
    ({"given": {"message.amount": 65_536}}, "65536 is no value of u16, which holds 0..65535"),
    ({"given": {"message.slot": 4_000_000_000}}, "a value of u32, but not one that TLC can compute with: its integers end at 2147483647"),
    ({"given": {"message.seen": [1, 2, 3]}}, "is no value of {set: u8, max: 2}"),
    ({"vary": {"message.slot": "all"}}, "message.slot is hashed from message.key; vary that"),
    ({"vary": {"message.kind": []}}, "has 0 cases"),
    ({"together": [[{"message.kind": "Buy"}, {"message.amount": 1}]]}, "must name the same places"),
    ({"hook": "tc"}, "the layout has no hook tc"),
    ({"hook": 2}, "the layout has no hook 2"),
    ({"contended": 1}, "section 1 of xdp takes no cell for itself"),
    ({"contended": 3}, "section 3 of xdp"),
    ({"vary": {"message.amount": list(range(1000)), "order.left": list(range(1000))}}, f"1 to {CASES_MAX} will do"),
])  # fmt: skip
def test_what_a_family_may_not_say(family, complaint):
    with pytest.raises(DomainError) as error:
        domain({"name": "wrong", "hook": "xdp", **family})
    assert complaint in str(error.value) and "conform.yaml" in str(error.value)


@pytest.mark.parametrize("text, complaint", [
    ("families: [{name: a, hook: xdp}]\nfamilys: []\n",
     ":2:1: error: familys is no key; known here: small, values, families, samples, pairs_min; see docs/conform.md"),
    ("families: [{name: a, hook: xdp, varies: {}}]\n", ":1:33: error: families.0.varies is no key; known here: name, hook, only, given"),
    ("families:\n  - {name: a}\n", ":2:5: error: families.0 has no hook; add it: see docs/conform.md"),
    ("families:\n  - {name: a, hook: xpd}\n", ':2:15: error: families.0.hook is "xpd"; it must be xdp, tc, user, or the number'),
    ("families:\n  - {name: a, hook: xdp, vary: {message.kind: some}}\n", "it must be all, or a list of values"),
    ("families: []\n", "families"),
    ("families: [{name: a, hook: xdp}]\npairs_min: 0\n", ":2:1: error: pairs_min is 0"),
    ("families: [\n", ":2:1: error: no YAML: "),
    ("- families\n", ":1:1: error: it is no mapping; its keys are small, values, families"),
    ("", "it is no mapping"),
])  # fmt: skip
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


@pytest.mark.parametrize("kind, text", [
    (ir.Bytes(8), "{bytes: 8}"),
    (ir.Bits(3), "{bits: 3}"),
    (ir.Array(ir.Bool(), 2), "{array: bool, size: 2}"),
    (ir.Sequence(ir.UInt(7), 2), "{sequence: u7, max: 2}"),
    (ir.Record("r", (("a", ir.UInt(1)), ("b", ir.Bool()))), "{record: {a: u1, b: bool}}"),
])  # fmt: skip
def test_types_are_shown_as_a_layout_writes_them(kind, text):
    assert layout_text(kind) == text


def test_a_family_for_one_build():
    text = DomainText.model_validate({"small": {}, "families": [{"name": "far", "hook": "xdp", "only": "shipped"}]})
    assert Domain(text, PROTOCOL, Patterns(PROTOCOL), "conform.yaml").families == []
    assert len(Domain(text, PROTOCOL, Patterns(PROTOCOL), "conform.yaml", "shipped").families) == 1


def test_a_section_that_loses():
    family = domain({"name": "lost", "hook": "xdp", "contended": 2, "rival": {"left": 3}}).families[0]
    assert family.trouble.section == 2 and not family.trouble.always
    assert dict(family.trouble.rival) == {"state": "Open", "left": 3, "flags": frozenset()}


def test_samples_are_seeded_and_within_their_types():
    made = domain({"name": "any", "hook": "xdp", "given": {"message.kind": "Buy"},
                   "vary": {"message.key": "all", "order.left": "all", "message.seen": "all", "message.urgent": "all"}},
                  values={"message.seen": [1, 2]})  # fmt: skip
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
    made = domain({"name": "sweep", "hook": 1, "count": 2, "vary": {"message.seen": "all", "order.0.left": "all"}},
                  values={"message.seen": [1, 2]})  # fmt: skip
    found = [made.sample(made.families[0], 50, random.Random(seed)) for seed in range(20)]
    assert any(index in dict(sample)[Place("message", None, "seen")]
               for family in found for sample in family.dimensions[0] for index in range(family.first, family.first + 2))  # fmt: skip


def test_noise_fills_every_cell():
    noise, again = (domain({"name": "any", "hook": "xdp"}, values={"order.flags": [0, 1]}).noise() for _ in range(2))
    assert noise == again
    assert [len(cells) for cells in noise.values()] == [4]
    assert any(cell != noise["order"][0] for cell in noise["order"])


@pytest.mark.parametrize("protocol", protocols())
def test_every_protocol_declares_a_domain(protocol):
    text = load_text(SPEC / protocol / "conform.yaml")
    names = [family.name for family in text.families]
    assert names and len(set(names)) == len(names)
