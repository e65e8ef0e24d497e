"""The protocols conform, and the comparison can tell when one does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.base.protocols import protocols
from harness.builds.make import BuildError
from harness.conform.__main__ import show, show_pairs
from harness.conform.build import ROOT
from harness.conform.campaign import Campaign, Trial
from harness.conform.cases import Case
from harness.data.cells import FORMS, LAYOUT
from harness.results.sample import sampled


def campaign(protocol: str, **options) -> Campaign:
    return Campaign(ROOT / "spec" / protocol, ROOT / "build" / "conform" / protocol, **options)


# The commit chooses the other form and the variants. `just nightly` runs all of them (`conform all`).
OTHER_FORMS = [form for form in FORMS if form != LAYOUT]
VARIANTS = [(each, variant) for each in protocols() for variant in campaign(each).text.variants]
VARIANTS_RUN = 3


@pytest.mark.parametrize("protocol", protocols())
def test_conforms_in_the_form_of_the_layout_and_another(protocol):
    tried = campaign(protocol)
    results = [tried.small(form) for form in (LAYOUT, *sampled(OTHER_FORMS, 1, "form"))]
    assert [show(protocol, result) for result in results] == [[], []]
    assert show_pairs(protocol, results, tried.text.pairs_min) == []


@pytest.mark.parametrize("protocol, variant", sampled(VARIANTS, VARIANTS_RUN, "variant"))
def test_a_variant_conforms(protocol, variant):
    result = campaign(protocol).small(LAYOUT, variant)
    assert show(protocol, result) == []
    assert sum(result.inputs.values()) >= 1000
    assert len(result.uncovered()) < len(result.branches) // 20


@pytest.mark.parametrize("protocol", protocols())
def test_the_shipped_layout_conforms(protocol):
    result = campaign(protocol).sampled(seed=3)
    assert show(protocol, result) == []
    assert sum(result.inputs.values()) >= 100


# --- The comparison can fail -----------------------------------------------------------------


def answered(bench) -> Case:
    return bench.request


def mismatches(bench, case: Case) -> list[str]:
    return [str(each) for each in Trial(bench.stage, LAYOUT).run([case]).mismatches]


def test_an_expectation_that_is_met_is_no_mismatch(bench):
    assert mismatches(bench, bench.request) == []


def test_a_wrong_byte_of_an_answer_is_reported(bench):
    """Each field of the wire in turn; the text shows both messages and where the frames differ."""
    for name in bench.protocol.wire:
        answer = dict(bench.request.answer)
        kind = answer[name]
        answer[name] = next(other for other in other_values(bench, name) if other != kind)
        found = mismatches(bench, replace(bench.request, answer=answer))
        sides = 3 if bench.protocol.ahead else 2  # the kernel, userspace, and the kernel where cells are read ahead
        assert len(found) == sides, f"{name}: expected a mismatch of each of {sides} sides: {found}"
        assert "packet: payload: expected" in found[0] and "message expected:" in found[0], name
        assert "packet: UDP checksum" in found[0], name


def other_values(bench, name):
    """0 comes last: a checksum does not tell it from all ones, which another value may stand for."""
    return bench.protocol.message.field(name).members if isinstance(bench.request.answer[name], str) else (1, 2, 0)


def test_a_wrong_cell_is_reported(bench):
    """A cell that should be otherwise, one that should not have been written, one that should have been."""
    table, index, cell, at = bench.request.writes[-1]
    field = next(name for name, value in cell.items() if isinstance(value, int))
    wrong = {**cell, field: 1 if cell[field] != 1 else 2}
    for writes in (((table, index, wrong, at),), (), (*bench.request.writes, (table, index ^ 1, wrong, at))):
        found = mismatches(bench, replace(bench.request, writes=writes))
        assert found and f"{table}[" in found[0] and "expected: [" in found[0], writes


def test_a_wrong_verdict_is_reported_with_its_input(bench):
    found = mismatches(bench, replace(bench.request, verdict="Drop"))
    assert "verdict: expected XDP_DROP, found XDP_TX" in found[0]
    assert "message  [kind |->" in found[0] and bench.request.family.name in found[0]


def test_a_wrong_counter_is_reported(bench):
    if len(bench.protocol.xdp) < 2:
        pytest.skip(f"{bench.protocol.name} has one section")
    found = mismatches(bench, replace(bench.request, ended=1))
    assert "counted as" in found[0]


def test_what_was_only_skipped_twice_is_reported(bench):
    """Beside a section that is skipped something else is counted: where nothing is, that is not an answer's counter."""
    comparison = bench.trial.comparison
    skipped = comparison.counters.index("skipped")
    found = replace(bench.xdp(bench.input.packet), counter=skipped, first_counter=skipped, rises=2)
    wrong = comparison.compare([bench.request], bench.columns, [bench.input], [found], "xdp", lambda _: False)
    assert [problem for each in wrong for problem in each.problems] == ["counted 2 times, not once: skipped"]


def test_a_wrong_sweep_is_reported(bench):
    if not bench.protocol.sweep:
        pytest.skip(f"{bench.protocol.name} sweeps nothing")
    case = next(case for case in bench.stage.cases if case.family.hook == "sweep" and case.writes)
    assert mismatches(bench, case) == []
    assert "sweep.continued: expected" in mismatches(bench, replace(case, verdict=case.verdict + 1))[0]
    assert "sweep.visited: expected" in mismatches(bench, replace(case, ended=case.ended + 1))[0]
    assert "record expected:" in mismatches(bench, replace(case, answer={**case.answer, "kind": "Renewed"}))[0]


def test_a_branch_that_nothing_takes_is_named(bench, capsys):
    result = Trial(bench.stage, LAYOUT).run([bench.request])
    problems = show_pairs(bench.protocol.name, [result])
    assert any("branches were not taken" in problem for problem in problems)
    assert any("are too few" in problem for problem in problems)
    shown = capsys.readouterr().out
    assert f"NOT TAKEN spec/{bench.protocol.name}/" in shown and "Steps.tla:" in shown


def test_a_changed_program_is_found_out():
    """From the command's own path: a program whose table is indexed by something else."""
    edits = (("limiter_codec.h", "return stepwise_hash(", "return 2 - stepwise_hash("),)
    result = Campaign(
        ROOT / "spec" / "limiter", ROOT / "build" / "conform" / "limiter-changed", stop_early=True, edits=edits
    ).small(LAYOUT)
    assert len(result.mismatches) == 1
    assert "bucket[" in str(result.mismatches[0])


def test_an_edit_that_does_not_apply_is_an_error():
    changed = Campaign(
        ROOT / "spec" / "limiter",
        ROOT / "build" / "conform" / "limiter-changed",
        edits=(("limiter.h", "no such text", ""),),
    )
    with pytest.raises(BuildError, match="'no such text' 0 times, not once"):
        changed.small(LAYOUT)
