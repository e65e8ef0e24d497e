"""Recovery's cell, which is not in BTF, has the same layout as the compiler gives it."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from codegen.c.names import Names
from codegen.compile import load
from harness.conform.drain_cases import evaluation, natural, sections
from tests.codegen.compiling import FLAGS, RUNTIME

LEDGER = RUNTIME.parent / "tests/golden/ledger"


def test_the_compiler_lays_it_out_alike(tmp_path: Path) -> None:
    """With an enum, which takes one byte in C, a bool behind it, and bytes that are a number and that are none."""
    protocol = load(LEDGER / "spec")
    tag = Names(protocol.name).tag(protocol.recovery.cell)
    shape = natural(tag, protocol.recovery.cell)
    asserts = [
        f"offsetof(struct {tag}, {name}) == {member.offset} && sizeof(((struct {tag} *)0)->{name}) == {member.size}"
        for name, member in shape.members.items()
    ]
    asserts.append(f"sizeof(struct {tag}) == {shape.size}")
    source = tmp_path / "layout.c"
    source.write_text(
        '#include <stddef.h>\n#include "ledger.h"\n' + "".join(f'_Static_assert({each}, "");\n' for each in asserts)
    )
    done = subprocess.run(
        ["clang-19", *FLAGS, f"-I{LEDGER / 'expected'}", "-fsyntax-only", source],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert len(asserts) == 6 and any(member.size == 1 for member in shape.members.values())


def test_what_a_protocol_lacks_is_named() -> None:
    """Whoever asks for a drain where there is none made a mistake, which is not an attribute that None has not."""
    protocol = replace(load(LEDGER / "spec"), drain=None, recovery=None)
    with pytest.raises(TypeError, match="expected Drain, found None"):
        sections(protocol, "written")
    with pytest.raises(TypeError, match="expected Recovery, found None"):
        evaluation(protocol, "recover", 0)
