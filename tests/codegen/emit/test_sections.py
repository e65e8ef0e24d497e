"""A section takes its cell by a bounded number of compare-and-swaps, and undoes the writes of a lost one."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from codegen.compile import load
from codegen.emit import generate
from harness.data.frames import Frame
from harness.rig import bpf
from tests.codegen.compiling import CONTESTED, compile_bpf, compile_native

LAYOUT = {
    "protocol": "turns",
    "module": "TurnsSteps",
    "message": {"kind": {"enum": ["Ask", "Yes", "No"]}, "where": "u4", "seen": "u8"},
    "tables": {"turn": {"cell": {"count": "u8", "last": "u8"}, "capacity": 16, "index": "msg.where", "atomic": "word"}},
    "hooks": {"xdp": []},
    "wire": {"transport": "udp", "port": 4243, "order": ["kind", "where", "seen"]},
    "budget": {"xdp": {"insns": 5000, "states": 500, "stack": 256}},
}
STEPS = """
Take(turn, msg) ==
  CASE turn.count = 7 -> Full :: Reply(turn, [msg EXCEPT !.kind = "No"])
    [] turn.count < 200 -> Continue([turn EXCEPT !.count = @ + 1], [msg EXCEPT !.kind = "Yes", !.seen = turn.count])
    [] OTHER -> Drop(turn, msg)
Tell(turn, msg) == Reply([turn EXCEPT !.last = msg.seen], msg)
"""
PROGRAM = (
    CONTESTED
    + """
#include <stdio.h>
#include <stdlib.h>
#include "turns_codec.h"
static __u64 cells[16];
static __u64 *turns_turn_element(const void *tables, __u32 index)
{
	(void)tables;
	return index < 16 ? &cells[index] : NULL;
}
#include "turns_hooks.h"

int main(int count, char **arguments)
{
	struct turns_message message = { .where = 3, .seen = 99 };
	__u32 end;

	if (count != 3)
		return 1;
	cells[3] = atoi(arguments[1]);
	losses = atoi(arguments[2]);
	end = turns_run_xdp(NULL, &message);
	printf("%d %u %d %d %llu %llu %u\\n", stepwise_verdict(end), stepwise_counter(end), message.kind, message.seen,
	       (unsigned long long)cells[3] & 0xff, (unsigned long long)cells[3] >> 8, attempts);
	return 0;
}
"""
)
REPLY, DROP = 1, 3
ASK, YES, NO = 0, 1, 2


def generated(folder: Path, sections: list[dict], steps: str = STEPS, **layout: Any) -> None:
    spec = folder / "turns"
    spec.mkdir()
    (spec / "layout.yaml").write_text(yaml.safe_dump({**LAYOUT, "hooks": {"xdp": sections}, **layout}, sort_keys=False))
    (spec / "TurnsSteps.tla").write_text(f"---- MODULE TurnsSteps ----\nEXTENDS Offload\n{steps}\n====\n")
    for name, text in generate(load(spec)).items():
        (folder / name).write_text(text)


def build(folder: Path, contended: str) -> Path:
    generated(folder, [{"turn": "Take", "contended": contended}, {"turn": "Tell", "contended": "never"}])
    (folder / "run.c").write_text(PROGRAM)
    return compile_native(folder)


@pytest.fixture(scope="module")
def dropping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dropping"), "drop")


@pytest.fixture(scope="module")
def skipping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("skipping"), "skip")


def run(program: Path, count: int, losses: int) -> list[int]:
    """Verdict, counter, kind, seen, the cell's count and last, and compare-and-swaps."""
    done = subprocess.run([program, str(count), str(losses)], capture_output=True, text=True, check=True)
    return list(map(int, done.stdout.split()))


