"""Keeps the committed baseline, each verifier's figures for each program. Growth is shown, but never fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from codegen.layout.versions import version

BASELINE = Path(__file__).parent / "baseline.json"
FIGURES = ("insns", "states", "stack", "jited_bytes")

Baseline = dict[str, dict[str, dict[str, int]]]
"""Figures of each program, by kernel (`6.1`) and program."""


def kernel_of(release: str) -> str:
    return ".".join(map(str, version(release)))


def read(path: Path = BASELINE) -> Baseline:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def updated(baseline: Baseline, release: str, programs: list[dict[str, Any]]) -> Baseline:
    """Returns the baseline with a kernel's new figures. Programs that were not measured keep theirs."""
    found = {
        each["program"]: {figure: each[figure] for figure in FIGURES}
        for each in programs
        if each["verdict"] == "success"
    }
    kernel = kernel_of(release)
    return {**baseline, kernel: {**baseline.get(kernel, {}), **found}}


def write(baseline: Baseline, path: Path = BASELINE) -> None:
    """Writes one program a line, in order, so that diffs are readable."""
    blocks = []
    for kernel in sorted(baseline, key=version):
        rows = [f"  {json.dumps(name)}: {json.dumps(figures)}" for name, figures in sorted(baseline[kernel].items())]
        blocks.append(f"{json.dumps(kernel)}: {{\n" + ",\n".join(rows) + "\n}")
    path.write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")
