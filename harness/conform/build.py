"""Builds a protocol for conformance: small constants, every form of atomicity, with coverage."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen import ir
from codegen.layout.folders import used_folders
from harness.base.folder_lock import alone
from harness.base.write_files import renew
from harness.builds.make import BuildError, make
from harness.builds.program_variants import merged
from harness.data.cells import FORMS, LAYOUT

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
# The shipped layout is compiled as shipped, except that the test sets its clock.
DEFINES_SHIPPED = "-DSTEPWISE_CONFORM"
DEFINES_SMALL = f"{DEFINES_SHIPPED} -DSTEPWISE_COVERAGE -include {HERE / 'interfere.h'}"


@dataclass(frozen=True)
class Build:
    """One build: generated files in `generated`, objects in `folder`."""

    protocol: ir.Protocol
    form: str
    folder: Path
    generated: Path

    @property
    def object(self) -> Path:
        """The object file of the kernel's programs."""
        return self.folder / f"{self.protocol.name}.bpf.o"

    @property
    def library(self) -> Path:
        """The library of the userspace handler."""
        return self.folder / f"lib{self.protocol.name}_user.so"


@dataclass(frozen=True)
class Sources:
    """The inputs and the output folder of a build; mutants name copies.

    root: the repository whose runtime is used.
    spec: the protocol's folder.
    work: the folder for builds.

    A mutant also sets `edits` or `program`. edits: changes to generated files, each a file, its exact text and the
    replacement. program: the folder to generate the program from, if it is not the folder of the model's steps.
    """

    root: Path
    spec: Path
    work: Path
    edits: tuple[tuple[str, str, str], ...] = ()
    program: Path | None = None

    def search_path(self, generated: Path) -> list[Path]:
        """The folders in which TLC finds a build's modules."""
        return [generated, self.spec, *used_folders(self.spec), self.spec.parent / "lib"]


def override(small: dict[str, Any], protocol: ir.Protocol, form: str) -> dict[str, Any]:
    """Returns the changes to the layout: small constants, and the same form of atomicity for all tables.

    LAYOUT keeps every table's form. A table that userspace accesses also keeps its form if userspace could not access
    the other one.
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
    """Returns whether userspace could still access a table in that form.

    Userspace reads either a whole table of words, or single cells, which must not be under a res_spin_lock. It runs
    steps on words only.

    Drained tables and restored rows are in mapped memory, so they keep their form.
    """
    mapped = {section.table for section in protocol.drain.sections} if protocol.drain else set()
    if table in mapped or (protocol.restore and table == protocol.restore.rows):
        return False
    reads = {section.reads for section in protocol.user if section.table == table}
    return not reads or (form == "spin_lock" and reads == {"cell"})


def write(sources: Sources, protocol: ir.Protocol, texts: dict[str, str], form: str, name: str) -> Build:
    """Writes the generated files, with a mutant's changes, into `work`/`name`; compile_build() compiles them."""
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
    """Applies a mutant's changes to generated files."""
    texts = dict(texts)
    for file, old, new in edits:
        count = texts.get(file, "").count(old)
        if count != 1:
            raise BuildError(f"cannot change {file}: it has {old!r} {count} times, not once")
        texts[file] = texts[file].replace(old, new)
    return texts


def compile_build(sources: Sources, build: Build) -> None:
    """Compiles the generated files. Raises BuildError."""
    name = build.protocol.name
    with alone(build.folder):
        if build.object.exists() and build.object.stat().st_mtime < (HERE / "interfere.h").stat().st_mtime:
            build.object.unlink()  # make does not know that header
        make(
            name,
            build.generated,
            build.folder,
            str(build.object),
            str(build.library),
            doing=f"compiling {name} ({build.form}) in {build.folder}",
            defines=DEFINES_SMALL if build.form in FORMS else DEFINES_SHIPPED,
            runtime=sources.root / "runtime",
        )
