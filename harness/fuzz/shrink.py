"""Shortens a history that was refused, by steps that never turn a correct history into a refused one.

In a history of operations, each key is judged by itself, so one refused key is enough. The beginning of a correct
history, up to any moment, is correct too, if operations that had not returned by then count as never answered. So the
shortest refused beginning is enough.

A correct history of transactions stays correct if only some keys are kept. It also stays correct without transactions
that only read.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from harness import histories
from harness.histories import NEVER, NONE, HistoriesError, Operation, transactions
from harness.live import plugin

SECONDS_MAX = 60
"""After this time, the shortest history so far is the result."""
END = "end"
READ = "read"

Refused = Callable[[list[Operation]], bool]


def shrunk(protocol: str, history: Path) -> Path:
    """Write a shorter refused history beside the other, and return its path.

    A history that is not refused is copied unchanged. The time limit is checked only between two judgements.
    """
    path = history.with_name(f"{history.stem}-shrunk{history.suffix}")
    until = time.monotonic() + SECONDS_MAX
    operations = list(histories.read(history))
    if plugin.workload(protocol).histories == "transactions":
        left = _of_transactions(operations, _asking(path, lambda: not transactions.check([path]).serializable), until)
    else:
        left = _of_operations(operations, protocol, path, until)
    histories.write(path, left)
    return path


def _asking(path: Path, is_refused: Callable[[], bool]) -> Refused:
    """Makes a test of whether operations are refused once they are written to the path. Invalid histories are not."""

    def asked(operations: list[Operation]) -> bool:
        histories.write(path, operations)
        try:
            return bool(operations) and is_refused()
        except (HistoriesError, transactions.TransactionsError):
            return False

    return asked


# --- Operations ---------------------------------------------------------------------------------


def _of_operations(operations: list[Operation], protocol: str, path: Path, until: float) -> list[Operation]:
    """The shortest refused beginning, and of that only the refused key.

    The beginning comes before the key: if several keys are refused, the one that fails first has the shortest.
    """

    def is_refused() -> bool:
        verdict = histories.check(protocol, [path])
        return verdict.decided and not verdict.linearizable

    left = _beginning(operations, _asking(path, is_refused), until)
    histories.write(path, left)
    key = histories.check(protocol, [path]).key
    return left if key is None else [operation for operation in left if operation.key == key]


def _beginning(operations: list[Operation], refused: Refused, until: float) -> list[Operation]:
    """The shortest refused beginning, or all operations if they are not refused.

    Bisection finds it, because every longer beginning is refused as well.
    """
    moments = sorted({operation.returned for operation in operations} - {NEVER})
    if not refused(operations):
        return operations
    good, bad = -1, len(moments)
    while bad - good > 1 and time.monotonic() < until:
        middle = (good + bad) // 2
        if refused(_up_to(operations, moments[middle])):
            bad = middle
        else:
            good = middle
    return _up_to(operations, moments[bad]) if bad < len(moments) else operations


def _up_to(operations: list[Operation], moment: int) -> list[Operation]:
    """The operations that had started by this moment; those that had not returned count as never answered."""
    begun = (operation for operation in operations if operation.call <= moment)
    return [each if each.returned <= moment else each._replace(outcome=NONE, returned=NEVER) for each in begun]


# --- Transactions -------------------------------------------------------------------------------


def _of_transactions(operations: list[Operation], refused: Refused, until: float) -> list[Operation]:
    if not refused(operations):
        return operations
    keys = sorted({operation.key for operation in operations if operation.operation != END})
    kept = _fewest(keys, lambda some: refused(_on(operations, some)), until)
    left = _on(operations, kept)
    writers = {each.client for each in left if each.operation not in (READ, END)}
    readers = sorted({each.client for each in left} - writers)

    def with_readers(some: list[str]) -> list[Operation]:
        wanted = writers.union(some)
        return [each for each in left if each.client in wanted]

    return with_readers(_fewest(readers, lambda some: refused(with_readers(some)), until))


def _on(operations: list[Operation], keys: list[str]) -> list[Operation]:
    """The operations on these keys, and the ends of the transactions that have some of them."""
    wanted = set(keys)
    clients = {each.client for each in operations if each.operation != END and each.key in wanted}
    return [each for each in operations if (each.client in clients if each.operation == END else each.key in wanted)]


def _fewest(items: list[str], refused: Callable[[list[str]], bool], until: float) -> list[str]:
    """Leave out items as long as the rest is refused: all at once, then halves, quarters, and so on.

    No item of the result can be left out, unless the time ran out before that.
    """
    size = 2 * len(items)
    while size := size // 2:
        at = 0
        while at < len(items) and time.monotonic() < until:
            without = items[:at] + items[at + size :]
            if refused(without):
                items = without
            else:
                at += size
    return items