@pytest.mark.parametrize("losses", [0, 1, 3])
def test_an_attempt_after_lost_ones_sees_the_cell_as_it_is_then(dropping: Path, losses: int) -> None:
    verdict, _, kind, seen, count, last, attempts = run(dropping, 20, losses)
    assert (verdict, kind, seen) == (REPLY, YES, 20 + losses)
    assert (count, last) == (21 + losses, 20 + losses)
    assert attempts == losses + 2, "one more for the second section"


def test_a_section_that_loses_them_all_drops_with_nothing_changed(dropping: Path) -> None:
    verdict, counter, kind, seen, count, last, attempts = run(dropping, 20, 4)
    assert (verdict, kind, seen) == (DROP, ASK, 99)
    assert (count, last, attempts) == (24, 0, 4)
    assert counter != run(dropping, 200, 0)[1], "contended is counted apart from the step's own drop"


def test_a_section_that_may_be_skipped_leaves_the_message_as_it_was(skipping: Path) -> None:
    verdict, _, kind, seen, count, last, attempts = run(skipping, 20, 4)
    assert (verdict, kind, seen) == (REPLY, ASK, 99)
    assert (count, last, attempts) == (24, 99, 5)


def test_what_a_lost_attempt_wrote_does_not_show_when_the_next_decides_otherwise(dropping: Path) -> None:
    """The first attempt says Yes and is lost; the second finds the cell full, and says No without a write."""
    verdict, _, kind, seen, count, last, attempts = run(dropping, 6, 1)
    assert (verdict, kind, seen) == (REPLY, NO, 99)
    assert (count, last, attempts) == (7, 0, 1)


def test_a_section_that_nobody_contends_is_not_tried_again(dropping: Path) -> None:
    verdict, _counter, *_, attempts = run(dropping, 20, 0)
    lost = subprocess.run([dropping, "20", "0"], capture_output=True, text=True, check=True)
    assert (verdict, attempts) == (REPLY, 2) and lost.stdout
    text = (dropping.parent / "turns_hooks.h").read_text()
    assert "outcome = turns_tell_on_turn(turn, message);" in text
    assert "turns_tell_on_turn_retried" not in text


MOVING = """
Take(turn, msg) == Continue([turn EXCEPT !.count = 1], [msg EXCEPT !.where = 5])
Tell(turn, msg) == Reply([turn EXCEPT !.last = 2], msg)
"""


