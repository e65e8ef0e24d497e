"""Judges whether recorded histories of transactions are strictly serializable.

    python -m harness.histories.transactions HISTORY...

If a history is not, the verdict names the anomaly and shows the transactions. docs/reference/transactions.md describes
the format of a history, and docs/explanation/transactions.md what is concluded from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.base.command import counted
from harness.histories.transactions.anomalies import Anomaly, Finding
from harness.histories.transactions.cycles import Search
from harness.histories.transactions.direct_anomalies import Plain
from harness.histories.transactions.history import History, Outcome, TransactionsError, read
from harness.histories.transactions.unknown import Known, conclude

__all__ = ["Anomaly", "TransactionsError", "Verdict", "check"]


@dataclass(frozen=True)
class Verdict:
    """The verdict on a set of histories."""

    serializable: bool
    text: str
    anomaly: Anomaly | None
    """The anomaly of the first history that has one."""

    def __str__(self) -> str:
        return self.text


def check(paths: list[Path]) -> Verdict:
    """Judge each history by itself. Raises TransactionsError if one cannot be read."""
    lines, first = [], None
    for path in paths:
        history = read(path)
        known = conclude(history)
        finding = _found(known)
        first = first or finding
        lines.append(_holds(known) if finding is None else _refused(history, finding))
    return Verdict(first is None, "\n".join(lines), first.anomaly if first else None)


def _found(known: Known) -> Finding | None:
    plain = Plain(known)
    return plain.finding or Search(known, plain.states, plain.readings).finding


def _holds(known: Known) -> str:
    history = known.history
    unknown = history.outcome == Outcome.UNKNOWN
    took_place = int(np.count_nonzero(unknown & known.counted))
    return (
        f"strictly serializable: {history.path}: {counted(len(history.names), 'transaction')} with "
        f"{counted(len(history.rows), 'operation')} on {counted(len(history.keys), 'key')}; "
        f"of {np.count_nonzero(unknown):,} the outcome was not known, {took_place:,} of these were seen"
    )


def _refused(history: History, finding: Finding) -> str:
    heading = (
        f"NOT strictly serializable: {history.path}: {counted(len(history.names), 'transaction')}: {finding.anomaly}"
    )
    return "\n  ".join([heading, *finding.lines])
