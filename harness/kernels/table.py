"""Formats the table of programs and kernels."""

from __future__ import annotations

from typing import Any

from harness.kernels.baseline import FIGURES, Baseline, kernel_of

HEAD = ("program", "kernel", "verdict", "insns", "states", "stack", "jited bytes")


def growth(found: int, before: int | None) -> str:
    """Formats the change since the baseline; empty if there is none."""
    return "" if before is None or found == before else f" ({found - before:+,})"


def cells(program: dict[str, Any], baseline: dict[str, dict[str, int]]) -> list[str]:
    """Formats each figure with its budget, if there is one, and its growth since the baseline.

    The verifier stops early in a refused program. So its figures say nothing of growth.
    """
    before = baseline.get(program["program"], {}) if program["verdict"] == "success" else {}
    budget = program["budget"] or {}
    shown = []
    for figure in FIGURES:
        most = f" / {budget[figure]:,}" if figure in budget else ""
        shown.append(f"{program[figure]:,}{most}{growth(program[figure], before.get(figure))}")
    return shown


def verdict(program: dict[str, Any]) -> str:
    if not program["declared"]:
        return "none for it"
    loaded = "loads" if program["verdict"] == "success" else "refused"
    return f"{loaded}, older form" if program["form"] == "older" else loaded


def table(kernels: list[dict[str, Any]], baseline: Baseline) -> str:
    """Formats a line for each program on each kernel. kernels: as results keep them, with their `name`."""
    rows = []
    for kernel in kernels:
        name = kernel_of(kernel["kernel"])
        before = baseline.get(name, {})
        for program in kernel["programs"]:
            figures = cells(program, before) if program["declared"] else ["-"] * len(FIGURES)
            rows.append((program["program"], name, verdict(program), *figures))
    ordered = sorted(rows, key=lambda row: row[0])  # a stable sort: kernels stay in their order
    widths = [max(map(len, column)) for column in zip(HEAD, *ordered)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in (HEAD, *ordered)
    )
