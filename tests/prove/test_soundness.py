"""Attacks on the prover: what differs is refuted, what it does not understand is left, and nothing else is proved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import z3

from codegen import ir
from harness.base.protocols import GENERATED
from harness.data.packing import Member, Struct
from harness.prove import terms, values
from harness.prove.campaign import Judged, not_tried, results
from harness.prove.faults import Fault, planted
from harness.prove.inputs import Comparison
from harness.prove.left import LeftStep
from harness.prove.proof import NO_LEAF, LeafResult, StepProof, StepResult, proved
from harness.prove.setting import opened, prepared
from harness.prove.solving import Limit
from harness.prove.values import Array, Listed, Record

SECONDS = 60.0


def generated(folder: Path, protocol: str, step: str, old: str, new: str, function: str = "") -> Path:
    """The generated files of a protocol with one change."""
    made = folder / protocol
    shutil.copytree(GENERATED / protocol, made)
    header = made / f"{protocol}_steps.h"
    fault = Fault(protocol=protocol, step=step, old=old, new=new, function=function)
    header.write_text(planted(header.read_text(), fault))
    return made


def changed(folder: Path, protocol: str, step: str, old: str, new: str, function: str = "") -> StepResult:
    """The result of a step whose C was changed."""
    files = generated(folder, protocol, step, old, new, function)
    prepared(protocol, folder / "build", files)
    ready = opened(protocol, folder / "build", files)
    return proved(ready.setting, next(each for each in ready.steps if each.name == step), SECONDS)


def shown(result: StepResult) -> list[str]:
    """The parts that differ, in any leaf."""
    return [part for leaf in result.leaves if leaf.counterexample for part in leaf.counterexample.differs]


TAKE = "message->kind = LIMITER_MESSAGE_KIND_ALLOWED;"


@pytest.mark.parametrize(
    "protocol, step, old, new, function",
    [
        pytest.param(
            *("lock", "OnRequest", "vector->items |= (__u64)element << 14 * vector->count;"),
            *("vector->items = vector->items << 14 | element;", "lock_u14_set_3_append"),
            id="another order of a set",
        ),
        pytest.param("limiter", "OnTake", TAKE, TAKE + "((__u8 *)bucket)[2] = 7;", "", id="padding"),
        pytest.param(
            *("limiter", "OnTake", "stepwise_reply(LIMITER_LEAF_ON_TAKE_2)"),
            *("stepwise_changed(stepwise_reply(LIMITER_LEAF_ON_TAKE_2))", ""),
            id="a mark too many",
        ),
    ],
)
def test_what_means_the_same_is_proved(tmp_path, protocol, step, old, new, function) -> None:
    assert changed(tmp_path, protocol, step, old, new, function).proved


@pytest.mark.parametrize(
    "protocol, step, old, new, function, part",
    [
        pytest.param(
            *("lock", "OnRequest", "vector->items |= (__u64)element"),
            *("vector->items |= 1ULL << 63 | (__u64)element", "lock_u14_set_3_append", "cell.holders, unused bits"),
            id="a bit behind a set",
        ),
        pytest.param(
            *("limiter", "OnTake", "stepwise_reply(LIMITER_LEAF_ON_TAKE_2)"),
            *("(stepwise_reply(LIMITER_LEAF_ON_TAKE_2) | 8u)", "", "the outcome"),
            id="the flag of a step that did not run",
        ),
        pytest.param(
            *("limiter", "OnTake", "message->amount > level", "(__u8)message->amount > (__u8)level"),
            *("", "message.kind"),
            id="a narrower number",
        ),
        pytest.param(
            *("limiter", "OnTake", "bucket->filled = environment->now;"),
            *("bucket->filled = __builtin_bswap32(environment->now);", "", "cell.filled"),
            id="the order of bytes",
        ),
        pytest.param(
            *("limiter", "OnTake", "bucket->filled = environment->now;"),
            *("bucket->filled = environment->now | 1u << 30;", "", "cell.filled"),
            id="a value that its field does not hold",
        ),
    ],
)
def test_what_differs_is_refuted(tmp_path, protocol, step, old, new, function, part) -> None:
    assert part in shown(changed(tmp_path, protocol, step, old, new, function))


@pytest.mark.parametrize(
    "new, reason",
    [
        ("((long (*)(void))7)();", "a call of helper 7"),
        ("__sync_fetch_and_add(&bucket->filled, 0);", "code 0xc3|code 0xdb"),
        ("message->amount /= level;", "a division"),
        ("((volatile __u8 *)message)[4096] = 1;", "beyond message"),
        ("((volatile __u8 *)message)[level] = 1;", "outside of message"),
        ("((struct limiter_env *)(long)environment)->now = 0;", "writes to environment"),
        ("for (volatile __u32 round = 0; round < 30; round++) ;", "more than 20 rounds"),
    ],
)
def test_what_is_not_understood_is_left(tmp_path, new: str, reason: str) -> None:
    result = changed(tmp_path, "limiter", "OnTake", TAKE, TAKE + new)
    left = [leaf for leaf in result.leaves if not leaf.proved]
    assert left and not shown(result)
    with pytest.raises(AssertionError, match=reason):
        assert not left[0].reason, left[0].reason


def forwarded(folder: Path, leaves: set[tuple[int, ...]], files: Path | None = None) -> list[LeafResult]:
    """The results of some leaves of a step that reads a whole table."""
    prepared("lock", folder, files)
    ready = opened("lock", folder, files)
    step = next(each for each in ready.steps if each.name == "OnForwarded")
    return list(StepProof(ready.setting, step, Limit(SECONDS), {}).leaves(leaves))


@pytest.mark.parametrize(
    "old, new",
    [
        ("i <= 16383", "i <= 16382"),
        ("break;", ""),
        ("i_2).client == message->client", "i_2).client != message->client"),
        ("count = 0;", "count = 1;"),
        ("vacant = i;", "vacant = i + 1;"),
    ],
)
def test_a_loop_over_a_whole_table_that_differs_is_not_proved(tmp_path, old: str, new: str) -> None:
    files = generated(tmp_path, "lock", "OnForwarded", old, new)
    (leaf,) = forwarded(tmp_path / "build", {(2, 3)}, files)
    assert leaf.reason and not leaf.proved


def test_a_loop_over_a_whole_table_is_proved(tmp_path) -> None:
    found = forwarded(tmp_path, {(2, 3), (3,)})
    assert [leaf.proved for leaf in found] == [True, True]


def test_a_refuted_leaf_is_replayed_and_a_problem_whatever_is_listed(tmp_path) -> None:
    files = generated(tmp_path, "limiter", "OnTake", "message->amount > level", "message->amount >= level")
    (judged,) = results("limiter", "OnTake", SECONDS, files, tmp_path / "build")
    (leaf,) = [each for each in judged.result.leaves if each.counterexample]
    assert leaf.counterexample.replayed.startswith("replayed natively")
    told = Judged(judged.result, LeftStep(reason="because"), False)
    assert [each for each in told.problems if "differ" in each]


# --- Nothing is proved by default ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def limiter(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limiter")
    prepared("limiter", folder)
    return opened("limiter", folder)


def test_without_time_nothing_is_proved(limiter) -> None:
    result = proved(limiter.setting, limiter.steps[0], 0.0)
    assert [leaf.reason for leaf in result.leaves] == ["timeout"] * 3 and not result.proved


def test_assumptions_that_cannot_be_prove_nothing(limiter) -> None:
    """With no kind at all every leaf is out of reach. It is a problem, even if the step may be left."""
    result = proved(limiter.setting, limiter.steps[0], SECONDS, ("No such kind",))
    assert result.reason == NO_LEAF and not result.proved
    assert Judged(result, LeftStep(reason="because"), False).problems == [f"OnTake is left: {NO_LEAF}"]


def test_a_step_that_is_not_tried_has_leaves_that_are_not_proved(tmp_path) -> None:
    ready = opened("kv", tmp_path)
    keep = next(each for each in ready.steps if each.whole_reason)
    assert [leaf.proved for leaf in not_tried(ready, keep).leaves] == [False] * 4


def test_bits_lose_no_element_in_an_if() -> None:
    """{9} has no place in eight bits: the IF must not forget it, or a program that does would be proved."""
    condition = z3.Bool("condition")
    bits, more = values.Small(terms.variable("bits", 8)), Listed(((terms.TRUE, values.integer(9)),))
    for chosen in (values.choose(condition, bits, more), values.choose(condition, more, bits)):
        held = z3.Solver()
        held.add(z3.Not(values.member(values.integer(9), chosen)), values.as_small(chosen, 8)[1])
        without = z3.Solver()
        without.add(values.member(values.integer(9), chosen), values.as_small(chosen, 8)[1])
        assert held.check() == z3.sat and without.check() == z3.unsat


ARRAY = ir.Array(ir.UInt(3), 2)
SHAPE = Struct("cell", 1, {"row": Member(0, 1, struct=Struct("row", 1, {"items": Member(0, 1)}))})


def differences(load: z3.BitVecRef, value: values.Value, kind: ir.Record, initial: Record) -> list[str]:
    """The fields that may differ if the output is a byte for an array."""
    compared = Comparison(lambda at, size: load, lambda at, size: terms.variable("before", 8))
    found = compared.record(kind, SHAPE, value, initial, "cell")
    solver = z3.Solver()
    return [each.field for each in found if solver.check(each.condition) == z3.sat]


def test_the_bits_behind_an_array_are_compared() -> None:
    kind = ir.Record("cell", (("row", ARRAY),))
    items = [terms.variable(f"item.{at}", 3) for at in range(2)]
    value = Record({"row": Array(tuple(values.unsigned(each) for each in items))})
    before = Record({"row": Array(tuple(values.integer(0) for _ in items))})
    whole = terms.concat([terms.variable("garbage", 2), items[1], items[0]])
    assert differences(whole, value, kind, before) == ["cell.row, unused bits"]
    assert differences(terms.widen(terms.concat(items[::-1]), 8), value, kind, before) == []


def test_a_field_that_c_does_not_have_must_not_change() -> None:
    kind = ir.Record("cell", (("row", ARRAY), ("tail", ir.Bytes(2))))
    same = Array(tuple(values.integer(0) for _ in range(2)))
    before = Record({"row": same, "tail": values.Opaque(terms.variable("tail", 16))})
    after = Record({"row": same, "tail": values.Opaque(terms.variable("other", 16))})
    assert differences(terms.bits(0, 8), before, kind, before) == []
    assert differences(terms.bits(0, 8), after, kind, before) == ["cell.tail"]
