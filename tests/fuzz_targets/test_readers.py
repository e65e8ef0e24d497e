"""Tests the daemon's file readers with made-up files: kept inputs are clean, and planted faults are found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.protocols import REPOSITORY
from harness.fuzz_targets.parsers.build import ParsersError
from harness.fuzz_targets.parsers.run import fault_in
from harness.fuzz_targets.readers import cli, run
from harness.fuzz_targets.readers.build import TARGETS, build, folder, target_of
from harness.fuzz_targets.readers.run import KEPT, fuzz, kept, replay
from harness.fuzz_targets.readers.seeds import seeds

INPUTS_MAX = 200_000  # a search ends at the first fault, mostly long before
KEPT_MAX, KEPT_BYTES_MAX = 250, 250_000


@pytest.mark.parametrize("name", TARGETS)
def test_kept_inputs_are_clean(name: str) -> None:
    target = target_of(name)
    assert len(kept(target)) > 10
    said = replay(build(target, folder(target)), kept(target))
    assert said is None, said


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_kept_is_small(name: str) -> None:
    inputs = kept(target_of(name))
    assert len(inputs) <= KEPT_MAX
    assert sum(path.stat().st_size for path in inputs) <= KEPT_BYTES_MAX


WHOLE = {
    "frames": (
        "net/frame_reply.c",
        "exchange(&udp->source, &udp->dest, sizeof(udp->source));",
        "",
        "it goes back to the sender's port",
    ),
    "segments": (
        "segments/segment_reader.c",
        "reader->reading->entries += count;",
        "reader->reading->entries += count + 1;",
        "entries are counted",
    ),
    "rows": ("segments/row_reader.c", "reader->taken += !err;", "reader->taken += 2 * !err;", "a file is taken if"),
}


@pytest.mark.parametrize("name", TARGETS)
def test_some_of_what_is_kept_is_whole(name: str, tmp_path: Path) -> None:
    """A reader that refused all of it would be clean as well."""
    *change, words = WHOLE[name]
    target = target_of(name)
    for number, seed in enumerate(seeds(target)):
        (tmp_path / f"{number}.input").write_bytes(seed)
    said = replay(faulty(tmp_path, name, *change), [*tmp_path.glob("*.input"), *kept(target)])
    assert said and words in said


FAULTS = {
    "a header may be longer than the file": (
        "segments",
        "segments/segment_file.c",
        "return checked + SEGMENT_CHECK_SIZE <= size &&",
        "return size &&",
        "AddressSanitizer",
    ),
    "an entry of a lane that there is not": (
        "segments",
        "segments/segment_reader.c",
        "place.lane >= reader->entries->lanes || ",
        "",
        "AddressSanitizer",
    ),
    "an entry of another epoch": (
        "segments",
        "segments/segment_reader.c",
        " || place.epoch != reader->reading->header.epoch",
        "",
        "does not hold",
    ),
    "an entry that was there before": (
        "segments",
        "segments/segment_reader.c",
        "if (place.number <= numbers[place.lane]) {",
        "if (0) {",
        "numbers of a lane rise",
    ),
    "one finding too many": (
        "segments",
        "segments/segment_reader.c",
        "if (reading->finding_count == SEGMENTS_FINDINGS_MAX)",
        "if (reading->finding_count > SEGMENTS_FINDINGS_MAX)",
        "AddressSanitizer",
    ),
    "a tail that is not cut": (
        "segments",
        "segments/segments.c",
        "replacement->size += count * replacement->stride;",
        "replacement->size += count;",
        "the copy",
    ),
    "a field that lies outside of the row": (
        "rows",
        "segments/row_reader.c",
        "found->size > reader->row_size || found->offset > reader->row_size - found->size",
        "0",
        "does not hold",
    ),
    "a field that is wider than the cell's": (
        "rows",
        "segments/row_reader.c",
        "if (own->size < found->size) {",
        "if (0) {",
        "does not hold",
    ),
    "a row that is larger than there is room": (
        "rows",
        "segments/row_reader.c",
        "!head.row_size || head.row_size > sizeof(reader->row) ||",
        "",
        "does not hold",
    ),
    "a field that is there twice": (
        "rows",
        "segments/row_reader.c",
        "if (named & 1ull << j) {",
        "if (0) {",
        "does not hold",
    ),
    "a checksum that is not looked at": (
        "rows",
        "segments/row_reader.c",
        "if (err || found == wanted)",
        "if (err || found == wanted || 1)",
        "does not hold",
    ),
    "a frame that ends in its headers": (
        "frames",
        "net/frame_reply.c",
        "if (size < offset + sizeof(*udp))\n\t\treturn false;",
        "",
        "AddressSanitizer",
    ),
    "a datagram that is longer than its frame": (
        "frames",
        "net/frame_reply.c",
        "ntohs(udp->len) <= size - offset",
        "ntohs(udp->len) <= size",
        "each datagram that is whole",
    ),
    "a sample that is shorter than it says": (
        "frames",
        "net/ring_endpoint.c",
        "frame->size <= sample_size - sizeof(*frame) &&",
        "",
        "AddressSanitizer",
    ),
    "a chunk that is not given back": (
        "frames",
        "net/xsk_endpoint.c",
        "xsk_ring_prod__reserve(&xsk->vacant, xsk->frame_count, &first)",
        "xsk_ring_prod__reserve(&xsk->vacant, xsk->frame_count / 2, &first)",
        "all chunks go back",
    ),
    "an answer's checksum of another length": (
        "frames",
        "net/frame_reply.c",
        "htons(IPPROTO_UDP) + udp->len);",
        "htons(IPPROTO_UDP));",
        "checksum is right",
    ),
    "more behind the checksum": (
        "rows",
        "segments/row_reader.c",
        "if (!err && fgetc(reader->stream) != EOF) {",
        "if (0) {",
        "does not hold",
    ),
}


def faulty(tmp_path: Path, name: str, file: str, old: str, new: str) -> Path:
    """A target with one source of the runtime changed."""
    shutil.copytree(REPOSITORY / "runtime", tmp_path / "runtime")
    source = tmp_path / "runtime" / file
    text = source.read_text()
    assert text.count(old) == 1, f"{file} has {old!r} {text.count(old)} times"
    source.write_text(text.replace(old, new))
    return build(target_of(name), tmp_path / "build", tmp_path / "runtime")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, tmp_path: Path) -> None:
    """By the kept inputs, or else by a search from these."""
    name, *change, words = FAULTS[fault]
    target = target_of(name)
    program = faulty(tmp_path, name, *change)
    said = replay(program, kept(target))
    if said is None:
        found = fuzz(program, target, INPUTS_MAX, 1, tmp_path / "saved")
        said = found.fault
        assert (
            found.fault
            and replay(program, [found.saved])
            and replay(build(target, folder(target)), [found.saved]) is None
        )
    assert words in said, said


def test_a_seed_makes_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the seeds alone, so that there is something to find."""
    monkeypatch.setattr(run, "kept", lambda _: [])
    target = target_of("rows")
    # At the same addresses: libFuzzer also learns from the pointers that a program compares.
    program = tmp_path / "at-fixed-addresses"
    program.write_text(f'#!/bin/sh\nexec setarch -R {build(target, tmp_path)} "$@"\n')
    program.chmod(0o755)
    runs = []
    for seed in (5, 5, 6):
        found = fuzz(program, target, 5_000, seed, tmp_path / "saved")
        assert found.fault is None and found.inputs == 5_000 and found.edges > 20
        runs.append({path.name for path in (tmp_path / "corpus").iterdir()})
    assert runs[0] == runs[1] != runs[2]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rows", "--inputs", "3_000", "--seed", "9"]) == 0
    said = capsys.readouterr().out
    assert "rows: 3,000 inputs from" in said and "seed 9" in said and said.endswith("rows: clean\n")
    one = kept(target_of("rows"))[0]
    assert cli.main(["rows", "--replay", str(one)]) == 0
    assert capsys.readouterr().out == "rows: 1 input, clean\n"


