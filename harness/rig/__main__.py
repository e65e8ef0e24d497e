"""`python -m harness.rig clean`: remove what killed processes left of their rigs."""

from __future__ import annotations

import argparse

from harness.base import command
from harness.rig import leftovers


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m harness.rig", description="Network namespaces of the tests.")
    parser.add_argument("command", choices=["clean"], help="remove the namespaces, pins and processes of dead owners")
    parser.parse_args()
    command.need(command.NAMESPACES, "remove network namespaces")
    for name in leftovers.clean():
        print(f"removed {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(command.run("rig", main))
