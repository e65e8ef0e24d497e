"""Explores models with copies of the steps that also print something: what all who do that need."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from harness.tla import config
from harness.tla.model import Model


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