def test_a_fault_ends_the_command_and_says_how_to_replay_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = faulty(tmp_path, *FAULTS["more behind the checksum"][:-1])
    monkeypatch.setattr(cli, "build", lambda *_: program)
    monkeypatch.setattr(cli, "KEPT", tmp_path)
    monkeypatch.setattr(cli, "REPOSITORY", tmp_path)
    assert cli.main(["rows", "--inputs", "40000", "--seed", "1"]) == 1
    said = capsys.readouterr().out
    assert "FAILED rows, seed 1: parsers: this does not hold: a file is taken if" in said
    again = said.splitlines()[-1].split()[-1]
    assert again.startswith("rows/crash-") and (tmp_path / again).is_file()
    assert cli.main(["rows", "--replay", str(tmp_path / again)]) == 1
    assert "a file is taken if" in fault_in(capsys.readouterr().out)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["nothing"], "there is no reader 'nothing'; choose from segments and rows and frames"),
        (["rows", "--inputs", "0"], "'0' is not a number of inputs"),
        (["rows", "--seed", "0"], "'0' is not a seed"),
        (["--replay", "a.input"], "name the one target"),
        (["rows", "--replay", "nowhere.input"], "replaying nowhere.input: it does not exist"),
    ],
)
def test_mistakes_get_a_sentence(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = cli.main(arguments)
    except SystemExit as refused:
        code = refused.code
    assert code == 2
    assert words in capsys.readouterr().err


def test_the_fuzzers_know_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "harness.fuzz", "readers", "nothing"],
        check=False,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "there is no reader 'nothing'" in done.stderr and "Traceback" not in done.stderr


def test_a_reader_that_does_not_compile_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ParsersError, match="compiling the reader of rows:\n(?s:.*): error"):
        faulty(tmp_path, "rows", "segments/row_reader.c", "struct copied {", "struct copied;")


def test_where_faults_are_saved() -> None:
    assert KEPT == REPOSITORY / "tests" / "regressions" / "readers"
