"""The rooms of runtime/ are in an order: a file includes headers of its own room and of those below it."""

import re

from harness.base.protocols import RUNTIME

# From the bottom up. Beside each other stand rooms that do not include each other.
FLOORS = (
    {"abi", "bpf"},  # shared with generated code
    {"base"},  # knows nothing of tables
    {"state"},  # pinned, or kept for other processes
    {"net", "segments"},  # how packets and records come and go
    {"load", "baseline"},
    {"daemon"},
    {"cli"},
)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def floor_of(room: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def room_of(include: str) -> str:
    """Headers of abi/ are named without their room, as generated code names them."""
    return include.split("/", maxsplit=1)[0] if "/" in include else "abi"


def test_every_file_has_a_room_and_every_room_a_floor():
    assert {path.parent.name for path in RUNTIME.glob("*/*.[ch]")} == set().union(*FLOORS)
    assert not list(RUNTIME.glob("*.[ch]"))


def test_includes_go_down():
    upwards = []
    for path in sorted(RUNTIME.glob("*/*.[ch]")):
        own = path.parent.name
        for include in INCLUDE.findall(path.read_text(encoding="utf-8")):
            other = room_of(include)
            if other != own and {own, other} != {"abi", "bpf"} and floor_of(other) >= floor_of(own):
                upwards.append(f"{path.relative_to(RUNTIME)} includes {include}")
    assert upwards == []


def test_included_files_are_there():
    for path in RUNTIME.glob("*/*.[ch]"):
        for include in INCLUDE.findall(path.read_text(encoding="utf-8")):
            assert (RUNTIME / include).is_file() or (RUNTIME / "abi" / include).is_file(), (path, include)
