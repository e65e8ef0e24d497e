"""The catalogue of mutants is up to date, and the hunt tells a mutant that is caught from one that is not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from codegen import compile
from codegen.emit import generate
from harness.base.protocols import BUILD, REPOSITORY, SPEC, protocols
from harness.conform.build import edited, override
from harness.conform.domain import load_text
from harness.data.cells import LAYOUT
from harness.mutants.catalogue import CatalogueError, CaughtBy, Edit, Mutant, catalogue, load, require_domains, witness
from harness.mutants.conform_worker import Warm
from harness.mutants.hunt import hunt, passes
from harness.mutants.scratch import Scratch
from harness.mutants.sync_folder import sync_folder

MUTANTS = catalogue(protocols())
COMMENT = "/* SPDX-License-Identifier: MIT OR GPL-2.0 */"
HASH = "runtime/bpf/stepwise_hash.h"
HASH_TEST = "tests/conform/test_hash.py::test_indexes"


def test_there_are_enough_of_each_kind():
    assert len(MUTANTS) >= 20
    for kind in ("model", "conform", "test"):
        assert sum(bool(getattr(mutant.caught_by, kind)) for mutant in MUTANTS) >= 5, kind
    assert sum(any(edit.is_generated for edit in mutant.edits) for mutant in MUTANTS) >= 5


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_applies(mutant):
    for edit in mutant.edits:
        if not edit.is_generated:  # what conformance generates is another build
            assert (REPOSITORY / edit.source).read_text().count(edit.old) == 1, (
                f"{edit.source} has not once: {edit.old}"
            )
        assert edit.old != edit.new


@pytest.mark.parametrize("protocol", sorted({mutant.protocol for mutant in MUTANTS}))
def test_every_mutant_of_generated_code_applies(protocol):
    """To the build that conformance begins with; the hunt would say so too, but half an hour later."""
    shipped = compile.load(SPEC / protocol)
    small = load_text(SPEC / protocol / "conform.yaml").small
    texts = generate(compile.load(SPEC / protocol, override(small, shipped, LAYOUT)))
    for mutant in MUTANTS:
        if mutant.protocol == protocol:
            edited(
                texts, tuple((Path(edit.file).name, edit.old, edit.new) for edit in mutant.edits if edit.is_generated)
            )


def test_the_machinery_s_mutants_are_run_where_they_show():
    """Whichever protocol was chosen."""
    assert witness() == "lock"
    for chosen in (["limiter"], ["lock"], []):
        generic = [mutant for mutant in catalogue(chosen) if mutant.caught_by.conform == "contended"]
        assert len(generic) >= 3 and {mutant.protocol for mutant in generic} == {"lock"}
    assert {mutant.protocol for mutant in catalogue(["limiter"])} == {"lock"}, "the limiter has none of its own"


def test_a_protocol_without_a_domain_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.mutants.catalogue.SPEC", tmp_path)
    with pytest.raises(
        CatalogueError, match="counter has no spec/counter/conform.yaml, so conformance could catch no mutant of it"
    ):
        require_domains(["counter"])


def made(old: str, new: str, file: str = HASH, **caught_by: str) -> Mutant:
    return Mutant(
        name="made", edits=(Edit(file=file, old=old, new=new),), caught_by=CaughtBy(**caught_by), protocol="limiter"
    )


@pytest.fixture
def scratch() -> Scratch:
    return Scratch("of-tests-")


def test_a_mutant_that_is_caught(scratch):
    verdict = hunt(made("0xff51afd7ed558ccdULL", "0xff51afd7ed558ccfULL", test=HASH_TEST), scratch)
    assert verdict.caught and "test_indexes fails" in verdict.how


def test_a_mutant_of_what_is_compiled(scratch):
    """The same fault in the model's steps too would be no mismatch."""
    steps, old, new = "limiter/LimiterSteps.tla", "msg.amount > level", "msg.amount >= level"
    verdict = hunt(made(old, new, file=f"program/{steps}", conform="MISMATCH xdp"), scratch)
    assert verdict.caught, verdict.how
    verdict = hunt(made(old, new, file=f"spec/{steps}", conform="MISMATCH xdp"), scratch)
    assert verdict.how == "SURVIVES: conformance finds nothing"


