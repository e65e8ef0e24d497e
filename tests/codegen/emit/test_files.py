"""Tests the files as a whole: every form compiles without a warning, and output is reproducible."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.cli import protocols
from codegen.compile import load
from codegen.emit import generate
from harness.builds.program_variants import merged
from harness.conform.domain import load_text
from tests.codegen.compiling import INCLUDE, RUNTIME, import_codec

ROOT = RUNTIME.parent
FORMS = ("word", "spin_lock", "res_spin_lock")


def write(folder: Path, protocol: str, atomic: str, small: bool = False) -> None:
    """Puts all tables into that form, except those that userspace accesses. If some do not fit a word, only those.

    small: with what conformance lays over the layout, for branches to be counted.
    """
    spec = ROOT / "spec" / protocol
    base = load(spec)
    large = [table.name for table in base.tables if table.atomic != "word"]
    mapped = {section.table for section in (*base.user, *(base.drain.sections if base.drain else ()))} | (
        {base.restore.rows} if base.restore else set()
    )
    changed = [table.name for table in base.tables if table.name not in mapped]
    if large:
        changed = [name for name in changed if name in large and atomic != "word"]
    over = load_text(spec / "conform.yaml").small if small else {}
    for name, text in generate(
        load(spec, merged(over, {"tables": {table: {"atomic": atomic} for table in changed}}))
    ).items():
        (folder / name).write_text(text)


@pytest.mark.parametrize("counting", [False, True])
@pytest.mark.parametrize("atomic", FORMS)
@pytest.mark.parametrize("protocol", protocols())
def test_every_form_compiles_without_a_warning(protocol: str, atomic: str, counting: bool, tmp_path: Path) -> None:
    write(tmp_path, protocol, atomic, small=counting)
    defines = ["DEFINES=-DSTEPWISE_CONFORM -DSTEPWISE_COVERAGE"] if counting else []
    command = [
        "make",
        "-s",
        "-C",
        RUNTIME,
        f"PROTOCOL={protocol}",
        f"GENERATED={tmp_path}",
        f"BUILD={tmp_path / 'build'}",
        *defines,
    ]
    done = subprocess.run(
        [*map(str, command), f"{tmp_path}/build/lib{protocol}_user.so"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and not done.stderr, done.stderr


@pytest.mark.parametrize("protocol", protocols())
def test_the_codec_is_the_same_in_c_and_in_python(protocol: str, tmp_path: Path) -> None:
    """Every value that one encodes, the other decodes."""
    write(tmp_path, protocol, "word")
    source = f"""
        #include <stdio.h>
        #include "{protocol}_codec.h"
        int main(void)
        {{
            unsigned char payload[{protocol.upper()}_WIRE_SIZE], again[{protocol.upper()}_WIRE_SIZE];
            struct {protocol}_message message;
            while (fread(payload, sizeof(payload), 1, stdin) == 1) {{
                int valid = DECODE(payload, &message);
                if (valid)
                    {protocol}_message_encode(again, &message);
                putchar(valid ? 'v' : 'x');
                fwrite(valid ? again : payload, sizeof(again), 1, stdout);
            }}
            return 0;
        }}"""
    decode = f"{protocol}_message_decode" + ("_handed_over" if load(ROOT / "spec" / protocol).handover else "")
    (tmp_path / "run.c").write_text(source.replace("DECODE", decode))
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", *INCLUDE, "run.c", "-o", "run"], cwd=tmp_path, check=True)
    codec = import_codec(tmp_path, protocol)
    size = codec.WIRE_SIZE
    payloads = [bytes(size), bytes([255] * size), bytes([1] * size)]
    for at in range(size):
        payloads += [
            bytes(at) + bytes([value]) + bytes(size - at - 1) for value in (1, 2, 3, 11, 12, 63, 64, 127, 128, 255)
        ]
    done = subprocess.run(["./run"], cwd=tmp_path, input=b"".join(payloads), capture_output=True, check=True)
    answers = [done.stdout[at : at + size + 1] for at in range(0, len(done.stdout), size + 1)]
    assert len(answers) == len(payloads)
    verdicts = set()
    for payload, answer in zip(payloads, answers, strict=True):
        try:
            expected = b"v" + codec.Message.decode(payload).encode()
        except codec.Malformed:
            expected = b"x" + payload
        assert answer == expected, payload.hex()
        verdicts.add(expected[:1])
    assert verdicts == {b"v", b"x"}


def test_the_same_bytes_whatever_python_hashes_to(tmp_path: Path) -> None:
    digests = set()
    for seed in ("0", "1", "4242"):
        out = tmp_path / seed
        for protocol in protocols():
            command = [
                sys.executable,
                "-m",
                "codegen",
                "generate",
                "--spec",
                f"spec/{protocol}",
                "--out",
                str(out / protocol),
            ]
            subprocess.run(
                command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
            )
        digest = hashlib.sha256()
        for path in sorted(out.rglob("*")):
            if path.is_file():
                digest.update(f"{path.relative_to(out)}\0".encode() + path.read_bytes())
        digests.add(digest.hexdigest())
    assert len(digests) == 1


def test_every_file_says_where_it_comes_from() -> None:
    for protocol in protocols():
        for path in sorted((ROOT / "generated" / protocol).iterdir()):
            head = path.read_text()[:600]
            assert "SPDX-License-Identifier: MIT OR GPL-2.0" in head, path
            assert f"spec/{protocol}/layout.yaml" in head and "Do not edit" in head, path
            assert f"python -m codegen generate {protocol}" in head, path
