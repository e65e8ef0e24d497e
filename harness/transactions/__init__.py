"""Are recorded histories of transactions strictly serializable? If not: which anomaly is it, and which transactions
show it?

    python -m harness.transactions HISTORY...

docs/transactions.md says what a history is, and what is concluded from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.command import counted
from harness.transactions.anomalies import Anomaly, Finding
from harness.transactions.cycles import Search
from harness.transactions.history import History, Outcome, TransactionsError, read
from harness.transactions.plain import Plain
from harness.transactions.unknown import Known, conclude

__all__ = ["Anomaly", "TransactionsError", "Verdict", "check"]


@dataclass(frozen=True)
class Verdict:
    """What is to be said of a set of histories."""

    serializable: bool
    text: str
    anomaly: Anomaly | None

    def __str__(self) -> str:
        return self.text


def check(paths: list[Path]) -> Verdict:
    """Judge histories, each for itself; the anomaly is that of the first that has one.

    Raises TransactionsError for what cannot be read.
    """
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
