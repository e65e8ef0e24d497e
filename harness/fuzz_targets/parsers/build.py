"""Compiles a protocol's packet programs natively, as a libFuzzer target."""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.base import yaml_documents
from harness.base.protocols import BUILD, GENERATED, REPOSITORY

HERE = Path(__file__).parent
COMPILER = "clang-19"
FLAGS = (
    "-std=gnu11",
    "-O1",
    "-gline-tables-only",
    "-fno-omit-frame-pointer",
    "-fno-pie",
    "-Wall",
    "-Wextra",
    "-Werror",
)
"""Flags of all compilations.

No PIE, so that globals have the same addresses in each run: libFuzzer remembers compared values, and UBSan compares
addresses.
"""
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
OWN_INCLUDE = (HERE / "native", HERE)
AROUND = ("target.c", "kernel.c", "datagram.c")
"""The target's own sources. Only the program is instrumented for coverage, so that new coverage is new in it."""


class ParsersError(Exception):
    """The parsers cannot be fuzzed; the message says why."""


@dataclass(frozen=True)
class Sources:
    """The sources of a target's program. runtime, generated: folders; tests name copies."""

    protocol: str
    runtime: Path
    generated: Path

    @property
    def program(self) -> Path:
        return self.generated / f"{self.protocol}.bpf.c"


def sources(protocol: str) -> Sources:
    """The sources of a protocol in the repository."""
    return Sources(protocol, REPOSITORY / "runtime", GENERATED / protocol)


def folder(protocol: str) -> Path:
    """The folder of a protocol's target, and of the files that a run leaves."""
    return BUILD / "parsers" / protocol


def build(given: Sources, into: Path) -> Path:
    """Returns the path of the target, compiled again if its sources have changed. Raises ParsersError."""
    if not given.program.is_file():
        raise ParsersError(
            f"compiling the parsers of {given.protocol}: there is no {yaml_documents.name_of(given.program)}; run "
            f"`just generate {given.protocol}`"
        )
    target = into / f"{given.protocol}-parsers"
    parts = (given.runtime.rglob("*.h"), given.generated.glob("*.[ch]"))
    with stamped(into, [path for part in (_own(), *parts) for path in sorted(part)]) as is_current:
        if not is_current or not target.is_file():
            include = [f"-I{path}" for path in (*OWN_INCLUDE, given.runtime, given.runtime / "abi", given.generated)]
            fuzzing = ("-fsanitize=fuzzer", "-no-pie", "-fvisibility=hidden")
            around = _around(given)
            compile_target(
                f"parsers of {given.protocol}",
                *include,
                *fuzzing,
                *_definitions(given),
                str(HERE / "program.c"),
                *around,
                "-o",
                str(target),
            )
    return target


def _around(given: Sources) -> list[str]:
    """Compiles the target's own sources. They do not depend on the protocol, so this is done once for all protocols."""
    into = folder("_around")
    objects = {name: into / f"{name}.o" for name in AROUND}
    with stamped(into, sorted(_own())) as is_current:
        if not is_current or not all(path.is_file() for path in objects.values()):
            for name, path in objects.items():
                compile_target(
                    f"parsers of {given.protocol}",
                    *(f"-I{path}" for path in OWN_INCLUDE),
                    "-c",
                    str(HERE / name),
                    "-o",
                    str(path),
                )
    return [str(path) for path in objects.values()]


def _own() -> list[Path]:
    return [*HERE.rglob("*.[ch]"), HERE / "build.py"]


@contextlib.contextmanager
def stamped(into: Path, made_of: list[Path]) -> Iterator[bool]:
    """Yields whether the files in a folder are made of these sources; if the block succeeds, marks that they are."""
    digest = hashlib.sha256()
    for path in made_of:
        digest.update(f"{path.name} {path.stat().st_size}\n".encode() + path.read_bytes())
    stamp = into / "stamp"
    is_current = stamp.is_file() and stamp.read_text() == digest.hexdigest()
    into.mkdir(parents=True, exist_ok=True)
    if not is_current:
        stamp.unlink(missing_ok=True)
    yield is_current
    stamp.write_text(digest.hexdigest())


def _definitions(given: Sources) -> list[str]:
    """The definitions that tell harness/fuzz_targets/parsers/program.c about the program."""
    name, program = given.protocol, given.program.read_text(encoding="utf-8")
    codec = (given.generated / f"{name}_codec.h").read_text(encoding="utf-8")
    definitions = [f"-DPROTOCOL={name}", f"-DPROTOCOL_UPPER={name.upper()}", f'-DPROTOCOL_PROGRAM="{name}.bpf.c"']
    definitions += ["-DPROTOCOL_HAS_TAILS"] if f"{name}_message_tail_size(" in codec else []
    definitions += ["-DPROTOCOL_HAS_OPERATIONS"] if f"{name}_message_operations(" in codec else []
    definitions += ["-DPROTOCOL_FORWARDS"] if f"int {name}_xdp_forward(" in program else []
    definitions += ["-DPROTOCOL_HAS_TC"] if f"int {name}_tc(" in program else []
    definitions += ["-DPROTOCOL_HAS_AHEAD"] if f"int {name}_ahead(" in program else []
    handed_over = re.search(r"memset\(payload \+ (\w+), 0, \d+\)", codec)
    return definitions + ([f"-DPROTOCOL_HANDS_OVER_AT={handed_over[1]}"] if handed_over else [])


def compile_target(what: str, *arguments: str) -> None:
    """Compiles with the sanitizers. what: names the target in errors."""
    if shutil.which(COMPILER) is None:
        raise ParsersError(f"compiling the {what}: there is no {COMPILER} on the PATH; run ./bootstrap")
    done = subprocess.run([COMPILER, *FLAGS, *SANITIZERS, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        hint = "\nlibclang-rt-19-dev is not installed: run ./bootstrap" if "libclang_rt" in done.stderr else ""
        raise ParsersError(f"compiling the {what}:\n{done.stderr.strip()}{hint}")
