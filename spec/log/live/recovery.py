"""Compares the log's answers to clients with its files and with recovery, after a load, when all is drained."""

from __future__ import annotations

import struct
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from harness.histories import NEVER, NONE, Operation

SHOWN = 5
KEPT = struct.Struct(">QQIBB")
"""The layout of a record on the wire, up to its value."""

Place = tuple[int, int, int]


def identity(entry: Mapping[str, Any]) -> int:
    """Returns a record's transaction and a checksum of the record, as workload.h writes them into the history."""
    fields = KEPT.pack(entry["transaction"], entry["key"], entry["version"], entry["deletes"], entry["length"])
    return entry["transaction"] << 32 | zlib.crc32(fields + bytes.fromhex(entry["value"]))


def _said(operation: Operation) -> Place | None:
    """The place that the answer to an operation reported."""
    kind, _, number = operation.outcome.partition(":")
    epoch, log = divmod(int(operation.key), 256)
    return (epoch, log, int(number)) if kind in ("Appended", "Stored") else None


class Recovery:
    """The files after a load. `operations` may be called any number of times."""

    def __init__(self, operations: Callable[[], Iterable[Operation]], entries: Iterable[Mapping[str, Any]]) -> None:
        self._operations = operations
        self._places: dict[int, Place] = {}
        self._newest: dict[int, Mapping[str, Any]] = {}
        self._found: list[str] = []
        self.summary = ""
        self.counts: dict[str, int] = {}
        self._read(entries)

    def _read(self, entries: Iterable[Mapping[str, Any]]) -> None:
        lengths: Counter[tuple[int, int]] = Counter()
        for entry in entries:
            place, record = (entry["epoch"], entry["log"], entry["number"]), identity(entry)
            lengths[place[:2]] += 1
            if place[2] != lengths[place[:2]]:
                self._found.append(f"a file has {place}, but {lengths[place[:2]]} is next there")
            if record in self._places:
                self._found.append(
                    f"transaction {entry['transaction']} is there twice: {self._places[record]} and {place}"
                )
            self._places[record] = place
            newest = self._newest.get(entry["key"])
            if newest is None or newest["version"] < entry["version"]:
                self._newest[entry["key"]] = entry

    def complaints(self, rows: Iterable[Mapping[str, str]], crashed: bool = False) -> list[str]:
        """Return the errors: lost, changed and unexpected records, and rows that are not the newest.

        A record is lost or changed if it was acknowledged and is not in the files as it was. It is unexpected if it is
        there although it was refused or never asked for.
        crashed: the machine went down, so records acknowledged as in memory may be missing.
        """
        found, asked, kept, stored, lost = list(self._found), set(), 0, 0, 0
        for operation in self._operations():
            record, said = int(operation.argument), _said(operation)
            asked.add(record)
            there = self._places.get(record)
            if crashed and there is None and operation.outcome.startswith("Appended"):
                lost += 1
                continue
            kept += said is not None
            stored += operation.outcome.startswith("Stored")
            if said != there and operation.outcome != NONE:
                found.append(
                    f"transaction {record >> 32} was answered {operation.outcome} of {said}, and is "
                    f"{there or 'in no file'}"
                )
        nobodys = [(record, place) for record, place in self._places.items() if record not in asked]
        found += [f"{place} has transaction {record >> 32}, but no client asked for it" for record, place in nobodys]
        found += self._wrong_rows(rows)
        self.counts = {"stored": stored, "lost": lost, "records": len(self._places)}
        self.summary = (
            f"{kept:,} acknowledged records are among {len(self._places):,} in the files; "
            f"{len(self._newest):,} keys recovered"
        )
        return found[:SHOWN] + ([f"and {len(found) - SHOWN} more like these"] if len(found) > SHOWN else [])

    def _wrong_rows(self, rows: Iterable[Mapping[str, str]]) -> list[str]:
        found, missing = [], dict(self._newest)
        for row in rows:
            newest = missing.pop(int(row["key"]), None)
            expected = newest and {
                name: str(newest[name]).lower() for name in ("version", "deletes", "length", "value")
            }
            if expected != {name: value for name, value in row.items() if name != "key"}:
                found.append(f"key {row['key']} was recovered as {row}, but its newest record is {newest}")
        return found + [f"key {key} was not recovered, but has {entry}" for key, entry in missing.items()]

    def settled(self, operations: Iterable[Operation]) -> Iterator[Operation]:
        """Settle unanswered operations by the files; the others stay as they are.

        An unanswered operation gets the place that the files show, or is left out if they do not have it.
        """
        bounds = self._bounds()
        for operation in operations:
            place = self._places.get(int(operation.argument))
            if operation.outcome != NONE:
                yield operation
            elif place is not None:
                key, returned = str(256 * place[0] + place[1]), max(bounds[place], operation.call)
                yield operation._replace(key=key, outcome=f"Appended:{place[2]}", returned=returned)

    def _bounds(self) -> dict[Place, int]:
        """Return, by place, the time at which its number had been assigned at the latest.

        For an unanswered record that is the earliest answer to a later record of its log, or else the end of the load.
        """
        logs: defaultdict[tuple[int, int], list[tuple[int, int | None]]] = defaultdict(list)
        end = 0
        for operation in self._operations():
            end = max(end, operation.call, 0 if operation.returned == NEVER else operation.returned)
            said = _said(operation)
            place = said or self._places.get(int(operation.argument))
            if place is not None:
                logs[place[:2]].append((place[2], operation.returned if said else None))
        found = {}
        for log, numbers in logs.items():
            earliest = end + 1
            for number, returned in sorted(numbers, key=lambda each: -each[0]):
                if returned is None:
                    found[*log, number] = earliest
                else:
                    earliest = min(earliest, returned)
        return found