def test_a_mutant_that_survives(scratch):
    verdict = hunt(made(COMMENT, "/* Another comment. */", test=HASH_TEST), scratch)
    assert not verdict.caught and verdict.how == "SURVIVES: the test passes"


def test_a_mutant_that_conformance_does_not_find(scratch):
    verdict = hunt(made(COMMENT, "/* Another comment. */", conform="MISMATCH"), scratch)
    assert not verdict.caught and verdict.how == "SURVIVES: conformance finds nothing"
    assert passes(made(COMMENT, "", conform="MISMATCH"), scratch).caught


def test_a_mutant_that_is_caught_by_the_wrong_check(scratch):
    verdict = hunt(made(COMMENT, "no C", conform="MISMATCH"), scratch)
    assert not verdict.caught and verdict.how.startswith("caught by the wrong check")


def test_a_mutant_that_no_longer_applies(scratch):
    for file in (HASH, "generated/limiter/limiter.h"):
        verdict = hunt(made("no such text", "", file=file, conform="MISMATCH"), scratch)
        assert not verdict.caught and verdict.how.startswith("no longer applies")


def test_the_repository_stays_as_it_is(scratch):
    before = (REPOSITORY / HASH).read_bytes()
    hunt(made(COMMENT, "", test=HASH_TEST), scratch)
    assert (REPOSITORY / HASH).read_bytes() == before
    assert scratch.root.is_relative_to(BUILD)


@pytest.mark.parametrize(
    "caught_by, complaint",
    [
        ("{}", "give one of"),
        ("{conform: a, test: b}", "give one of"),
        ("{model: small}", "give one of"),
        ("{luck: yes}", "luck"),
    ],
)
def test_a_catalogue_that_is_wrong(tmp_path, caught_by, complaint):
    path = tmp_path / "mutants.yaml"
    path.write_text(f"mutants:\n  - {{name: a, edits: [{{file: f, old: o, new: n}}], caught_by: {caught_by}}}\n")
    with pytest.raises(CatalogueError, match=complaint):
        load(path)


# --- Mutants that spare the checker ---------------------------------------------------------------


@pytest.fixture(scope="module")
def warm():
    with Warm() as processes:
        yield processes


STEPS, OLD, NEW = "program/limiter/LimiterSteps.tla", "msg.amount > level", "msg.amount >= level"
HEADER = "generated/limiter/limiter_steps.h"


@pytest.mark.parametrize(
    "mutant, how",
    [
        (made(OLD, NEW, file=STEPS, conform="MISMATCH xdp"), "MISMATCH xdp, layout, family"),
        (
            made(COMMENT, "/* Another comment. */", file=HEADER, conform="MISMATCH"),
            "SURVIVES: conformance finds nothing",
        ),
        (
            made("no such text", "", file=HEADER, conform="MISMATCH"),
            "no longer applies: error: cannot change limiter_steps.h: it has 'no such text' 0 times",
        ),
        (
            made("no such text", "", file=STEPS, conform="MISMATCH"),
            "no longer applies: program/limiter/LimiterSteps.tla has 'no such text' 0 times",
        ),
        (
            made(COMMENT, "no C", file=HEADER, conform="MISMATCH"),
            "caught by the wrong check: an error and not 'MISMATCH'",
        ),
        (made(COMMENT, "no C", file=HEADER, refused="compiling limiter"), "error: compiling limiter (layout)"),
        (
            made(OLD, "msg.amount > nothing", file=STEPS, conform="MISMATCH"),
            "caught by the wrong check: an error and not 'MISMATCH'",
        ),
    ],
    ids=lambda value: value.replace(" ", "-")[:40] if isinstance(value, str) else "",
)
def test_a_warm_process_says_what_a_copy_of_the_checker_says(warm, mutant, how):
    assert mutant.spares_the_checker
    short, long = hunt(mutant, Scratch("of-tests-"), warm), hunt(mutant, Scratch("of-tests-"))
    assert how in short.how and short.caught == long.caught

    def beginning(text: str) -> str:
        """Without places, which are longer in a copy; and as an error's text is cut, without its end."""
        return re.sub(r"\S*/", "", text)[:120]

    assert beginning(short.how) == beginning(long.how)


