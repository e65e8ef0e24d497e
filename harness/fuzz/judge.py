"""What a protocol promises of the histories of its loads, and whether it holds: its workload.yaml says which."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness import histories, transactions
from harness.fuzz import plugin


@dataclass(frozen=True)
class Judgement:
    """What is to be said of histories.

    promise: what they are to be, in a word.
    decided: False where the time did not suffice.
    """

    promise: str
    holds: bool
    decided: bool
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def brief(self) -> str:
        """The promise where it holds; otherwise all that there is to say."""
        if self.holds:
            return self.promise
        return f"NOT {self.promise.upper()}\n{self}" if self.decided else f"not decided\n{self}"


def judge(protocol: str, recorded: list[Path], timeout_seconds: float = 60, drawing: Path | None = None) -> Judgement:
    """Judge the histories of a protocol, all of them.

    timeout_seconds, drawing: for histories of operations, see `harness.histories.check`.
    Raises HistoriesError or TransactionsError where they cannot be judged.
    """
    if plugin.workload(protocol).histories == "transactions":
        verdict = transactions.check(recorded)
        return Judgement("strictly serializable", verdict.serializable, True, verdict.text)
    told = histories.check(protocol, recorded, timeout_seconds, drawing)
    return Judgement("linearizable", told.linearizable, told.decided, told.text)
