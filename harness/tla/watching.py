"""Explores models with copies of the steps that print numbers. The copies are made by changes of the modules' text."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from codegen.ir import Span
from harness.base.write_files import replace_whole
from harness.tla import config, tlc
from harness.tla.model import Model
from harness.tla.tlc import Outcome, TlcError


def explore_printing(model: Model, folder: Path) -> tuple[Outcome, set[int]]:
    """Explores or simulates a model without its properties, with the modules in a folder before all others.

    Returns TLC's result, and the numbers that the modules printed. Leaves the .cfg in the folder. Raises TlcError if
    TLC cannot explore it.
    """
    settings = model.settings.model_copy(update={"invariants": [], "properties": []})
    plain = replace(model, settings=settings, config=folder / f"{model.name}.cfg")
    config.write(plain)
    with tempfile.TemporaryDirectory(prefix="stepwise-printed-") as scratch:
        printed = Path(scratch) / "printed"
        outcome = tlc.check(
            model.module,
            plain.config,
            [folder, *model.search_path],
            simulation=model.simulation,
            printed=printed,
        )
        numbers = printed_numbers(printed)
    if outcome.verdict != "holds":
        raise TlcError(f"{outcome.verdict} without any property to violate")
    return outcome, numbers


def printed_numbers(printed: Path) -> set[int]:
    """Returns the numbers in the file that a run printed to, which need not exist: then there are none."""
    text = printed.read_text(encoding="utf-8") if printed.exists() else ""
    return {int(line) for line in text.splitlines() if line.isdigit()}


def remembered(path: Path, digest: str, find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Returns what an earlier run has left in a file with the same digest; else finds it, and leaves it there."""
    if path.exists():
        earlier: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if earlier["digest"] == digest:
            return earlier
    found = {"digest": digest, **find()}
    replace_whole(path, json.dumps(found))
    return found


def digest_of(model: Model, *others: Path) -> str:
    """Returns a hash of what decides the states of a model: its .cfg, all modules that it may use, and other files."""
    digest = hashlib.sha256(config.text_of(model).encode())
    for folder in model.search_path:
        for path in sorted(folder.glob("*.tla")):
            digest.update(path.read_bytes())
    for path in others:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def extending(text: str, module: str) -> str:
    """Makes a module extend another one, as the first."""
    header = re.search(r"^-{4,}\s*MODULE\s+\w+\s*-{4,}$", text, re.MULTILINE)
    assert header is not None, "SANY has read the module"
    extends = re.compile(r"\s*(?:\\\*.*\n\s*|\(\*(?:.|\n)*?\*\)\s*)*EXTENDS\s").match(text, header.end())
    if extends is None:
        return f"{text[: header.end()]}\nEXTENDS {module}\n{text[header.end() :]}"
    return f"{text[: extends.end()]}{module}, {text[extends.end() :]}"


def positions_of(text: str, span: Span) -> tuple[int, int]:
    """Returns where a span begins and ends in its module's text."""
    return position_of(text, span.line, span.column), position_of(text, span.last_line, span.last_column) + 1


def position_of(text: str, line: int, column: int) -> int:
    """Returns where a character is in a text. Lines and columns count from 1."""
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    return start + column - 1
