"""Checks which names a map cannot have, against clang and every name in the headers of C's library."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from codegen.c.builtin_names import LIBRARY_FUNCTIONS

HEADERS = ("complex", "ctype", "math", "setjmp", "stdio", "stdlib", "string", "strings", "unistd", "wchar", "wctype")
KNOWN = re.compile(r"redefinition of '(\w+)' as different kind|declaration of built-in function '(\w+)' requires")


def refused(folder: Path, names: list[str]) -> set[str]:
    """Returns the names that clang knows as functions."""
    source = folder / "maps.c"
    source.write_text("".join(f"struct {{ int map; }} {name};\n" for name in names))
    command = ["clang-19", "-target", "bpf", "-O2", "-fsyntax-only", "-ferror-limit=0", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return {one or other for one, other in KNOWN.findall(done.stderr)}


def test_clang_refuses_each_of_them(tmp_path: Path) -> None:
    assert refused(tmp_path, sorted(LIBRARY_FUNCTIONS)) == LIBRARY_FUNCTIONS


def test_clang_refuses_no_other(tmp_path: Path) -> None:
    texts = [path.read_text(errors="replace") for name in HEADERS for path in Path("/usr/include").glob(f"{name}.h")]
    texts += [path.read_text(errors="replace") for path in Path("/usr/include").rglob("bits/mathcalls*.h")]
    if not texts:
        pytest.skip("there are no headers of C's library")
    words = sorted({word for text in texts for word in re.findall(r"[a-z]\w*", text)})
    assert len(words) > 1000
    assert refused(tmp_path, words) <= LIBRARY_FUNCTIONS