def test_a_warm_process_has_nothing_of_the_mutant_before(warm, scratch):
    """In the same folder: after a fault, none, and once more none at all."""
    assert hunt(made(OLD, NEW, file=STEPS, conform="MISMATCH xdp"), scratch, warm).caught
    verdict = hunt(made(COMMENT, "/* Another comment. */", file=HEADER, conform="MISMATCH"), scratch, warm)
    assert verdict.how == "SURVIVES: conformance finds nothing"
    assert passes(made(OLD, NEW, file=STEPS, conform="MISMATCH"), scratch, warm).caught


def test_what_takes_too_long_in_a_warm_process_is_killed_with_all_that_it_started(scratch, tmp_path, monkeypatch):
    """Here make is one that starts another process, and waits for it for ever; after that the warm process goes on."""
    pids, make = tmp_path / "pids", tmp_path / "make"
    make.write_text(f"#!/bin/sh\nsleep 1000 &\necho $$ $! > {pids}\nwait\n")
    make.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    scratch.prepare(made(COMMENT, "", file=HEADER, conform="MISMATCH"), with_fault=False, whole=False)
    with Warm() as warm:
        assert warm.conform("limiter", ["--help"], scratch).returncode == 0  # from here on it is ready
        with pytest.raises(subprocess.TimeoutExpired):
            warm.conform(
                "limiter",
                ["limiter", "--form", "layout", "--stop-early", "--work", str(scratch.root / "work")],
                scratch,
                timeout_seconds=4,
            )
        started = [int(pid) for pid in pids.read_text().split()]
        assert len(started) == 2
        end = time.monotonic() + 5
        while (left := [pid for pid in started if is_alive(pid)]) and time.monotonic() < end:
            time.sleep(0.05)
        assert left == []
        assert "usage" in warm.conform("limiter", ["--help"], scratch).stdout


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# --- The copy ----------------------------------------------------------------------------------------


@pytest.fixture
def original(tmp_path) -> Path:
    folder = tmp_path / "original"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/a.h").write_text("old 1")
    (folder / "b.sh").write_text("b")
    (folder / "b.sh").chmod(0o755)
    (folder / ".hidden").write_text("left out")
    return folder


def told(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.read_text() if path.is_file() else "")
        for path in folder.rglob("*")
        if not path.name.startswith(".")
    }


def test_a_copy_is_what_the_original_is(original, tmp_path):
    copy = tmp_path / "copy"
    sync_folder(original, copy)
    assert told(copy) == told(original) and not (copy / ".hidden").exists()
    before = {path: path.lstat() for path in copy.rglob("*")}
    sync_folder(original, copy)
    assert {path: path.lstat() for path in copy.rglob("*")} == before, "what is right is not touched"


def back_in_time(path: Path) -> None:
    """The same length and the same time as before: only what it holds is another."""
    before = path.stat()
    path.write_text("new 1")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def link_elsewhere(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent.parent.parent / "original/sub/a.h")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda copy: (copy / "sub/a.h").write_text("longer than it was"),
        lambda copy: back_in_time(copy / "sub/a.h"),
        lambda copy: (copy / "sub/a.h").unlink(),
        lambda copy: link_elsewhere(copy / "sub/a.h"),
        lambda copy: (copy / "b.sh").chmod(0o644),
        lambda copy: (copy / "more").mkdir(),
        lambda copy: ((copy / "__pycache__").mkdir(), (copy / "__pycache__/a.pyc").write_text("stale")),
        lambda copy: ((copy / "b.sh").unlink(), (copy / "b.sh").mkdir(), (copy / "b.sh/in").write_text("it")),
        lambda copy: (shutil.rmtree(copy / "sub"), (copy / "sub").write_text("no folder")),
    ],
)
def test_what_is_wrong_in_a_copy_is_made_right(original, tmp_path, spoil):
    copy = tmp_path / "copy"
    sync_folder(original, copy)
    wanted = told(original)
    spoil(copy)
    sync_folder(original, copy)
    assert told(copy) == told(original) == wanted


def test_what_is_made_right_is_newer_than_what_was_built_of_the_fault(original, tmp_path):
    """So that make builds it anew; a time taken over from the original would be older."""
    copy = tmp_path / "copy"
    sync_folder(original, copy)
    (copy / "sub/a.h").write_text("new 1")
    built = copy.with_name("built.o")
    built.write_text("of the fault")
    sync_folder(original, copy)
    assert (copy / "sub/a.h").stat().st_mtime_ns >= built.stat().st_mtime_ns
