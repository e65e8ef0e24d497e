"""Makes a history that was refused shorter, without making a refused one of a good one.

Of operations: each key is judged for itself, so one that is refused will do. What a good history has seen up to a
moment is good, where what had not returned by then is one that never did; so the shortest beginning that is refused
will do.

Of transactions: what is left of good ones on some of the keys is good, and a good history is good without those that
only read.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from harness import histories, transactions
from harness.fuzz import plugin
from harness.histories import NEVER, NONE, HistoriesError, Operation

SECONDS_MAX = 60
"""Then what has been reached will do."""
END = "end"
READ = "read"

Refused = Callable[[list[Operation]], bool]


def shrunk(protocol: str, history: Path) -> Path:
    """A shorter history that is refused as well, beside the other; as it was where it is not refused.

    The end of the time is looked at between two judgements.
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
    """Whether operations, written to the path, are refused. What is no history any more is not."""

    def asked(operations: list[Operation]) -> bool:
        histories.write(path, operations)
        try:
            return bool(operations) and is_refused()
        except (HistoriesError, transactions.TransactionsError):
            return False

    return asked


# --- Operations ---------------------------------------------------------------------------------


def _of_operations(operations: list[Operation], protocol: str, path: Path, until: float) -> list[Operation]:
    """The beginning before the key: of several keys that are refused, the one that goes wrong first has the
    shortest.
    """

    def is_refused() -> bool:
        verdict = histories.check(protocol, [path])
        return verdict.decided and not verdict.linearizable

    left = _beginning(operations, _asking(path, is_refused), until)
    histories.write(path, left)
    key = histories.check(protocol, [path]).key
    return left if key is None else [operation for operation in left if operation.key == key]


def _beginning(operations: list[Operation], refused: Refused, until: float) -> list[Operation]:
    """The shortest that is refused, by halves: a longer one is refused as well. All, where that is not."""
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
    """What had begun by then; what had not returned is as if it never did."""
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
    """What is left of transactions on these keys; of those that did nothing there, nothing."""
    wanted = set(keys)
    clients = {each.client for each in operations if each.operation != END and each.key in wanted}
    return [each for each in operations if (each.client in clients if each.operation == END else each.key in wanted)]


def _fewest(items: list[str], refused: Callable[[list[str]], bool], until: float) -> list[str]:
    """Items of which none can be left out, or as few as were found in time: all at once, then by halves, by quarters,
    and so on.
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
