"""Judges the histories of a protocol's loads by the promise that its workload.yaml names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness import histories
from harness.histories import transactions
from harness.live import plugin


@dataclass(frozen=True)
class Judgement:
    """The verdict on a protocol's histories."""

    promise: str
    """The property that they must have: linearizable, or strictly serializable."""
    holds: bool
    decided: bool
    """False if the time did not suffice."""
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def brief(self) -> str:
        """The promise if it holds, otherwise the whole verdict."""
        if self.holds:
            return self.promise
        return f"NOT {self.promise.upper()}\n{self}" if self.decided else f"not decided\n{self}"


def judge(protocol: str, recorded: list[Path], timeout_seconds: float = 60, drawing: Path | None = None) -> Judgement:
    """Judge all these histories of a protocol.

    timeout_seconds, drawing: for histories of operations, see `harness.histories.check`.
    Raises HistoriesError or TransactionsError if they cannot be judged.
    """
    if plugin.workload(protocol).histories == "transactions":
        verdict = transactions.check(recorded)
        return Judgement("strictly serializable", verdict.serializable, True, verdict.text)
    told = histories.check(protocol, recorded, timeout_seconds, drawing)
    return Judgement("linearizable", told.linearizable, told.decided, told.text)
