"""Runs a target: over random inputs, over kept ones, and to choose which to keep."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.base import command
from harness.base.command import counted
from harness.base.protocols import REPOSITORY
from harness.fuzz_targets.parsers.build import ParsersError

KEPT = REPOSITORY / "tests" / "regressions" / "parsers"
SUFFIX = ".frame"
FRAME_BYTES_MAX = 1514  # Ethernet's longest frame
INPUT_SECONDS_MAX = 10  # far longer than one input takes on a loaded machine
ALLOCATION_MB_MAX = 2048  # of one allocation
SHORT_SECONDS_MAX = 300
WORDS_MAX = 2000  # the most characters of libFuzzer's output in an error
# The quarantine of freed memory is small: each run frees all its memory, and reuse from the caches is twice as fast.
ENVIRONMENT = {
    "ASAN_OPTIONS": "quarantine_size_mb=8:malloc_context_size=5:abort_on_error=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
FAULT = re.compile(
    r"^(?:parsers: .*|.*: runtime error: .*|.*ERROR: (?:AddressSanitizer|LeakSanitizer|libFuzzer): .*)", re.M
)


@dataclass(frozen=True)
class Found:
    """The result of a run.

    inputs: how many were run.
    edges: how many edges of the program some input took.
    corpus: how many inputs reach something that others do not.
    fault: the target's message about an input, or None; the input is in `saved`.
    """

    inputs: int
    seconds: float
    edges: int
    corpus: int
    fault: str | None = None
    saved: Path | None = None


def kept(protocol: str) -> list[Path]:
    """The inputs in tests/regressions/parsers: a corpus, and inputs that once showed a fault."""
    return sorted((KEPT / protocol).glob(f"*{SUFFIX}"))


def fuzz(
    target: Path,
    starts: Iterable[bytes],
    inputs: int,
    seed: int,
    save_in: Path,
    report: Callable[[int], None] = lambda _: None,
    *,
    bytes_max: int = FRAME_BYTES_MAX,
    suffix: str = SUFFIX,
) -> Found:
    """Runs so many inputs, starting from `starts`; stops at the first fault.

    The corpus stays in `corpus` beside the target, and libFuzzer's output in `log`. A frame that shows a fault is
    written into save_in. seed: 1 to 2^32 - 1; the same seed, target and starts make the same run. Raises ParsersError.
    """
    corpus, origin, crashes = (_emptied(target.parent / name) for name in ("corpus", "starts", "crashes"))
    for number, start in enumerate(starts):
        (origin / f"{number:05}").write_bytes(start)
    arguments = [
        f"-runs={inputs}",
        f"-seed={seed}",
        f"-max_len={bytes_max}",
        f"-timeout={INPUT_SECONDS_MAX}",
        "-reload=0",
        # The thread that would watch the memory allocates at times of its own. libFuzzer takes that for a leak and runs
        # an input once more, so the same seed would make another run.
        "-rss_limit_mb=0",
        f"-malloc_limit_mb={ALLOCATION_MB_MAX}",
        "-print_final_stats=1",
        f"-artifact_prefix={crashes}/",
        str(corpus),
        str(origin),
    ]
    began = time.monotonic()
    lines = _run(target, arguments, report)
    return _found(lines, time.monotonic() - began, corpus, crashes, save_in, suffix)


def _run(target: Path, arguments: list[str], report: Callable[[int], None]) -> list[str]:
    """Runs the target; returns the lines of libFuzzer's output, and writes them to `log`."""
    lines = []
    try:
        process = subprocess.Popen(
            [str(target), *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=os.environ | ENVIRONMENT,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise ParsersError(f"running {target}: {error.strerror}") from None
    assert process.stderr is not None, "it is a pipe"
    with command.child(process), (target.parent / "log").open("w", encoding="utf-8") as log:
        for line in process.stderr:
            log.write(line)
            lines.append(line.rstrip("\n"))
            if done := re.match(r"#(\d+)\s", line):
                report(int(done[1]))
    return lines


def _found(lines: list[str], seconds: float, corpus: Path, crashes: Path, save_in: Path, suffix: str) -> Found:
    text = "\n".join(lines)
    inputs = re.search(r"stat::number_of_executed_units: (\d+)", text)
    edges = re.findall(r"^#\d+\s.* cov: (\d+) ", text, re.MULTILINE)
    numbers = (int(inputs[1]) if inputs else 0, seconds, int(edges[-1]) if edges else 0)
    artifacts = sorted(crashes.iterdir())
    if not artifacts:
        if not re.search(r"^Done \d+ runs", text, re.MULTILINE):
            raise ParsersError(f"the target ended before its last input, and printed\n{text[-WORDS_MAX:]}")
        return Found(*numbers, sum(1 for _ in corpus.iterdir()))
    save_in.mkdir(parents=True, exist_ok=True)
    saved = save_in / f"{artifacts[0].name}{suffix}"
    shutil.copyfile(artifacts[0], saved)
    return Found(*numbers, sum(1 for _ in corpus.iterdir()), fault_in(text), saved)


def fault_in(text: str) -> str:
    """Returns the line of a target's output that says what is wrong."""
    said = FAULT.search(text)
    return said[0].strip() if said else "the target ended without output"


def replay(target: Path, frames: list[Path]) -> str | None:
    """Runs each of the frames once; returns None, or the target's output about the first fault.

    Raises ParsersError.
    """
    doing = f"replaying {counted(len(frames), 'frame')}"
    arguments = [f"-timeout={INPUT_SECONDS_MAX}", f"-artifact_prefix={target.parent}/", *map(str, frames)]
    code, said = _end(target, arguments, doing)
    if code:
        return said
    if said.count("Executed ") != len(frames):
        raise ParsersError(f"{doing}: the target has run {said.count('Executed ')}, and printed\n{said[-WORDS_MAX:]}")
    return None


def _end(target: Path, arguments: list[str], doing: str) -> tuple[int, str]:
    """Runs a target for a short time; returns its exit code and output. doing: the purpose, for errors."""
    command_line = [str(target), *arguments]
    try:
        done = subprocess.run(
            command_line,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=os.environ | ENVIRONMENT,
            check=False,
            timeout=SHORT_SECONDS_MAX,
        )
    except subprocess.TimeoutExpired:
        raise ParsersError(f"{doing}: it did not end within {SHORT_SECONDS_MAX} s") from None
    return done.returncode, done.stderr


def keep(
    name: str, target: Path, into: Path = KEPT, bytes_max: int = FRAME_BYTES_MAX, suffix: str = SUFFIX
) -> list[Path]:
    """Merges the corpus of the last run with the inputs in `into`/`name`; returns the inputs there.

    It keeps as few inputs as reach the same edges. Inputs of faults stay.
    """
    merged = _emptied(target.parent / "merged")
    old = into / name
    old.mkdir(parents=True, exist_ok=True)
    folders = map(str, (merged, target.parent / "starts", target.parent / "corpus", old))
    doing = f"choosing which inputs of {name} to keep"
    code, said = _end(target, ["-merge=1", f"-max_len={bytes_max}", *folders], doing)
    if code:
        raise ParsersError(f"{doing}: {fault_in(said)}")
    for path in old.glob(f"*{suffix}"):
        if re.fullmatch(rf"[0-9a-f]{{40}}{re.escape(suffix)}", path.name):
            path.unlink()
    for path in merged.iterdir():
        shutil.copyfile(path, old / f"{path.name}{suffix}")
    return sorted(old.glob(f"*{suffix}"))


def _emptied(path: Path) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path
