"""Formats generated C by clang-format, in the style of the C that people write here.

Two rules differ. Comments at line ends are not aligned, so that a new line changes no other one. A block of one
statement has no braces, as in the kernel.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import yaml

STYLE = Path(__file__).resolve().parent.parent.parent / ".clang-format"
CLANG_FORMAT = "clang-format-19"
"""Another version may format differently, and then generated/ would not be fresh."""


class FormatError(RuntimeError):
    """clang-format cannot be run, or has failed; the message says what to do."""


@cache
def style() -> str:
    """Returns the style as clang-format's option wants it."""
    plain = yaml.safe_load(STYLE.read_text(encoding="utf-8"))
    return json.dumps({**plain, "AlignTrailingComments": {"Kind": "Never"}, "RemoveBracesLLVM": True})


def formatted(texts: dict[str, str]) -> dict[str, str]:
    """Formats files of C, by their names. It starts one process for all of them. Raises FormatError."""
    option = f"--style={style()}"
    with tempfile.TemporaryDirectory(prefix="stepwise-format-") as name:
        paths = {file: Path(name) / file for file in texts}
        for file, path in paths.items():
            path.write_text(texts[file], encoding="utf-8")
        try:
            subprocess.run(
                [CLANG_FORMAT, "-i", option, *map(str, paths.values())],
                check=True,
                capture_output=True,
                text=True,
            )
        except FileNotFoundError:
            raise FormatError(f"cannot format the generated C: {CLANG_FORMAT} is missing; run ./bootstrap") from None
        except subprocess.CalledProcessError as error:
            raise FormatError(f"cannot format the generated C: {CLANG_FORMAT} failed: {error.stderr}") from None
        return {file: path.read_text(encoding="utf-8") for file, path in paths.items()}
