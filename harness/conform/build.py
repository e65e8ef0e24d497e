"""Builds a protocol for conformance: small constants, every form of atomicity, with coverage."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen import front, ir
from harness.exclusive import alone
from harness.files import renew
from harness.forms import merged

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
LAYOUT = "layout"
FORMS = (LAYOUT, "spin_lock", "res_spin_lock")
# The shipped layout is compiled as it is shipped, but for the clock.
DEFINES_SHIPPED = "-DSTEPWISE_CONFORM"
DEFINES_SMALL = f"{DEFINES_SHIPPED} -DSTEPWISE_COVERAGE -include {HERE / 'interfere.h'}"


class BuildError(Exception):
    """A build failed; the message has the compiler's words."""


@dataclass(frozen=True)
class Build:
    """One build: generated files in `generated`, objects in `folder`."""

    protocol: ir.Protocol
    form: str
    folder: Path
    generated: Path

    @property
    def object(self) -> Path:
        """The kernel's programs."""
        return self.folder / f"{self.protocol.name}.bpf.o"

    @property
    def library(self) -> Path:
        """The userspace handler."""
        return self.folder / f"lib{self.protocol.name}_user.so"


@dataclass(frozen=True)
class Sources:
    """Where a build comes from; mutants name copies.

    root: the repository that the runtime is taken from. spec: the protocol's folder. work: where builds go.
    For mutants: edits, changes to generated files (file, exact text, and the text that takes its place), and program,
    the folder that the program is generated from where it is another than the one that the model has its steps from.
    """

    root: Path
    spec: Path
    work: Path
    edits: tuple[tuple[str, str, str], ...] = ()
    program: Path | None = None

    def search_path(self, generated: Path) -> list[Path]:
        """Where TLC finds the modules of a build."""
        return [generated, self.spec, *front.used_folders(self.spec), self.spec.parent / "lib"]


def override(small: dict[str, Any], protocol: ir.Protocol, form: str) -> dict[str, Any]:
    """What is laid over the layout: small constants, and every table in one form, or as it is laid out.

    Tables that userspace has to do with stay as they are in the layout where userspace could not have that form.
    """
    if form == LAYOUT:
        return small
    forms = {
        table.name: {"atomic": form, **({"own_line": False} if table.own_line else {})}
        for table in protocol.tables
        if _readable(protocol, table.name, form)
    }
    return merged(small, {"tables": forms})


def _readable(protocol: ir.Protocol, table: str, form: str) -> bool:
    """Whether a table may have that form: userspace reads a whole table of words, or one cell that is no
    res_spin_lock's, and steps words.

    What is drained, and rows that are restored, are in memory that is mapped, and stay as they are.
    """
    mapped = {section.table for section in protocol.drain.sections} if protocol.drain else set()
    if table in mapped or (protocol.restore and table == protocol.restore.rows):
        return False
    reads = {section.reads for section in protocol.user if section.table == table}
    return not reads or (form == "spin_lock" and reads == {"cell"})


def write(sources: Sources, protocol: ir.Protocol, texts: dict[str, str], form: str, name: str) -> Build:
    """Writes what was generated, with a mutant's changes, into `work`/`name`; compile_build() makes it a build."""
    folder = sources.work / name
    generated = folder / "generated"
    texts = edited(texts, sources.edits)
    with alone(folder):
        generated.mkdir(exist_ok=True)
        for old in generated.iterdir():
            if old.name not in texts:
                old.unlink()
        for file, text in texts.items():
            renew(generated / file, text)
    return Build(protocol, form, folder, generated)


def edited(texts: dict[str, str], edits: tuple[tuple[str, str, str], ...]) -> dict[str, str]:
    """Generated files with a mutant's changes."""
    texts = dict(texts)
    for file, old, new in edits:
        count = texts.get(file, "").count(old)
        if count != 1:
            raise BuildError(f"changing {file}: its text has {old!r} {count} times, not once")
        texts[file] = texts[file].replace(old, new)
    return texts


def compile_build(sources: Sources, build: Build) -> None:
    """Compiles what was generated."""
    name = build.protocol.name
    make = shutil.which("make")
    if make is None:
        raise BuildError("cannot compile: there is no make on the PATH; run ./bootstrap")
    command = [
        make,
        "--no-print-directory",
        "-C",
        str(sources.root / "runtime"),
        f"PROTOCOL={name}",
        f"GENERATED={build.generated}",
        f"BUILD={build.folder}",
        f"DEFINES={DEFINES_SMALL if build.form in FORMS else DEFINES_SHIPPED}",
        str(build.object),
        str(build.library),
    ]
    with alone(build.folder):
        if build.object.exists() and build.object.stat().st_mtime < (HERE / "interfere.h").stat().st_mtime:
            build.object.unlink()  # make does not know that header
        run = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    if run.returncode:
        raise BuildError(f"compiling {name} ({build.form}) in {build.folder}:\n{run.stdout}{run.stderr}".rstrip())