def test_a_section_finds_its_cell_by_what_the_index_is_then(tmp_path: Path) -> None:
    generated(tmp_path, [{"turn": "Take"}, {"turn": "Tell", "contended": "never"}], MOVING)
    (tmp_path / "run.c").write_text(
        PROGRAM.replace(
            "cells[3] >> 8, attempts);", 'cells[3] >> 8, attempts);\n\tprintf("%llx %llx\\n", cells[3], cells[5]);'
        )
    )
    done = subprocess.run([compile_native(tmp_path), "0", "0"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "1 200", "the first section's cell, and the second's"


LATE = """
Take(turn, msg) == Continue(turn, [msg EXCEPT !.where = 5])
Tell(turn, msg) == Continue([turn EXCEPT !.last = 2], msg)
Last(turn, msg) == Reply([turn EXCEPT !.last = 3], msg)
"""


@pytest.mark.parametrize("contended, ends", [("never", "TURNS_COUNTER_LOST"), ("skip", "TURNS_COUNTER_LAST_1")])
def test_a_cell_that_is_found_late_is_lost_like_others(tmp_path: Path, contended: str, ends: str) -> None:
    """Every value of its index has a cell, so the section is never left out for a missing cell."""
    generated(
        tmp_path,
        [{"turn": "Take"}, {"turn": "Tell", "contended": contended}, {"turn": "Last", "contended": "skip"}],
        LATE,
    )
    told = f"stepwise_counter(end) == {ends}, stepwise_is_skipped(end));\n\treturn 0;"
    program = PROGRAM.replace("return 0;\n}", f'printf("%d %d\\n", {told}\n}}')
    (tmp_path / "run.c").write_text(program)
    done = subprocess.run(
        [compile_native(tmp_path), "0", "1" if contended == "never" else "4"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[1] == ("1 0" if contended == "never" else "1 1")


FOR_SOME = """
Take(turn, msg) ==
  IF turn.count = 7 \\/ turn.count > 200
    THEN Continue(turn, [msg EXCEPT !.kind = "No"])
    ELSE Continue([turn EXCEPT !.count = @ + 1], [msg EXCEPT !.kind = "Yes"])
Mark(mark, msg) == IF msg.kind = "Yes" THEN Continue([mark EXCEPT !.seen = TRUE], msg) ELSE Continue(mark, msg)
Tell(turn, msg) == Reply(turn, msg)
"""
MARKS = """
static __u64 marks[16], asked;
static __u64 *turns_mark_element(const void *tables, __u32 index)
{
	(void)tables;
	asked++;
	return &marks[index];
}
#include "turns_hooks.h"
"""


@pytest.mark.parametrize("count, marked", [(3, "1 1"), (7, "0 0")])
@pytest.mark.parametrize("members", [["Yes"], "Marked"])
def test_a_section_that_is_not_for_a_message_has_no_cell_of_it(
    tmp_path: Path, members: str | list[str], count: int, marked: str
) -> None:
    sections = [
        {"turn": "Take"},
        {"mark": "Mark", "contended": "never", "when": {"kind": members}},
        {"turn": "Tell", "contended": "never"},
    ]
    mark = {"cell": {"seen": "bool"}, "capacity": 16, "index": "msg.where", "atomic": "word"}
    constants = {"Marked": ["Yes"]} if members == "Marked" else {}
    generated(tmp_path, sections, FOR_SOME, tables={**LAYOUT["tables"], "mark": mark}, constants=constants)
    program = PROGRAM.replace('#include "turns_hooks.h"', MARKS).replace(
        "return 0;\n}", 'printf("%llu %llu\\n", marks[3], asked);\n\treturn 0;\n}'
    )
    (tmp_path / "run.c").write_text(program)
    done = subprocess.run([compile_native(tmp_path), str(count), "0"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == marked


LOSING = """
#include <linux/types.h>

/* The first `losses` compare-and-swaps are lost. */
volatile __u64 losses __attribute__((section(".data"))) = 0;
static inline __attribute__((always_inline)) int contested(__u64 *word, __u64 before, __u64 after)
{
	if (losses) {
		losses--;
		return 0;
	}
	return __sync_val_compare_and_swap(word, before, after) == before;
}
#define __sync_bool_compare_and_swap contested
"""


@pytest.fixture(scope="module")
def loaded(dropping: Path) -> Iterator[bpf.Object]:
    """The program in the kernel, made to lose."""
    folder = dropping.parent
    (folder / "losing.h").write_text(LOSING)
    with bpf.Object.open(compile_bpf(folder, "turns.bpf.c", "-include", "losing.h")) as loaded:
        yield loaded


@pytest.mark.parametrize(
    ("losses", "action", "kind", "count"),
    [(0, bpf.XDP_TX, YES, 21), (3, bpf.XDP_TX, YES, 21), (4, bpf.XDP_DROP, ASK, 20)],
)
def test_the_kernel_tries_as_often(loaded: bpf.Object, losses: int, action: int, kind: int, count: int) -> None:
    """Attempts after the first are a loop of the kernel's there, with copies of what the step reads and writes."""
    loaded.map("turn").update(3, (20).to_bytes(8, "little"))
    loaded.variable("losses").write(losses.to_bytes(8, "little"))
    packet = Frame(bytes([ASK, 3, 99]), 4243)
    result = loaded.program("turns_xdp").test_run(packet.to_bytes())
    assert result.action == action
    payload = result.data[packet.payload_offset() :]
    assert payload == bytes([kind, 3, 20 if kind == YES else 99])
    if action == bpf.XDP_TX:
        assert result.data == packet.turned(payload).to_bytes(), "with a right checksum"
    assert loaded.map("turn").lookup(3)[0] == count
