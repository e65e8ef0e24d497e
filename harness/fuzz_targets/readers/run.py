"""Runs the readers' targets as harness.fuzz_targets.parsers.run does, with a folder for the files of an input."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.base.protocols import REPOSITORY
from harness.fuzz_targets.parsers import run
from harness.fuzz_targets.parsers.run import Found
from harness.fuzz_targets.readers.build import Target
from harness.fuzz_targets.readers.seeds import seeds

KEPT = REPOSITORY / "tests" / "regressions" / "readers"
SUFFIX = ".input"
BYTES_MAX = 2048
MEMORY = Path("/dev/shm")  # each input writes files, which is slow on a disk


def kept(target: Target) -> list[Path]:
    """The inputs in tests/regressions/readers: a corpus, and inputs that once showed a fault."""
    return sorted((KEPT / target.name).glob(f"*{SUFFIX}"))


def fuzz(
    program: Path, target: Target, inputs: int, seed: int, save_in: Path, report: Callable[[int], None] = lambda _: None
) -> Found:
    """Runs so many inputs, starting from the seeds and the kept ones; stops at the first fault.

    See harness.fuzz_targets.parsers.run.
    """
    starts = [*seeds(target), *(path.read_bytes() for path in kept(target))]
    with _with_folder():
        return run.fuzz(program, starts, inputs, seed, save_in, report, bytes_max=BYTES_MAX, suffix=SUFFIX)


def replay(program: Path, inputs: list[Path]) -> str | None:
    """Runs each of the inputs once; returns None, or the target's output about the first fault."""
    with _with_folder():
        return run.replay(program, inputs)


def keep(program: Path, target: Target) -> list[Path]:
    """Merges the corpus of the last run with the kept one; returns the kept inputs. See parsers.run."""
    with _with_folder():
        return run.keep(target.name, program, KEPT, bytes_max=BYTES_MAX, suffix=SUFFIX)


@contextlib.contextmanager
def _with_folder() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="stepwise-readers-", dir=MEMORY if MEMORY.is_dir() else None) as name:
        os.environ["STEPWISE_READERS"] = name
        try:
            yield
        finally:
            del os.environ["STEPWISE_READERS"]
