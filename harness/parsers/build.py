"""Compiles a protocol's packet programs natively, as a libFuzzer target."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.protocols import BUILD, GENERATED, REPOSITORY

HERE = Path(__file__).parent
COMPILER = "clang-19"
FLAGS = ("-std=gnu11", "-O1", "-g", "-fno-omit-frame-pointer", "-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
AROUND = ("target.c", "kernel.c", "datagram.c")
"""The target's own sources. Coverage is asked for of the program alone: what is found new then is new in it."""


class ParsersError(Exception):
    """The parsers cannot be fuzzed; the message says what stands in the way."""


@dataclass(frozen=True)
class Sources:
    """Where a target's program comes from. runtime, generated: folders; tests name copies."""

    protocol: str
    runtime: Path
    generated: Path

    @property
    def program(self) -> Path:
        return self.generated / f"{self.protocol}.bpf.c"


def sources(protocol: str) -> Sources:
    """Those of the repository."""
    return Sources(protocol, REPOSITORY / "runtime", GENERATED / protocol)


def folder(protocol: str) -> Path:
    """Where a protocol's target is built, and what a run leaves behind."""
    return BUILD / "parsers" / protocol


def build(given: Sources, into: Path) -> Path:
    """The path of the target, compiled where what it is made of has changed since. Raises ParsersError."""
    if not given.program.is_file():
        raise ParsersError(
            f"compiling the parsers of {given.protocol}: there is no {_shown(given.program)}; run `just generate {given.protocol}`"
        )
    target, stamp = into / f"{given.protocol}-parsers", into / "stamp"
    wanted = _digest(given)
    if target.is_file() and stamp.is_file() and stamp.read_text() == wanted:
        return target
    stamp.unlink(missing_ok=True)
    into.mkdir(parents=True, exist_ok=True)
    include = [f"-I{path}" for path in (HERE / "native", HERE, given.runtime, given.generated)]
    objects = []
    for name in AROUND:
        objects.append(str(into / f"{name}.o"))
        _compile(given, *include, *SANITIZERS, "-c", str(HERE / name), "-o", objects[-1])
    fuzzing = ("-fsanitize=fuzzer", *SANITIZERS, "-fvisibility=hidden")
    _compile(given, *include, *fuzzing, *_definitions(given), str(HERE / "program.c"), *objects, "-o", str(target))
    stamp.write_text(wanted)
    return target


def _definitions(given: Sources) -> list[str]:
    """What harness/parsers/program.c wants to know of the program."""
    name, program = given.protocol, given.program.read_text(encoding="utf-8")
    codec = (given.generated / f"{name}_codec.h").read_text(encoding="utf-8")
    definitions = [f"-DPROTOCOL={name}", f"-DPROTOCOL_UPPER={name.upper()}", f'-DPROTOCOL_PROGRAM="{name}.bpf.c"']
    definitions += ["-DPROTOCOL_HAS_TAILS"] if f"{name}_message_tail_size(" in codec else []
    definitions += ["-DPROTOCOL_HAS_TC"] if f"int {name}_tc(" in program else []
    definitions += ["-DPROTOCOL_HAS_AHEAD"] if f"int {name}_ahead(" in program else []
    handed_over = re.search(r"memset\(payload \+ (\w+), 0, \d+\)", codec)
    return definitions + ([f"-DPROTOCOL_HANDS_OVER_AT={handed_over[1]}"] if handed_over else [])


def _digest(given: Sources) -> str:
    """Of all that a target is made of."""
    digest = hashlib.sha256(repr((COMPILER, FLAGS, SANITIZERS)).encode())
    parts = (HERE.rglob("*.[ch]"), given.runtime.glob("*.h"), given.runtime.glob("bpf/*.h"), given.generated.glob("*.[ch]"))
    for path in (path for part in parts for path in sorted(part)):
        digest.update(f"{path.name} {path.stat().st_size}\n".encode() + path.read_bytes())
    digest.update((HERE / "build.py").read_bytes())
    return digest.hexdigest()


def _compile(given: Sources, *arguments: str) -> None:
    if shutil.which(COMPILER) is None:
        raise ParsersError(f"compiling the parsers of {given.protocol}: there is no {COMPILER} on the PATH; run ./bootstrap")
    done = subprocess.run([COMPILER, *FLAGS, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        hint = "\nlibclang-rt-19-dev is not installed: run ./bootstrap" if "libclang_rt" in done.stderr else ""
        raise ParsersError(f"compiling the parsers of {given.protocol}:\n{done.stderr.strip()}{hint}")


def _shown(path: Path) -> Path:
    return path.relative_to(REPOSITORY) if path.is_relative_to(REPOSITORY) else path
