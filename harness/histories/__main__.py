"""python -m harness.histories PROTOCOL HISTORY...: judges recorded histories."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.base import command
from harness.histories import HistoriesError, check


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m harness.histories", description=__doc__)
    parser.add_argument("protocol")
    parser.add_argument("histories", nargs="+", type=Path, metavar="HISTORY")
    parser.add_argument("--timeout", type=float, default=60, help="time limit for each file, in seconds")
    parser.add_argument("--drawing", type=Path, help="HTML file for a drawing of a refused history")
    arguments = parser.parse_args()
    try:
        verdict = check(arguments.protocol, arguments.histories, arguments.timeout, arguments.drawing)
    except HistoriesError as error:
        print(f"histories: {error}", file=sys.stderr)
        return 2
    print(verdict)
    return 0 if verdict.linearizable else 1


if __name__ == "__main__":
    sys.exit(command.run("histories", main))
