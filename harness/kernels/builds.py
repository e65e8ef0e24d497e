"""Compiles the measured programs from a copy of generated/ whose debug information quotes the TLA+.

If a layout has another form for older kernels, that form is generated and compiled too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from codegen.compile import load
from codegen.emit import generate
from codegen.emit.lines import LINE_DIRECTIVE, line_directive
from harness.base.protocols import BUILD, REPOSITORY, SPEC
from harness.base.write_files import renew
from harness.builds.make import make
from harness.builds.program_variants import Form, form_for
from harness.kernels.verifier_log import marked

WORK = BUILD / "kernels"


@dataclass(frozen=True)
class Programs:
    """The programs of a protocol, for one kernel.

    form: SHIPPED or OLDER (harness/builds/program_variants.py). object: None if the layout has nothing for the kernel.
    """

    protocol: str
    form: str
    object: Path | None


def programs_for(protocol: str, release: str, work: Path, spec: Path | None = None) -> Programs:
    """Compiles the form that the layout has for a kernel, below `work`. Raises SpecErrors, BuildError."""
    spec = spec or SPEC / protocol
    form = form_for(spec, release)
    return Programs(protocol, form.name, None if form.since else compiled(spec, protocol, form, work))


def compiled(spec: Path, protocol: str, form: Form, work: Path) -> Path:
    """Compiles a form; returns the object file. Raises BuildError."""
    loaded = load(spec, form.laid_over or None)
    folder = work / "objects" / f"{protocol}-{form.name}"
    generated = folder / "generated"
    generated.mkdir(parents=True, exist_ok=True)
    for name, text in generate(loaded, quoting=True).items():
        renew(generated / name, placed(text, spec, generated, folder / "quoted"))
    quiet = folder / "quiet.h"
    renew(quiet, QUIET)
    make(
        protocol,
        generated,
        folder,
        "bpf",
        doing=f"compiling the programs of {protocol} ({form.name}) in {folder}",
        defines=f"-include {quiet}",
    )
    return folder / f"{protocol}.bpf.o"


QUIET = """\
/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What steps call, before all else: where it is inlined, debug information shall name the line that calls it. */
#pragma clang attribute push(__attribute__((nodebug)), apply_to = hasType(functionType))
#include "bpf/stepwise_sets.h"
#include "bpf/stepwise_steps.h"
#include "bpf/stepwise_verifier.h"
#pragma clang attribute pop
"""


def placed(text: str, spec: Path, generated: Path, quoted: Path) -> str:
    """Points a generated file's directives at files that clang can read: itself, and marked copies of the TLA+."""

    def directive(found: re.Match[str]) -> str:
        line, file = int(found[1]), found[2]
        if "/" not in file:
            return line_directive(line, str(generated / file))
        # the specification may be outside the repository
        source = next(path for path in (REPOSITORY / file, spec / Path(file).name) if path.is_file())
        copy = quoted / Path(file).name
        lines = enumerate(source.read_text(encoding="utf-8").splitlines(), 1)
        renew(copy, "\n".join(marked(each, f"{file}:{number}") for number, each in lines) + "\n")
        return line_directive(line, str(copy))

    return re.sub(LINE_DIRECTIVE.pattern, directive, text, flags=re.MULTILINE)
