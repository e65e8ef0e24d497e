"""python -m harness.histories.transactions HISTORY...: judges recorded histories of transactions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.base import command
from harness.histories.transactions import TransactionsError, check


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m harness.histories.transactions", description=__doc__)
    parser.add_argument("histories", nargs="+", type=Path, metavar="HISTORY")
    arguments = parser.parse_args()
    try:
        verdict = check(arguments.histories)
    except TransactionsError as error:
        print(f"transactions: {error}", file=sys.stderr)
        return 2
    print(verdict)
    return 0 if verdict.serializable else 1


if __name__ == "__main__":
    sys.exit(command.run("transactions", main))
