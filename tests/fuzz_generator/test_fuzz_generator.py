"""Tests the fuzzer of the generator: it finds planted faults, and what it once found stays mended."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from codegen.compile import load
from codegen.errors import FileMissing, SpecErrors
from harness.base.protocols import REPOSITORY
from harness.conform import campaign_cache
from harness.conform.campaign import Campaign
from harness.data.cells import LAYOUT
from harness.fuzz_generator import cli
from harness.fuzz_generator import expressions as ex
from harness.fuzz_generator.judge import Wrong, judge
from harness.fuzz_generator.kinds import Array, Bits, Enum, Number, Queue, Record, Several
from harness.fuzz_generator.protocol import ANSWERS, MODULE, NAME, REQUESTS, Program, Section, Step, Table

KEPT = sorted(cli.REGRESSIONS.glob("*"))
CELL = Record((("a", Number(8)),))
MESSAGE = Record((("kind", Enum((*REQUESTS, *ANSWERS))), ("where", Number(2)), ("x", Number(4))))
COUNTS = "Step1(cell, msg) ==\n  IF cell.a <= 7 THEN Reply([cell EXCEPT !.a = @ + 1], msg) ELSE Drop(cell, msg)"


def counting(scope: ex.Scope) -> tuple[str, object, object]:
    cell, message = scope["cell"], scope["msg"]
    return ("Reply", {"a": cell["a"] + 1}, message) if cell["a"] <= 7 else ("Drop", cell, message)


COUNTER = Program(
    message=MESSAGE,
    tables=(Table("cell", CELL, 4, "word", "where"),),
    hooks={"xdp": (Section(Step("Step1", "cell", COUNTS, counting)),)},
    values=(7,),
    samples=100,
)


def with_step(text: str) -> Program:
    [section] = COUNTER.hooks["xdp"]
    return replace(COUNTER, hooks={"xdp": (replace(section, step=replace(section.step, text=text)),)})


def test_a_round_finds_nothing(tmp_path: Path):
    found = cli.play(seed=3, programs=6, regressions=tmp_path)
    assert not found.wrong and found.saved is None
    assert found.run >= 2 and found.inputs >= 300 * 2


def test_a_protocol_is_run_or_refused(tmp_path: Path):
    assert judge(COUNTER, tmp_path / "right").inputs == 100
    refused = judge(with_step(COUNTS.replace("<= 7", "<= 255")), tmp_path / "refused").refused
    assert refused == "MayNotFit: a may become anything in 1..256, but u8 holds 0..255"


@pytest.mark.parametrize(
    ("right", "wrong"), [("<= 7", "< 7"), ("+ 1", "+ 2")], ids=["another comparison", "another number"]
)
def test_wrong_code_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: str, wrong: str):
    generate = campaign_cache.generate

    def spoiled(protocol):
        texts = generate(protocol)
        steps = texts[f"{NAME}_steps.h"]
        assert right in steps
        return texts | {f"{NAME}_steps.h": steps.replace(right, wrong)}

    monkeypatch.setattr(campaign_cache, "generate", spoiled)
    with pytest.raises(Wrong, match="the program does not do what its steps say"):
        judge(COUNTER, tmp_path)


def test_a_wrong_model_is_found(tmp_path: Path):
    with pytest.raises(Wrong, match="TLC and the evaluator differ"):
        judge(with_step(COUNTS.replace("@ + 1", "@ + 2")), tmp_path)


def test_what_a_round_finds_is_saved(tmp_path: Path):
    (tmp_path / "spec").mkdir()
    COUNTER.write(tmp_path / "spec")
    saved = cli._save(tmp_path / "spec", "the reason", tmp_path / "kept")
    assert saved is not None and (saved / "found.txt").read_text() == "the reason\n"
    assert {path.name for path in saved.iterdir()} == {*cli.FILES, "found.txt"}


def test_nothing_begins_after_a_round_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    killed = tmp_path / "killed"
    killed.write_text(f"#!/bin/sh\necho begun >> {tmp_path}/begun\nkill -KILL $$\n")
    killed.chmod(0o755)
    monkeypatch.setattr(cli.sys, "executable", str(killed))
    assert cli.main(["--rounds", "6", "--seed", "5"]) == 2
    said = "fuzz generator: error: rounds were killed, so no others began: seeds 5 and 6\n"
    assert capsys.readouterr().err == said
    assert (tmp_path / "begun").read_text() == "begun\n" * 2


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.name)
def test_what_was_found_stays_mended(kept: Path, tmp_path: Path):
    spec = tmp_path / "spec" / NAME
    spec.mkdir(parents=True)
    for path in kept.iterdir():
        shutil.copy(path, spec)
    (tmp_path / "spec/lib").symlink_to(REPOSITORY / "spec/lib")
    try:
        load(spec)
    except SpecErrors as refused:
        assert not any(isinstance(error, FileMissing) for error in refused.errors)
        assert all(
            error.span.line > 0 and error.span.file.endswith((f"{MODULE}.tla", "layout.yaml"))
            for error in refused.errors
        )
        return
    result = Campaign(spec, tmp_path / "build").small(LAYOUT)
    assert not result.mismatches and not result.stray and sum(result.inputs.values()) > 0


# --- The evaluator, by values worked out by hand -------------------------------------------------


def value(expression: ex.Expression, **scope: object) -> object:
    return expression.value(scope)


def test_arithmetic():
    a, b = ex.bound("a", 0, 20), ex.bound("b", 0, 20)
    difference = ex.arithmetic("-", a, b)
    assert (difference.text, difference.low, difference.high) == ("(a - b)", -20, 20)
    assert value(difference, a=3, b=5) == -2
    assert value(ex.arithmetic("\\div", a, ex.number(3)), a=20) == 6
    assert value(ex.arithmetic("%", a, ex.number(7)), a=20) == 6
    assert value(ex.negative(a), a=4) == -4
    assert value(ex.chosen(ex.compared("<", a, b), a, b), a=4, b=9) == 4


def test_formulas_are_as_lazy_as_in_tla():
    queue = ex.named("s", Queue(Number(3), 2))
    first = ex.compared("=", ex.head(queue), ex.number(1))
    full = ex.compared(">", ex.length(queue), ex.number(0))
    assert value(ex.connected("/\\", full, first), s=()) is False
    assert value(ex.connected("=>", full, first), s=()) is True
    assert value(ex.let("v", first, ex.connected("/\\", full, ex.defined("v", first))), s=()) is False
    assert value(ex.connected("<=>", full, first), s=(1, 2)) is True


def test_an_argument_that_is_not_used_has_no_value():
    queue = ex.named("queue", Queue(Number(4), 2))
    two, first = ex.number(2), ex.applied("F", ex.number(2), [ex.head(queue)])
    assert value(ex.let_of("F", "x", two, first), queue=()) == 2
    with pytest.raises(IndexError):
        value(ex.let_of("F", "x", ex.bound("x", 0, 15), first), queue=())


def test_sets():
    kind = Several(Number(4), 4)
    many, item = ex.named("s", kind), ex.bound("i", 0, 15)
    odd = ex.compared("=", ex.arithmetic("%", item, ex.number(2)), ex.number(1))
    kept = ex.kept(kind, "i", many, odd)
    assert kept.text == "{i \\in s : ((i % 2) = 1)}"
    assert value(kept, s=frozenset({1, 2, 3})) == {1, 3}
    assert value(ex.mapped(Bits(16), "i", kept, ex.arithmetic("*", item, ex.number(2))), s=frozenset({1, 2, 3})) == {
        2,
        6,
    }
    assert value(ex.quantified(True, "i", many, odd), s=frozenset({1, 3})) is True
    assert value(ex.quantified(False, "i", many, odd), s=frozenset({2})) is False
    assert value(ex.united(kind, "\\", many, ex.items(kind, [ex.number(1)])), s=frozenset({1, 2})) == {2}
    assert value(ex.first_index("i", 1, 4, 9, odd)) == 1
    assert value(ex.count_index("i", 1, 4, odd)) == 2


def test_updates_see_those_before_them():
    kind = Record((("a", Number(8)), ("b", Array(Number(8), 2))))
    cell = ex.named("cell", kind)
    more = ex.arithmetic("+", ex.old(Number(8)), ex.number(1))
    changed = ex.except_(cell, [ex.Update(("a",), more), ex.Update(("a",), more), ex.Update(("b", ex.number(2)), more)])
    assert changed.text == "[cell EXCEPT !.a = (@ + 1), !.a = (@ + 1), !.b[2] = (@ + 1)]"
    assert value(changed, cell={"a": 1, "b": (5, 6)}) == {"a": 3, "b": (5, 7)}
