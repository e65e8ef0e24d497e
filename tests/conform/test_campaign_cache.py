"""Campaigns share everything that two programs have in common, and nothing in which they differ."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import pytest

from codegen import ir
from codegen.compile import load
from harness.base.protocols import REPOSITORY, SPEC
from harness.conform.build import Sources, override, write
from harness.conform.campaign_cache import Ground, Shared
from harness.conform.oracle import early_tables
from harness.conform.outline import outline
from harness.data.cells import LAYOUT
from harness.mutants.sync_folder import remove, sync_folder

STEPS = "limiter/LimiterSteps.tla"


@pytest.fixture(scope="module")
def shared() -> Shared:
    return Shared(SPEC / "limiter")


def ground_of(shared: Shared, work: Path, program: Path | None = None) -> Ground:
    """Returns the inputs on which a campaign would compare the small build; `program` gives other steps."""
    sources = Sources(REPOSITORY, shared.spec, work, program=program)
    protocol, texts = shared.generated(program or shared.spec, override(shared.text.small, shared.shipped, LAYOUT))
    return shared.ground(protocol, sources, write(sources, protocol, texts, LAYOUT, "small").generated, "small")


def test_a_copy_below_build_is_called_as_the_protocol_s_own_folder(shared):
    """It is where mutants are: with another name in its comments, each would have a model of its own for TLC to
    evaluate.
    """
    copy = REPOSITORY / "build/mutants/of-tests-copy"
    try:
        sync_folder(SPEC, copy / "program")
        over = override(shared.text.small, shared.shipped, LAYOUT)
        assert (
            shared.generated(copy / "program/limiter", over)[1]
            == Shared(SPEC / "limiter").generated(SPEC / "limiter", over)[1]
        )
    finally:
        remove(copy)


def changed(tmp_path: Path, file: str, old: str, new: str) -> Path:
    """A copy of the protocol's folder with one text changed."""
    folder = tmp_path / "program"
    shutil.copytree(SPEC, folder)
    text = (folder / file).read_text()
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new))
    return folder / "limiter"


def test_other_steps_are_compared_on_the_same(shared, tmp_path):
    before = ground_of(shared, tmp_path / "a")
    assert (
        ground_of(shared, tmp_path / "b", changed(tmp_path, STEPS, "msg.amount > level", "msg.amount >= level"))
        is before
    )


@pytest.mark.parametrize("field, before, after", [("amount", 16, 17), ("key", 64, 48)])
def test_another_layout_is_compared_on_what_fits_it(shared, tmp_path, field, before, after):
    first = ground_of(shared, tmp_path / "a")
    second = ground_of(
        shared, tmp_path / "b", changed(tmp_path, "limiter/layout.yaml", f"{field}: u{before}", f"{field}: u{after}")
    )
    assert second.patterns is not first.patterns and second.oracles[False] is not first.oracles[False]
    assert [ground.oracles[False].protocol.message.field(field) for ground in (first, second)] == [
        ir.UInt(before),
        ir.UInt(after),
    ]


def test_an_outline_has_no_steps(shared):
    """So that what is given it cannot go by what they do."""
    bare = outline(shared.shipped)
    assert [section.step.body for section in bare.xdp] == [None] and bare.xdp[0].step.name == shared.shipped.xdp[
        0
    ].step.name
    assert bare.tables == shared.shipped.tables and bare.message == shared.shipped.message
    with pytest.raises(TypeError, match="only the body of a step has leaves, not None"):
        early_tables(bare.xdp, ())


def test_no_outline_has_a_step_left():
    """Wherever a protocol has them."""
    for protocol in ("kv", "log", "occ"):
        whole = load(SPEC / protocol)
        assert b"Leaf" in pickle.dumps(whole) and b"Leaf" not in pickle.dumps(outline(whole))


def test_a_protocol_and_a_step_are_short_in_messages():
    whole = load(SPEC / "limiter")
    step = whole.xdp[0].step
    assert repr(whole) == "<Protocol limiter>" and repr(step) == f"<Step {step.name} of {step.cell_type.name}>"


def test_what_is_generated_is_generated_once(shared, tmp_path):
    over = {"constants": {"Burst": 7}}
    first = shared.generated(shared.spec, over)
    assert shared.generated(shared.spec, over) is first and isinstance(first[0], ir.Protocol)
    assert shared.generated(shared.spec, {"constants": {"Burst": 8}})[0].constants != first[0].constants
