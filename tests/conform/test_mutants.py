"""The catalogue of mutants is fresh, and the hunt tells a mutant that is caught from one that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen import front
from codegen.emit import generate
from harness.conform.build import LAYOUT, edited, override
from harness.conform.domain import load_text
from harness.mutants.catalogue import CatalogueError, CaughtBy, Edit, Mutant, catalogue, load, require_domains, witness
from harness.mutants.hunt import hunt, passes
from harness.mutants.scratch import Scratch
from harness.protocols import BUILD, REPOSITORY, SPEC, protocols

MUTANTS = catalogue(protocols())
COMMENT = "/* SPDX-License-Identifier: MIT OR GPL-2.0 */"
WIRE = "runtime/bpf/stepwise_wire.h"
WIRE_TEST = "tests/conform/test_wire.py::test_indexes"


def test_there_are_enough_of_each_kind():
    assert len(MUTANTS) >= 20
    for kind in ("model", "conform", "test"):
        assert sum(bool(getattr(mutant.caught_by, kind)) for mutant in MUTANTS) >= 5, kind
    assert sum(any(edit.is_generated for edit in mutant.edits) for mutant in MUTANTS) >= 5


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_applies(mutant):
    for edit in mutant.edits:
        if not edit.is_generated:  # what conformance generates is another build
            assert (REPOSITORY / edit.source).read_text().count(edit.old) == 1, f"{edit.source} has not once: {edit.old}"
        assert edit.old != edit.new


@pytest.mark.parametrize("protocol", sorted({mutant.protocol for mutant in MUTANTS}))
def test_every_mutant_of_generated_code_applies(protocol):
    """To the build that conformance begins with; the hunt would say so too, but half an hour later."""
    shipped = front.load(SPEC / protocol)
    small = load_text(SPEC / protocol / "conform.yaml").small
    texts = generate(front.load(SPEC / protocol, override(small, shipped, LAYOUT)))
    for mutant in MUTANTS:
        if mutant.protocol == protocol:
            edited(texts, tuple((Path(edit.file).name, edit.old, edit.new) for edit in mutant.edits if edit.is_generated))


def test_the_machinery_s_mutants_are_run_where_they_show():
    """Whichever protocol was chosen."""
    assert witness() == "lock"
    for chosen in (["limiter"], ["lock"], []):
        generic = [mutant for mutant in catalogue(chosen) if mutant.caught_by.conform == "contended"]
        assert len(generic) >= 3 and {mutant.protocol for mutant in generic} == {"lock"}
    assert {mutant.protocol for mutant in catalogue(["limiter"])} == {"lock"}, "the limiter has none of its own"


def test_a_protocol_without_a_domain_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.mutants.catalogue.SPEC", tmp_path)
    with pytest.raises(CatalogueError, match="counter has no spec/counter/conform.yaml, so conformance could catch no mutant of it"):
        require_domains(["counter"])


def made(old: str, new: str, file: str = WIRE, **caught_by: str) -> Mutant:
    return Mutant(name="made", edits=(Edit(file=file, old=old, new=new),), caught_by=CaughtBy(**caught_by), protocol="limiter")


@pytest.fixture
def scratch() -> Scratch:
    return Scratch("of-tests-")


def test_a_mutant_that_is_caught(scratch):
    verdict = hunt(made("0xff51afd7ed558ccdULL", "0xff51afd7ed558ccfULL", test=WIRE_TEST), scratch)
    assert verdict.caught and "test_indexes fails" in verdict.how


def test_a_mutant_of_what_is_compiled(scratch):
    """The same fault in the model's steps too would be no mismatch."""
    steps, old, new = "limiter/LimiterSteps.tla", "msg.amount > level", "msg.amount >= level"
    verdict = hunt(made(old, new, file=f"program/{steps}", conform="MISMATCH xdp"), scratch)
    assert verdict.caught, verdict.how
    verdict = hunt(made(old, new, file=f"spec/{steps}", conform="MISMATCH xdp"), scratch)
    assert verdict.how == "SURVIVES: conformance finds nothing"


def test_a_mutant_that_survives(scratch):
    verdict = hunt(made(COMMENT, "/* Another comment. */", test=WIRE_TEST), scratch)
    assert not verdict.caught and verdict.how == "SURVIVES: the test passes"


def test_a_mutant_that_conformance_does_not_find(scratch):
    verdict = hunt(made(COMMENT, "/* Another comment. */", conform="MISMATCH"), scratch)
    assert not verdict.caught and verdict.how == "SURVIVES: conformance finds nothing"
    assert passes(made(COMMENT, "", conform="MISMATCH"), scratch).caught


def test_a_mutant_that_is_caught_by_the_wrong_check(scratch):
    verdict = hunt(made(COMMENT, "no C", conform="MISMATCH"), scratch)
    assert not verdict.caught and verdict.how.startswith("caught by the wrong check")


def test_a_mutant_that_no_longer_applies(scratch):
    for file in (WIRE, "generated/limiter/limiter.h"):
        verdict = hunt(made("no such text", "", file=file, conform="MISMATCH"), scratch)
        assert not verdict.caught and verdict.how.startswith("no longer applies")


def test_the_repository_stays_as_it_is(scratch):
    before = (REPOSITORY / WIRE).read_bytes()
    hunt(made(COMMENT, "", test=WIRE_TEST), scratch)
    assert (REPOSITORY / WIRE).read_bytes() == before
    assert scratch.root.is_relative_to(BUILD)


@pytest.mark.parametrize("caught_by, complaint", [
    ("{}", "give one of"),
    ("{conform: a, test: b}", "give one of"),
    ("{model: small}", "give one of"),
    ("{luck: yes}", "luck"),
])  # fmt: skip
def test_a_catalogue_that_is_wrong(tmp_path, caught_by, complaint):
    path = tmp_path / "mutants.yaml"
    path.write_text(f"mutants:\n  - {{name: a, edits: [{{file: f, old: o, new: n}}], caught_by: {caught_by}}}\n")
    with pytest.raises(CatalogueError, match=complaint):
        load(path)
