"""Judges one made-up protocol: it is refused with a reason, or it builds, loads and does what its steps say.

TLC and the evaluator in `expressions` say what its steps do. They are compared with the kernel, and with the same C
built for the host by gcc, and by clang with its sanitizer of undefined behaviour.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from codegen.errors import SpecErrors
from harness.builds.make import BuildError, make
from harness.conform.build import DEFINES_SMALL, ROOT, Build
from harness.conform.campaign import Campaign, Stage, Trial
from harness.conform.cases import Case
from harness.data.cells import LAYOUT
from harness.fuzz_generator.outcome import Hook
from harness.fuzz_generator.protocol import NAME, Program
from harness.rig.bpf import BpfError
from harness.tla.tlc import TlcError

SHOWN = 3
SANITIZED = (
    "CC=clang-19",
    "SANITIZE_FLAGS=-fsanitize=undefined -fsanitize-trap=undefined",  # it has no runtime that Python would have to load
)


class Wrong(AssertionError):
    """The generator is wrong about a protocol; the message says how."""


@dataclass(frozen=True)
class Judgement:
    """The judgement on a protocol. refused: the generator's first reason, or "". inputs: how many were run."""

    refused: str = ""
    inputs: int = 0


def judge(program: Program, work: Path) -> Judgement:
    """Judges a protocol in an empty folder. Raises Wrong."""
    spec = work / "spec" / NAME
    program.write(spec)
    (work / "spec/lib").symlink_to(ROOT / "spec/lib")
    try:
        campaign = Campaign(spec, work / "build")
        stage = campaign.stage(LAYOUT)
        _sanitize(stage.build, campaign.sources.root)
    except SpecErrors as refused:
        return Judgement(refused=_reason(refused))
    except BuildError as error:
        raise Wrong(f"the C does not build: {error}") from None
    except TlcError as error:
        raise Wrong(f"TLC cannot evaluate what the generator accepts: {error}") from None
    _evaluate(program, stage)
    try:
        _run(stage)
    except BpfError as error:
        raise Wrong(f"the kernel does not load it: {error}") from None
    return Judgement(inputs=len(stage.cases))


def _reason(refused: SpecErrors) -> str:
    """Returns the first error's kind and sentence. Raises Wrong if an error has no place or no sentence."""
    for error in refused.errors:
        if error.span.line < 1 or len(error.found.split()) < 2:
            raise Wrong(f"an error without a place or a sentence: {error}")
    first = refused.errors[0]
    return f"{type(first).__name__}: {first.found}"


def _sanitize(build: Build, root: Path) -> None:
    """Builds the library once more, with clang and its sanitizer."""
    other = replace(build, folder=build.folder / "sanitized")
    other.folder.mkdir(exist_ok=True)
    for made in (build.object, build.folder / f"{NAME}.skel.h"):
        shutil.copy(made, other.folder)
    make(
        NAME,
        build.generated,
        other.folder,
        str(other.library),
        *SANITIZED,
        doing=f"compiling {NAME} with clang and its sanitizer",
        defines=DEFINES_SMALL,
        runtime=root / "runtime",
    )


def _evaluate(program: Program, stage: Stage) -> None:
    """Compares TLC's results with those of the evaluator."""
    for case in stage.cases:
        expected = Hook(program, case, stage.noise).outcome()
        found = case.verdict, case.ended, case.answer, case.writes
        if expected != found and not _may_be_malformed(program, case):
            raise Wrong(
                f"TLC and the evaluator differ on {case.family.name}: {case.message}, {case.cells}, {case.env}:\n"
                f"  TLC           {found}\n  the evaluator {expected}"
            )


def _may_be_malformed(program: Program, case: Case) -> bool:
    """Whether a missing cell may have been looked up early. A step may set its index to the value that it had."""
    missing = any(case.message[table.index] >= table.capacity for table in program.tables)
    return case.verdict == "Malformed" and missing


def _run(stage: Stage) -> None:
    """Runs the kernel's programs and both libraries."""
    found = Trial(stage, LAYOUT).run(stage.cases)
    sanitized = replace(stage, build=replace(stage.build, folder=stage.build.folder / "sanitized"))
    again = Trial(sanitized, "sanitized").run(stage.cases)
    problems = [*map(str, [*found.mismatches, *again.mismatches][:SHOWN]), *found.stray]
    if problems:
        raise Wrong("the program does not do what its steps say:\n" + "\n".join(problems))
